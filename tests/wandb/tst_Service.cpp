// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Service.h"
#include "tests/support/TestMain.h"
#include "tests/support/ValueOf.h"
#include "tests/support/WandbStandIn.h"

#include <QTest>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

using namespace modulelens;
using test::valueOf;
using test::WandbStandIn;

namespace {

/// JSON written with single quotes.
std::string jsonText(std::string text) {
    std::replace(text.begin(), text.end(), '\'', '"');
    return text;
}

constexpr const char* kProject = "wandb-registry-modulelens";

wandb::SignIn signInTo(const WandbStandIn& server) {
    return {server.url(), WandbStandIn::key(), "", "modulelens", ""};
}

std::size_t countOf(const std::vector<std::string>& operations, const std::string& name) {
    return static_cast<std::size_t>(std::count(operations.begin(), operations.end(), name));
}

}  // namespace

class ServiceTest : public QObject {
    Q_OBJECT

    std::unique_ptr<WandbStandIn> m_server;
    std::unique_ptr<wandb::Service> m_service;
    wandb::Organization m_organization;

    std::vector<wandb::VersionRow> rowsOf(const wandb::RowFilter& filter, std::vector<std::size_t>* pages = nullptr) {
        std::vector<wandb::VersionRow> rows;
        const auto done = m_service->versions(m_organization, kProject, filter,
                                              [&](std::vector<wandb::VersionRow> page) {
                                                  if (pages != nullptr) {
                                                      pages->push_back(page.size());
                                                  }
                                                  rows.insert(rows.end(), page.begin(), page.end());
                                              },
                                              {});
        if (!done) {
            throw std::runtime_error(done.error().text());
        }
        return rows;
    }

private slots:
    void initTestCase() {
        qputenv("no_proxy", "127.0.0.1");
        if (const std::string why = WandbStandIn::whyUnavailable(); !why.empty()) {
            QSKIP(why.c_str());
        }
        m_server = std::make_unique<WandbStandIn>(std::map<std::string, std::string>{{"STAND_IN_PAGE", "4"}});
        m_service = std::make_unique<wandb::Service>(signInTo(*m_server));
        m_organization = valueOf(m_service->organizationOf("team-a", {}));
    }
    void init() {
        m_server->control({{"do", "clear"}});
        m_server->control({{"do", "fill"}, {"versions", 10}, {"modules", 2}});
        m_server->takeOperations();
    }

    void viewer_isTheKeysOwner() { QCOMPARE(valueOf(m_service->viewer({})).userName, std::string("alice")); }

    void wrongKey_isUnavailable() {
        wandb::SignIn signIn = signInTo(*m_server);
        signIn.key = std::string(40, 'b');
        wandb::Service service(signIn);
        const auto viewer = service.viewer({});
        QVERIFY(!viewer.hasValue());
        QCOMPARE(viewer.error().code, base::ErrorCode::Unavailable);
        QVERIFY(viewer.error().text().find(signIn.key) == std::string::npos);
    }

    void organization_isFoundFromTeamPersonAndItself() {
        QCOMPARE(m_organization.name, std::string("Acme Org"));
        QCOMPARE(m_organization.entity, std::string("acme-org-entity"));
        QCOMPARE(valueOf(m_service->organizationOf("alice", {})).entity, std::string("acme-org-entity"));
        QCOMPARE(valueOf(m_service->organizationOf("acme-org-entity", {})).name, std::string("Acme Org"));
        const auto missing = m_service->organizationOf("nobody", {});
        QCOMPARE(missing.error().code, base::ErrorCode::NotFound);
        QVERIFY(missing.error().message.find("nobody") != std::string::npos);
    }

    void registries_areListed_andChecked() {
        const auto rows = valueOf(m_service->registries(m_organization, {}));
        QCOMPARE(rows.size(), std::size_t{2});
        QCOMPARE(rows[0].name, std::string("modulelens"));
        QCOMPARE(rows[0].description, std::string("captured modules"));
        QVERIFY(m_service->checkRegistry(m_organization, kProject, {}).hasValue());
        QCOMPARE(m_service->checkRegistry(m_organization, "wandb-registry-none", {}).error().code, base::ErrorCode::NotFound);
    }

    void versions_comePageByPage() {
        std::vector<std::size_t> pages;
        const auto rows = rowsOf({}, &pages);
        QCOMPARE(rows.size(), std::size_t{10});
        QCOMPARE(pages, (std::vector<std::size_t>{4, 4, 2}));
        QCOMPARE(countOf(m_server->takeOperations(), "Versions"), std::size_t{3});
        const wandb::VersionRow& row = rows.back();
        QCOMPARE(row.number, 4);
        QCOMPARE(row.aliases, std::vector<std::string>{"latest"});
        QVERIFY(row.isAvailable);
        QCOMPARE(row.place.project, std::string(kProject));
        QCOMPARE(row.place.entity, std::string("acme-org-entity"));
        QCOMPARE(row.source.entity, std::string("team-a"));
        QVERIFY(row.digestAlgorithm == wandb::DigestAlgorithm::Md5);
        QCOMPARE(nlohmann::json::parse(row.metadata).at("model_name").get<std::string>(), std::string("bulk"));
    }

