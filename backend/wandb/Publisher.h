// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/wandb/Service.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace modulelens::wandb {

/// Content of a file to publish, in pieces that lie where they are.
struct PublishFile {
    std::vector<std::span<const std::byte>> pieces;

    [[nodiscard]] std::uint64_t sizeBytes() const;
};

/// An artifact to publish. The bytes outlive publish().
struct PublishArtifact {
    std::string collection;
    std::string type;                          ///< "module" or "run-record".
    std::string description;
    std::string metadata;                      ///< JSON object.
    std::vector<std::string> tags;
    std::vector<std::string> aliases;          ///< In the registry, beside "latest".
    std::map<std::string, PublishFile> files;  ///< By path.
};

/// Where to: the team's project where artifacts are made, and the registry that they are linked into.
struct PublishTarget {
    std::string team;
    std::string project;
    Organization organization;
    std::string registryProject;
};

struct PublishOutcome {
    std::string artifact;
    int number = 0;                            ///< The N of vN in the registry.
    bool wasThere = false;                     ///< The same content was published before.
    std::uint64_t bytesSent = 0;
    std::uint64_t bytesKnown = 0;              ///< Of files that the server had already.
};

struct PublishSettings {
    std::uint64_t multipartFrom = std::uint64_t{2} << 30;
    std::uint64_t partBytes = std::uint64_t{100} << 20;
};

/// Publishes artifacts within one run of W&B. Confined to its thread.
class Publisher {
public:
    /// `seed`: with the same one a publication that was interrupted goes on with the same artifacts. `service` outlives this.
    Publisher(Service& service, PublishTarget target, std::string seed, PublishSettings settings = {});

    /// Uploads what the server does not have, commits, then links: success means that the version is visible in the registry.
    /// InvalidArgument: a name that W&B does not take. Errors of Service.
    [[nodiscard]] base::Result<PublishOutcome> publish(const PublishArtifact& artifact, std::stop_token stop,
                                                       const http::ByteProgress& progress);
    /// Marks the run as finished, if one was begun. What goes wrong is of no matter to what was published.
    void finish(std::stop_token stop);

private:
    [[nodiscard]] base::Result<void> beginRun(std::stop_token stop);

    Service& m_service;
    PublishTarget m_target;
    const std::string m_seed;
    const PublishSettings m_settings;
    std::string m_run;                         ///< Name; empty before the first publication.
};

}  // namespace modulelens::wandb
