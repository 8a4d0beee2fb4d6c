// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/BundleExport.h"
#include "backend/registry/NetworkFolder.h"
#include "backend/registry/Registry.h"
#include "tests/registry/RegistryFixture.h"
#include "tests/support/BundleBuilder.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

#include <QTest>

#include <fstream>
#include <map>
#include <set>

using namespace modulelens;
using namespace modulelens::registry;
using modulelens::test::BundleBuilder;
using modulelens::test::encoderBundle;
using modulelens::test::RegistryFixture;

namespace fs = std::filesystem;

namespace {

std::int64_t total(LocalRegistry& registry, const std::string& query) {
    const auto page = registry.search({query, 1, {}, SortKey::Newest});
    return page ? page->total : -1;
}

std::map<std::string, std::string> filesBelow(const fs::path& folder) {
    std::map<std::string, std::string> files;
    const std::vector<std::string> names = base::realFileSystem().listFiles(folder).value();
    for (const std::string& name : names) {
        files[name] = base::realFileSystem().read(folder / name, 1 << 30).value();
    }
    return files;
}

/// Tensors by digest as the registry hands them out.
std::map<std::string, std::string> tensorsOf(LocalRegistry& registry, const std::string& address) {
    std::map<std::string, std::string> contents;
    const auto document = registry.versionDocument(registry.resolve(address)->id).value();
    const auto extents = registry.tensors(document.tensorDigests()).value();
    for (const auto& [digest, extent] : extents) {
        const auto file = base::realFileSystem().map(extent.file).value();
        const auto bytes = file->bytes().subspan(extent.offset, extent.sizeBytes);
        contents[digest] = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return contents;
}

} // namespace

class MaintenanceTest : public QObject {
    Q_OBJECT

private slots:
    void schema2_isMigratedWithEverything();
    void schema2_readOnly_saysWhatToDo();
    void trash_listsAndRestores();
    void restored_isRefusedWhenImportedAgain();
    void notes_areKept();
    void links_haveTwoEndsAndNoCircle();
    void savedSearches_areKept();
    void garbage_ofOneVersionGoes();
    void garbage_dryRunChangesNothing();
    void garbage_youngTrashStays();
    void clockThatWasAhead_hidesNothing();
    void garbage_mostlyDeadPackIsRewritten();
    void garbage_unknownFilesGo();
    void statistics_countFilesAndTrash();
    void exported_isTheSameTwiceAndImportsAsKnown();
    void exported_ofSeveralCaptures_isABundleEach();
    void recovered_hasEveryWholeVersion();
    void recovered_soundDatabaseIsRefused();
    void networkDrives_areTold_data();
    void networkDrives_areTold();
    void moved_opensElsewhere();
    void moved_isRefusedWhereSomethingIs();
    void moved_isRefusedWhileOpenElsewhere();
};

void MaintenanceTest::schema2_isMigratedWithEverything() {
    RegistryFixture fixture;
    fixture.close();
    const fs::path folder = fixture.store() / "old";
    fs::copy(test::dataPath("registry/v2"), folder, fs::copy_options::recursive);
    const auto opened = LocalRegistry::open(base::realFileSystem(), folder, LocalRegistry::Mode::ReadWrite);
    QVERIFY2(opened, fixture.message(opened));
    LocalRegistry& registry = **opened;
    QCOMPARE(registry.search({})->total, 4);
    QCOMPARE(total(registry, "linear"), 2);
    QCOMPARE(total(registry, "is:exact is:profiled tag:baseline alias:production latency=1.5us"), 1);
    QCOMPARE(total(registry, "attr.team=ranking attr.score>2 attr.reviewed=true"), 1);
    const auto linear = registry.resolve("golden::linear");
    QVERIFY2(linear, fixture.message(linear));
    QCOMPARE(linear->flops, std::optional<std::int64_t>(2400));
    QCOMPARE(linear->bytesMoved, std::optional<std::int64_t>(640));
    QCOMPARE(linear->activationBytes, std::optional<std::int64_t>(96));
    QCOMPARE(linear->peakBytes, std::optional<std::int64_t>());
    const auto trash = registry.trash();
    QCOMPARE(trash->size(), std::size_t{1});
    QCOMPARE(trash->front().module, std::string("activation"));
    QVERIFY(registry.restore(trash->front().id));
    QCOMPARE(registry.search({})->total, 5);
    QVERIFY(registry.versionDocument(linear->id));
    QVERIFY(registry.check({}, {})->problems.empty());
    QCOMPARE(registry.statistics()->schemaVersion, 3);
}

void MaintenanceTest::schema2_readOnly_saysWhatToDo() {
    RegistryFixture fixture;
    const fs::path folder = fixture.store() / "old";
    fs::copy(test::dataPath("registry/v2"), folder, fs::copy_options::recursive);
    const auto opened = LocalRegistry::open(base::realFileSystem(), folder, LocalRegistry::Mode::ReadOnly);
    QVERIFY(!opened);
    QCOMPARE(opened.error().code, base::ErrorCode::Unsupported);
    QVERIFY2(opened.error().text().find("Open it once for writing") != std::string::npos, opened.error().text().c_str());
}

void MaintenanceTest::trash_listsAndRestores() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    fixture.importBundle(encoderBundle(2.0F));
    LocalRegistry& registry = fixture.registry();
    const std::string id = registry.resolve("mini lm::@v1")->id;
    QVERIFY(registry.addTag(id, "kept"));
    QVERIFY(registry.remove(id));
    QCOMPARE(registry.resolve("mini lm::")->number, 0);
    const auto trash = registry.trash();
    QCOMPARE(trash->size(), std::size_t{1});
    QCOMPARE(trash->front().id, id);
    QVERIFY(trash->front().deleted.starts_with("20"));
    QCOMPARE(total(registry, "tag:kept"), 0);
    QVERIFY(registry.restore(id));
    QCOMPARE(registry.resolve("mini lm::")->id, id);
    QCOMPARE(total(registry, "tag:kept"), 1);
    QVERIFY(registry.trash()->empty());
    QCOMPARE(registry.restore(id).error().code, base::ErrorCode::NotFound);
    QCOMPARE(registry.restore("mv0000000000000000").error().code, base::ErrorCode::NotFound);
}

