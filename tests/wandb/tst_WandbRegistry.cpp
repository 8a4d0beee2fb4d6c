// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Exchange.h"
#include "backend/wandb/WandbRegistry.h"
#include "tests/support/BundleBuilder.h"
#include "tests/support/TestMain.h"
#include "tests/support/ValueOf.h"
#include "tests/support/WandbStandIn.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

using namespace modulelens;
using nlohmann::json;
using test::valueOf;
using test::WandbStandIn;

namespace {

std::size_t countOf(const std::vector<std::string>& operations, const std::string& name) {
    return static_cast<std::size_t>(std::count(operations.begin(), operations.end(), name));
}

std::string contentOf(const registry::FileExtent& extent) {
    const auto mapped = valueOf(base::realFileSystem().map(extent.file));
    const auto bytes = mapped->bytes().subspan(extent.offset, extent.sizeBytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

class WandbRegistryTest : public QObject {
    Q_OBJECT

    std::unique_ptr<WandbStandIn> m_server;
    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<registry::LocalRegistry> m_local;

    std::string path(const std::string& name) const { return m_folder->path().toStdString() + '/' + name; }

    std::unique_ptr<wandb::WandbRegistry> open(const std::string& cache = "cache", const std::string& url = {}) {
        wandb::OpenOptions options;
        options.signIn = {url.empty() ? m_server->url() : url, WandbStandIn::key(), "", "modulelens", ""};
        options.cacheFolder = path(cache);
        return valueOf(wandb::WandbRegistry::open(base::realFileSystem(), {"team-a", "modulelens"}, std::move(options)));
    }

    wandb::PublishReport publish(wandb::WandbRegistry& team, const std::string& query = {}) {
        registry::SearchRequest request;
        request.query = query;
        std::vector<std::string> ids;
        for (const auto& version : valueOf(m_local->search(request)).versions) {
            ids.push_back(version.id);
        }
        return valueOf(wandb::publishVersions(*m_local, base::realFileSystem(), ids, team, "seed", {}, {}));
    }

    std::vector<std::string> found(registry::Registry& in, const std::string& query) {
        std::vector<std::string> names;
        registry::SearchRequest request;
        request.query = query;
        request.sort = registry::SortKey::Name;
        for (const auto& version : valueOf(in.search(request)).versions) {
            names.push_back(version.module + "@v" + std::to_string(version.number));
        }
        return names;
    }

private slots:
    void initTestCase() {
        qputenv("no_proxy", "127.0.0.1");
        if (const std::string why = WandbStandIn::whyUnavailable(); !why.empty()) {
            QSKIP(why.c_str());
        }
        m_server = std::make_unique<WandbStandIn>();
    }
    void init() {
        m_server->control({{"do", "clear"}});
        m_folder = std::make_unique<QTemporaryDir>();
        m_local = valueOf(
            registry::LocalRegistry::open(base::realFileSystem(), path("local"), registry::LocalRegistry::Mode::ReadWrite));
        test::BundleBuilder bundle = test::encoderBundle();
        bundle.tags = {"nightly", "not.there"};
        bundle.attributes = {{"accuracy", 0.5}, {"owner", std::string("alice")}, {"good", true}};
        valueOf(m_local->import(bundle.write(path("bundles")), {}, {}));
    }
    void cleanup() { m_local.reset(); }

    void published_hasTheSameSummary() {
        auto team = open();
        const auto report = publish(*team);
        QCOMPARE(report.versions.size(), std::size_t{3});
        QCOMPARE(report.runs, 1);
        QCOMPARE(report.warnings.size(), std::size_t{3});   // The tag with a dot, for each.
        for (const auto& published : report.versions) {
            const auto there = valueOf(team->resolve(published.id));
            QCOMPARE(there.model, published.from.model);
            QCOMPARE(there.module, published.from.module);
            QCOMPARE(there.className, published.from.className);
            QCOMPARE(there.versionDigest, published.from.versionDigest);
            QCOMPARE(there.stateDigest, published.from.stateDigest);
            QCOMPARE(there.created, published.from.created);
            QCOMPARE(there.device, published.from.device);
            QCOMPARE(there.parameterBytes, published.from.parameterBytes);
            QCOMPARE(there.callCount, published.from.callCount);
            QVERIFY(there.attributes == published.from.attributes);
            QCOMPARE(there.tags, std::vector<std::string>{"nightly"});
            QCOMPARE(there.aliases, std::vector<std::string>{"latest"});
        }
    }

    void queries_findTheSameAsLocally() {
        auto team = open();
        publish(*team);
        for (const char* query : {"",
                                  "layer",
                                  "model:mini",
                                  "model=\"mini lm\"",
                                  "module=\"\"",
                                  "module:LAYER.1",
                                  "class:linear",
                                  "tag:nightly",
                                  "-tag:nightly",
                                  "alias:latest",
                                  "device:cuda",
                                  "device:cpu",
                                  "dtype:float32",
                                  "dtype:int32",
                                  "params>0",
                                  "params<1",
                                  "params>=8B",
                                  "created>2026-11",
                                  "created:2026-11-30",
                                  "created<2026",
                                  "attr.owner=alice",
                                  "attr.owner:LI",
                                  "attr.accuracy>0.4",
                                  "attr.accuracy=0.5",
                                  "attr.good=true",
                                  "attr.none=*",
                                  "attr.owner=*",
                                  "is:latest",
                                  "is:validated",
                                  "-is:program",
                                  "latency<1s",
                                  "-latency<1s",
                                  "layer class:norm",
                                  "nothing",
                                  "\"mini lm\"::encoder.layer.2"}) {
            registry::SearchRequest request;
            request.query = query;
            if (!m_local->search(request).hasValue()) {
                QVERIFY2(!team->search(request).hasValue(), query);
            } else {
                QVERIFY2(found(*team, query) == found(*m_local, query), query);
            }
        }
    }

    void pages_areCutByTheLimit() {
        auto team = open();
        publish(*team);
        registry::SearchRequest request;
        request.limit = 2;
        const auto first = valueOf(team->search(request));
        QCOMPARE(first.total, std::int64_t{3});
        QCOMPARE(first.versions.size(), std::size_t{2});
        request.cursor = first.nextCursor;
        const auto second = valueOf(team->search(request));
        QCOMPARE(second.versions.size(), std::size_t{1});
        QVERIFY(second.nextCursor.empty());
        request.cursor = "gone";
        QCOMPARE(team->search(request).error().code, base::ErrorCode::InvalidArgument);
        request = {};
        request.query = "modle:x";
        QCOMPARE(team->search(request).error().code, base::ErrorCode::InvalidArgument);
    }

    void groupsAndFacets_areCounted() {
        auto team = open();
        publish(*team);
        const auto models = valueOf(team->models(""));
        QCOMPARE(models.size(), std::size_t{1});
        QCOMPARE(models[0].moduleCount, std::int64_t{3});
        QCOMPARE(valueOf(team->modules("mini lm", "")).size(), std::size_t{3});
        const auto devices = valueOf(team->facet("device", ""));
        QCOMPARE(devices[0].value, std::string("cpu"));
        QCOMPARE(devices[0].count, std::int64_t{2});
    }

    void documentsAndTensors_comeByteForByte() {
        auto team = open();
        const auto report = publish(*team);
        auto reader = open("other cache");
        for (const auto& published : report.versions) {
            const auto document = valueOf(reader->versionDocument(published.id));
            QCOMPARE(document.digest, published.from.versionDigest);
            QCOMPARE(valueOf(reader->versionText(published.id)), valueOf(m_local->versionText(published.from.id)));
            QCOMPARE(valueOf(reader->nodeText(document.stateDigest)), valueOf(m_local->nodeText(document.stateDigest)));
            const auto node = valueOf(reader->node(document.stateDigest));
            QCOMPARE(valueOf(reader->source(node.source)), valueOf(m_local->source(node.source)));
            const auto digests = document.tensorDigests();
            const auto here = valueOf(m_local->tensors(digests));
            const auto there = valueOf(reader->tensors(digests));
            for (const std::string& digest : digests) {
                QCOMPARE(contentOf(there.at(digest)), contentOf(here.at(digest)));
                QCOMPARE(there.at(digest).offset % 64, std::uint64_t{0});
            }
            const auto run = valueOf(reader->runOf(published.id));
            QVERIFY(run.has_value());
            QCOMPARE(valueOf(reader->runText(run->digest)), valueOf(m_local->runText(run->digest)));
        }
        QCOMPARE(valueOf(reader->runs("mini lm")).size(), std::size_t{1});
        QCOMPARE(reader->tensors({std::string(64, '0')}).error().code, base::ErrorCode::NotFound);
        QCOMPARE(reader->nodeText(std::string(64, '0')).error().code, base::ErrorCode::NotFound);
        QCOMPARE(reader->nodeText("../x").error().code, base::ErrorCode::InvalidArgument);
    }

    void fetched_isTheSameVersionAgain_andNotFetchedTwice() {
        auto team = open();
        const auto report = publish(*team);
        std::vector<std::string> ids;
        ids.reserve(report.versions.size());
        for (const auto& published : report.versions) {
            ids.push_back(published.id);
        }
        auto other = valueOf(
            registry::LocalRegistry::open(base::realFileSystem(), path("other"), registry::LocalRegistry::Mode::ReadWrite));
        auto reader = open("other cache");
        const auto first = valueOf(wandb::fetchVersions(*reader, ids, *other, base::realFileSystem(), {}, {}));
        QCOMPARE(first.versionsNew, 3);
        QCOMPARE(found(*other, ""), found(*m_local, ""));
        for (const auto& published : report.versions) {
            const auto here = valueOf(other->resolve("mini lm::" + published.from.module));
            QCOMPARE(here.versionDigest, published.from.versionDigest);
            QCOMPARE(here.created, published.from.created);
            QVERIFY(here.attributes == published.from.attributes);
        }
        QVERIFY(valueOf(other->check({}, {})).problems.empty());
        m_server->takeOperations();
        const auto second = valueOf(wandb::fetchVersions(*reader, ids, *other, base::realFileSystem(), {}, {}));
        QCOMPARE(second.versionsNew, 0);
        QCOMPARE(second.versionsKnown, 3);
        QCOMPARE(countOf(m_server->takeOperations(), "FileUrls"), std::size_t{0});
        // Published again from there, nothing is new.
        auto back = valueOf(wandb::publishVersions(
            *other, base::realFileSystem(), {valueOf(other->resolve("mini lm::encoder.layer.2")).id}, *reader, "b", {}, {}));
        QVERIFY(back.versions[0].wasThere);
        QCOMPARE(back.bytesSent, std::uint64_t{0});
    }

    void newTrace_sharesTheState() {
        auto team = open();
        publish(*team);
        valueOf(m_local->import(test::encoderBundle(1.0F, 9.0F).write(path("bundles")), {}, {}));
        const auto report = publish(*team, "module:layer.2");
        QCOMPARE(report.versions.size(), std::size_t{2});
        QVERIFY(report.bytesKnown > 0);
        QCOMPARE(valueOf(team->resolve("mini lm::encoder.layer.2")).number, 1);
        QCOMPARE(valueOf(team->resolve("mini lm::encoder.layer.2@v0")).number, 0);
    }

    void labels_areChanged() {
        auto team = open();
        publish(*team);
        const std::string id = valueOf(team->resolve("mini lm::")).id;
        QVERIFY(team->addTag(id, "reviewed").hasValue());
        QVERIFY(team->removeTag(id, "nightly").hasValue());
        QVERIFY(team->setAlias(id, "golden").hasValue());
        QVERIFY(team->setAttribute(id, "accuracy", 0.75).hasValue());
        QVERIFY(team->removeAttribute(id, "owner").hasValue());
        const auto version = valueOf(team->resolve("mini lm::@golden"));
        QCOMPARE(version.tags, std::vector<std::string>{"reviewed"});
        QCOMPARE(std::get<double>(version.attributes.at("accuracy")), 0.75);
        QVERIFY(!version.attributes.contains("owner"));
        QCOMPARE(version.model, std::string("mini lm"));
        QCOMPARE(found(*team, "tag:reviewed"), std::vector<std::string>{"@v0"});
        QCOMPARE(team->addTag(id, "v1.2").error().code, base::ErrorCode::InvalidArgument);
        QVERIFY(team->removeAlias(id, "golden").hasValue());
        QVERIFY(team->remove(id).hasValue());
        QCOMPARE(team->resolve("mini lm::").error().code, base::ErrorCode::NotFound);
        QCOMPARE(found(*team, "").size(), std::size_t{2});
    }

    void results_areKeptHere() {
        auto team = open();
        publish(*team);
        const std::string id = valueOf(team->resolve("mini lm::")).id;
        valueOf(team->storeResult(id, {"", "validation", "2026-12-01T00:00:00.000000Z", "cpu", "program", "{}", {}}));
        const auto results = valueOf(open()->results(id, "validation"));
        QCOMPARE(results.size(), std::size_t{1});
        QCOMPARE(results[0].json, std::string("{}"));
        QVERIFY(valueOf(open()->results(id, "profile")).empty());
    }

    void withoutANetwork_whatWasSeenIsShown_withItsAge() {
        {
            auto team = open();
            publish(*team);
            QCOMPARE(found(*team, "").size(), std::size_t{3});
            valueOf(team->versionDocument(valueOf(team->resolve("mini lm::encoder.layer.2")).id));
            QVERIFY(team->seenAt().empty());
        }
        m_server->control({{"do", "fail"}, {"code", 403}, {"count", 1'000'000}, {"body", "<html>captive portal</html>"}});
        auto team = open();
        QCOMPARE(found(*team, "module:layer").size(), std::size_t{2});
        QVERIFY(!team->seenAt().empty());
        const auto version = valueOf(team->resolve("mini lm::encoder.layer.2"));
        QCOMPARE(valueOf(team->versionDocument(version.id)).module, std::string("encoder.layer.2"));
        QVERIFY(!open("empty cache")->search({}).hasValue());
        m_server->control({{"do", "clear"}});
    }

    void foreignArtifacts_areNotShown() {
        m_server->control({{"do", "fill"}, {"versions", 3}, {"modules", 1}});
        auto team = open();
        QCOMPARE(found(*team, "").size(), std::size_t{3});
        publish(*team);
        const std::string id = valueOf(team->resolve("mini lm::")).id;
        for (const char* metadata :
             {"", "[]", "{}", "{\"schema\":\"modulelens.version\",\"schema_version\":2}", "{\"schema\":7}"}) {
            const auto place = wandb::versionPlace(id);
            const auto row =
                valueOf(team->service().version({"acme-org-entity", "wandb-registry-modulelens", place->collection}, "v0", {}));
            QVERIFY(team->service().setMetadata(row.artifact, metadata, {}).hasValue() || *metadata == '\0');
        }
        QCOMPARE(open()->resolve("mini lm::").error().code, base::ErrorCode::Unsupported);
        QCOMPARE(found(*open("fresh"), "").size(), std::size_t{5});
    }

    void queue_keepsWhatIsToBePublished() {
        auto team = open();
        wandb::PublishQueue queue(team->cache());
        const auto first = valueOf(queue.add({"", "wandb:team-a/modulelens", path("local"), {"a", "b"}, ""}));
        valueOf(queue.add({"", "wandb:team-a/modulelens", path("local"), {"c"}, ""}));
        auto other = open();
        wandb::PublishQueue again(other->cache());
        QCOMPARE(again.all().size(), std::size_t{2});
        QCOMPARE(again.all()[0].versions, (std::vector<std::string>{"a", "b"}));
        QVERIFY(again.remove(first.seed).hasValue());
        QVERIFY(again.remove("../../x").hasValue());
        QCOMPARE(queue.all().size(), std::size_t{1});
    }

    void entitiesAndRegistries_thatAreMissing_areNamed() {
        wandb::OpenOptions options;
        options.signIn = {m_server->url(), WandbStandIn::key(), "", "modulelens", ""};
        options.cacheFolder = path("cache");
        auto team = valueOf(wandb::WandbRegistry::open(base::realFileSystem(), {"team-a", "none"}, options));
        const auto page = team->search({});
        QCOMPARE(page.error().code, base::ErrorCode::NotFound);
        QVERIFY(page.error().message.find("none") != std::string::npos);
        auto person = valueOf(wandb::WandbRegistry::open(base::realFileSystem(), {"acme-org-entity", "modulelens"}, options));
        QCOMPARE(valueOf(person->publishTarget()).team, std::string("team-a"));
    }
};

ML_TEST_MAIN(WandbRegistryTest)
#include "tst_WandbRegistry.moc"
