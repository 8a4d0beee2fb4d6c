// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Digest.h"
#include "backend/registry/Registry.h"
#include "tests/registry/RegistryFixture.h"
#include "tests/support/BundleBuilder.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"
#include "tests/support/ZipWriter.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <fstream>

using namespace modulelens;
using namespace modulelens::registry;
using modulelens::test::BundleBuilder;
using modulelens::test::encoderBundle;
using modulelens::test::namedModule;
using modulelens::test::RegistryFixture;

namespace {

QStringList modulesOf(const std::vector<VersionSummary>& versions) {
    QStringList names;
    for (const VersionSummary& version : versions) {
        names << QString::fromStdString(version.module + "@v" + std::to_string(version.number));
    }
    return names;
}

}  // namespace

class LocalRegistryTest : public QObject {
    Q_OBJECT

private slots:
    void emptyFolder_becomesRegistry();
    void import_storesEverything();
    void importTwice_knowsTheVersions();
    void bundlesOfOneSecond_comeInTheOrderOfTheirCapture();
    void newTrace_sharesState();
    void newWeights_areANewVersion();
    void documents_comeBack();
    void resolve_byAddressAndId();
    void resolve_suggestsNearest_data();
    void resolve_suggestsNearest();
    void namesWithSeparators_haveAddresses();
    void inbox_importsAndKeepsFailures();
    void readOnly_reads_andRefusesChanges();
    void missingRegistry_isNotFoundReadOnly();
    void newerSchema_isUnsupported();
    void firstSchema_keepsItsResultsAndTakesNewKinds();
    void garbageDatabase_isCorrupt();
    void foreignFolder_staysAsItWas_data();
    void foreignFolder_staysAsItWas();
    void foreignDatabase_isCorrupt();
    void damagedObject_isCorrupt();
    void check_findsDamage();
    void cancelledImport_leavesNothing();
    void damagedBundle_leavesNothing();
    void folderOfBundles_stopsAtTheBadOne();
    void goldenBundle_imports_data();
    void goldenBundle_imports();
    void oddBundle_keepsWhatItsCallsName();
    void defaultFolder_followsEnvironment();
};

void LocalRegistryTest::emptyFolder_becomesRegistry() {
    const RegistryFixture fixture("a registry: 100 % \"new\"?#");
    QVERIFY(fixture.registry().search({}).value().versions.empty());
    QCOMPARE(fixture.registry().search({}).value().total, 0);
    QVERIFY(std::filesystem::exists(fixture.folder() / "registry.sqlite"));
    QCOMPARE(fixture.problems(), QStringList());
}

void LocalRegistryTest::import_storesEverything() {
    RegistryFixture fixture;
    std::uint64_t last = 0;
    std::uint64_t total = 0;
    const auto report =
        fixture.registry().import(encoderBundle().write(fixture.store()), {}, [&](std::uint64_t done, std::uint64_t all) {
            QVERIFY(done >= last && done <= all);
            last = done;
            total = all;
        });
    QVERIFY2(report, fixture.message(report));
    QCOMPARE(report->versionsNew, 3);
    QCOMPARE(report->versionsKnown, 0);
    QCOMPARE(report->runsNew, 1);
    QCOMPARE(last, total);
    QVERIFY(total > 0);
    QCOMPARE(modulesOf(report->versions), QStringList({"encoder.layer.2@v0", "encoder.layer.10@v0", "@v0"}));
    const VersionSummary& layer = report->versions[1];
    QCOMPARE(layer.model, "mini lm");
    QCOMPARE(layer.className, "torch.nn.modules.normalization:LayerNorm");
    QCOMPARE(layer.device, "cuda:0");
    QCOMPARE(layer.torchVersion, "2.13.0");
    QCOMPARE(layer.parameterBytes, 12);
    QCOMPARE(layer.callCount, 1);
    QCOMPARE(layer.created, "2026-11-30T16:01:45.123456Z");
    QCOMPARE(layer.noProgramReason, "synthetic");
    QVERIFY(layer.program.empty());
    QCOMPARE(layer.aliases, std::vector<std::string>{"latest"});
    QVERIFY(!layer.latencyNs.has_value());
    QCOMPARE(fixture.problems(), QStringList());
    QCOMPARE(fixture.count("pack"), 1);
    QCOMPARE(fixture.count("version"), 3);
}

