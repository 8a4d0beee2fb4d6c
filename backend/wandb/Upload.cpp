// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Upload.h"

#include "backend/base/Digest.h"
#include "backend/base/Guarded.h"
#include "backend/capture/JsonView.h"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

namespace modulelens::wandb {

namespace {

using capture::JsonView;
using nlohmann::json;

constexpr std::size_t kBatch = 1000;
constexpr std::size_t kParallel = 4;
constexpr int kFreshUrls = 3;
constexpr std::uint64_t kMostParts = 10'000;

/// "Key:Value" lines, split at the first colon.
std::vector<http::Header> readHeaders(const JsonView& list) {
    std::vector<http::Header> headers;
    headers.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string line = list.element(i).string();
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) {
            list.element(i).fail("is no header");
        }
        const std::size_t value = line.find_first_not_of(' ', colon + 1);
        headers.push_back({line.substr(0, colon), value == std::string::npos ? "" : line.substr(value)});
    }
    return headers;
}

/// Bytes [offset, offset + size) of a content in pieces.
std::vector<std::span<const std::byte>> cutOf(const std::vector<std::span<const std::byte>>& pieces, std::uint64_t offset,
                                              std::uint64_t size) {
    std::vector<std::span<const std::byte>> cut;
    for (const std::span<const std::byte> piece : pieces) {
        if (offset >= piece.size()) {
            offset -= piece.size();
            continue;
        }
        const auto some = piece.subspan(static_cast<std::size_t>(offset),
                                        static_cast<std::size_t>(std::min<std::uint64_t>(size, piece.size() - offset)));
        offset = 0;
        size -= some.size();
        if (!some.empty()) {
            cut.push_back(some);
        }
        if (size == 0) {
            break;
        }
    }
    return cut;
}

std::string md5Of(const std::vector<std::span<const std::byte>>& pieces) {
    base::Md5 md5;
    for (const std::span<const std::byte> piece : pieces) {
        md5.update(piece);
    }
    return md5.finishBytes();
}

base::Error storageRefusal(int status, const std::string& path) {
    return {base::ErrorCode::Unavailable, "The storage answered " + std::to_string(status) + " for '" + path + "'.",
            "Publish again: what arrived is not sent twice."};
}

}  // namespace

Upload::Upload(Service& service, UploadTarget target, PublishSettings settings, std::stop_token stop,
               const http::ByteProgress& progress)
    : m_service(service),
      m_target(std::move(target)),
      m_settings(settings),
      m_outer(stop, [this] { m_stop.request_stop(); }),
      m_progress(progress) {}

base::Result<UploadOutcome> Upload::run(const std::map<std::string, PublishFile>& files, Manifest& manifest) {
    m_files = &files;
    m_manifest = &manifest;
    const auto manifestId = createManifest("", nullptr);
    if (!manifestId) {
        return manifestId.error();
    }
    m_manifestId = *manifestId;
    std::vector<std::string> paths;
    paths.reserve(files.size());
    for (const auto& [path, file] : files) {
        paths.push_back(path);
    }
    auto slots = askFor(paths);
    if (!slots) {
        return slots.error();
    }
    UploadOutcome outcome;
    for (const Slot& slot : *slots) {
        manifest.entries.at(slot.path).birthArtifact = slot.birthArtifact;
        const std::uint64_t size = files.at(slot.path).sizeBytes();
        (slot.url.empty() ? outcome.bytesKnown : outcome.bytesSent) += size;
    }
    m_total = outcome.bytesSent;
    std::erase_if(*slots, [](const Slot& slot) { return slot.url.empty(); });
    auto done = sendAll(*std::move(slots));
    if (done) {
        done = sendManifest(manifest);
    }
    if (!done) {
        return done.error();
    }
    const auto data = m_service.run(
        "CommitArtifact",
        "mutation CommitArtifact($input: CommitArtifactInput!) { commitArtifact(input: $input) { artifact { id digest } } }",
        {{"input", {{"artifactID", m_target.artifact}}}}, m_stop.get_token());
    if (!data) {
        return data.error();
    }
    return outcome;
}

base::Result<std::string> Upload::createManifest(const std::string& digest, Slot* upload) {
    const json input = {
        {"artifactID", m_target.artifact}, {"baseArtifactID", m_target.latest.empty() ? json() : json(m_target.latest)},
        {"name", "wandb_manifest.json"},   {"digest", digest},
        {"entityName", m_target.team},     {"projectName", m_target.project},
        {"runName", m_target.run},         {"type", "FULL"}};
    const std::string selection = upload == nullptr ? "id" : "id file { uploadUrl uploadHeaders }";
    const auto data = m_service.run(
        "CreateArtifactManifest",
        "mutation CreateArtifactManifest($input: CreateArtifactManifestInput!) { createArtifactManifest(input: $input) { "
        "artifactManifest { " +
            selection + " } } }",
        {{"input", input}}, m_stop.get_token());
    if (!data) {
        return data.error();
    }
    return capture::readDocument("CreateArtifactManifest", [&] {
        const JsonView view(*data, "CreateArtifactManifest");
        const JsonView payload = view.at("createArtifactManifest");
        const JsonView manifest = payload.at("artifactManifest");
        if (upload != nullptr) {
            const JsonView file = manifest.at("file");
            upload->url = file.at("uploadUrl").string();
            upload->headers = readHeaders(file.at("uploadHeaders"));
        }
        return manifest.at("id").string();
    });
}

