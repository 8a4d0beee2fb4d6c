// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Operations.h"

#include <QTemporaryDir>
#include <QTest>
#include <cstring>
#include <fstream>
#include <set>

#include "backend/base/FileSystem.h"
#include "backend/capture/Safetensors.h"
#include "backend/operations/Permissions.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sweep.h"
#include "backend/operations/VersionInput.h"
#include "backend/operations/WorkerJobs.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

using namespace modulelens;
using namespace modulelens::operations;
using base::ErrorCode;
using nlohmann::json;

namespace {

using Arguments = std::vector<std::string>;

/// Bytes by key of a safetensors file.
std::map<std::string, std::string> contentOf(const std::filesystem::path& path) {
    const auto file = base::realFileSystem().map(path);
    if (!file) {
        return {};
    }
    std::map<std::string, std::string> content;
    const auto header = capture::readSafetensorsHeader((*file)->bytes(), path.string());
    for (const auto& [key, entry] : header->entries) {
        const auto bytes = (*file)->bytes().subspan(entry.offset, entry.sizeBytes);
        content.emplace(key, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    return content;
}

} // namespace

/// Files that no tracer wrote, imported and run by the real worker, against what PyTorch gave.
class ForeignImportTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(test::programPath("modulelens-worker"))) {
            QSKIP("the worker is not built, since LibTorch was not found");
        }
        m_files = qEnvironmentVariable("MODULELENS_TEST_FOREIGN").toStdString();
        QVERIFY(std::filesystem::exists(m_files / "tied.pt2"));
    }

    void init() {
        m_folder = std::make_unique<QTemporaryDir>();
        auto opened = registry::LocalRegistry::open(base::realFileSystem(), path() / "registry",
                                                    registry::LocalRegistry::Mode::ReadWrite);
        QVERIFY(opened.hasValue());
        m_registry = *std::move(opened);
        // The consents of this test alone.
        qputenv("XDG_CONFIG_HOME", (path() / "settings").string().c_str());
        restart();
    }

    void exported_runsBitExact() {
        m_operations->permissions().trustAll();
        import("tied.pt2");
        compareOutputs("tied::", "tied");
        const auto report = m_operations->validate("tied::", {}, {});
        QVERIFY(report.hasValue());
        QCOMPARE(report->verdict, std::string("not_comparable"));
        QVERIFY2(report->reason.find("captured") != std::string::npos, report->reason.c_str());
    }

    void exported_hasItsHierarchyAndTiedWeightsOnce() {
        import("tied.pt2");
        const auto tree = m_operations->staticProfile("tied::");
        QVERIFY(tree.hasValue());
        const json nodes = json(allNodes(**tree));
        // Three linear maps of 15 rows of the sample batch, 2 * 15 * 4 * (4 + 4 + 10).
        QCOMPARE(nodes[0]["flops"]["total"].get<int>(), 2160);
        // Embedding and head are one tensor of [10, 4], two layers have 20 parameters each.
        QCOMPARE(nodes[0]["parameter_bytes"]["total"].get<int>(), 4 * (40 + 2 * 20));
        std::vector<std::string> classes;
        for (const json& node : nodes) {
            if (node["kind"] == "module") {
                classes.push_back(node["path"].get<std::string>() + ' ' + node["class"].get<std::string>());
            }
        }
        QVERIFY(std::find(classes.begin(), classes.end(), "layers.1 torch.nn.modules.linear.Linear") != classes.end());
    }

    void exportedWithoutConsent_saysSoWhenItRuns() {
        const auto report = import("tied.pt2");
        QCOMPARE(report.warnings.size(), 1U);
        const auto run = m_operations->rebuild("tied::", {}, {});
        QVERIFY(!run.hasValue() && run.error().code == ErrorCode::ConsentNeeded);
        const auto document = m_registry->versionDocument(m_registry->resolve("tied::")->id);
        QCOMPARE(document->calls.front().inputs.size(), 3U);
        QCOMPARE(document->calls.front().inputs.front().tensor.shape, (std::vector<std::int64_t>{3, 5}));
        // Now with consent: the same state with another trace.
        m_operations->permissions().trustAll();
        QCOMPARE(import("tied.pt2").versionsNew, 1);
        QVERIFY(m_operations->rebuild("tied::@v1", {}, {}).hasValue());
        QCOMPARE(import("tied.pt2").versionsKnown, 1);
    }

    void exportedWithoutSamples_takesGivenInputs() {
        for (const char* file : {"no_samples.pt2", "absent_samples.pt2"}) {
            import(file);
            const std::string address = std::filesystem::path(file).stem().string() + "::";
            const auto run = m_operations->rebuild(address, {}, {});
            QVERIFY(!run.hasValue() && run.error().code == ErrorCode::InvalidArgument);
            QVERIFY(run.error().fix.find("--input") != std::string::npos);
            // Another batch than the one it was exported with.
            import(file, {"int64[7,5]:0..9", "mask=float32[7,5,1]", "options_bias=float32[2]"});
            QVERIFY(m_operations->rebuild(address, {}, {}).hasValue());
            QCOMPARE(std::get<std::string>(m_registry->resolve(address)->attributes.at("inputs")), std::string("synthetic"));
        }
    }

    void givenInputs_areNamedWhenTheyDoNotFit() {
        const auto tooMany = tryImport("no_samples.pt2", {"1", "2", "3", "4"});
        QVERIFY(tooMany.error().code == ErrorCode::InvalidArgument);
        QVERIFY2(tooMany.error().fix.find("mask") != std::string::npos, tooMany.error().fix.c_str());
        QVERIFY(tryImport("no_samples.pt2", {"other=1"}).error().code == ErrorCode::InvalidArgument);
        QCOMPARE(versionCount(), 0);
    }

    void stridedWeights_runBitExact() {
        m_operations->permissions().trustAll();
        import("transposed.pt2");
        compareOutputs("transposed::", "transposed");
    }

    void torchScript_runsBitExactAndForgetsWhatItWrote() {
        m_operations->permissions().trustAll();
        const std::string x = '@' + (m_files / "counter.inputs.safetensors").string() + ":0";
        import("counter.pt", {x, "factor=3"});
        compareOutputs("counter::", "counter");
        compareOutputs("counter::", "counter");
    }

    void torchScript_profilesByModule() {
        m_operations->permissions().trustAll();
        import("counter.pt", {"float32[4,8]"});
        const auto report = m_operations->profile("counter::", {}, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        const json nodes = json(allNodes(*report->profile));
        std::map<std::string, json> modules;
        for (const json& node : nodes) {
            if (node["kind"] == "module") {
                modules[node["path"].get<std::string>()] = node;
            }
        }
        QCOMPARE(modules.at("layers.0")["flops"]["total"].get<int>(), 2 * 4 * 8 * 16);
        QCOMPARE(modules.at("layers.1")["flops"]["total"].get<int>(), 2 * 4 * 16 * 8);
        QCOMPARE(report->result.flops.value_or(0), std::int64_t{2 * 2 * 4 * 8 * 16});
        QCOMPARE(report->result.parameterBytes.value_or(0), std::int64_t{4 * (8 * 16 + 16 + 16 * 8 + 8 + 16)});
        QVERIFY(modules.count("norm") == 1);
        QVERIFY(report->result.peakBytes.value_or(0) >= 4 * 16 * 4);
        QVERIFY(modules.at("")["latency_ns"]["total"].get<std::int64_t>() > 0);
        const auto tree = m_operations->staticProfile("counter::");
        QVERIFY(tree.hasValue());
        QCOMPARE((*tree)->scopeCount(), 5);
    }

    void torchScript_everyCallOfAModuleIsAScope_data() {
        QTest::addColumn<QString>("file");
        QTest::addRow("scripted") << "repeated";
        QTest::addRow("traced") << "traced";
    }
    void torchScript_everyCallOfAModuleIsAScope() {
        QFETCH(const QString, file);
        std::ifstream text(m_files / "repeated.json");
        const json expected = json::parse(text);
        m_operations->permissions().trustAll();
        const std::string name = file.toStdString();
        import(name + ".pt", {'@' + (m_files / "repeated.inputs.safetensors").string() + ":0"});
        const auto report = m_operations->profile(name + "::", {}, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        // Both count as eager does: the modules of the archive call the same modules as often.
        json calls = json::object();
        std::set<std::string> keys;
        for (const json& node : json(allNodes(*report->profile))) {
            if (node["kind"] == "module") {
                const std::string path = node["path"].get<std::string>();
                calls[path] = calls.value(path, 0) + 1;
                QVERIFY(keys.insert(path + '@' + node["call"].dump()).second);
            }
        }
        QCOMPARE(calls.dump(), expected["calls"].dump());
        compareOutputs(name + "::", "repeated");
    }

    void torchScript_hasABackwardPass() {
        std::ifstream text(m_files / "repeated.json");
        const json expected = json::parse(text);
        m_operations->permissions().trustAll();
        import("repeated.pt", {'@' + (m_files / "repeated.inputs.safetensors").string() + ":0"});
        RunSettings settings;
        settings.backward = true;
        settings.train = "sgd";
        const auto report = m_operations->profile("repeated::", settings, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        QVERIFY(report->result.training.has_value());
        for (const auto& [number, reason] : report->result.training->reasons) {
            qDebug("%s: %s", number.c_str(), reason.c_str());
        }
        QVERIFY(report->result.training->backwardNs.value_or(0) > 0);
        QCOMPARE(report->result.training->gradientBytes.value_or(0), expected["gradient_bytes"].get<std::int64_t>());
        // Eleven linear maps of three rows, two products of 2 * 3 * 4 * 4 in each, but none for the input of the first.
        QCOMPARE(report->result.training->flops.value_or(0), std::int64_t{(2 * 11 - 1) * 2 * 3 * 4 * 4});
        std::int64_t inModules = 0;
        for (const json& node : json(allNodes(*report->profile))) {
            if (node["kind"] == "operator" && node["backward"].is_object() && node["path"] != "") {
                inModules +=
                    node["backward"]["flops"]["self"].is_number() ? node["backward"]["flops"]["self"].get<std::int64_t>() : 0;
            }
        }
        QCOMPARE(inModules, report->result.training->flops.value_or(0));
    }

    void torchScript_sweepsEverySizeOfItsInputs() {
        m_operations->permissions().trustAll();
        import("repeated.pt", {"float32[3,4]"});
        SweepSettings settings;
        settings.dimensions = {{"batch", {1, 6}}, {"/args/0:1", {4, 5}}};
        settings.repetitions = 2;
        const auto report = m_operations->sweep("repeated::", settings, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        QCOMPARE(report->points.size(), 4U);
        for (const SweepPoint& point : report->points) {
            // Only a width of 4 fits the weights; the operator that refuses another one is named.
            QCOMPARE(point.error.has_value(), point.values[1] == 5);
            if (point.error) {
                QVERIFY2(point.error->message.find("shape") != std::string::npos, point.error->message.c_str());
                QVERIFY2(point.error->message.find('\n') == std::string::npos, point.error->message.c_str());
            }
        }
        QCOMPARE(report->points[2].side->measured.flops.value_or(0), std::int64_t{2 * 11 * 6 * 4 * 4});
        const auto unknown = m_operations->sweep("repeated::", {{}, {{"/args/0:7", {1}}}}, {});
        QVERIFY(!unknown.hasValue() && unknown.error().code == ErrorCode::InvalidArgument);
    }

    void torchScript_needsConsentToImportAndToRun() {
        QVERIFY(tryImport("counter.pt").error().code == ErrorCode::ConsentNeeded);
        QCOMPARE(versionCount(), 0);
        m_operations->permissions().trustAll();
        import("counter.pt", {"float32[4,8]"});
        restart();
        QVERIFY(m_operations->rebuild("counter::", {}, {}).hasValue());
        QCOMPARE(*m_operations->permissions().store().forget(""), 1);
        restart();
        QVERIFY(m_operations->rebuild("counter::", {}, {}).error().code == ErrorCode::ConsentNeeded);
    }

    void torchScriptWithoutInputs_saysSo() {
        m_operations->permissions().trustAll();
        import("counter.pt");
        const auto run = m_operations->rebuild("counter::", {}, {});
        QVERIFY(!run.hasValue() && run.error().code == ErrorCode::InvalidArgument);
    }

    void silero_runsBitExactWithItsScopes() {
        if (!std::filesystem::exists(m_files / "silero_vad.jit")) {
            QSKIP("the package silero-vad is not installed");
        }
        std::ifstream text(m_files / "silero_vad.json");
        const json expected = json::parse(text);
        m_operations->permissions().trustAll();
        import("silero_vad.jit", {'@' + (m_files / "silero_vad.inputs.safetensors").string() + ":0", "16000"});
        compareOutputs("silero_vad::", "silero_vad");
        const auto tree = m_operations->staticProfile("silero_vad::");
        QVERIFY(tree.hasValue());
        QCOMPARE(static_cast<std::size_t>((*tree)->scopeCount()), expected["modules"].size());
        const auto report = m_operations->profile("silero_vad::", {}, {});
        QVERIFY2(report.hasValue(), report.hasValue() ? "" : report.error().message.c_str());
        QCOMPARE(report->result.parameterBytes.value_or(0), expected["parameter_bytes"].get<std::int64_t>());
        // Four convolutions and the transform are in modules of their own, not in the top module.
        bool isInside = false;
        for (const json& node : json(allNodes(*report->profile))) {
            isInside = isInside || node["path"].get<std::string>().starts_with("_model.encoder.0");
        }
        QVERIFY(isInside);
    }

    void customOperator_needsItsLibrary() {
        import("custom_operator.pt2", {"float32[3]"});
        const auto without = m_operations->rebuild("custom_operator::", {}, {});
        QVERIFY(!without.hasValue() && without.error().code == ErrorCode::Unsupported);
        QVERIFY2(without.error().message.find("modulelens_test") != std::string::npos, without.error().message.c_str());
        QVERIFY(m_operations->permissions().addLibrary(library("libtest-operators.so")).error().code ==
                ErrorCode::ConsentNeeded);
        m_operations->permissions().trustAll();
        QVERIFY(m_operations->permissions().addLibrary(library("libtest-operators.so")).hasValue());
        import("custom_operator.pt2");
        compareOutputs("custom_operator::", "custom_operator");
    }

    void crashingLibrary_costsTheWorkerAlone() {
        m_operations->permissions().trustAll();
        import("transposed.pt2");
        QVERIFY(m_operations->permissions().addLibrary(library("libcrashing-library.so")).hasValue());
        const auto crashed = m_operations->rebuild("transposed::", {}, {});
        QVERIFY(!crashed.hasValue() && crashed.error().code == ErrorCode::WorkerCrashed);
#if !defined(__SANITIZE_ADDRESS__)  // It ends a program that crashes with an exit code.
        QVERIFY2(crashed.error().message.find("SIGSEGV") != std::string::npos, crashed.error().message.c_str());
#endif
        restart();
        QVERIFY(m_operations->rebuild("transposed::", {}, {}).hasValue());
    }

    void libraryThatIsNone_isRefused() {
        m_operations->permissions().trustAll();
        import("transposed.pt2");
        QVERIFY(m_operations->permissions().addLibrary(m_files / "text.pt").hasValue());
        const auto refused = m_operations->rebuild("transposed::", {}, {});
        QVERIFY(!refused.hasValue() && refused.error().code == ErrorCode::Unsupported);
    }

    void badFiles_areRefusedWithASentence_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("word");
        QTest::addRow("pickled weight") << "pickled_weight.pt2" << "pickled";
        QTest::addRow("pickled object") << "pickled_object.pt2" << "without Python";
        QTest::addRow("no program") << "no_program.pt2" << "JSON";
        QTest::addRow("truncated") << "truncated.pt" << "cut";
        QTest::addRow("edited code") << "edited.pt" << "TorchScript";
        QTest::addRow("damaged data") << "damaged.pt" << "other bytes";
        QTest::addRow("checkpoint") << "checkpoint.pt" << "checkpoint";
        QTest::addRow("plain pickle") << "legacy.pt" << "pickle";
        QTest::addRow("other archive") << "other.zip" << "neither";
        QTest::addRow("no archive") << "text.pt" << "import";
    }
    void badFiles_areRefusedWithASentence() {
        QFETCH(const QString, file);
        QFETCH(const QString, word);
        m_operations->permissions().trustAll();
        const auto refused = tryImport(file.toStdString());
        QVERIFY(!refused.hasValue());
        QVERIFY2(refused.error().code == ErrorCode::Unsupported || refused.error().code == ErrorCode::Corrupt,
                 refused.error().message.c_str());
        QVERIFY2(refused.error().message.find(word.toStdString()) != std::string::npos, refused.error().message.c_str());
        QVERIFY2(refused.error().message.find('\n') == std::string::npos, refused.error().message.c_str());
        QCOMPARE(versionCount(), 0);
        // The worker still serves.
        import("transposed.pt2");
        QVERIFY(m_operations->rebuild("transposed::", {}, {}).hasValue());
    }

    void missingFile_isNotFound() { QVERIFY(tryImport("none.pt2").error().code == ErrorCode::NotFound); }

private:
    [[nodiscard]] std::filesystem::path path() const { return m_folder->path().toStdString(); }
    [[nodiscard]] static std::filesystem::path library(const char* name) {
        return test::programPath("modulelens-worker").parent_path() / name;
    }

    /// Another process of the same user, as far as operations can tell.
    void restart() {
        m_operations =
            std::make_unique<Operations>(m_registry, std::vector<std::string>{test::programPath("modulelens-worker").string()});
    }

    base::Result<registry::ImportReport> tryImport(const std::string& file, const Arguments& inputs = {}) {
        return m_operations->import(m_files / file, {"", inputs, false}, {});
    }

    registry::ImportReport import(const std::string& file, const Arguments& inputs = {}) {
        const auto report = tryImport(file, inputs);
        if (!report) {
            qFatal("%s: %s", file.c_str(), report.error().text().c_str());
        }
        return *report;
    }

    int versionCount() { return static_cast<int>(m_registry->search({})->total); }

    /// Runs the version's call and compares every output, bit by bit.
    void compareOutputs(const std::string& address, const std::string& name) {
        const auto input = readVersionInput(*m_registry, address, 0);
        QVERIFY(input.hasValue());
        auto call = callParams(*m_registry, *input);
        QVERIFY2(call.hasValue(), call.hasValue() ? "" : call.error().message.c_str());
        call->threads = 1;
        std::map<std::string, std::string> got;
        std::vector<std::string> order;
        WorkerJobs jobs({test::programPath("modulelens-worker").string()}, m_operations->permissions());
        const auto done = jobs.run(*m_registry, *input, "cpu", {}, [&](auto& client, const auto& loaded, const auto& request) {
            call->handle = loaded.load.handle;
            const auto result = client.run(*call, request);
            if (!result) {
                return base::Result<void>(result.error());
            }
            got = contentOf(result->file);
            for (const auto& output : result->outputs) {
                order.push_back(output.key);
            }
            return base::Result<void>();
        });
        QVERIFY2(done.hasValue(), done.hasValue() ? "" : done.error().message.c_str());
        const auto expected = contentOf(m_files / (name + ".outputs.safetensors"));
        QCOMPARE(order.size(), expected.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            QVERIFY2(got.at(order[i]) == expected.at(std::to_string(i)), order[i].c_str());
        }
    }

    std::filesystem::path m_files;
    std::unique_ptr<QTemporaryDir> m_folder;
    std::shared_ptr<registry::LocalRegistry> m_registry;
    std::unique_ptr<Operations> m_operations;
};

ML_TEST_MAIN(ForeignImportTest)
#include "tst_ForeignImport.moc"