    void filters_areTheServers() {
        QCOMPARE(rowsOf({"", jsonText("{'metadata.module_name':'layers.1'}")}).size(), std::size_t{5});
        QCOMPARE(rowsOf({"", jsonText("{'alias':'latest'}")}).size(), std::size_t{2});
        QCOMPARE(rowsOf({jsonText("{'name':{'$regex':'^none'}}"), ""}).size(), std::size_t{0});
    }

    void emptyPages_areNotTheEnd() {
        m_server->control({{"do", "empty_pages"}, {"count", 2}});
        QCOMPARE(rowsOf({}).size(), std::size_t{10});
    }

    void cursorThatRepeats_isAnError() {
        m_server->control({{"do", "repeat_cursor"}, {"on", true}});
        const auto done = m_service->versions(m_organization, kProject, {}, [](const std::vector<wandb::VersionRow>&) {}, {});
        QVERIFY(!done.hasValue());
        QCOMPARE(done.error().code, base::ErrorCode::Corrupt);
    }

    void collections_areListed_tagged_described() {
        auto rows = valueOf(m_service->collections(m_organization, kProject, "", {}));
        QCOMPARE(rows.size(), std::size_t{2});
        QVERIFY(rows[0].isPortfolio);
        QCOMPARE(rows[0].type, std::string("module"));
        const wandb::CollectionPlace place{"acme-org-entity", kProject, rows[0].name};
        QVERIFY(m_service->changeCollectionTags(place, {"one", "two"}, {}, {}).hasValue());
        QVERIFY(m_service->changeCollectionTags(place, {}, {"one"}, {}).hasValue());
        QVERIFY(m_service->setCollectionDescription(rows[0], "said", {}).hasValue());
        const auto row = valueOf(m_service->collection(place, {}));
        QCOMPARE(row.tags, std::vector<std::string>{"two"});
        QCOMPARE(row.description, std::string("said"));
        rows = valueOf(m_service->collections(m_organization, kProject, jsonText("{'tag':'two'}"), {}));
        QCOMPARE(rows.size(), std::size_t{1});
        QVERIFY(m_service->deleteCollection(rows[0], {}).hasValue());
        QCOMPARE(m_service->collection(place, {}).error().code, base::ErrorCode::NotFound);
    }

    void version_isFoundByAlias_andNamesWhatIsMissing() {
        const std::string collection = rowsOf({}).front().place.collection;
        const wandb::CollectionPlace place{"acme-org-entity", kProject, collection};
        QCOMPARE(valueOf(m_service->version(place, "latest", {})).number, 4);
        QCOMPARE(valueOf(m_service->version(place, "v1", {})).number, 1);
        const auto alias = m_service->version(place, "v99", {});
        QCOMPARE(alias.error().code, base::ErrorCode::NotFound);
        QVERIFY(alias.error().message.find("v99") != std::string::npos);
        const auto project = m_service->version({"acme-org-entity", "wandb-registry-none", collection}, "v1", {});
        QVERIFY(project.error().message.find("wandb-registry-none") != std::string::npos);
    }

    void tagsAliasesAndMetadata_areChanged() {
        wandb::VersionRow row = rowsOf({}).front();
        QVERIFY(m_service->changeTags(row.artifact, {"nightly", "two words"}, {}, {}).hasValue());
        QVERIFY(m_service->changeTags(row.artifact, {}, {"nightly"}, {}).hasValue());
        QVERIFY(m_service->addAlias(row, "golden", {}).hasValue());
        QVERIFY(m_service->setMetadata(row.artifact, jsonText("{'k':1}"), {}).hasValue());
        row = valueOf(m_service->version(row.place, "golden", {}));
        QCOMPARE(row.tags, std::vector<std::string>{"two words"});
        QCOMPARE(row.metadata, std::string(jsonText("{'k':1}")));
        QVERIFY(m_service->removeAlias(row, "golden", {}).hasValue());
        QCOMPARE(m_service->version(row.place, "golden", {}).error().code, base::ErrorCode::NotFound);
    }

    void namesThatW_BDoesNotTake_areRefusedBeforeTheyAreSent() {
        const wandb::VersionRow row = rowsOf({}).front();
        m_server->takeOperations();
        QCOMPARE(m_service->changeTags(row.artifact, {"v1.2"}, {}, {}).error().code, base::ErrorCode::InvalidArgument);
        QCOMPARE(m_service->addAlias(row, "latest", {}).error().code, base::ErrorCode::InvalidArgument);
        QVERIFY(m_server->takeOperations().empty());
    }