std::uint64_t Upload::partBytes(const PublishFile& file) const {
    const std::uint64_t least = (file.sizeBytes() + kMostParts - 1) / kMostParts;
    const std::uint64_t rounded = (least + 4095) / 4096 * 4096;
    return std::max(m_settings.partBytes, least > m_settings.partBytes ? rounded : m_settings.partBytes);
}

base::Result<std::vector<Upload::Slot>> Upload::askFor(const std::vector<std::string>& paths) {
    std::vector<Slot> slots;
    for (std::size_t begin = 0; begin < paths.size(); begin += kBatch) {
        const std::size_t end = std::min(paths.size(), begin + kBatch);
        json specs = json::array();
        for (std::size_t i = begin; i < end; ++i) {
            const PublishFile& file = m_files->at(paths[i]);
            json spec = {{"artifactID", m_target.artifact},
                         {"artifactManifestID", m_manifestId},
                         {"name", paths[i]},
                         {"md5", m_manifest->entries.at(paths[i]).digest}};
            if (isMultipart(file)) {
                json parts = json::array();
                int number = 1;
                for (std::uint64_t at = 0; at < file.sizeBytes(); at += partBytes(file)) {
                    const std::string md5 = md5Of(cutOf(file.pieces, at, std::min(partBytes(file), file.sizeBytes() - at)));
                    parts.push_back({{"partNumber", number++}, {"hexMD5", base::hexOf(md5)}});
                }
                spec["uploadPartsInput"] = std::move(parts);
            }
            specs.push_back(std::move(spec));
        }
        const auto data = m_service.run(
            "CreateArtifactFiles",
            "mutation CreateArtifactFiles($input: CreateArtifactFilesInput!) { createArtifactFiles(input: $input) { "
            "files { edges { node { storagePath uploadUrl uploadHeaders uploadMultipartUrls { uploadID "
            "uploadUrlParts { partNumber uploadUrl } } artifact { id } } } } } }",
            {{"input", {{"artifactFiles", std::move(specs)}, {"storageLayout", "V2"}}}}, m_stop.get_token());
        if (!data) {
            return data.error();
        }
        const auto read = capture::readDocument("CreateArtifactFiles", [&] {
            const JsonView view(*data, "CreateArtifactFiles");
            const JsonView payload = view.at("createArtifactFiles");
            const JsonView files = payload.at("files");
            const JsonView edges = files.at("edges");
            if (edges.size() != end - begin) {
                edges.fail("has another number of files than were asked for");
            }
            for (std::size_t i = 0; i < edges.size(); ++i) {
                const JsonView edge = edges.element(i);
                const JsonView node = edge.at("node");
                Slot slot;
                slot.path = paths[begin + i];
                slot.url = node.stringOr("uploadUrl", "");
                slot.headers = readHeaders(node.at("uploadHeaders"));
                slot.storagePath = node.stringOr("storagePath", "");
                const JsonView birth = node.at("artifact");
                slot.birthArtifact = birth.at("id").string();
                if (const auto multipart = node.find("uploadMultipartUrls")) {
                    slot.uploadId = multipart->at("uploadID").string();
                    const JsonView parts = multipart->at("uploadUrlParts");
                    for (std::size_t part = 0; part < parts.size(); ++part) {
                        const JsonView item = parts.element(part);
                        slot.partUrls[static_cast<int>(item.at("partNumber").nonNegative())] = item.at("uploadUrl").string();
                    }
                }
                slots.push_back(std::move(slot));
            }
            return true;
        });
        if (!read) {
            return read.error();
        }
    }
    return slots;
}

base::Result<void> Upload::sendAll(std::vector<Slot> slots) {
    {
        std::atomic<std::size_t> next{0};
        std::vector<std::jthread> workers;
        const std::size_t count = std::min(kParallel, slots.size());
        workers.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            workers.emplace_back([&] {
                for (std::size_t at = next++; at < slots.size() && !m_stop.stop_requested(); at = next++) {
                    const auto sent = base::guarded("uploading", [&] { return sendFile(slots[at]); });
                    if (!sent) {
                        const base::MutexLock lock(m_mutex);
                        if (!m_error) {
                            m_error = sent.error().within("uploading " + slots[at].path);
                        }
                        m_stop.request_stop();
                    }
                }
            });
        }
    }
    const base::MutexLock lock(m_mutex);
    if (m_error) {
        return *m_error;
    }
    return m_stop.stop_requested() ? base::Result<void>(base::Error{base::ErrorCode::Cancelled, "Stopped while uploading.", ""})
                                   : base::Result<void>();
}

