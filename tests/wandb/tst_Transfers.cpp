// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Digest.h"
#include "backend/wandb/Downloader.h"
#include "backend/wandb/Publisher.h"
#include "tests/support/TestMain.h"
#include "tests/support/ValueOf.h"
#include "tests/support/WandbStandIn.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace modulelens;
using nlohmann::json;
using test::valueOf;
using test::WandbStandIn;

namespace {

constexpr const char* kProject = "wandb-registry-modulelens";
constexpr const char* kCollection = "0123456789abcdef0123456789abcdef";

/// Bytes without a pattern that repeats soon.
std::string bytesOfSize(std::size_t size, std::uint32_t seed) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) {
        seed = seed * 1664525U + 1013904223U;
        byte = static_cast<char>(seed >> 24U);
    }
    return bytes;
}

std::string contentOf(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

std::size_t countOf(const std::vector<std::string>& operations, const std::string& name) {
    return static_cast<std::size_t>(std::count(operations.begin(), operations.end(), name));
}

}  // namespace

class TransfersTest : public QObject {
    Q_OBJECT

    std::unique_ptr<WandbStandIn> m_server;
    std::unique_ptr<wandb::Service> m_service;
    wandb::Organization m_organization;
    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<wandb::Cache> m_cache;
    std::map<std::string, std::string> m_files;

    wandb::PublishArtifact artifact() const {
        wandb::PublishArtifact artifact;
        artifact.collection = kCollection;
        artifact.type = "module";
        artifact.metadata = "{\"model_name\":\"m\"}";
        artifact.tags = {"nightly"};
        artifact.aliases = {"golden"};
        for (const auto& [path, text] : m_files) {
            const auto bytes = std::as_bytes(std::span(text));
            // In two pieces, as tensors lie in packs.
            artifact.files[path].pieces = {bytes.first(bytes.size() / 3), bytes.subspan(bytes.size() / 3)};
        }
        return artifact;
    }

    base::Result<wandb::PublishOutcome> publish(const std::string& seed = "seed", wandb::PublishSettings settings = {}) {
        wandb::Publisher publisher(*m_service, {"team-a", "modulelens", m_organization, kProject}, seed, settings);
        auto outcome = publisher.publish(artifact(), {}, {});
        publisher.finish({});
        return outcome;
    }

    wandb::VersionRow row(const std::string& alias = "latest") {
        return valueOf(m_service->version({m_organization.entity, kProject, kCollection}, alias, {}));
    }

    base::Result<std::map<std::string, std::filesystem::path>> fetchAll(const http::ByteProgress& progress = {},
                                                                        std::stop_token stop = {}) {
        wandb::Downloader downloader(*m_service, *m_cache);
        const wandb::VersionRow version = row();
        auto manifest = downloader.manifest(version, {});
        if (!manifest) {
            return manifest.error();
        }
        std::vector<std::string> paths;
        for (const auto& [path, entry] : manifest->entries) {
            paths.push_back(path);
        }
        return downloader.fetch(version, *manifest, paths, std::move(stop), progress);
    }

