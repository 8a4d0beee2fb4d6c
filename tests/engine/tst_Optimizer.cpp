// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Optimizer.h"

#include "backend/base/FileSystem.h"
#include "backend/capture/Safetensors.h"
#include "backend/engine/TrainingRun.h"
#include "tests/support/CapturedModule.h"
#include "tests/support/TestMain.h"
#include "tests/support/ValueOf.h"

#include <ATen/Parallel.h>
#include <QTest>

#include <cstring>
#include <set>

using namespace modulelens;
using engine::GradientTarget;
using test::valueOf;

namespace {

const std::string kSet = "training";

/// Parameters after steps of torch.optim, by "OPTIMIZER|STEP|FQN".
class Steps {
public:
    explicit Steps(const std::string& module)
        : m_file(valueOf(base::realFileSystem().map(test::capturesFolder(kSet) / (module + ".optimizers.safetensors")))),
          m_header(valueOf(capture::readSafetensorsHeader(m_file->bytes(), module))) {}

    [[nodiscard]] std::set<std::string> optimizers() const {
        std::set<std::string> names;
        for (const auto& [key, entry] : m_header.entries) {
            names.insert(key.substr(0, key.find('|')));
        }
        return names;
    }
    [[nodiscard]] std::span<const std::byte> find(const std::string& key) const {
        const auto found = m_header.entries.find(key);
        return found == m_header.entries.end() ? std::span<const std::byte>()
                                               : m_file->bytes().subspan(found->second.offset, found->second.sizeBytes);
    }

private:
    std::shared_ptr<const base::MappedFile> m_file;
    capture::SafetensorsHeader m_header;
};

bool holds(const at::Tensor& tensor, std::span<const std::byte> bytes) {
    const at::Tensor dense = tensor.detach().contiguous();
    return dense.nbytes() == bytes.size() && std::memcmp(dense.const_data_ptr(), bytes.data(), bytes.size()) == 0;
}

}  // namespace

/// Optimizers against torch.optim on captured modules.
class OptimizerTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (test::capturedModules(kSet).empty()) {
            QSKIP("no captures: ctest makes them in engine.training_captures");
        }
        at::set_num_threads(2);
    }

    void steps_areThoseOfTorchOptim_data() {
        QTest::addColumn<QString>("module");
        QTest::addColumn<QString>("optimizer");
        // Plain layers; tied weights, called several times; half precision; a parameter without a gradient.
        for (const char* module : {"perceptron", "stack", "bfloat16", "convolution_grouped", "unused"}) {
            const std::set<std::string> optimizers = Steps(module).optimizers();
            QCOMPARE(optimizers.size(), std::size_t{8});
            for (const std::string& optimizer : optimizers) {
                QTest::addRow("%s %s", module, optimizer.c_str()) << module << QString::fromStdString(optimizer);
            }
        }
    }
    void steps_areThoseOfTorchOptim() {
        QFETCH(QString, module);
        QFETCH(QString, optimizer);
        const test::CapturedModule captured(module.toStdString(), kSet);
        const Steps steps(module.toStdString());
        const auto program = valueOf(engine::LoadedProgram::load(captured.loadParams()));
        const auto params = captured.callParams(1);
        const std::atomic<bool> stop{false};
        const auto binding = valueOf(engine::CallBinding::bind(*program, params.call, params.tensors, stop));
        const auto made = valueOf(engine::Optimizer::create(optimizer.toStdString()));
        engine::TrainingRun run(*binding);
        run.setOptimizer(made.get());
        for (int step = 0; step < 3; ++step) {
            int compared = 0;
            engine::TrainingRun::Hooks hooks;
            hooks.atEnd = [&] {
                for (const GradientTarget& target : run.targets()) {
                    const std::string key = optimizer.toStdString() + '|' + std::to_string(step) + '|' + target.name;
                    if (target.isParameter) {
                        QVERIFY2(holds(target.tensor, steps.find(key)), key.c_str());
                        ++compared;
                    }
                }
            };
            (void)run.run(stop, hooks);
            QVERIFY(compared >= 2);
        }
        std::vector<at::Tensor> parameters;
        for (const GradientTarget& target : run.targets()) {
            if (target.isParameter && target.tensor.grad().defined()) {
                parameters.push_back(target.tensor);
            }
        }
        QCOMPARE(made->stateBytes(), made->stateBytesOf(parameters));
    }
};

ML_TEST_MAIN(OptimizerTest)
#include "tst_Optimizer.moc"