base::Result<void> Upload::sendFile(Slot slot) {
    const PublishFile& file = m_files->at(slot.path);
    for (int round = 0; round < kFreshUrls; ++round) {
        if (slot.url.empty()) {
            return {};
        }
        int status = 200;
        if (!slot.uploadId.empty() && !slot.partUrls.empty()) {
            const auto sent = sendParts(slot, file);
            if (!sent) {
                return sent.error();
            }
            status = *sent ? 200 : 403;
        } else {
            const auto sent = put(slot.url, slot.headers, file.pieces, nullptr);
            if (!sent) {
                return sent.error();
            }
            status = *sent;
        }
        if (http::isSuccess(status)) {
            report(file.sizeBytes());
            return {};
        }
        if (status != 401 && status != 403) {
            return storageRefusal(status, slot.path);
        }
        // The address has expired: ask for another.
        auto fresh = askFor({slot.path});
        if (!fresh) {
            return fresh.error();
        }
        slot = std::move(fresh->front());
    }
    return storageRefusal(403, slot.path);
}

base::Result<int> Upload::put(const std::string& url, const std::vector<http::Header>& headers,
                              std::vector<std::span<const std::byte>> pieces, std::string* tag) {
    http::Request request;
    request.method = http::Method::Put;
    request.url = url;
    request.headers = headers;
    request.bodyPieces = std::move(pieces);
    const auto response = m_service.client().send(request, m_stop.get_token());
    if (!response) {
        return response.error();
    }
    if (tag != nullptr) {
        *tag = std::string(http::findHeader(response->headers, "etag").value_or(""));
    }
    return response->status;
}

/// False: an address has expired.
base::Result<bool> Upload::sendParts(const Slot& slot, const PublishFile& file) {
    std::vector<http::Header> kept = slot.headers;
    std::erase_if(kept, [](const http::Header& header) { return header.name != "Content-Type"; });
    json completed = json::array();
    int number = 1;
    for (std::uint64_t at = 0; at < file.sizeBytes(); at += partBytes(file), ++number) {
        const auto pieces = cutOf(file.pieces, at, std::min(partBytes(file), file.sizeBytes() - at));
        const auto url = slot.partUrls.find(number);
        if (url == slot.partUrls.end()) {
            return base::Error{base::ErrorCode::Corrupt, "W&B gave no address for part " + std::to_string(number) + ".", ""};
        }
        std::vector<http::Header> headers = kept;
        headers.push_back({"Content-MD5", base::base64Of(md5Of(pieces))});
        std::string tag;
        const auto status = put(url->second, headers, pieces, &tag);
        if (!status) {
            return status.error();
        }
        if (*status == 401 || *status == 403) {
            return false;
        }
        if (!http::isSuccess(*status)) {
            return storageRefusal(*status, slot.path);
        }
        completed.push_back({{"partNumber", number}, {"hexMD5", tag}});
    }
    const json input = {{"completeMultipartAction", "Complete"},
                        {"completedParts", std::move(completed)},
                        {"artifactID", slot.birthArtifact},
                        {"storagePath", slot.storagePath},
                        {"uploadID", slot.uploadId}};
    const auto data = m_service.run("CompleteMultipart",
                                    "mutation CompleteMultipart($input: CompleteMultipartUploadArtifactInput!) { "
                                    "completeMultipartUploadArtifact(input: $input) { digest } }",
                                    {{"input", input}}, m_stop.get_token());
    if (!data) {
        return data.error();
    }
    return true;
}

base::Result<void> Upload::sendManifest(const Manifest& manifest) {
    const std::string text = writeManifest(manifest);
    base::Md5 md5;
    md5.update(text);
    const std::string digest = base::base64Of(md5.finishBytes());
    for (int round = 0; round < kFreshUrls; ++round) {
        Slot upload;
        if (auto created = createManifest(digest, &upload); !created) {
            return created.error();
        }
        const auto status = put(upload.url, upload.headers, {std::as_bytes(std::span(text))}, nullptr);
        if (!status) {
            return status.error();
        }
        if (http::isSuccess(*status)) {
            return {};
        }
        if (*status != 401 && *status != 403) {
            return storageRefusal(*status, "wandb_manifest.json");
        }
    }
    return storageRefusal(403, "wandb_manifest.json");
}

void Upload::report(std::uint64_t more) {
    const base::MutexLock lock(m_mutex);
    m_done += more;
    if (m_progress) {
        m_progress(m_done, m_total);
    }
}

}  // namespace modulelens::wandb