void LocalRegistryTest::importTwice_knowsTheVersions() {
    RegistryFixture fixture;
    const auto bundle = encoderBundle().write(fixture.store());
    QVERIFY(fixture.registry().import(bundle, {}, {}));
    const QStringList before = fixture.dump();
    const auto again = fixture.registry().import(bundle, {}, {});
    QVERIFY2(again, fixture.message(again));
    QCOMPARE(again->versionsNew, 0);
    QCOMPARE(again->versionsKnown, 3);
    QCOMPARE(again->runsNew, 0);
    QCOMPARE(again->bytesStored, std::uint64_t{0});
    QCOMPARE(fixture.dump(), before);
}

void LocalRegistryTest::bundlesOfOneSecond_comeInTheOrderOfTheirCapture() {
    RegistryFixture fixture;
    const auto inbox = fixture.folder() / "inbox";
    for (const std::filesystem::path& folder : {fixture.store(), inbox}) {
        BundleBuilder earlier = encoderBundle(1.0F, 3.0F);
        earlier.created = "2026-11-30T16:01:45.100000Z";
        const auto first = earlier.write(folder);
        BundleBuilder later = encoderBundle(1.0F, 4.0F);
        later.created = "2026-11-30T16:01:45.200000Z";
        auto second = later.write(folder);
        // The digest in the name follows from the content: one that puts the later bundle before the earlier one.
        while (second > first) {
            std::filesystem::remove_all(second);
            ++later.step;
            second = later.write(folder);
        }
        const auto report =
            folder == inbox ? fixture.registry().importInbox({}, {}) : fixture.registry().import(folder, {}, {});
        QVERIFY2(report, fixture.message(report));
        QCOMPARE(report->bundles, (std::vector<std::filesystem::path>{first, second}));
    }
}

void LocalRegistryTest::newTrace_sharesState() {
    RegistryFixture fixture;
    QVERIFY(fixture.registry().import(encoderBundle(1.0F, 3.0F).write(fixture.store()), {}, {}));
    const auto objects = fixture.count("object WHERE kind = 'node'");
    const auto report = fixture.registry().import(encoderBundle(1.0F, 4.0F).write(fixture.store()), {}, {});
    QVERIFY2(report, fixture.message(report));
    QCOMPARE(report->versionsNew, 3);
    QCOMPARE(report->versions[0].number, 1);
    QCOMPARE(fixture.count("object WHERE kind = 'node'"), objects);
    QCOMPARE(fixture.count("artifact WHERE kind = 'state'"), 3);
    QCOMPARE(fixture.count("artifact WHERE kind = 'trace'"), 6);
    // The second pack holds only what the first lacks: the new inputs and outputs.
    QCOMPARE(fixture.count("tensor WHERE pack = 2"), 5);
    QCOMPARE(fixture.problems(), QStringList());
}

void LocalRegistryTest::newWeights_areANewVersion() {
    RegistryFixture fixture;
    QVERIFY(fixture.registry().import(encoderBundle(1.0F).write(fixture.store()), {}, {}));
    const auto report = fixture.registry().import(encoderBundle(7.0F).write(fixture.store()), {}, {});
    QVERIFY2(report, fixture.message(report));
    QCOMPARE(modulesOf(report->versions), QStringList({"encoder.layer.2@v1", "@v1"}));
    QCOMPARE(report->versionsKnown, 1);
    QCOMPARE(fixture.registry().resolve("mini lm::encoder.layer.2")->number, 1);
    QVERIFY(fixture.registry().resolve("mini lm::encoder.layer.2@v0")->aliases.empty());
}

