// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Mutex.h"
#include "backend/wandb/Manifest.h"
#include "backend/wandb/Publisher.h"
#include "backend/wandb/Service.h"

#include <optional>

namespace modulelens::wandb {

/// The artifact that files are uploaded for.
struct UploadTarget {
    std::string team;
    std::string project;
    std::string run;
    std::string artifact;              ///< Id.
    std::string latest;                ///< Id of the artifact before it, or empty.
};

struct UploadOutcome {
    std::uint64_t bytesSent = 0;
    std::uint64_t bytesKnown = 0;
};

/// Brings an artifact's files, then its manifest, to the server and commits it. Confined to its thread; the workers that it
/// starts share what its mutex guards.
class Upload {
public:
    Upload(Service& service, UploadTarget target, PublishSettings settings, std::stop_token stop,
           const http::ByteProgress& progress);

    /// `manifest` has an entry for each file; it gets the artifacts that first brought each content.
    [[nodiscard]] base::Result<UploadOutcome> run(const std::map<std::string, PublishFile>& files, Manifest& manifest);

private:
    /// What the server wants of one file.
    struct Slot {
        std::string path;
        std::string url;               ///< Empty: it has the content.
        std::vector<http::Header> headers;
        std::string uploadId;          ///< Of a multipart upload; else empty.
        std::string storagePath;
        std::string birthArtifact;
        std::map<int, std::string> partUrls;
    };

    [[nodiscard]] base::Result<std::string> createManifest(const std::string& digest, Slot* upload);
    [[nodiscard]] base::Result<std::vector<Slot>> askFor(const std::vector<std::string>& paths);
    [[nodiscard]] base::Result<void> sendAll(std::vector<Slot> slots);
    [[nodiscard]] base::Result<void> sendFile(Slot slot);
    [[nodiscard]] base::Result<int> put(const std::string& url, const std::vector<http::Header>& headers,
                                        std::vector<std::span<const std::byte>> pieces, std::string* tag);
    [[nodiscard]] base::Result<bool> sendParts(const Slot& slot, const PublishFile& file);
    [[nodiscard]] base::Result<void> sendManifest(const Manifest& manifest);
    [[nodiscard]] bool isMultipart(const PublishFile& file) const { return file.sizeBytes() >= m_settings.multipartFrom; }
    [[nodiscard]] std::uint64_t partBytes(const PublishFile& file) const;
    void report(std::uint64_t more);

    Service& m_service;
    const UploadTarget m_target;
    const PublishSettings m_settings;
    std::stop_source m_stop;
    std::stop_callback<std::function<void()>> m_outer;
    const http::ByteProgress& m_progress;
    const std::map<std::string, PublishFile>* m_files = nullptr;
    const Manifest* m_manifest = nullptr;
    std::string m_manifestId;
    std::uint64_t m_total = 0;
    base::Mutex m_mutex;
    std::uint64_t m_done ML_GUARDED_BY(m_mutex) = 0;
    std::optional<base::Error> m_error ML_GUARDED_BY(m_mutex);
};

}  // namespace modulelens::wandb
