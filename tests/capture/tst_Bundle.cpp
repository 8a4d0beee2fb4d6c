// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Digest.h"
#include "backend/capture/Bundle.h"
#include "tests/capture/TinyBundle.h"
#include "tests/support/MemoryFileSystem.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"
#include "tests/support/ZipWriter.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

using namespace modulelens;
using base::ErrorCode;
using nlohmann::json;

namespace {

const std::filesystem::path kFolder = "/bundle";

/// Opens and verifies: what an import does before it believes anything.
base::Result<void> check(test::MemoryFileSystem& files) {
    auto bundle = capture::Bundle::open(files, kFolder);
    if (!bundle) {
        return bundle.error();
    }
    return (*bundle)->verify({}, {});
}

base::Result<void> check(const test::TinyBundle& tiny) {
    test::MemoryFileSystem files(kFolder);
    files.files = tiny.files();
    return check(files);
}

std::filesystem::path goldenFolder() {
    const auto found = capture::findBundles(base::realFileSystem(), test::dataPath("capture/v1"));
    return found ? found->front() : std::filesystem::path();
}

} // namespace

using TinyBundleMember = test::TinyBundle::Edit test::TinyBundle::*;

class BundleTest : public QObject {
    Q_OBJECT

    void refuses(const test::TinyBundle& tiny, ErrorCode code, const char* part) {
        const auto result = check(tiny);
        QVERIFY2(!result, part);
        QVERIFY2(result.error().code == code, result.error().text().c_str());
        QVERIFY2(result.error().message.find(part) != std::string::npos, result.error().text().c_str());
    }

    /// Every file cut at every length: no prefix may pass.
    void cutsEverywhere(const std::map<std::string, std::string>& whole, std::size_t step) {
        test::MemoryFileSystem files(kFolder);
        files.files = whole;
        for (const auto& [name, text] : whole) {
            for (std::size_t size = 0; size < text.size(); size += (name.starts_with("bundle.") ? 1 : step)) {
                files.files[name] = text.substr(0, size);
                const auto result = check(files);
                QVERIFY2(!result, name.c_str());
                QVERIFY2(result.error().code == ErrorCode::Corrupt, result.error().text().c_str());
            }
            files.files[name] = text;
        }
        QVERIFY(check(files));
    }

    /// Every byte changed: no change may pass.
    void flipsEverywhere(const std::map<std::string, std::string>& whole, std::size_t step) {
        test::MemoryFileSystem files(kFolder);
        files.files = whole;
        for (const auto& [name, text] : whole) {
            std::string& changed = files.files[name];
            for (std::size_t i = 0; i < text.size(); i += (name.starts_with("bundle.") ? 1 : step)) {
                changed[i] = static_cast<char>(text[i] ^ (1 << (i % 8)));
                const auto result = check(files);
                QVERIFY2(!result, (name + " at " + std::to_string(i)).c_str());
                QVERIFY2(result.error().code == ErrorCode::Corrupt || result.error().code == ErrorCode::Unsupported,
                         result.error().text().c_str());
                changed[i] = text[i];
            }
        }
        QVERIFY(check(files));
    }

private slots:
    void tinyBundle_isReadWhole() {
        test::MemoryFileSystem files(kFolder);
        files.files = test::TinyBundle{}.files();
        auto opened = capture::Bundle::open(files, kFolder);
        QVERIFY2(opened, opened ? "" : opened.error().text().c_str());
        capture::Bundle& bundle = **opened;
        const capture::BundleIndex& index = bundle.index();
        QCOMPARE(index.model, std::string("tiny"));
        QCOMPARE(index.sha256, base::sha256Hex(files.files["bundle.json"]));
        QCOMPARE(std::get<double>(index.attributes.at("a")), 1.0);
        QCOMPARE(std::get<bool>(index.attributes.at("c")), true);
        const auto version = bundle.version(index.versions[0]);
        QVERIFY2(version, version ? "" : version.error().text().c_str());
        QCOMPARE(version->stateTensors.at("weight").tensor.requiresGrad, true);
        QCOMPARE(version->calls[0].inputs[0].pointer, std::string("/args/0"));
        QCOMPARE(version->calls[0].outputs[0].pointer, std::string("/output"));
        QCOMPARE(version->tensorDigests().size(), std::size_t{1});
        const auto node = bundle.node(index.nodes[0]);
        QVERIFY(node);
        QCOMPARE(node->parameters.at("weight")->shape, std::vector<std::int64_t>{2});
        const auto run = bundle.run(index.runs[0]);
        QVERIFY(run);
        QCOMPARE(run->calls[0].hostNs.value(), 10);
        const auto extents = bundle.tensorExtents();
        QVERIFY(extents);
        const capture::FileExtent extent = extents->begin()->second;
        const std::string& tensors = files.files["tensors/0000.safetensors"];
        QCOMPARE(extent.offset % 64, std::uint64_t{0});
        QCOMPARE(tensors.substr(extent.offset, extent.sizeBytes), std::string("\0\0\x80?\0\0\0@", 8));
        QVERIFY(bundle.verify({}, {}));
    }

