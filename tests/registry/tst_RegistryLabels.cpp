// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Registry.h"
#include "tests/registry/RegistryFixture.h"
#include "tests/support/BundleBuilder.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <fstream>
#include <limits>

using namespace modulelens;
using namespace modulelens::registry;
using modulelens::test::BundleBuilder;
using modulelens::test::encoderBundle;
using modulelens::test::namedModule;
using modulelens::test::RegistryFixture;

class RegistryLabelsTest : public QObject {
    Q_OBJECT

private slots:
    void tags_addRemoveAndRefuse();
    void aliases_moveAndRefuse();
    void attributes_areTyped();
    void remove_leavesNumberUnused();
    void removedThenImported_isANewVersion();
    void groupsAndFacets_count();
    void results_areKeptWithTheirFile();
    void bundleLabels_areApplied();
    void runs_areListed();
};

void RegistryLabelsTest::tags_addRemoveAndRefuse() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    LocalRegistry& registry = fixture.registry();
    const std::string id = registry.resolve("mini lm::")->id;
    QVERIFY(registry.addTag(id, "zeta"));
    QVERIFY(registry.addTag(id, "gut getestet ü"));
    QVERIFY(registry.addTag(id, "zeta"));
    QCOMPARE(registry.resolve(id)->tags, (std::vector<std::string>{"gut getestet ü", "zeta"}));
    QVERIFY(registry.removeTag(id, "zeta"));
    QVERIFY(registry.removeTag(id, "zeta"));
    QCOMPARE(registry.resolve(id)->tags, std::vector<std::string>{"gut getestet ü"});
    for (const std::string& bad : {std::string(), std::string("a\nb"), std::string("a\0b", 3), std::string(129, 'x'),
                                   std::string("\xFF"), std::string(" "), std::string(" x"), std::string("x ")}) {
        QCOMPARE(registry.addTag(id, bad).error().code, base::ErrorCode::InvalidArgument);
    }
    QVERIFY(registry.addTag(id, std::string(128, 'x')));
    QCOMPARE(registry.addTag("mv0000000000000000", "x").error().code, base::ErrorCode::NotFound);
}

void RegistryLabelsTest::aliases_moveAndRefuse() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    fixture.importBundle(encoderBundle(2.0F));
    LocalRegistry& registry = fixture.registry();
    const std::string first = registry.resolve("mini lm::@v0")->id;
    const std::string second = registry.resolve("mini lm::@v1")->id;
    QVERIFY(registry.setAlias(first, "production"));
    QCOMPARE(registry.resolve("mini lm::@production")->id, first);
    QVERIFY(registry.setAlias(second, "production"));
    QCOMPARE(registry.resolve("mini lm::@production")->id, second);
    QCOMPARE(registry.resolve(second)->aliases, (std::vector<std::string>{"latest", "production"}));
    QVERIFY(registry.resolve(first)->aliases.empty());
    // Each collection has aliases of its own.
    QVERIFY(registry.setAlias(registry.resolve("mini lm::encoder.layer.2")->id, "production"));
    QCOMPARE(registry.resolve("mini lm::@production")->id, second);
    QVERIFY(registry.removeAlias(first, "production"));
    QCOMPARE(registry.resolve("mini lm::@production")->id, second);
    QVERIFY(registry.removeAlias(second, "production"));
    QCOMPARE(registry.resolve("mini lm::@production").error().code, base::ErrorCode::NotFound);
    for (const char* bad : {"latest", "v1", "v0", "v12345678901234567890", ""}) {
        QCOMPARE(registry.setAlias(first, bad).error().code, base::ErrorCode::InvalidArgument);
    }
    QVERIFY(registry.setAlias(first, "v1.0"));
    QVERIFY(registry.setAlias(first, "version"));
}

void RegistryLabelsTest::attributes_areTyped() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    LocalRegistry& registry = fixture.registry();
    const std::string id = registry.resolve("mini lm::")->id;
    QVERIFY(registry.setAttribute(id, "team", std::string("Ranking")));
    QVERIFY(registry.setAttribute(id, "loss", 0.25));
    QVERIFY(registry.setAttribute(id, "reviewed", true));
    QVERIFY(registry.setAttribute(id, "team", std::string("Search")));
    const auto attributes = registry.resolve(id)->attributes;
    QCOMPARE(attributes.size(), std::size_t{3});
    QCOMPARE(std::get<std::string>(attributes.at("team")), "Search");
    QCOMPARE(std::get<double>(attributes.at("loss")), 0.25);
    QCOMPARE(std::get<bool>(attributes.at("reviewed")), true);
    QVERIFY(registry.removeAttribute(id, "team"));
    QVERIFY(!registry.resolve(id)->attributes.contains("team"));
    QCOMPARE(registry.setAttribute(id, "loss", std::numeric_limits<double>::infinity()).error().code,
             base::ErrorCode::InvalidArgument);
    QCOMPARE(registry.setAttribute(id, "", 1.0).error().code, base::ErrorCode::InvalidArgument);
}