void LocalRegistryTest::documents_comeBack() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    LocalRegistry& registry = fixture.registry();
    const VersionSummary top = registry.resolve("mini lm::").value();
    const auto document = registry.versionDocument(top.id);
    QVERIFY2(document, fixture.message(document));
    QCOMPARE(document->className, "demo:Encoder");
    const auto node = registry.node(top.stateDigest);
    QVERIFY2(node, fixture.message(node));
    QCOMPARE(node->children.size(), std::size_t{2});
    QCOMPARE(registry.source(node->source).value(), "class Encoder: pass\n");
    const auto extents = registry.tensors(document->tensorDigests());
    QVERIFY2(extents, fixture.message(extents));
    const FileExtent weight = extents->at(document->stateTensors.at("weight").tensor.digest);
    QCOMPARE(weight.offset % 64, std::uint64_t{0});
    std::ifstream pack(weight.file, std::ios::binary);
    pack.seekg(static_cast<std::streamoff>(weight.offset));
    float values[2] = {};
    pack.read(reinterpret_cast<char*>(values), sizeof(values));
    QCOMPARE(values[0], 1.0F);
    QCOMPARE(values[1], 9.0F);
    const std::string absent(64, 'a');
    QCOMPARE(registry.tensors({absent}).error().code, base::ErrorCode::NotFound);
    QCOMPARE(registry.node(absent).error().code, base::ErrorCode::NotFound);
    QCOMPARE(registry.source(node->digest).error().code, base::ErrorCode::NotFound);
    QCOMPARE(registry.program("../../etc/passwd").error().code, base::ErrorCode::InvalidArgument);
}

void LocalRegistryTest::resolve_byAddressAndId() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    fixture.importBundle(encoderBundle(2.0F));
    LocalRegistry& registry = fixture.registry();
    const VersionSummary first = registry.resolve("mini lm::@v0").value();
    const VersionSummary second = registry.resolve("mini lm::").value();
    QCOMPARE(first.number, 0);
    QCOMPARE(second.number, 1);
    QVERIFY(first.id != second.id);
    QCOMPARE(registry.resolve("mini lm::@latest")->id, second.id);
    QCOMPARE(registry.resolve(first.id)->number, 0);
    QCOMPARE(registry.resolve("mini%20lm::@v1")->id, second.id);
    QCOMPARE(registry.resolve("mv0000000000000000").error().code, base::ErrorCode::NotFound);
    QCOMPARE(registry.resolve("mini lm").error().code, base::ErrorCode::InvalidArgument);
    QCOMPARE(registry.resolve("").error().code, base::ErrorCode::InvalidArgument);
    fixture.reopen();
    QCOMPARE(fixture.registry().resolve("mini lm::@v0")->id, first.id);
}

void LocalRegistryTest::resolve_suggestsNearest_data() {
    QTest::addColumn<QString>("address");
    QTest::addColumn<QString>("expected");
    QTest::newRow("model") << "mini lmm::encoder.layer.2" << "Did you mean 'mini lm'?";
    QTest::newRow("model, other case") << "MINI LM::encoder.layer.2" << "Did you mean 'mini lm'?";
    QTest::newRow("module") << "mini lm::encoder.layer.3" << "Did you mean 'encoder.layer.2'?";
    QTest::newRow("number") << "mini lm::encoder.layer.2@v4" << "It has v0.";
    QTest::newRow("alias") << "mini lm::encoder.layer.2@productoin" << "Did you mean 'production'?";
}

void LocalRegistryTest::resolve_suggestsNearest() {
    QFETCH(QString, address);
    QFETCH(QString, expected);
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    QVERIFY(fixture.registry().setAlias(fixture.registry().resolve("mini lm::encoder.layer.2")->id, "production"));
    const auto found = fixture.registry().resolve(address.toStdString());
    QVERIFY(!found);
    QCOMPARE(found.error().code, base::ErrorCode::NotFound);
    QCOMPARE(QString::fromStdString(found.error().fix), expected);
}

void LocalRegistryTest::namesWithSeparators_haveAddresses() {
    RegistryFixture fixture;
    BundleBuilder builder("we@ird:100%::näme");
    builder.modules = {namedModule("a::b@v1"), namedModule("a'; DROP TABLE version; --")};
    const ImportReport report = fixture.importBundle(builder);
    QCOMPARE(report.versions[0].module, "a::b@v1");
    const auto found = fixture.registry().resolve("we%40ird%3A100%25%3A%3Anäme::a%3A%3Ab%40v1@v0");
    QVERIFY2(found, fixture.message(found));
    QCOMPARE(found->id, report.versions[0].id);
    QCOMPARE(fixture.registry().resolve("we%40ird%3A100%25%3A%3Anäme::a'; DROP TABLE version; --")->id, report.versions[1].id);
    QCOMPARE(fixture.registry().search({}).value().total, 2);
}

