// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/wandb/Cache.h"
#include "backend/wandb/Service.h"

#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

namespace modulelens::wandb {

/// Brings files of versions into the cache. Thread-safe.
class Downloader {
public:
    /// Both outlive this.
    Downloader(Service& service, Cache& cache) : m_service(service), m_cache(cache) {}

    /// The version's manifest, verified against the artifact's digest; asked for once, then kept in the cache.
    /// Corrupt: it does not match.
    [[nodiscard]] base::Result<Manifest> manifest(const VersionRow& row, std::stop_token stop);

    /// Where the files of these paths lie, in the cache. Addresses are asked for only of what is missing there, in one list;
    /// several files come at a time, interrupted ones go on where they stopped, expired addresses are asked for again.
    /// NotFound: a path that the manifest does not have. Unsupported: a reference, which W&B does not store. Corrupt: other
    /// content than the manifest says.
    [[nodiscard]] base::Result<std::map<std::string, std::filesystem::path>> fetch(const VersionRow& row,
                                                                                   const Manifest& manifest,
                                                                                   const std::vector<std::string>& paths,
                                                                                   std::stop_token stop,
                                                                                   const http::ByteProgress& progress);

private:
    Service& m_service;
    Cache& m_cache;
};

/// Address of the server's own handler for a file, for when addresses of the storage are refused.
[[nodiscard]] std::string handlerUrl(const std::string& baseUrl, const VersionRow& row, const Manifest& manifest,
                                     const std::string& path, bool withArtifact);

}  // namespace modulelens::wandb
