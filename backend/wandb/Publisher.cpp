// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Publisher.h"

#include "backend/base/Digest.h"
#include "backend/base/Guarded.h"
#include "backend/base/PercentEncoding.h"
#include "backend/capture/JsonView.h"
#include "backend/wandb/Names.h"
#include "backend/wandb/Upload.h"

#include <nlohmann/json.hpp>

namespace modulelens::wandb {

namespace {

using capture::JsonView;
using nlohmann::json;

/// 128 letters and digits that follow from a seed.
std::string clientId(const std::string& seed) {
    return base::sha256Hex(seed) + base::sha256Hex(seed + "\n2");
}

Manifest manifestOf(const PublishArtifact& artifact) {
    Manifest manifest;
    for (const auto& [path, file] : artifact.files) {
        base::Md5 md5;
        for (const std::span<const std::byte> piece : file.pieces) {
            md5.update(piece);
        }
        manifest.entries[path] = {base::base64Of(md5.finishBytes()), DigestAlgorithm::Md5, file.sizeBytes(), "", ""};
    }
    return manifest;
}

base::Result<void> checkNames(const PublishArtifact& artifact) {
    auto fit = checkCollection(artifact.collection);
    for (auto tag = artifact.tags.begin(); fit && tag != artifact.tags.end(); ++tag) {
        fit = checkTag(*tag);
    }
    for (auto alias = artifact.aliases.begin(); fit && alias != artifact.aliases.end(); ++alias) {
        fit = checkAlias(*alias);
    }
    return fit;
}

json aliasInputs(const PublishArtifact& artifact, const std::vector<std::string>& aliases) {
    json list = json::array();
    for (const std::string& alias : aliases) {
        list.push_back({{"artifactCollectionName", artifact.collection}, {"alias", alias}});
    }
    return list;
}

/// An artifact as createArtifact answers it.
struct CreatedArtifact {
    std::string id;
    bool isCommitted = false;
    std::string latest;                        ///< Id of the collection's newest artifact, or empty.
};

base::Result<CreatedArtifact> createArtifact(Service& service, const PublishTarget& target, const std::string& run,
                                             const PublishArtifact& artifact, const std::string& digest,
                                             const std::string& seed, const std::stop_token& stop) {
    json tags = json::array();
    for (const std::string& tag : artifact.tags) {
        tags.push_back({{"tagName", tag}});
    }
    const json input = {{"entityName", target.team},
                        {"projectName", target.project},
                        {"runName", run},
                        {"artifactTypeName", artifact.type},
                        {"artifactCollectionName", artifact.collection},
                        {"digest", digest},
                        {"digestAlgorithm", "MANIFEST_MD5"},
                        {"description", artifact.description.empty() ? json() : json(artifact.description)},
                        {"metadata", artifact.metadata},
                        {"aliases", aliasInputs(artifact, {"latest"})},
                        {"tags", tags},
                        {"enableDigestDeduplication", true},
                        {"clientID", clientId(seed + '\n' + artifact.collection + '\n' + digest)},
                        {"sequenceClientID", clientId(seed + '\n' + artifact.collection)}};
    const auto data = service.run(
        "CreateArtifact",
        "mutation CreateArtifact($input: CreateArtifactInput!) { createArtifact(input: $input) { artifact { id state "
        "artifactSequence { latestArtifact { id } } } } }",
        {{"input", input}}, stop);
    if (!data) {
        return data.error();
    }
    return capture::readDocument("CreateArtifact", [&] {
        const JsonView view(*data, "CreateArtifact");
        const JsonView payload = view.at("createArtifact");
        const JsonView created = payload.at("artifact");
        CreatedArtifact result{created.at("id").string(), created.at("state").string() == "COMMITTED", ""};
        const JsonView sequence = created.at("artifactSequence");
        if (const auto latest = sequence.find("latestArtifact")) {
            result.latest = latest->at("id").string();
        }
        return result;
    });
}

base::Result<int> linkArtifact(Service& service, const PublishTarget& target, const PublishArtifact& artifact,
                               const std::string& id, const std::stop_token& stop) {
    const json input = {{"artifactID", id},
                        {"artifactPortfolioName", artifact.collection},
                        {"entityName", target.organization.entity},
                        {"projectName", target.registryProject},
                        {"aliases", aliasInputs(artifact, artifact.aliases)}};
    const auto data = service.run(
        "LinkArtifact", "mutation LinkArtifact($input: LinkArtifactInput!) { linkArtifact(input: $input) { versionIndex } }",
        {{"input", input}}, stop);
    if (!data) {
        return data.error();
    }
    return capture::readDocument("LinkArtifact", [&] {
        const JsonView view(*data, "LinkArtifact");
        const JsonView payload = view.at("linkArtifact");
        return static_cast<int>(payload.at("versionIndex").nonNegative());
    });
}

}  // namespace

std::uint64_t PublishFile::sizeBytes() const {
    std::uint64_t size = 0;
    for (const std::span<const std::byte> piece : pieces) {
        size += piece.size();
    }
    return size;
}

Publisher::Publisher(Service& service, PublishTarget target, std::string seed, PublishSettings settings)
    : m_service(service), m_target(std::move(target)), m_seed(std::move(seed)), m_settings(settings) {}

base::Result<void> Publisher::beginRun(std::stop_token stop) {
    if (!m_run.empty()) {
        return {};
    }
    const std::string name = base::md5Hex(m_seed + "\nrun").substr(0, 8);
    const auto data = m_service.run(
        "UpsertBucket",
        "mutation UpsertBucket($input: UpsertBucketInput!) { upsertBucket(input: $input) { bucket { name "
        "project { name entity { name } } } } }",
        {{"input", {{"name", name}, {"modelName", m_target.project}, {"entityName", m_target.team}, {"jobType", "publish"}}}},
        stop);
    if (!data) {
        return data.error();
    }
    const auto read = capture::readDocument("UpsertBucket", [&] {
        const JsonView view(*data, "UpsertBucket");
        const JsonView payload = view.at("upsertBucket");
        const JsonView bucket = payload.at("bucket");
        const JsonView project = bucket.at("project");
        const JsonView entity = project.at("entity");
        m_target.project = project.at("name").string();
        m_target.team = entity.at("name").string();
        return bucket.at("name").string();
    });
    if (!read) {
        return read.error();
    }
    m_run = *read;
    return {};
}

base::Result<PublishOutcome> Publisher::publish(const PublishArtifact& artifact, std::stop_token stop,
                                                const http::ByteProgress& progress) {
    return base::guarded("publishing", [&]() -> base::Result<PublishOutcome> {
        auto ready = checkNames(artifact);
        if (ready) {
            ready = beginRun(stop);
        }
        if (!ready) {
            return ready.error();
        }
        Manifest manifest = manifestOf(artifact);
        const auto created =
            createArtifact(m_service, m_target, m_run, artifact, manifestDigest(manifest, DigestAlgorithm::Md5), m_seed, stop);
        if (!created) {
            return created.error();
        }
        PublishOutcome outcome;
        outcome.artifact = created->id;
        outcome.wasThere = created->isCommitted;
        if (!created->isCommitted) {
            Upload upload(m_service, {m_target.team, m_target.project, m_run, created->id, created->latest}, m_settings, stop,
                          progress);
            const auto sent = upload.run(artifact.files, manifest);
            if (!sent) {
                return sent.error();
            }
            outcome.bytesSent = sent->bytesSent;
            outcome.bytesKnown = sent->bytesKnown;
        }
        const auto number = linkArtifact(m_service, m_target, artifact, created->id, stop);
        if (!number) {
            return number.error();
        }
        outcome.number = *number;
        return outcome;
    });
}

void Publisher::finish(std::stop_token stop) {
    if (m_run.empty()) {
        return;
    }
    const std::string text = json{{"complete", true}, {"exitcode", 0}}.dump();
    http::Request request;
    request.method = http::Method::Post;
    request.url = m_service.signIn().baseUrl + "/files/" + base::percentEncoded(m_target.team) + '/' +
                  base::percentEncoded(m_target.project) + '/' + base::percentEncoded(m_run) + "/file_stream";
    request.withCredentials = true;
    request.headers = {{"Content-Type", "application/json"}};
    request.body = std::as_bytes(std::span(text));
    (void)m_service.client().send(request, stop);
    m_run.clear();
}

}  // namespace modulelens::wandb