void MaintenanceTest::restored_isRefusedWhenImportedAgain() {
    RegistryFixture fixture;
    const std::string id = fixture.importBundle(encoderBundle()).versions.front().id;
    QVERIFY(fixture.registry().remove(id));
    fixture.importBundle(encoderBundle());
    QCOMPARE(fixture.registry().restore(id).error().code, base::ErrorCode::AlreadyExists);
}

void MaintenanceTest::notes_areKept() {
    RegistryFixture fixture;
    const std::string id = fixture.importBundle(encoderBundle()).versions.front().id;
    LocalRegistry& registry = fixture.registry();
    QCOMPARE(*registry.note(id), std::string());
    QVERIFY(registry.setNote(id, "Slower since **v2**.\nAsk Ö. 🙂"));
    QCOMPARE(*registry.note(id), std::string("Slower since **v2**.\nAsk Ö. 🙂"));
    for (const std::string& bad : {std::string("\xFF"), std::string("a\0b", 3), std::string((64 << 10) + 1, 'x')}) {
        QCOMPARE(registry.setNote(id, bad).error().code, base::ErrorCode::InvalidArgument);
    }
    QVERIFY(registry.setNote(id, ""));
    QCOMPARE(*registry.note(id), std::string());
    QCOMPARE(registry.note("mv0000000000000000").error().code, base::ErrorCode::NotFound);
}