void LocalRegistryTest::inbox_importsAndKeepsFailures() {
    RegistryFixture fixture;
    LocalRegistry& registry = fixture.registry();
    QVERIFY(registry.importInbox({}, {})->bundles.empty());
    const auto inbox = fixture.folder() / "inbox";
    const auto good = encoderBundle(1.0F).write(inbox);
    const auto bad = encoderBundle(2.0F).write(inbox);
    std::ofstream(bad / "bundle.json", std::ios::app) << " ";
    std::filesystem::create_directories(inbox / ".writing");
    const auto report = registry.importInbox({}, {});
    QVERIFY2(report, fixture.message(report));
    QCOMPARE(report->versionsNew, 3);
    QCOMPARE(report->warnings.size(), std::size_t{1});
    QVERIFY(report->warnings[0].find(bad.filename().string()) != std::string::npos);
    QVERIFY(!std::filesystem::exists(good));
    QVERIFY(std::filesystem::exists(bad));
    QVERIFY(std::filesystem::exists(inbox / ".writing"));
    QCOMPARE(registry.search({})->total, 3);
    QCOMPARE(fixture.problems(), QStringList());
}

void LocalRegistryTest::readOnly_reads_andRefusesChanges() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    const std::string id = fixture.registry().resolve("mini lm::")->id;
    fixture.close();
    auto opened = LocalRegistry::open(base::realFileSystem(), fixture.folder(), LocalRegistry::Mode::ReadOnly);
    QVERIFY2(opened, fixture.message(opened));
    LocalRegistry& registry = **opened;
    QCOMPARE(registry.search({})->total, 3);
    QCOMPARE(registry.addTag(id, "x").error().code, base::ErrorCode::PermissionDenied);
    QCOMPARE(registry.import(fixture.store(), {}, {}).error().code, base::ErrorCode::PermissionDenied);
    QCOMPARE(registry.storeResult(id, {}).error().code, base::ErrorCode::PermissionDenied);
    QVERIFY(registry.check({}, {})->problems.empty());
}

void LocalRegistryTest::missingRegistry_isNotFoundReadOnly() {
    const RegistryFixture fixture;
    const auto opened = LocalRegistry::open(base::realFileSystem(), fixture.store() / "nowhere", LocalRegistry::Mode::ReadOnly);
    QVERIFY(!opened);
    QCOMPARE(opened.error().code, base::ErrorCode::NotFound);
    QVERIFY(!std::filesystem::exists(fixture.store() / "nowhere"));
}

void LocalRegistryTest::newerSchema_isUnsupported() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    fixture.execute("PRAGMA user_version = 999");
    fixture.close();
    for (const auto mode : {LocalRegistry::Mode::ReadWrite, LocalRegistry::Mode::ReadOnly}) {
        const auto opened = LocalRegistry::open(base::realFileSystem(), fixture.folder(), mode);
        QVERIFY(!opened);
        QCOMPARE(opened.error().code, base::ErrorCode::Unsupported);
        QVERIFY(opened.error().message.find("999") != std::string::npos);
    }
}