void RegistryLabelsTest::remove_leavesNumberUnused() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    fixture.importBundle(encoderBundle(2.0F));
    LocalRegistry& registry = fixture.registry();
    const std::string second = registry.resolve("mini lm::@v1")->id;
    QVERIFY(registry.setAlias(second, "best"));
    QVERIFY(registry.addTag(second, "gone"));
    QVERIFY(registry.remove(second));
    QCOMPARE(registry.resolve("mini lm::")->number, 0);
    QCOMPARE(registry.resolve("mini lm::@v1").error().code, base::ErrorCode::NotFound);
    QCOMPARE(registry.resolve("mini lm::@best").error().code, base::ErrorCode::NotFound);
    QVERIFY(registry.resolve(second).error().message.find("deleted") != std::string::npos);
    QCOMPARE(registry.addTag(second, "x").error().code, base::ErrorCode::NotFound);
    QCOMPARE(registry.search({"tag:gone", 50, {}, SortKey::Newest})->total, 0);
    QVERIFY(registry.facet("tag", "")->empty());
    const ImportReport third = fixture.importBundle(encoderBundle(3.0F));
    QCOMPARE(third.versions.back().number, 2);
    QVERIFY(registry.remove(registry.resolve("mini lm::@v0")->id));
    QVERIFY(registry.remove(registry.resolve("mini lm::@v2")->id));
    QCOMPARE(registry.resolve("mini lm::").error().code, base::ErrorCode::NotFound);
    QCOMPARE(fixture.problems(), QStringList());
}

void RegistryLabelsTest::removedThenImported_isANewVersion() {
    RegistryFixture fixture;
    const auto bundle = encoderBundle().write(fixture.store());
    QVERIFY(fixture.registry().import(bundle, {}, {}));
    const std::string id = fixture.registry().resolve("mini lm::")->id;
    QVERIFY(fixture.registry().remove(id));
    const auto again = fixture.registry().import(bundle, {}, {});
    QVERIFY2(again, fixture.message(again));
    QCOMPARE(again->versions.size(), std::size_t{1});
    QCOMPARE(again->versions[0].number, 1);
    QVERIFY(again->versions[0].id != id);
    QCOMPARE(again->bytesStored, std::uint64_t{0});
}

void RegistryLabelsTest::groupsAndFacets_count() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    fixture.importBundle(encoderBundle(2.0F));
    BundleBuilder other("Another");
    other.modules = {namedModule("x")};
    other.tags = {"one"};
    fixture.importBundle(other);
    LocalRegistry& registry = fixture.registry();
    const auto models = registry.models("").value();
    QCOMPARE(models.size(), std::size_t{2});
    QCOMPARE(models[0].name, "Another");
    QCOMPARE(models[1].name, "mini lm");
    QCOMPARE(models[1].moduleCount, 3);
    QCOMPARE(models[1].versionCount, 5);
    const auto modules = registry.modules("mini lm", "").value();
    QCOMPARE(modules.size(), std::size_t{3});
    QCOMPARE(modules[0].name, "encoder.layer.2");
    QCOMPARE(modules[0].versionCount, 2);
    QCOMPARE(modules[2].className, "demo:Encoder");
    QCOMPARE(registry.modules("mini lm", "class:layernorm")->size(), std::size_t{1});
    QVERIFY(registry.modules("no such", "")->empty());
    QCOMPARE(registry.models("class:layernorm")->size(), std::size_t{1});
    const auto classes = registry.facet("class", "").value();
    QCOMPARE(classes[0].value, "torch.nn.modules.linear:Linear");
    QCOMPARE(classes[0].count, 3);
    QCOMPARE(registry.facet("tag", "")->at(0).value, "one");
    QCOMPARE(registry.facet("device", "model:mini")->at(1).value, "cuda:0");
    QCOMPARE(registry.facet("dtype", "")->at(0).value, "float32");
    QCOMPARE(registry.facet("model", "")->at(0).value, "mini lm");
    QCOMPARE(registry.facet("colour", "").error().code, base::ErrorCode::InvalidArgument);
    QCOMPARE(registry.models("(\"").error().code, base::ErrorCode::InvalidArgument);
}