void MaintenanceTest::links_haveTwoEndsAndNoCircle() {
    RegistryFixture fixture;
    for (const float weight : {1.0F, 2.0F, 3.0F}) {
        fixture.importBundle(encoderBundle(weight));
    }
    LocalRegistry& registry = fixture.registry();
    std::vector<std::string> ids;
    for (const char* address : {"mini lm::@v0", "mini lm::@v1", "mini lm::@v2"}) {
        ids.push_back(registry.resolve(address)->id);
    }
    QVERIFY(registry.addLink(ids[1], LinkKind::CandidateOf, ids[0]));
    QVERIFY(registry.addLink(ids[1], LinkKind::CandidateOf, ids[0]));
    QVERIFY(registry.addLink(ids[2], LinkKind::DerivedFrom, ids[1]));
    const auto links = registry.links(ids[1]);
    QCOMPARE(links->size(), std::size_t{2});
    QCOMPARE(links->at(0).otherAddress, std::string("mini lm::@v0"));
    QVERIFY(links->at(0).kind == LinkKind::CandidateOf && !links->at(0).incoming);
    QCOMPARE(links->at(1).otherId, ids[2]);
    QVERIFY(links->at(1).kind == LinkKind::DerivedFrom && links->at(1).incoming);
    QCOMPARE(registry.addLink(ids[0], LinkKind::MergedFrom, ids[2]).error().code, base::ErrorCode::InvalidArgument);
    QCOMPARE(registry.addLink(ids[0], LinkKind::MergedFrom, ids[0]).error().code, base::ErrorCode::InvalidArgument);
    QCOMPARE(registry.addLink(ids[0], LinkKind::MergedFrom, "mv0000000000000000").error().code, base::ErrorCode::NotFound);
    QVERIFY(registry.removeLink(ids[1], LinkKind::CandidateOf, ids[0]));
    QCOMPARE(registry.links(ids[0])->size(), std::size_t{0});
    // What lies in the trash is no longer shown as the other end.
    QVERIFY(registry.remove(ids[2]));
    QVERIFY(registry.links(ids[1])->empty());
}

void MaintenanceTest::savedSearches_areKept() {
    RegistryFixture fixture;
    LocalRegistry& registry = fixture.registry();
    QVERIFY(registry.saveSearch({"slow ones", "latency>2ms"}));
    QVERIFY(registry.saveSearch({"mine", "attr.team=ranking"}));
    QVERIFY(registry.saveSearch({"slow ones", "latency>4ms"}));
    const auto searches = registry.savedSearches();
    QCOMPARE(searches->size(), std::size_t{2});
    QCOMPARE(searches->at(1).name, std::string("slow ones"));
    QCOMPARE(searches->at(1).query, std::string("latency>4ms"));
    QCOMPARE(registry.saveSearch({"bad", "modle:x"}).error().code, base::ErrorCode::InvalidArgument);
    QCOMPARE(registry.saveSearch({"", "x"}).error().code, base::ErrorCode::InvalidArgument);
    QVERIFY(registry.removeSavedSearch("mine"));
    QCOMPARE(registry.removeSavedSearch("mine").error().code, base::ErrorCode::NotFound);
}