    void measuredAndFlaggedCalls_areRead() {
        test::MemoryFileSystem files(kFolder);
        test::TinyBundle tiny;
        tiny.editRun = [](nlohmann::json& run) {
            nlohmann::json again = run["calls"][0];
            again.update({{"id", 1}, {"parent", 0}, {"version", nullptr}, {"version_call", nullptr}, {"recompute", true}});
            run["calls"][0].update(
                {{"device_ns", 7}, {"allocated_bytes", 100}, {"peak_bytes", 120}, {"direct", true}, {"method", "encode"}});
            run["calls"].push_back(again);
        };
        files.files = tiny.files();
        auto opened = capture::Bundle::open(files, kFolder);
        QVERIFY2(opened, opened ? "" : opened.error().text().c_str());
        const auto run = (*opened)->run((*opened)->index().runs[0]);
        QVERIFY2(run, run ? "" : run.error().text().c_str());
        QCOMPARE(run->calls[0].deviceNs.value(), 7);
        QCOMPARE(run->calls[0].allocatedBytes.value(), 100);
        QCOMPARE(run->calls[0].peakBytes.value(), 120);
        QVERIFY(run->calls[0].isDirect && !run->calls[0].isRecompute);
        QCOMPARE(run->calls[0].method, std::string("encode"));
        QVERIFY(run->calls[1].isRecompute && !run->calls[1].deviceNs);
        QVERIFY((*opened)->verify({}, {}));
    }

    /// What tests/data/capture/make_odd.py wrote: every dtype and layout, a method, a direct call and recomputation.
    void oddBundle_isReadForEver() {
        const auto found = capture::findBundles(base::realFileSystem(), test::dataPath("capture/v1-odd"));
        QVERIFY(found);
        auto opened = capture::Bundle::open(base::realFileSystem(), found->front());
        QVERIFY2(opened, opened ? "" : opened.error().text().c_str());
        const auto verified = (*opened)->verify({}, {});
        QVERIFY2(verified, verified ? "" : verified.error().text().c_str());
        const auto version = (*opened)->version((*opened)->index().versions[0]);
        QVERIFY(version);
        std::vector<std::string> methods;
        for (const capture::CallDocument& call : version->calls) {
            methods.push_back(call.method);
        }
        QCOMPARE(methods, (std::vector<std::string>{"forward", "encode", "forward", "encode"}));
        QVERIFY(version->calls[0].node.empty() && !version->calls[2].node.empty());
        std::set<std::string_view> dtypes;
        for (const capture::LocatedTensor& input : version->calls[0].inputs) {
            dtypes.insert(scalarTypeName(input.tensor.dtype));
        }
        for (const char* name : {"float4_e2m1fn_x2", "uint4", "int1", "bits2x4", "complex32", "float8_e8m0fnu", "uint64"}) {
            QVERIFY2(dtypes.contains(name), name);
        }
        const auto run = (*opened)->run((*opened)->index().runs[0]);
        QVERIFY(run);
        QVERIFY(run->calls[3].isDirect && run->calls[4].isRecompute);
    }