    std::filesystem::path partOf(const std::string& text) {
        base::Md5 md5;
        md5.update(text);
        return valueOf(
            m_cache->partPath({base::base64Of(md5.finishBytes()), wandb::DigestAlgorithm::Md5, text.size(), "", ""}));
    }

private slots:
    void initTestCase() {
        qputenv("no_proxy", "127.0.0.1");
        if (const std::string why = WandbStandIn::whyUnavailable(); !why.empty()) {
            QSKIP(why.c_str());
        }
        m_server = std::make_unique<WandbStandIn>();
        m_service = std::make_unique<wandb::Service>(wandb::SignIn{m_server->url(), WandbStandIn::key(), "", "modulelens", ""});
        m_organization = valueOf(m_service->organizationOf("team-a", {}));
    }
    void init() {
        m_server->control({{"do", "clear"}});
        m_folder = std::make_unique<QTemporaryDir>();
        m_cache =
            std::make_unique<wandb::Cache>(base::realFileSystem(), m_folder->path().toStdString(), std::uint64_t{1} << 40);
        m_files = {{"state/a b.bin", bytesOfSize(300'000, 1)},
                   {"state/empty", ""},
                   {"trace/gr\xc3\xbc\xc3\x9f.json", "{}"},
                   {"trace/z", "z"}};
    }

    void published_isListed_andComesBackByteForByte() {
        const auto outcome = valueOf(publish());
        QVERIFY(!outcome.wasThere);
        QCOMPARE(outcome.number, 0);
        QCOMPARE(outcome.bytesSent, std::uint64_t{300'003});
        const wandb::VersionRow version = row("golden");
        QCOMPARE(version.tags, std::vector<std::string>{"nightly"});
        QCOMPARE(version.sizeBytes, std::uint64_t{300'003});
        QCOMPARE(version.source.project, std::string("modulelens"));
        std::uint64_t done = 0;
        const auto files = valueOf(fetchAll([&](std::uint64_t now, std::uint64_t total) {
            QCOMPARE(total, std::uint64_t{300'003});
            done = now;
        }));
        QCOMPARE(done, std::uint64_t{300'003});
        QCOMPARE(files.size(), m_files.size());
        for (const auto& [path, file] : files) {
            QCOMPARE(contentOf(file), m_files.at(path));
        }
        const json runs = m_server->control({{"do", "runs"}});
        QCOMPARE(runs.size(), std::size_t{1});
        QCOMPARE(runs[0].at("state").get<std::string>(), std::string("finished"));
    }

    void noRequestToTheStorage_carriesCredentials() {
        valueOf(publish());
        valueOf(fetchAll());
        std::size_t toStorage = 0;
        for (const json& entry : m_server->control({{"do", "log"}})) {
            if (entry.at("operation").get<std::string>().starts_with("STORAGE")) {
                ++toStorage;
                QVERIFY(!entry.at("headers").contains("authorization"));
            }
        }
        QVERIFY(toStorage >= 10);
    }

    void sameContent_isTheSameVersion_andSentOnce() {
        valueOf(publish());
        m_server->takeOperations();
        const auto again = valueOf(publish("another seed"));
        QVERIFY(again.wasThere);
        QCOMPARE(again.number, 0);
        QCOMPARE(again.bytesSent, std::uint64_t{0});
        QCOMPARE(countOf(m_server->takeOperations(), "STORAGE PUT"), std::size_t{0});
    }

    void onlyWhatTheServerLacks_isSent() {
        valueOf(publish());
        m_files["trace/z"] = "other";
        const auto outcome = valueOf(publish("second"));
        QCOMPARE(outcome.number, 1);
        QCOMPARE(outcome.bytesSent, std::uint64_t{5});
        QCOMPARE(outcome.bytesKnown, std::uint64_t{300'002});
        const auto files = valueOf(fetchAll());
        QCOMPARE(contentOf(files.at("trace/z")), std::string("other"));
        QCOMPARE(contentOf(files.at("state/a b.bin")), m_files.at("state/a b.bin"));
    }

    void cachedVersion_opensWithoutAddresses() {
        valueOf(publish());
        valueOf(fetchAll());
        m_server->takeOperations();
        valueOf(fetchAll());
        QCOMPARE(m_server->takeOperations(), std::vector<std::string>{"Version"});
    }

    void changedContent_isNoticed_andNotKept() {
        valueOf(publish());
        m_server->control({{"do", "tamper"}});
        for (int i = 0; i < 2; ++i) {
            const auto files = fetchAll();
            QVERIFY(!files.hasValue());
            QCOMPARE(files.error().code, base::ErrorCode::Corrupt);
        }
    }

    void manifestThatIsNotTheArtifacts_isRefused() {
        valueOf(publish());
        m_server->control({{"do", "rename_entry"}, {"name", "state/other"}});
        QCOMPARE(fetchAll().error().code, base::ErrorCode::Corrupt);
        for (const char* evil : {"../../escaped.txt", "/etc/x", "a\\..\\b", "C:/x"}) {
            m_server->control({{"do", "rename_entry"}, {"name", evil}});
            QVERIFY2(!fetchAll().hasValue(), evil);
        }
        m_server->control({{"do", "manifests"}, {"text", "<html>"}});
        QCOMPARE(fetchAll().error().code, base::ErrorCode::Corrupt);
    }

    void interruptedDownload_goesOnWhereItStopped() {
        valueOf(publish());
        const std::string& text = m_files.at("state/a b.bin");
        std::ofstream(partOf(text), std::ios::binary) << text.substr(0, 100'000);
        const auto files = valueOf(fetchAll());
        QCOMPARE(contentOf(files.at("state/a b.bin")), text);
        bool asked = false;
        for (const json& entry : m_server->control({{"do", "log"}})) {
            asked = asked || entry.at("headers").value("range", "") == "bytes=100000-";
        }
        QVERIFY(asked);
    }

    void wrongBeginning_isNoticed_andTheNextTryIsWhole() {
        valueOf(publish());
        const std::string& text = m_files.at("state/a b.bin");
        std::ofstream(partOf(text), std::ios::binary) << std::string(100'000, 'x');
        QCOMPARE(fetchAll().error().code, base::ErrorCode::Corrupt);
        QCOMPARE(contentOf(valueOf(fetchAll()).at("state/a b.bin")), text);
        std::ofstream(partOf(m_files.at("trace/z")), std::ios::binary) << "much too long";
        QTemporaryDir fresh;
        m_cache = std::make_unique<wandb::Cache>(base::realFileSystem(), fresh.path().toStdString(), std::uint64_t{1} << 40);
        std::ofstream(partOf(m_files.at("trace/z")), std::ios::binary) << "much too long";
        QCOMPARE(contentOf(valueOf(fetchAll()).at("trace/z")), std::string("z"));
    }

    void expiredAddresses_areAskedForAgain_thenTheServerItself() {
        valueOf(publish());
        m_server->takeOperations();
        m_server->control({{"do", "expire"}, {"count", 1}});
        valueOf(fetchAll());
        QCOMPARE(countOf(m_server->takeOperations(), "FileUrls"), std::size_t{2});
        QTemporaryDir fresh;
        m_cache = std::make_unique<wandb::Cache>(base::realFileSystem(), fresh.path().toStdString(), std::uint64_t{1} << 40);
        m_server->control({{"do", "expire"}, {"count", 1000}});
        const auto files = valueOf(fetchAll());
        QCOMPARE(contentOf(files.at("state/a b.bin")), m_files.at("state/a b.bin"));
        QVERIFY(countOf(m_server->takeOperations(), "DOWNLOAD") >= 1);
    }

    void lostFile_saysWhich() {
        valueOf(publish());
        m_server->control({{"do", "fail"}, {"code", 404}, {"where", "get"}, {"count", 100}});
        const auto files = fetchAll();
        QVERIFY(!files.hasValue());
        m_server->control({{"do", "clear"}});
    }

    void largeFile_goesInParts() {
        wandb::PublishSettings settings;
        settings.multipartFrom = 100'000;
        settings.partBytes = 64 * 1024;
        valueOf(publish("seed", settings));
        const auto operations = m_server->takeOperations();
        QCOMPARE(countOf(operations, "CompleteMultipart"), std::size_t{1});
        QCOMPARE(countOf(operations, "STORAGE PUT"), std::size_t{5 + 3 + 1});
        QCOMPARE(contentOf(valueOf(fetchAll()).at("state/a b.bin")), m_files.at("state/a b.bin"));
    }

    void expiredUpload_asksForAnotherAddress() {
        m_server->control({{"do", "fail"}, {"code", 403}, {"where", "put"}, {"count", 2}});
        valueOf(publish());
        QCOMPARE(contentOf(valueOf(fetchAll()).at("trace/z")), std::string("z"));
        QVERIFY(countOf(m_server->takeOperations(), "CreateArtifactFiles") >= 2);
    }

    void brokenPublish_isInvisible_andGoesOnWithTheSameArtifact() {
        m_server->control(
            {{"do", "fail"}, {"code", 400}, {"operation", "CommitArtifact"}, {"body", "{\"errors\":[{\"message\":\"no\"}]}"}});
        QVERIFY(!publish("one").hasValue());
        QVERIFY(!m_service->version({m_organization.entity, kProject, kCollection}, "latest", {}).hasValue());
        const auto outcome = valueOf(publish("one"));
        QCOMPARE(outcome.number, 0);
        QCOMPARE(m_server->control({{"do", "artifacts"}}).size(), std::size_t{1});
    }

    void stop_endsPublishingAndFetching() {
        std::stop_source source;
        source.request_stop();
        wandb::Publisher publisher(*m_service, {"team-a", "modulelens", m_organization, kProject}, "seed");
        QCOMPARE(publisher.publish(artifact(), source.get_token(), {}).error().code, base::ErrorCode::Cancelled);
        valueOf(publish());
        std::stop_source later;
        const auto files = fetchAll([&](std::uint64_t, std::uint64_t) { later.request_stop(); }, later.get_token());
        QVERIFY(!files.hasValue());
        QCOMPARE(files.error().code, base::ErrorCode::Cancelled);
        QCOMPARE(valueOf(fetchAll()).size(), m_files.size());
    }

    void wrongNumberOfAnswers_isRefused() {
        m_server->control({{"do", "fail"},
                           {"code", 200},
                           {"operation", "CreateArtifactFiles"},
                           {"body", "{\"data\":{\"createArtifactFiles\":{\"files\":{\"edges\":[]}}}}"}});
        QCOMPARE(publish().error().code, base::ErrorCode::Corrupt);
    }

    void namesAreCheckedFirst() {
        m_server->takeOperations();
        wandb::PublishArtifact bad = artifact();
        bad.tags = {"v1.2"};
        wandb::Publisher publisher(*m_service, {"team-a", "modulelens", m_organization, kProject}, "seed");
        QCOMPARE(publisher.publish(bad, {}, {}).error().code, base::ErrorCode::InvalidArgument);
        QVERIFY(m_server->takeOperations().empty());
    }

    void registryThatIsMissing_isNamed() {
        wandb::Publisher publisher(*m_service, {"team-a", "modulelens", m_organization, "wandb-registry-none"}, "seed");
        const auto outcome = publisher.publish(artifact(), {}, {});
        QCOMPARE(outcome.error().code, base::ErrorCode::NotFound);
        QVERIFY(outcome.error().message.find("wandb-registry-none") != std::string::npos);
    }

    void cache_keepsWithinItsLimit_theLongestUnusedGoFirst() {
        valueOf(publish());
        valueOf(fetchAll());
        const std::uint64_t all = m_cache->report().sizeBytes;
        QVERIFY(all >= 300'003);
        // Another process, which was given nothing yet.
        wandb::Cache small(base::realFileSystem(), m_folder->path().toStdString(), 10);
        small.trim();
        QVERIFY(small.report().sizeBytes < all - 299'000);
        QVERIFY(m_cache->clear().hasValue());
        QCOMPARE(m_cache->report().files, std::int64_t{0});
    }
};

ML_TEST_MAIN(TransfersTest)
#include "tst_Transfers.moc"