void MaintenanceTest::garbage_ofOneVersionGoes() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    LocalRegistry& registry = fixture.registry();
    const auto kept = tensorsOf(registry, "mini lm::");
    const std::size_t filesBefore = filesBelow(fixture.folder()).size();
    for (const VersionSummary& version : fixture.importBundle(encoderBundle(2.0F, 5.0F)).versions) {
        QVERIFY(registry.storeResult(
            version.id, {"", "profile", "2026-12-01", "cpu", "program", "{}", test::dataPath("registry/README.md")}));
        QVERIFY(registry.setAlias(version.id, "production"));
        QVERIFY(registry.setAttribute(version.id, "team", std::string("ads")));
        QVERIFY(registry.addTag(version.id, "x"));
        QVERIFY(registry.addLink(version.id, LinkKind::DerivedFrom, registry.resolve("mini lm::@v0")->id));
        QVERIFY(registry.remove(version.id));
    }
    const auto dead = registry.statistics();
    QVERIFY(dead->deadBytes > 0);
    const auto report = registry.collectGarbage({}, {}, {});
    QVERIFY2(report, fixture.message(report));
    QCOMPARE(report->versions, 3);
    QCOMPARE(report->packs, 1);
    QVERIFY(report->objects >= 4);
    QVERIFY(report->bytesFreed >= dead->deadBytes);
    QCOMPARE(filesBelow(fixture.folder()).size(), filesBefore);
    QCOMPARE(registry.statistics()->deadBytes, std::uint64_t{0});
    QCOMPARE(fixture.problems(), QStringList());
    QVERIFY(tensorsOf(registry, "mini lm::") == kept);
    QVERIFY(registry.trash()->empty());
    // The numbers stay given away, and the same content can come back.
    QCOMPARE(fixture.importBundle(encoderBundle(2.0F, 5.0F)).versions.front().number, 2);
    QCOMPARE(fixture.problems(), QStringList());
}

void MaintenanceTest::garbage_dryRunChangesNothing() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    for (const VersionSummary& version : fixture.importBundle(encoderBundle(2.0F, 5.0F)).versions) {
        QVERIFY(fixture.registry().remove(version.id));
    }
    const QStringList before = fixture.dump();
    const auto would = fixture.registry().collectGarbage({true, {}}, {}, {});
    QVERIFY2(would, fixture.message(would));
    QCOMPARE(fixture.dump(), before);
    const auto done = fixture.registry().collectGarbage({}, {}, {});
    QCOMPARE(would->versions, done->versions);
    QCOMPARE(would->objects, done->objects);
    QCOMPARE(would->packs, done->packs);
    QCOMPARE(would->tensors, done->tensors);
    QCOMPARE(would->bytesFreed, done->bytesFreed);
}

void MaintenanceTest::garbage_youngTrashStays() {
    RegistryFixture fixture;
    const std::string id = fixture.importBundle(encoderBundle()).versions.front().id;
    QVERIFY(fixture.registry().remove(id));
    const auto report = fixture.registry().collectGarbage({false, std::chrono::hours(24)}, {}, {});
    QCOMPARE(report->versions, 0);
    QCOMPARE(report->bytesFreed, std::uint64_t{0});
    QVERIFY(fixture.registry().restore(id));
    QVERIFY(fixture.registry().versionDocument(id));
}

void MaintenanceTest::clockThatWasAhead_hidesNothing() {
    RegistryFixture fixture;
    LocalRegistry& registry = fixture.registry();
    const std::string id = fixture.importBundle(encoderBundle()).versions.front().id;
    QVERIFY(registry.storeResult(
        id, {"", "validation", "2099-01-01", "cpu", "program", R"({"verdict": "pass", "exact": true})", {}}));
    QVERIFY(registry.storeResult(id, {"", "validation", "", "cpu", "program", R"({"verdict": "fail"})", {}}));
    QCOMPARE(registry.resolve(id)->verdict, std::string("fail"));
    QCOMPARE(registry.results(id, "validation")->front().json, std::string(R"({"verdict": "fail"})"));
    QVERIFY(registry.remove(id));
    fixture.execute("UPDATE version SET deleted = 4102444800000000 WHERE deleted IS NOT NULL");
    QCOMPARE(registry.collectGarbage({}, {}, {})->versions, 1);
}