void LocalRegistryTest::firstSchema_keepsItsResultsAndTakesNewKinds() {
    RegistryFixture fixture;
    fixture.close();
    std::filesystem::remove_all(fixture.folder());
    std::filesystem::copy(test::dataPath("registry/v2"), fixture.folder(), std::filesystem::copy_options::recursive);
    // As the first schema had it.
    fixture.execute("ALTER TABLE result RENAME TO newer_result");
    fixture.execute(
        "CREATE TABLE result (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, version INTEGER NOT NULL "
        "REFERENCES version, kind TEXT NOT NULL CHECK (kind IN ('profile', 'validation', 'benchmark')), created INTEGER NOT "
        "NULL, device TEXT NOT NULL, engine TEXT NOT NULL, json TEXT NOT NULL, object INTEGER REFERENCES object) STRICT");
    fixture.execute("INSERT INTO result SELECT * FROM newer_result");
    fixture.execute("DROP TABLE newer_result");
    fixture.execute("PRAGMA user_version = 1");
    fixture.close();
    const auto opened = LocalRegistry::open(base::realFileSystem(), fixture.folder(), LocalRegistry::Mode::ReadWrite);
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    const std::string id = (*opened)->resolve("golden::linear")->id;
    QVERIFY((*opened)->storeResult(id, {{}, "memory", {}, "cpu", "program", "{}", {}}));
    const auto profiles = (*opened)->results(id, "profile");
    QVERIFY(profiles && profiles->size() == 1 && profiles->front().id == "0011223344556677");
    QCOMPARE((*opened)->results(id, "memory")->size(), 1U);
}

void LocalRegistryTest::garbageDatabase_isCorrupt() {
    RegistryFixture fixture;
    fixture.close();
    const std::string garbage(10000, 'x');
    std::ofstream(fixture.folder() / "registry.sqlite", std::ios::binary | std::ios::trunc) << garbage;
    for (const auto mode : {LocalRegistry::Mode::ReadWrite, LocalRegistry::Mode::ReadOnly}) {
        const auto opened = LocalRegistry::open(base::realFileSystem(), fixture.folder(), mode);
        QVERIFY(!opened);
        QCOMPARE(opened.error().code, base::ErrorCode::Corrupt);
        QVERIFY(opened.error().message.find("registry.sqlite") != std::string::npos);
    }
    QCOMPARE(std::filesystem::file_size(fixture.folder() / "registry.sqlite"), garbage.size());
}

void LocalRegistryTest::foreignFolder_staysAsItWas_data() {
    QTest::addColumn<bool>("isFolder");
    QTest::newRow("text file of that name") << false;
    QTest::newRow("folder of that name") << true;
}

void LocalRegistryTest::foreignFolder_staysAsItWas() {
    QFETCH(const bool, isFolder);
    const RegistryFixture fixture;
    const std::filesystem::path folder = fixture.store() / "foreign";
    std::filesystem::create_directories(folder);
    if (isFolder) {
        std::filesystem::create_directory(folder / "registry.sqlite");
    } else {
        std::ofstream(folder / "registry.sqlite") << "notes of somebody else";
    }
    for (const auto mode : {LocalRegistry::Mode::ReadWrite, LocalRegistry::Mode::ReadOnly}) {
        const auto opened = LocalRegistry::open(base::realFileSystem(), folder, mode);
        QVERIFY(!opened);
        QCOMPARE(opened.error().code, base::ErrorCode::Corrupt);
    }
    const auto entries = std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
    QCOMPARE(entries, 1);
}

void LocalRegistryTest::foreignDatabase_isCorrupt() {
    RegistryFixture fixture;
    fixture.execute("PRAGMA application_id = 7");
    fixture.close();
    const auto opened = LocalRegistry::open(base::realFileSystem(), fixture.folder(), LocalRegistry::Mode::ReadWrite);
    QVERIFY(!opened);
    QCOMPARE(opened.error().code, base::ErrorCode::Corrupt);
}

void LocalRegistryTest::damagedObject_isCorrupt() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    const VersionSummary top = fixture.registry().resolve("mini lm::").value();
    const auto file = fixture.folder() / "objects" / top.versionDigest.substr(0, 2) / top.versionDigest;
    std::ofstream(file, std::ios::app) << " ";
    const auto document = fixture.registry().versionDocument(top.id);
    QVERIFY(!document);
    QCOMPARE(document.error().code, base::ErrorCode::Corrupt);
    std::filesystem::remove(file);
    QCOMPARE(fixture.registry().versionDocument(top.id).error().code, base::ErrorCode::Corrupt);
}