void RegistryLabelsTest::results_areKeptWithTheirFile() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle());
    LocalRegistry& registry = fixture.registry();
    const std::string id = registry.resolve("mini lm::")->id;
    const auto file = fixture.store() / "profile.bin";
    std::ofstream(file) << "profile bytes";
    const auto stored =
        registry.storeResult(id, {"", "profile", "", "cpu", "program", R"({"totals": {"latency_ns": 1500000}})", file});
    QVERIFY2(stored, fixture.message(stored));
    QVERIFY(stored->file != file && std::filesystem::exists(stored->file));
    QVERIFY(stored->file.string().starts_with(fixture.folder().string()));
    std::filesystem::remove(file);
    QCOMPARE(registry.resolve(id)->latencyNs.value(), 1500000);
    QVERIFY(registry.storeResult(id, {"", "validation", "", "cpu", "program", R"({"verdict": "pass", "exact": true})", {}}));
    QCOMPARE(registry.resolve(id)->verdict, "pass");
    QVERIFY(registry.resolve(id)->exact);
    QVERIFY(registry.storeResult(id, {"", "validation", "", "cpu", "program", R"({"verdict": "fail", "exact": false})", {}}));
    QCOMPARE(registry.resolve(id)->verdict, "fail");
    QVERIFY(registry.storeResult(
        id, {"", "profile", "2020-01-01T00:00:00Z", "cpu", "program", R"({"totals": {"latency_ns": null}})", stored->file}));
    const auto all = registry.results(id, "").value();
    QCOMPARE(all.size(), std::size_t{4});
    QCOMPARE(all[0].json, R"({"verdict": "fail", "exact": false})");
    QCOMPARE(all[3].created, "2020-01-01T00:00:00.000000Z");
    QCOMPARE(all[3].file, stored->file);
    QCOMPARE(registry.results(id, "profile")->size(), std::size_t{2});
    QCOMPARE(registry.search({"latency<2ms", 50, {}, SortKey::Latency})->total, 1);
    QCOMPARE(registry.search({"is:profiled", 50, {}, SortKey::Latency})->total, 1);
    QCOMPARE(registry.storeResult(id, {"", "opinion", "", "", "", "{}", {}}).error().code, base::ErrorCode::InvalidArgument);
    QCOMPARE(registry.storeResult(id, {"", "profile", "", "", "", "nonsense", {}}).error().code,
             base::ErrorCode::InvalidArgument);
    QCOMPARE(registry.storeResult(id, {"", "profile", "", "", "", "{}", "/no/such/file"}).error().code,
             base::ErrorCode::NotFound);
    QCOMPARE(registry.storeResult("mv0000000000000000", {"", "profile", "", "", "", "{}", {}}).error().code,
             base::ErrorCode::NotFound);
    QCOMPARE(fixture.problems(), QStringList());
}

void RegistryLabelsTest::bundleLabels_areApplied() {
    RegistryFixture fixture;
    BundleBuilder builder = encoderBundle();
    builder.tags = {"baseline", "nightly", "bad\ttag"};
    builder.attributes = {{"team", std::string("ranking")}, {"lr", 0.5}, {"ok", true}};
    const ImportReport report = fixture.importBundle(builder);
    QCOMPARE(report.warnings.size(), std::size_t{1});
    QCOMPARE(report.versions[2].tags, (std::vector<std::string>{"baseline", "nightly"}));
    QCOMPARE(std::get<double>(report.versions[0].attributes.at("lr")), 0.5);
    QCOMPARE(fixture.registry().search({"tag:nightly attr.ok=true", 50, {}, SortKey::Newest})->total, 3);
}

void RegistryLabelsTest::runs_areListed() {
    RegistryFixture fixture;
    BundleBuilder first = encoderBundle(1.0F);
    fixture.importBundle(first);
    BundleBuilder second = encoderBundle(2.0F);
    second.step = 7;
    second.created = "2026-12-01T00:00:00.000000Z";
    fixture.importBundle(second);
    LocalRegistry& registry = fixture.registry();
    const auto runs = registry.runs("mini lm").value();
    QCOMPARE(runs.size(), std::size_t{2});
    QCOMPARE(runs[0].step, 7);
    QCOMPARE(runs[0].started, "2026-12-01T00:00:00.000000Z");
    QCOMPARE(runs[0].callCount, 3);
    QVERIFY(runs[0].collection.starts_with("registered_model_mini-lm-"));
    QCOMPARE(registry.runs("")->size(), std::size_t{2});
    QVERIFY(registry.runs("other")->empty());
    const auto record = registry.runRecord(runs[0].digest);
    QVERIFY2(record, fixture.message(record));
    QCOMPARE(record->calls.size(), std::size_t{3});
    QCOMPARE(registry.runOf(registry.resolve("mini lm::@v0")->id)->value().digest, runs[1].digest);
    QCOMPARE(registry.runOf("nothing").error().code, base::ErrorCode::NotFound);
}

ML_TEST_MAIN(RegistryLabelsTest)
#include "tst_RegistryLabels.moc"