void MaintenanceTest::garbage_mostlyDeadPackIsRewritten() {
    RegistryFixture fixture;
    BundleBuilder builder("m");
    for (int i = 0; i < 4; ++i) {
        test::BuiltModule module = test::namedModule("part." + std::to_string(i));
        module.weight.assign(4096, static_cast<float>(i));
        builder.modules.push_back(module);
    }
    const ImportReport imported = fixture.importBundle(builder);
    LocalRegistry& registry = fixture.registry();
    const auto kept = tensorsOf(registry, "m::part.3");
    for (std::size_t i = 0; i < 3; ++i) {
        QVERIFY(registry.remove(imported.versions[i].id));
        const auto report = registry.collectGarbage({}, {}, {});
        QVERIFY2(report, fixture.message(report));
        // Of four parts, two are half; with one left, the pack is mostly dead.
        QCOMPARE(report->packsRewritten, i == 2 ? 1 : 0);
        QCOMPARE(fixture.problems(), QStringList());
        QVERIFY(tensorsOf(registry, "m::part.3") == kept);
    }
    const auto numbers = registry.statistics();
    QCOMPARE(numbers->packs, 1);
    QVERIFY(numbers->packBytes < std::uint64_t{2} * 4096 * 4);
}

void MaintenanceTest::garbage_unknownFilesGo() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    std::ofstream(fixture.folder() / "packs" / (std::string(64, 'a') + ".safetensors")) << "left over";
    std::ofstream(fixture.folder() / "objects" / "stray") << "x";
    QCOMPARE(fixture.problems().size(), 2);
    QVERIFY(fixture.registry().collectGarbage({}, {}, {}));
    QCOMPARE(fixture.problems(), QStringList());
}

void MaintenanceTest::statistics_countFilesAndTrash() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    QVERIFY(fixture.registry().remove(fixture.registry().resolve("mini lm::")->id));
    fs::create_directories(fixture.folder() / "inbox" / "waiting");
    fs::create_directories(fixture.folder() / "inbox" / ".half");
    const auto numbers = fixture.registry().statistics();
    QVERIFY2(numbers, fixture.message(numbers));
    QCOMPARE(numbers->models, 1);
    QCOMPARE(numbers->collections, 2);
    QCOMPARE(numbers->versions, 2);
    QCOMPARE(numbers->trashed, 1);
    QCOMPARE(numbers->runs, 1);
    QCOMPARE(numbers->waiting, 1);
    std::uint64_t packBytes = 0;
    std::uint64_t objectBytes = 0;
    for (const auto& [name, bytes] : filesBelow(fixture.folder())) {
        packBytes += name.starts_with("packs/") ? bytes.size() : 0;
        objectBytes += name.starts_with("objects/") ? bytes.size() : 0;
    }
    QCOMPARE(numbers->packBytes, packBytes);
    QCOMPARE(numbers->objectBytes, objectBytes);
}

void MaintenanceTest::exported_isTheSameTwiceAndImportsAsKnown() {
    RegistryFixture fixture;
    fs::copy(test::dataPath("registry/v2"), fixture.store() / "old", fs::copy_options::recursive);
    const auto opened = LocalRegistry::open(base::realFileSystem(), fixture.store() / "old", LocalRegistry::Mode::ReadWrite);
    LocalRegistry& registry = **opened;
    for (const char* address : {"golden::linear", "golden::", "odd::"}) {
        const fs::path once = fixture.store() / "once" / address;
        const fs::path twice = fixture.store() / "twice" / address;
        const auto report = exportBundles(registry, base::realFileSystem(), {address}, once, {}, {});
        QVERIFY2(report, fixture.message(report));
        QCOMPARE(report->bundles.size(), std::size_t{1});
        QVERIFY(exportBundles(registry, base::realFileSystem(), {address}, twice, {}, {}));
        QVERIFY(filesBelow(once) == filesBelow(twice));
        QCOMPARE(exportBundles(registry, base::realFileSystem(), {address}, once, {}, {}).error().code,
                 base::ErrorCode::AlreadyExists);
        const auto again = registry.import(once, {}, {});
        QVERIFY2(again, fixture.message(again));
        QCOMPARE(again->versionsNew, 0);
        QCOMPARE(again->versionsKnown, 1);
        QCOMPARE(again->bytesStored, std::uint64_t{0});
        // In a registry of its own it is the same version, with the same digests all over.
        const auto fresh = fixture.registry().import(once, {}, {});
        QVERIFY2(fresh, fixture.message(fresh));
        QCOMPARE(fresh->versionsNew, 1);
        const VersionSummary& there = fresh->versions.front();
        const VersionSummary here = *registry.resolve(address);
        QCOMPARE(there.versionDigest, here.versionDigest);
        QCOMPARE(there.stateDigest, here.stateDigest);
        QCOMPARE(there.program, here.program);
        QCOMPARE(there.created, here.created);
        QCOMPARE(there.tags, here.tags);
        QVERIFY(there.attributes == here.attributes);
        QVERIFY(tensorsOf(fixture.registry(), there.id) == tensorsOf(registry, here.id));
        QCOMPARE((*fixture.registry().runOf(there.id))->digest, (*registry.runOf(here.id))->digest);
    }
    QCOMPARE(fixture.problems(), QStringList());
}