    void nodeOfACall_isRequiredAndRead() {
        test::MemoryFileSystem files(kFolder);
        test::TinyBundle tiny;
        for (const bool isThere : {true, false}) {
            tiny.editVersion = [&](nlohmann::json& version) {
                version["calls"][0]["direct"] = true;
                version["calls"][0]["node"] = isThere ? version["state"]["node"] : nlohmann::json(std::string(64, 'a'));
            };
            files.files = tiny.files();
            auto opened = capture::Bundle::open(files, kFolder);
            QVERIFY(opened);
            const auto version = (*opened)->version((*opened)->index().versions[0]);
            QVERIFY(version);
            QVERIFY(version->calls[0].isDirect);
            QCOMPARE(version->calls[0].node.size(), std::size_t{64});
            QCOMPARE(static_cast<bool>((*opened)->verify({}, {})), isThere);
        }
    }

    void goldenBundle_isReadForEver() {
        auto opened = capture::Bundle::open(base::realFileSystem(), goldenFolder());
        QVERIFY2(opened, opened ? "" : opened.error().text().c_str());
        capture::Bundle& bundle = **opened;
        QVERIFY(bundle.verify({}, {}));
        const capture::BundleIndex& index = bundle.index();
        QCOMPARE(index.model, std::string("golden"));
        QCOMPARE(index.tags, std::vector<std::string>{"golden"});
        QCOMPARE(index.runs.size(), std::size_t{2});
        const auto top = std::find_if(index.versions.begin(), index.versions.end(),
                                      [](const capture::BundleVersion& version) { return version.module.empty(); });
        QVERIFY(top != index.versions.end());
        const auto version = bundle.version(*top);
        QVERIFY2(version, version ? "" : version.error().text().c_str());
        QCOMPARE(version->calls.size(), std::size_t{2});
        const capture::CallDocument& call = version->calls[0];
        QVERIFY(call.training);
        QVERIFY(call.cpuGeneratorState.has_value());
        QVERIFY(call.stateAfter.contains("norm.running_mean"));
        // An input expanded from [1, 4] to [3, 4] is stored once.
        const auto bias = std::find_if(call.inputs.begin(), call.inputs.end(),
                                       [](const capture::LocatedTensor& tensor) { return tensor.pointer.ends_with("/bias"); });
        QVERIFY(bias != call.inputs.end());
        QCOMPARE(bias->tensor.shape, (std::vector<std::int64_t>{3, 4}));
        QCOMPARE(bias->tensor.storedShape, (std::vector<std::int64_t>{1, 4}));
        QCOMPARE(bias->tensor.viewBytes(), 16);
        // The module used under two names is one module with an alias.
        const auto linear = std::find_if(index.versions.begin(), index.versions.end(),
                                         [](const capture::BundleVersion& one) { return one.module == "linear"; });
        QVERIFY(linear != index.versions.end());
        const auto shared = bundle.version(*linear);
        QVERIFY(shared);
        QCOMPARE(shared->aliases, std::vector<std::string>{"again"});
        QCOMPARE(shared->parameterBytes, 4 * (16 + 4));
    }

    void archive_givesTheSameAsTheFolder() {
        const auto members = test::TinyBundle{}.files();
        std::vector<test::ZipEntry> entries;
        entries.reserve(members.size());
        for (const auto& [name, text] : members) {
            entries.push_back({name, text});
        }
        test::MemoryFileSystem files(kFolder);
        files.files[""] = test::makeZip(entries);
        auto bundle = capture::Bundle::open(files, kFolder);
        QVERIFY2(bundle, bundle ? "" : bundle.error().text().c_str());
        QVERIFY((*bundle)->verify({}, {}));
        const capture::BundleFile& node = (*bundle)->index().nodes[0];
        const capture::FileExtent extent = (*bundle)->extent(node);
        QCOMPARE(files.files[""].substr(extent.offset, extent.sizeBytes), members.at(node.name));
    }

