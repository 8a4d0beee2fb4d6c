// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Engine.h"
#include "tests/support/CapturedModule.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <set>
#include <sstream>

using namespace modulelens;

namespace {

/// Every golden archive, by the torch that wrote it ("2.9.1").
std::map<std::string, std::filesystem::path> archives() {
    std::map<std::string, std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(test::dataPath("programs"))) {
        const std::string stem = entry.path().stem().string();
        if (entry.path().extension() == ".mlens" && stem.starts_with("torch-")) {
            found.emplace(stem.substr(6), entry.path());
        }
    }
    return found;
}

/// Minor versions of which an archive must be here for ever.
const std::set<std::string> kKept{"2.9", "2.10", "2.11", "2.12", "2.13", "2.14", "2.15"};

}  // namespace

/// Archives that PyTorch 2.9 and later wrote (tests/support/make_golden_programs.py): each is read, runs, and gives what
/// the torch that wrote it computed.
class GoldenProgramsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        QVERIFY(m_scratch.isValid());
        protocol::InitializeParams params;
        params.scratchFolder = m_scratch.path().toStdString();
        params.threads = 1;
        QVERIFY(m_engine.initialize(params));
    }

    void everyVersion_isHere() {
        std::set<std::string> minors;
        for (const auto& [version, path] : archives()) {
            minors.insert(version.substr(0, version.rfind('.')));
        }
        QCOMPARE(minors, kKept);
    }

    void everyProgram_givesWhatItsWriterComputed_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<int>("index");
        QTest::addColumn<bool>("mustBeExact");
        for (const auto& [version, path] : archives()) {
            const auto bundle = capture::Bundle::open(base::realFileSystem(), path);
            QVERIFY2(bundle, bundle ? "" : bundle.error().text().c_str());
            const auto& index = (*bundle)->index();
            std::set<std::string> exact;
            std::istringstream names(std::get<std::string>(index.attributes.at("exact")));
            for (std::string name; std::getline(names, name, ',');) {
                exact.insert(name);
            }
            for (std::size_t i = 0; i < index.versions.size(); ++i) {
                const std::string& module = index.versions[i].module;
                QTest::newRow((version + "-" + module).c_str())
                    << QString::fromStdString(path.string()) << static_cast<int>(i) << (exact.count(module) != 0);
            }
        }
    }

    void everyProgram_givesWhatItsWriterComputed() {
        QFETCH(QString, path);
        QFETCH(int, index);
        QFETCH(bool, mustBeExact);
        const test::CapturedModule module(path.toStdString(), static_cast<std::size_t>(index));
        if (module.version().programs.empty()) {
            QVERIFY2(!module.version().noProgramReason.empty(), "a module without a program says why");
            QFAIL(module.version().noProgramReason.c_str());
        }
        QCOMPARE(module.callCount(), std::size_t{2});
        for (std::size_t call = 0; call < module.callCount(); ++call) {
            const auto loaded = m_engine.load(module.loadParams(call), {});
            QVERIFY2(loaded, loaded ? "" : loaded.error().text().c_str());
            auto params = module.callParams(loaded.value().handle, call);
            params.threads = 1;
            const auto result = m_engine.validate(params, {});
            QVERIFY2(result, result ? "" : result.error().text().c_str());
            const auto& leaves = result.value().leaves;
            const std::string first = leaves.empty() ? result.value().reason : leaves.front().reason;
            QVERIFY2(result.value().verdict == "pass", (result.value().verdict + ": " + first).c_str());
            QVERIFY(result.value().exact || !mustBeExact);
            if (!result.value().exact) {
                qInfo("close, not equal: %g", result.value().maxAbsDiff.value_or(-1));
            }
            QVERIFY(m_engine.unload({loaded.value().handle}));
        }
    }

private:
    QTemporaryDir m_scratch;
    engine::Engine m_engine;
};

ML_TEST_MAIN(GoldenProgramsTest)
#include "tst_GoldenPrograms.moc"