void MaintenanceTest::exported_ofSeveralCaptures_isABundleEach() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    BundleBuilder later = encoderBundle(2.0F);
    later.created = "2026-12-01T00:00:00Z";
    fixture.importBundle(later);
    const auto report = exportBundles(fixture.registry(), base::realFileSystem(),
                                      {"mini lm::@v0", "mini lm::encoder.layer.2@v0", "mini lm::@v1", "mini lm::@v1"},
                                      fixture.store() / "out", {}, {});
    QVERIFY2(report, fixture.message(report));
    QCOMPARE(report->versions, 3);
    QCOMPARE(report->bundles.size(), std::size_t{2});
    QVERIFY(report->bundles[0].filename().string().starts_with("20261130T160145Z-"));
    QVERIFY(report->bundles[1].filename().string().starts_with("20261201T000000Z-"));
    QCOMPARE(exportBundles(fixture.registry(), base::realFileSystem(), {"mini lm::@v7"}, fixture.store() / "none", {}, {})
                 .error()
                 .code,
             base::ErrorCode::NotFound);
}

void MaintenanceTest::recovered_hasEveryWholeVersion() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    fixture.importBundle(encoderBundle(2.0F, 5.0F));
    const auto kept = tensorsOf(fixture.registry(), "mini lm::@v0");
    const std::string digest = fixture.registry().resolve("mini lm::@v0")->versionDigest;
    const std::string lost = fixture.registry().resolve("mini lm::encoder.layer.2@v1")->versionDigest;
    fixture.close();
    fs::remove(fixture.folder() / "objects" / lost.substr(0, 2) / lost);
    std::ofstream(fixture.folder() / "registry.sqlite", std::ios::binary | std::ios::trunc) << std::string(20'000, 'x');
    const auto damaged = LocalRegistry::open(base::realFileSystem(), fixture.folder(), LocalRegistry::Mode::ReadWrite);
    QCOMPARE(damaged.error().code, base::ErrorCode::Corrupt);
    QVERIFY2(damaged.error().text().find("registry recover") != std::string::npos, damaged.error().text().c_str());
    const auto report = LocalRegistry::recover(base::realFileSystem(), fixture.folder(), {}, {});
    QVERIFY2(report, fixture.message(report));
    QVERIFY2(report->problems.empty(), report->problems.empty() ? "" : report->problems.front().c_str());
    QCOMPARE(report->versions, 5);
    QVERIFY(fs::exists(report->damagedDatabase));
    fixture.reopen();
    QCOMPARE(fixture.registry().search({})->total, 5);
    std::set<std::string> digests;
    const auto page = fixture.registry().search({"model:mini", 50, {}, SortKey::Newest});
    for (const VersionSummary& version : page->versions) {
        digests.insert(version.versionDigest);
        if (version.versionDigest == digest) {
            QVERIFY(tensorsOf(fixture.registry(), version.id) == kept);
        }
    }
    QVERIFY(digests.contains(digest) && !digests.contains(lost));
    QVERIFY(fixture.registry().collectGarbage({}, {}, {}));
    QCOMPARE(fixture.problems(), QStringList());
}