    void deleting_unlinks_orAsksAboutAliases() {
        const wandb::VersionRow row = rowsOf({}).back();
        QVERIFY(m_service->addAlias(row, "golden", {}).hasValue());
        QVERIFY(!m_service->deleteArtifact(row.artifact, false, {}).hasValue());
        const auto portfolio = valueOf(m_service->collection(row.place, {}));
        QVERIFY(m_service->unlink(row.artifact, portfolio.id, {}).hasValue());
        QCOMPARE(rowsOf({}).size(), std::size_t{9});
        QVERIFY(m_service->version(row.source, "v4", {}).hasValue());
        QVERIFY(m_service->deleteArtifact(row.artifact, true, {}).hasValue());
        QVERIFY(!m_service->version(row.source, "v4", {}).hasValue());
    }

    void olderServers_areAskedForWhatTheyKnow() {
        WandbStandIn old(std::map<std::string, std::string>{
            {"STAND_IN_OFF",
             "ARTIFACT_DIGEST_ALGORITHM,PROJECT_ARTIFACT_COLLECTION_MEMBERSHIP,TOTAL_COUNT_IN_FILE_CONNECTION"}});
        old.control({{"do", "fill"}, {"versions", 3}, {"modules", 1}});
        wandb::Service service(signInTo(old));
        std::vector<wandb::VersionRow> rows;
        const auto done = service.versions(m_organization, kProject, {},
                                           [&](std::vector<wandb::VersionRow> page) { rows = std::move(page); }, {});
        QVERIFY2(done.hasValue(), done ? "" : done.error().message.c_str());
        QCOMPARE(rows.size(), std::size_t{3});
        QVERIFY(!rows[0].digestAlgorithm);
        QCOMPARE(valueOf(service.version(rows[0].place, "v1", {})).number, 1);
    }

    void serversThatCannotSearch_areTooOld() {
        WandbStandIn old(std::map<std::string, std::string>{{"STAND_IN_OFF", "ARTIFACT_REGISTRY_SEARCH"}});
        wandb::Service service(signInTo(old));
        const auto done = service.versions(m_organization, kProject, {}, [](const std::vector<wandb::VersionRow>&) {}, {});
        QCOMPARE(done.error().code, base::ErrorCode::Unsupported);
    }

    void serversWithoutFeatures_haveNone() {
        m_server->control(
            {{"do", "fail"},
             {"code", 400},
             {"operation", "ServerFeatures"},
             {"body", jsonText("{'errors':[{'message':'Cannot query field \\'features\\' on type \\'ServerInfo\\'.'}]}")}});
        wandb::Service service(signInTo(*m_server));
        QCOMPARE(valueOf(service.hasFeature("ARTIFACT_REGISTRY_SEARCH", {})), false);
    }

    void rateLimit_isWaitedFor() {
        m_server->control(
            {{"do", "fail"}, {"code", 429}, {"headers", {{"Retry-After", "0"}}}, {"operation", "Viewer"}, {"count", 2}});
        QVERIFY(m_service->viewer({}).hasValue());
        QCOMPARE(countOf(m_server->takeOperations(), "Viewer"), std::size_t{3});
    }

    void answersOfAnotherForm_areCorrupt_data() {
        QTest::addColumn<QString>("body");
        for (const std::string& body :
             {jsonText("{'data':{'organization':{'orgEntity':{'artifactMemberships':{}}}}}"),
              jsonText("{'data':{'organization':{'orgEntity':{'artifactMemberships':{'edges':7}}}}}"),
              jsonText(
                  "{'data':{'organization':{'orgEntity':{'artifactMemberships':{'edges':[{'node':{'versionIndex':'x'}}]}}}}}"),
              jsonText(
                  "{'data':{'organization':{'orgEntity':{'artifactMemberships':{'edges':[{'node':{'versionIndex':-1}}]}}}}}"),
              jsonText("{'data':{'organization':{'orgEntity':{'artifactMemberships':{'edges':[],'pageInfo':{'hasNextPage':true,"
                       "'endCursor':null}}}}}}"),
              jsonText("{'data':{'organization':{'orgEntity':{'artifactMemberships':{'edges':[5],'pageInfo':null}}}}}"),
              jsonText("{'data':[]}"), jsonText("{}")}) {
            QTest::newRow(body.c_str()) << QString::fromStdString(body);
        }
    }
    void answersOfAnotherForm_areCorrupt() {
        QFETCH(QString, body);
        m_server->control({{"do", "fail"}, {"code", 200}, {"operation", "Versions"}, {"body", body.toStdString()}});
        const auto done = m_service->versions(m_organization, kProject, {}, [](const std::vector<wandb::VersionRow>&) {}, {});
        QVERIFY(!done.hasValue());
        QCOMPARE(done.error().code, base::ErrorCode::Corrupt);
    }
};

ML_TEST_MAIN(ServiceTest)
#include "tst_Service.moc"