    void cutTinyBundle_isCorruptAtEveryLength() { cutsEverywhere(test::TinyBundle{}.files(), 1); }

    void changedTinyBundle_isRefusedAtEveryByte() { flipsEverywhere(test::TinyBundle{}.files(), 1); }

    void cutGoldenBundle_isCorrupt() { cutsEverywhere(test::MemoryFileSystem::load(goldenFolder()), 997); }

    void changedGoldenBundle_isRefused() { flipsEverywhere(test::MemoryFileSystem::load(goldenFolder()), 997); }

    void cutArchive_isCorruptAtEveryLength() {
        std::vector<test::ZipEntry> entries;
        for (const auto& [name, text] : test::TinyBundle{}.files()) {
            entries.push_back({name, text});
        }
        const std::string whole = test::makeZip(entries);
        test::MemoryFileSystem files(kFolder);
        for (std::size_t size = 0; size < whole.size(); ++size) {
            files.files[""] = whole.substr(0, size);
            const auto result = check(files);
            QVERIFY(!result);
            QVERIFY2(result.error().code == ErrorCode::Corrupt, result.error().text().c_str());
        }
    }

    void changedArchive_isRefusedAtEveryByte() {
        std::vector<test::ZipEntry> entries;
        for (const auto& [name, text] : test::TinyBundle{}.files()) {
            entries.push_back({name, text});
        }
        const std::string whole = test::makeZip(entries);
        test::MemoryFileSystem files(kFolder);
        std::string& changed = files.files[""] = whole;
        for (std::size_t i = 0; i < whole.size(); ++i) {
            changed[i] = static_cast<char>(whole[i] ^ (1 << (i % 8)));
            QVERIFY2(!check(files), std::to_string(i).c_str());
            changed[i] = whole[i];
        }
    }