void MaintenanceTest::recovered_soundDatabaseIsRefused() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    fixture.close();
    const auto report = LocalRegistry::recover(base::realFileSystem(), fixture.folder(), {}, {});
    QCOMPARE(report.error().code, base::ErrorCode::InvalidArgument);
    fixture.reopen();
    QCOMPARE(fixture.registry().search({})->total, 3);
}

void MaintenanceTest::networkDrives_areTold_data() {
    QTest::addColumn<quint64>("kind");
    QTest::addColumn<bool>("isNetwork");
    QTest::newRow("nfs") << quint64{0x6969} << true;
    QTest::newRow("cifs, as a signed number")
        << static_cast<quint64>(static_cast<qint64>(static_cast<qint32>(0xFF534D42))) << true;
    QTest::newRow("smb2") << quint64{0xFE534D42} << true;
    QTest::newRow("lustre") << quint64{0x0BD00BD0} << true;
    QTest::newRow("ext4") << quint64{0xEF53} << false;
    QTest::newRow("btrfs") << quint64{0x9123683E} << false;
    QTest::newRow("tmpfs") << quint64{0x01021994} << false;
    QTest::newRow("overlayfs") << quint64{0x794C7630} << false;
}

void MaintenanceTest::networkDrives_areTold() {
    QFETCH(quint64, kind);
    QTEST(isNetworkFileSystem(kind), "isNetwork");
}

void MaintenanceTest::moved_opensElsewhere() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    LocalRegistry& registry = fixture.registry();
    const auto kept = tensorsOf(registry, "mini lm::");
    const fs::path target = fixture.store() / "new" / "place";
    const auto moved = registry.moveTo(target, {}, {});
    QVERIFY2(moved, fixture.message(moved));
    QVERIFY(!fs::exists(fixture.folder()));
    QCOMPARE(registry.search({}).error().code, base::ErrorCode::Unavailable);
    const auto opened = LocalRegistry::open(base::realFileSystem(), target, LocalRegistry::Mode::ReadWrite);
    QVERIFY2(opened, fixture.message(opened));
    QCOMPARE((*opened)->search({})->total, 3);
    QVERIFY(tensorsOf(**opened, "mini lm::") == kept);
    QVERIFY((*opened)->check({}, {})->problems.empty());
}

void MaintenanceTest::moved_isRefusedWhereSomethingIs() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    std::ofstream(fixture.store() / "file") << "x";
    QCOMPARE(fixture.registry().moveTo(fixture.store(), {}, {}).error().code, base::ErrorCode::AlreadyExists);
    QCOMPARE(fixture.registry().moveTo(fixture.folder() / "inner", {}, {}).error().code, base::ErrorCode::InvalidArgument);
    QCOMPARE(fixture.registry().search({})->total, 3);
}

void MaintenanceTest::moved_isRefusedWhileOpenElsewhere() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    const auto other = LocalRegistry::open(base::realFileSystem(), fixture.folder(), LocalRegistry::Mode::ReadWrite);
    QCOMPARE((*other)->search({})->total, 3);
    const auto moved = fixture.registry().moveTo(fixture.store() / "place", {}, {});
    QVERIFY(!moved);
    QCOMPARE(moved.error().code, base::ErrorCode::Timeout);
    QCOMPARE(fixture.registry().search({})->total, 3);
    QVERIFY(fixture.registry().addTag(fixture.registry().resolve("mini lm::")->id, "still works"));
    QVERIFY(!fs::exists(fixture.store() / "place"));
}

ML_TEST_MAIN(MaintenanceTest)
#include "tst_Maintenance.moc"
