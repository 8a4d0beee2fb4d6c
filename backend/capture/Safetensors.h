// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/base/Result.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace modulelens::capture {

/// One tensor of a safetensors file; the offset counts from the start of the file.
struct SafetensorsEntry {
    std::string dtype;                    ///< As written: "F32", "BF16", "U8", ...
    std::vector<std::int64_t> shape;
    std::uint64_t offset = 0;
    std::uint64_t sizeBytes = 0;
};

/// Header of a safetensors file; padding entries (".pad.N") are left out.
struct SafetensorsHeader {
    std::map<std::string, SafetensorsEntry> entries;
    std::map<std::string, std::string> metadata;
};

/// Reads the header of the file that `bytes` holds whole. Corrupt: cut, a header length beyond the file or beyond 100 MB,
/// offsets outside the data or overlapping or leaving gaps, a size that does not fit dtype and shape, a duplicate key.
[[nodiscard]] base::Result<SafetensorsHeader> readSafetensorsHeader(std::span<const std::byte> bytes,
                                                                    const std::string& displayName);

/// A tensor to write: `bytes` must stay valid until the writer returns.
struct SafetensorsInput {
    std::string key;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;
};

/// Writes a new safetensors file with every tensor's data at a multiple of 64 bytes in the file, gaps filled by
/// ".pad.N" entries. Returns where each key's data lies. The file is synced and closed, `path` must not exist.
/// StorageFull, PermissionDenied, AlreadyExists; after a failure a partial file may remain for the caller to remove.
[[nodiscard]] base::Result<std::map<std::string, SafetensorsEntry>> writeSafetensors(
    base::FileSystem& files, const std::filesystem::path& path, const std::vector<SafetensorsInput>& tensors,
    const std::map<std::string, std::string>& metadata);

/// A safetensors file in pieces that lie where they are, to be sent without being copied together.
struct SafetensorsPieces {
    std::shared_ptr<const std::string> head;   ///< Length and header; kept alive for `pieces`.
    std::vector<std::span<const std::byte>> pieces;
};

/// What writeSafetensors would write: the same bytes. The tensors' bytes outlive the result. InvalidArgument as there.
[[nodiscard]] base::Result<SafetensorsPieces> layOutSafetensors(const std::vector<SafetensorsInput>& tensors,
                                                                const std::map<std::string, std::string>& metadata);

/// safetensors dtype name for a PyTorch dtype name, or "U8" when safetensors has none.
[[nodiscard]] std::string safetensorsDtype(const std::string& torchName);

}  // namespace modulelens::capture