void LocalRegistryTest::check_findsDamage() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    const auto good = fixture.registry().check({}, {});
    QVERIFY2(good, fixture.message(good));
    QVERIFY(good->problems.empty());
    QCOMPARE(good->packs, 1);
    QVERIFY(good->objects > 6 && good->tensors > 4);
    const VersionSummary top = fixture.registry().resolve("mini lm::").value();
    std::filesystem::remove(fixture.folder() / "objects" / top.versionDigest.substr(0, 2) / top.versionDigest);
    for (const auto& entry : std::filesystem::directory_iterator(fixture.folder() / "packs")) {
        std::fstream pack(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
        pack.seekp(-1, std::ios::end);
        pack.put('\x55');
    }
    std::ofstream(fixture.folder() / "packs" / "stray") << "x";
    fixture.execute("UPDATE tensor SET offset = offset + 64 WHERE id = 1");
    QCOMPARE(fixture.problems().size(), 3);
    std::stop_source stop;
    stop.request_stop();
    QCOMPARE(fixture.registry().check(stop.get_token(), {}).error().code, base::ErrorCode::Cancelled);
}

void LocalRegistryTest::cancelledImport_leavesNothing() {
    RegistryFixture fixture;
    const auto bundle = encoderBundle().write(fixture.store());
    const QStringList before = fixture.dump();
    for (int after = 0;; ++after) {
        std::stop_source stop;
        int calls = 0;
        if (after == 0) {
            stop.request_stop();
        }
        const auto report = fixture.registry().import(bundle, stop.get_token(), [&](std::uint64_t, std::uint64_t) {
            if (++calls == after) {
                stop.request_stop();
            }
        });
        if (report) {
            QVERIFY(after > 3);
            break;
        }
        QCOMPARE(report.error().code, base::ErrorCode::Cancelled);
        QCOMPARE(fixture.dump(), before);
    }
    QCOMPARE(fixture.problems(), QStringList());
}

void LocalRegistryTest::damagedBundle_leavesNothing() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    const QStringList before = fixture.dump();
    const auto bundle = encoderBundle(2.0F).write(fixture.store());
    const auto files = base::realFileSystem().listFiles(bundle).value();
    for (const std::string& name : files) {
        const auto path = bundle / name;
        std::string content = base::realFileSystem().read(path, 1 << 20).value();
        std::string changed = content;
        changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
        std::ofstream(path, std::ios::binary | std::ios::trunc) << changed;
        const auto report = fixture.registry().import(bundle, {}, {});
        QVERIFY2(!report, name.c_str());
        QCOMPARE(report.error().code, base::ErrorCode::Corrupt);
        QCOMPARE(fixture.dump(), before);
        std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    }
    QVERIFY(fixture.registry().import(bundle, {}, {}));
}

void LocalRegistryTest::folderOfBundles_stopsAtTheBadOne() {
    RegistryFixture fixture;
    const auto store = fixture.store() / "several";
    std::filesystem::create_directories(store);
    encoderBundle(1.0F).write(store);
    encoderBundle(2.0F).write(store);
    const auto report = fixture.registry().import(store, {}, {});
    QVERIFY2(report, fixture.message(report));
    QCOMPARE(report->bundles.size(), std::size_t{2});
    QCOMPARE(report->versionsNew, 5);
    QCOMPARE(fixture.registry().import(fixture.store() / "absent", {}, {}).error().code, base::ErrorCode::NotFound);
}

void LocalRegistryTest::goldenBundle_imports_data() {
    QTest::addColumn<bool>("archived");
    QTest::newRow("folder") << false;
    QTest::newRow("archive") << true;
}