    /// The tracer's own packing, as it is and with 64-bit sizes, which it uses for large members.
    void packedBundleOfTheTracer_isReadAndRefusedWhenChanged() {
        const std::filesystem::path python = test::pythonPath();
        if (python.empty()) {
            QSKIP("no Python in this build, or not started by ctest");
        }
        const QTemporaryDir temporary;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("PYTHONPATH"),
                           QString::fromStdString((test::sourceFolder() / "backend/python").string()));
        QProcess process;
        process.setProcessEnvironment(environment);
        process.start(QString::fromStdString(python.string()),
                      {QStringLiteral("-c"),
                       QStringLiteral("import sys, zipfile\n"
                                      "from modulelens.bundle_archive import pack_bundle\n"
                                      "pack_bundle(sys.argv[1], sys.argv[2] + '/plain.mlens')\n"
                                      "zipfile.ZIP64_LIMIT = 2000\n"
                                      "pack_bundle(sys.argv[1], sys.argv[2] + '/wide.mlens')\n"),
                       QString::fromStdString(goldenFolder().string()), temporary.path()});
        QVERIFY(process.waitForFinished(100000));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
        constexpr std::size_t kStep = 487;
        for (const char* name : {"plain.mlens", "wide.mlens"}) {
            const std::filesystem::path path = temporary.path().toStdString();
            const std::string whole = *base::realFileSystem().read(path / name, 1 << 24);
            test::MemoryFileSystem files(kFolder);
            std::string& changed = files.files[""] = whole;
            const auto good = check(files);
            QVERIFY2(good, good ? "" : good.error().text().c_str());
            for (std::size_t i = 0; i < whole.size(); i += kStep) {
                changed[i] = static_cast<char>(whole[i] ^ (1 << (i % 8)));
                QVERIFY2(!check(files), std::to_string(i).c_str());
                changed[i] = whole[i];
            }
        }
    }

    void missingBundle_isNotFound() {
        test::MemoryFileSystem files(kFolder);
        files.files = {{"other.txt", "x"}};
        QVERIFY(check(files).error().code == ErrorCode::NotFound);
        QVERIFY(capture::Bundle::open(base::realFileSystem(), "/no/such/folder").error().code == ErrorCode::NotFound);
        QVERIFY(capture::findBundles(base::realFileSystem(), "/no/such/folder").error().code == ErrorCode::NotFound);
    }

    void fileThatTheIndexDoesNotName_isCorrupt() {
        test::MemoryFileSystem files(kFolder);
        files.files = test::TinyBundle{}.files();
        files.files["nodes/extra.json"] = "{}";
        QVERIFY(check(files).error().message.find("does not name") != std::string::npos);
        files.files.erase("nodes/extra.json");
        files.files.erase("runs/0.json");
        QVERIFY(check(files).error().message.find("lacks its file") != std::string::npos);
    }

    void newerVersions_areUnsupported() {
        const auto newer = [](json& document) { document["schema_version"] = 2; };
        refuses({.editIndex = newer}, ErrorCode::Unsupported, "schema version 2");
        refuses({.editVersion = newer}, ErrorCode::Unsupported, "schema version 2");
        refuses({.editNode = newer}, ErrorCode::Unsupported, "schema version 2");
        refuses({.editRun = newer}, ErrorCode::Unsupported, "schema version 2");
    }

    void unknownKeys_areIgnored() {
        const auto more = [](json& document) { document["later"] = {1, 2}; };
        QVERIFY(check({.editNode = more, .editVersion = more, .editRun = more, .editIndex = more}));
    }

    void nameThatLeavesTheFolder_isCorrupt() {
        for (const char* name :
             {"../0.json", "runs/../../x", "/etc/passwd", "runs//0.json", "", "runs\\0.json", "./0.json", "runs/"}) {
            refuses({.editIndex = [&](json& index) { index["runs"][0]["file"] = name; }}, ErrorCode::Corrupt, "names the file");
        }
        refuses({.editIndex = [&](json& index) { index["runs"][0]["file"] = std::string("a\0b", 3); }}, ErrorCode::Corrupt,
                "names the file");
    }

    void nameThatStandsTwice_isCorrupt() {
        refuses({.editIndex = [](json& index) { index["sources"].push_back(index["sources"][0]); }}, ErrorCode::Corrupt,
                "twice");
        refuses({.editIndex = [](json& index) { index["runs"][0]["file"] = "bundle.sha256"; }}, ErrorCode::Corrupt, "twice");
    }

    void wrongDigestOrSize_isCorrupt() {
        refuses({.editIndex = [](json& index) { index["runs"][0]["sha256"] = std::string(64, 'a'); }}, ErrorCode::Corrupt,
                "match its digest");
        refuses({.editIndex = [](json& index) { index["nodes"][0]["size"] = 3; }}, ErrorCode::Corrupt, "bytes instead of 3");
        refuses({.editIndex = [](json& index) { index["nodes"][0]["size"] = -3; }}, ErrorCode::Corrupt, "negative");
        refuses({.editIndex = [](json& index) { index["nodes"][0]["digest"] = "ABC"; }}, ErrorCode::Corrupt, "no sha256");
        refuses({.editIndex = [](json& index) { index["versions"][0]["collection"] = std::string(32, 'a'); }},
                ErrorCode::Corrupt, "collection");
        refuses({.editIndex = [](json& index) { index["versions"][0]["class"] = "pkg:Other"; }}, ErrorCode::Corrupt,
                "another module");
        refuses({.editIndex = [](json& index) { index["versions"][0]["run"] = 1; }}, ErrorCode::Corrupt, "no run");
    }

    void referencesThatLeadNowhere_areCorrupt() {
        const std::string nowhere(64, 'b');
        refuses({.editNode = [&](json& node) { node["children"]["x"] = nowhere; }}, ErrorCode::Corrupt, "node");
        refuses({.editNode = [&](json& node) { node["source"] = nowhere; }}, ErrorCode::Corrupt, "source");
        refuses(
            {.editNode = [&](json& node) { node["buffers"]["b"] = {{"dtype", "float32"}, {"shape", {1}}, {"ref", nowhere}}; }},
            ErrorCode::Corrupt, "tensor");
        refuses({.editVersion = [&](json& version) { version["state"]["node"] = nowhere; }}, ErrorCode::Corrupt, "node");
        refuses({.editVersion = [&](json& version) { version["calls"][0]["program"] = nowhere; }}, ErrorCode::Corrupt,
                "program");
        refuses({.editVersion = [&](json& version) { version["state"]["programs"][0]["call"] = 7; }}, ErrorCode::Corrupt,
                "call that is not there");
        refuses({.editVersion = [&](json& version) { version["calls"][0]["output"]["ref"] = nowhere; }}, ErrorCode::Corrupt,
                "tensor");
        refuses({.editVersion =
                     [&](json& version) {
                         version["calls"][0]["output"] = {{"$t", "numpy"},
                                                          {"v", {{"dtype", "float32"}, {"shape", {1}}, {"ref", nowhere}}}};
                     }},
                ErrorCode::Corrupt, "tensor");
        refuses({.editVersion =
                     [&](json& version) {
                         version["calls"][0]["output"] = {
                             {"$t", "sparse"},
                             {"parts", {{"indices", {{"dtype", "int64"}, {"shape", {1}}, {"ref", nowhere}}}}}};
                     }},
                ErrorCode::Corrupt, "tensor");
        refuses({.editRun = [&](json& run) { run["calls"][0]["version"] = nowhere; }}, ErrorCode::Corrupt, "version");
        refuses({.editRun = [&](json& run) { run["calls"][0]["version_call"] = 1; }}, ErrorCode::Corrupt, "call");
    }

    void tensorDescribedDifferently_isCorrupt() {
        refuses({.editVersion = [](json& version) { version["calls"][0]["output"]["dtype"] = "int32"; }}, ErrorCode::Corrupt,
                "another way");
        refuses({.editVersion = [](json& version) { version["calls"][0]["output"]["shape"] = {1, 2}; }}, ErrorCode::Corrupt,
                "another way");
    }

    void tensorWithAnotherContent_isCorrupt() {
        refuses({.editTensors = [](std::string& tensors) { tensors.back() = 'x'; }}, ErrorCode::Corrupt,
                "does not match its digest");
    }

    void tensorKeysOtherThanListed_areCorrupt() {
        refuses({.editIndex = [](json& index) { index["tensors"][0]["keys"].push_back(std::string(64, 'c')); }},
                ErrorCode::Corrupt, "lacks a tensor");
        refuses({.editIndex = [](json& index) { index["tensors"][0]["keys"] = json::array(); }}, ErrorCode::Corrupt,
                "does not list");
    }

    void pickledProgram_isUnsupported() {
        refuses({.editProgram =
                     [](std::string& program) { program = test::makeZip({{"p/data/sample_inputs/model.pt", "pickle"}}); }},
                ErrorCode::Unsupported, "pickle");
        refuses({.editProgram =
                     [](std::string& program) {
                         program = test::makeZip(
                             {{"p/data/weights/model_weights_config.json", R"({"config": {"w": {"use_pickle" : true}}})"}});
                     }},
                ErrorCode::Unsupported, "pickle");
        refuses({.editProgram = [](std::string& program) { program = "no zip"; }}, ErrorCode::Corrupt, "no zip");
    }

    void malformedDocuments_areCorruptAndName() {
        refuses({.editVersion = [](json& version) { version["calls"][0].erase("args"); }}, ErrorCode::Corrupt,
                "calls[0]' has no key 'args'");
        refuses({.editVersion = [](json& version) { version["module"] = 3; }}, ErrorCode::Corrupt, "module' is no text");
        refuses({.editVersion = [](json& version) { version["calls"][0]["args"] = json::object(); }}, ErrorCode::Corrupt,
                "args' is no list");
        refuses({.editVersion = [](json& version) { version["schema"] = "modulelens.node"; }}, ErrorCode::Corrupt, "schema");
        refuses({.editVersion = [](json& version) { version["collection"] = std::string(32, '0'); }}, ErrorCode::Corrupt,
                "collection");
        refuses({.editRun = [](json& run) { run["calls"][0]["parent"] = 0; }}, ErrorCode::Corrupt, "before its child");
        refuses({.editRun = [](json& run) { run["calls"][0]["id"] = 4; }}, ErrorCode::Corrupt, "place of the call");
        refuses({.editRun = [](json& run) { run["calls"][0]["inputs"][0]["dtype"] = "float31"; }}, ErrorCode::Corrupt,
                "element type");
    }

    void deepNesting_isCorrupt() {
        refuses({.editVersion =
                     [](json& version) {
                         json deep = json::array();
                         for (int i = 0; i < 300; ++i) {
                             deep = json::array({std::move(deep)});
                         }
                         version["calls"][0]["args"] = std::move(deep);
                     }},
                ErrorCode::Corrupt, "deeper");
    }

    void everyValueReplaced_neverCrashes() {
        const auto flatten = [](TinyBundleMember member) {
            json document;
            test::TinyBundle tiny;
            tiny.*member = [&](json& text) { document = text; };
            (void)tiny.files();
            return document.flatten();
        };
        for (const TinyBundleMember member : {&test::TinyBundle::editNode, &test::TinyBundle::editVersion,
                                              &test::TinyBundle::editRun, &test::TinyBundle::editIndex}) {
            const json flat = flatten(member);
            for (auto entry = flat.begin(); entry != flat.end(); ++entry) {
                for (const json& value : {json(nullptr), json(-1), json(std::int64_t{1} << 62), json(1e300), json("x"),
                                          json::array(), json::object(), json(true)}) {
                    test::TinyBundle tiny;
                    tiny.*member = [&](json& document) { document[json::json_pointer(entry.key())] = value; };
                    const auto result = check(tiny);
                    QVERIFY2(result || result.error().code != ErrorCode::Internal, entry.key().c_str());
                }
            }
        }
    }

    void verification_reportsProgressAndCanBeCancelled() {
        auto bundle = capture::Bundle::open(base::realFileSystem(), goldenFolder());
        QVERIFY(bundle);
        std::stop_source source;
        source.request_stop();
        const auto cancelled = (*bundle)->verify(source.get_token(), {});
        QVERIFY(!cancelled);
        QVERIFY2(cancelled.error().code == ErrorCode::Cancelled, cancelled.error().text().c_str());
    }

    void folderOfBundles_givesEachOne() {
        const QTemporaryDir temporary;
        const std::filesystem::path folder = temporary.path().toStdString();
        // One that a tracer has not finished is none.
        for (const char* name : {"b", "a", ".incoming-host-1-00"}) {
            std::filesystem::create_directory(folder / name);
            std::ofstream(folder / name / "bundle.json") << "{}";
        }
        std::ofstream(folder / "c.mlens") << "x";
        std::filesystem::create_directory(folder / "empty");
        const auto found = capture::findBundles(base::realFileSystem(), folder);
        QVERIFY(found);
        QCOMPARE(found->size(), std::size_t{3});
        QCOMPARE((*found)[0], folder / "a");
        QCOMPARE(capture::findBundles(base::realFileSystem(), folder / "b")->front(), folder / "b");
        QCOMPARE(capture::findBundles(base::realFileSystem(), folder / "c.mlens")->front(), folder / "c.mlens");
        QVERIFY(capture::findBundles(base::realFileSystem(), folder / "empty").error().code == ErrorCode::NotFound);
    }

    void tensorDigest_followsTheFormat() {
        const std::vector<std::int64_t> shape{2, 3};
        const std::string bytes(24, 'x');
        QCOMPARE(capture::tensorDigest(capture::ScalarType::Float32, shape, std::as_bytes(std::span(bytes))),
                 base::sha256Hex("float32:2,3:" + bytes));
        QCOMPARE(capture::tensorDigest(capture::ScalarType::Int64, {}, std::as_bytes(std::span(bytes).first(8))),
                 base::sha256Hex("int64::xxxxxxxx"));
    }
};

ML_TEST_MAIN(BundleTest)
#include "tst_Bundle.moc"
