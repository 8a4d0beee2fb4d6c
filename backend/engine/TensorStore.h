// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/capture/TensorReference.h"
#include "backend/protocol/WorkerMessages.h"

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace modulelens::engine {

/// One file mapped twice: copy-on-write for tensors that a program may write to, read-only for their pristine content.
/// Equal tensors of a capture have one place in the file, so each place may be lent to one tensor only. Confined to its thread.
class FileMapping {
public:
    /// NotFound, PermissionDenied, OutOfMemory as the system says.
    [[nodiscard]] static base::Result<std::shared_ptr<FileMapping>> open(const std::string& path);
    ~FileMapping();
    FileMapping(const FileMapping&) = delete;
    FileMapping& operator=(const FileMapping&) = delete;

    [[nodiscard]] std::byte* writable() const { return m_writable; }
    [[nodiscard]] const std::byte* pristine() const { return m_pristine; }
    [[nodiscard]] std::size_t sizeBytes() const { return m_sizeBytes; }

    /// Lends the writable bytes at `place`; false when a tensor has them already.
    [[nodiscard]] bool claim(const std::byte* place) { return m_claimed.insert(place).second; }
    void release(const std::byte* place) { m_claimed.erase(place); }

private:
    FileMapping() = default;
    std::set<const std::byte*> m_claimed;
    std::byte* m_writable = nullptr;
    const std::byte* m_pristine = nullptr;
    std::size_t m_sizeBytes = 0;
};

/// Where the data of one stored tensor lies. The pointers live as long as `mapping`.
struct StoredData {
    std::shared_ptr<FileMapping> mapping;
    std::byte* writable = nullptr;
    const std::byte* pristine = nullptr;
    std::size_t sizeBytes = 0;
    bool isVerified = false;
};

/// Tensor data by digest, out of the files that a client named. Externally synchronised.
class TensorStore {
public:
    /// `parent` is asked for digests that this store does not hold; it must outlive this store.
    explicit TensorStore(const TensorStore* parent = nullptr) : m_parent(parent) {}

    /// Maps the files of `extents`, each once. Corrupt: a range that leaves its file. NotFound and others from the system.
    [[nodiscard]] base::Result<void> add(const std::vector<protocol::Extent>& extents);

    /// Data of a captured tensor, whose digest is checked the first time. NotFound: not captured, or not among the extents.
    /// Corrupt: its length does not fit the reference, or the data is not what was captured.
    [[nodiscard]] base::Result<StoredData> find(const capture::TensorReference& reference) const;

private:
    StoredData* findDigest(const std::string& digest) const;

    const TensorStore* m_parent;
    std::map<std::string, std::shared_ptr<FileMapping>> m_files;
    mutable std::map<std::string, StoredData> m_data;  // Mutable for isVerified.
};

}  // namespace modulelens::engine