/// The released bundle format, as the tracer wrote it: programs, several dtypes, shared tensors.
void LocalRegistryTest::goldenBundle_imports() {
    QFETCH(bool, archived);
    RegistryFixture fixture;
    LocalRegistry& registry = fixture.registry();
    const auto golden = capture::findBundles(base::realFileSystem(), modulelens::test::dataPath("capture/v1"));
    QVERIFY2(golden, fixture.message(golden));
    std::filesystem::path bundle = golden->front();
    if (archived) {
        std::vector<modulelens::test::ZipEntry> entries;
        const auto files = base::realFileSystem().listFiles(bundle);
        for (const std::string& name : *files) {
            modulelens::test::ZipEntry entry;
            entry.name = name;
            entry.data = base::realFileSystem().read(bundle / name, 1 << 24).value();
            entries.push_back(std::move(entry));
        }
        bundle = fixture.store() / "golden.mlens";
        std::ofstream(bundle, std::ios::binary) << modulelens::test::makeZip(entries);
    }
    const auto report = registry.import(bundle, {}, {});
    QVERIFY2(report, fixture.message(report));
    QCOMPARE(report->versionsNew, 3);
    QCOMPARE(report->runsNew, 2);
    QCOMPARE(fixture.problems(), QStringList());
    QCOMPARE(registry.search({"tag:golden attr.purpose=golden attr.version=1 is:program", 50, {}, SortKey::Name})->total, 3);
    const VersionSummary top = registry.resolve("golden::").value();
    QVERIFY(top.noProgramReason.empty());
    const auto program = registry.program(top.program);
    QVERIFY2(program, fixture.message(program));
    QCOMPARE(base::sha256Hex(base::realFileSystem().map(program->file).value()->bytes()), top.program);
    const auto document = registry.versionDocument(top.id);
    QVERIFY2(document, fixture.message(document));
    const auto tensors = registry.tensors(document->tensorDigests());
    QVERIFY2(tensors, fixture.message(tensors));
    // Every tensor's bytes give its digest, by the rule of the bundle format.
    for (const auto& [name, tensor] : document->stateTensors) {
        if (tensor.tensor.digest.empty()) {
            continue;
        }
        const FileExtent& extent = tensors->at(tensor.tensor.digest);
        const auto pack = base::realFileSystem().map(extent.file).value();
        QCOMPARE(capture::tensorDigest(tensor.tensor.dtype, tensor.tensor.storedShape,
                                       pack->bytes().subspan(extent.offset, extent.sizeBytes)),
                 tensor.tensor.digest);
    }
    QVERIFY(registry.runOf(top.id)->has_value());
}

/// Nodes that only calls name, and tensors inside values of every kind.
void LocalRegistryTest::oddBundle_keepsWhatItsCallsName() {
    RegistryFixture fixture;
    LocalRegistry& registry = fixture.registry();
    const auto report = registry.import(modulelens::test::dataPath("capture/v1-odd"), {}, {});
    QVERIFY2(report, fixture.message(report));
    QCOMPARE(fixture.problems(), QStringList());
    const VersionSummary top = registry.resolve("odd::").value();
    const auto document = registry.versionDocument(top.id);
    QVERIFY2(document, fixture.message(document));
    int nodes = 0;
    for (const capture::CallDocument& call : document->calls) {
        if (!call.node.empty()) {
            const auto node = registry.node(call.node);
            QVERIFY2(node, fixture.message(node));
            ++nodes;
        }
    }
    QCOMPARE(nodes, 3);
    const auto tensors = registry.tensors(document->tensorDigests());
    QVERIFY2(tensors, fixture.message(tensors));
}

void LocalRegistryTest::defaultFolder_followsEnvironment() {
    qputenv("MODULELENS_REGISTRY", "/some where");
    QCOMPARE(defaultRegistryFolder().string(), "/some where");
    qunsetenv("MODULELENS_REGISTRY");
    qputenv("XDG_DATA_HOME", "/data");
    QCOMPARE(defaultRegistryFolder().string(), "/data/modulelens/registry");
    qunsetenv("XDG_DATA_HOME");
    qputenv("HOME", "/home/someone");
    QCOMPARE(defaultRegistryFolder().string(), "/home/someone/.local/share/modulelens/registry");
    // Never a folder relative to wherever the program was started.
    for (const char* home : {"", "somewhere"}) {
        qputenv("HOME", home);
        QVERIFY(defaultRegistryFolder().empty());
    }
    qunsetenv("HOME");
    QVERIFY(defaultRegistryFolder().empty());
    QCOMPARE(LocalRegistry::open(base::realFileSystem(), {}, LocalRegistry::Mode::ReadWrite).error().code,
             base::ErrorCode::InvalidArgument);
}

ML_TEST_MAIN(LocalRegistryTest)
#include "tst_LocalRegistry.moc"
