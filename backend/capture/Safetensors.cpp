// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/Safetensors.h"

#include "backend/base/ArchiveSafety.h"
#include "backend/base/Guarded.h"
#include "backend/capture/JsonView.h"

#include <algorithm>
#include <array>
#include <set>

namespace modulelens::capture {

namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaximumHeaderBytes = 100'000'000;
constexpr std::string_view kPadPrefix = ".pad.";

struct DtypeRow {
    std::string_view safetensors;
    std::string_view torch;
    std::uint64_t sizeBytes;
};

constexpr std::array kDtypes = {
    DtypeRow{"F64", "float64", 8},
    DtypeRow{"F32", "float32", 4},
    DtypeRow{"F16", "float16", 2},
    DtypeRow{"BF16", "bfloat16", 2},
    DtypeRow{"I64", "int64", 8},
    DtypeRow{"I32", "int32", 4},
    DtypeRow{"I16", "int16", 2},
    DtypeRow{"I8", "int8", 1},
    DtypeRow{"U8", "uint8", 1},
    DtypeRow{"U16", "uint16", 2},
    DtypeRow{"U32", "uint32", 4},
    DtypeRow{"U64", "uint64", 8},
    DtypeRow{"BOOL", "bool", 1},
    DtypeRow{"F8_E4M3", "float8_e4m3fn", 1},
    DtypeRow{"F8_E5M2", "float8_e5m2", 1},
    // Written by others only: ours stores these as U8.
    DtypeRow{"F8_E8M0", "", 1},
    DtypeRow{"C64", "", 8},
};

const DtypeRow* findDtype(std::string_view name) {
    const auto found =
        std::find_if(kDtypes.begin(), kDtypes.end(), [&](const DtypeRow& row) { return row.safetensors == name; });
    return found == kDtypes.end() ? nullptr : &*found;
}

[[noreturn]] void failCorrupt(const std::string& displayName, const std::string& what) {
    throw DocumentError{{base::ErrorCode::Corrupt, "the tensor file '" + displayName + "' " + what,
                         "The file is damaged or was changed; fetch or capture it again."}};
}

/// Bytes of a tensor of this shape; fails on overflow.
std::uint64_t expectedBytes(const JsonView& view, const std::vector<std::int64_t>& shape, std::uint64_t elementBytes) {
    std::uint64_t bytes = elementBytes;
    for (const std::int64_t size : shape) {
        if (size < 0) {
            view.fail("holds a negative size");
        }
        if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
            view.fail("has a shape that overflows");
        }
    }
    return bytes;
}

/// Parses the header text and refuses any key that stands twice in one object.
nlohmann::json parseHeader(std::string_view text, const std::string& displayName) {
    constexpr int kDepthLimit = 8;
    const auto depth = base::checkJsonDepth(text, kDepthLimit, displayName);
    if (!depth) {
        throw DocumentError{depth.error()};
    }
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
        if (event == nlohmann::json::parse_event_t::object_start) {
            keys.emplace_back();
        } else if (event == nlohmann::json::parse_event_t::object_end) {
            keys.pop_back();
        } else if (event == nlohmann::json::parse_event_t::key &&
                   !keys.back().insert(parsed.get_ref<const std::string&>()).second) {
            failCorrupt(displayName, "has a key twice in its header");
        }
        return true;
    };
    try {
        return nlohmann::json::parse(text, watch);
    } catch (const nlohmann::json::parse_error& error) {
        failCorrupt(displayName, "has a header that is no valid JSON at byte " + std::to_string(error.byte));
    }
}

SafetensorsEntry readEntry(const JsonView& view, std::uint64_t dataStart, std::uint64_t dataBytes) {
    SafetensorsEntry entry;
    const JsonView dtype = view.at("dtype");
    entry.dtype = dtype.string();
    const DtypeRow* row = findDtype(entry.dtype);
    if (row == nullptr) {
        throw DocumentError{{base::ErrorCode::Unsupported,
                             "'" + dtype.where() + "' is the element type '" + entry.dtype.substr(0, 40) +
                                 "', which this ModuleLens does not know",
                             "Update ModuleLens."}};
    }
    const JsonView shape = view.at("shape");
    entry.shape = shape.integers();
    const JsonView offsets = view.at("data_offsets");
    const std::vector<std::int64_t> range = offsets.integers();
    if (range.size() != 2 || range[0] < 0 || range[1] < range[0] || static_cast<std::uint64_t>(range[1]) > dataBytes) {
        offsets.fail("lies outside the file");
    }
    entry.offset = dataStart + static_cast<std::uint64_t>(range[0]);
    entry.sizeBytes = static_cast<std::uint64_t>(range[1] - range[0]);
    if (expectedBytes(shape, entry.shape, row->sizeBytes) != entry.sizeBytes) {
        view.fail("has another size than its shape and element type need");
    }
    return entry;
}

/// The entries must cover the data section once, without gap or overlap.
void checkTiling(std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges, std::uint64_t begin, std::uint64_t end,
                 const std::string& displayName) {
    std::sort(ranges.begin(), ranges.end());
    for (const auto& [rangeBegin, rangeEnd] : ranges) {
        if (rangeBegin != begin) {
            failCorrupt(displayName, "has tensors that overlap or leave a gap at byte " + std::to_string(begin));
        }
        begin = rangeEnd;
    }
    if (begin != end) {
        failCorrupt(displayName, "holds data that belongs to no tensor, or is cut");
    }
}

SafetensorsHeader readHeader(std::span<const std::byte> bytes, const std::string& displayName) {
    if (bytes.size() < kLengthBytes) {
        failCorrupt(displayName, "is cut: it holds no header");
    }
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i) {
        length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    }
    if (length > bytes.size() - kLengthBytes || length > kMaximumHeaderBytes) {
        failCorrupt(displayName, "says that its header has " + std::to_string(length) + " bytes, more than there can be");
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, static_cast<std::size_t>(length));
    const nlohmann::json json = parseHeader(text, displayName);
    const JsonView view(json, displayName);
    const std::uint64_t dataStart = kLengthBytes + length;
    const std::uint64_t dataBytes = bytes.size() - dataStart;
    SafetensorsHeader header;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    view.forEachMember([&](const std::string& key, const JsonView& member) {
        if (key == "__metadata__") {
            member.forEachMember(
                [&](const std::string& name, const JsonView& value) { header.metadata.emplace(name, value.string()); });
            return;
        }
        SafetensorsEntry entry = readEntry(member, dataStart, dataBytes);
        ranges.emplace_back(entry.offset, entry.offset + entry.sizeBytes);
        if (!key.starts_with(kPadPrefix)) {
            header.entries.emplace(key, std::move(entry));
        }
    });
    checkTiling(std::move(ranges), dataStart, bytes.size(), displayName);
    return header;
}

std::uint64_t gapBefore(std::uint64_t offset) {
    return (kAlignment - offset % kAlignment) % kAlignment;
}

void appendMember(std::string& text, const std::string& key, const nlohmann::json& value) {
    text += text.empty() ? "{" : ",";
    text += nlohmann::json(key).dump() + ":" + value.dump();
}

nlohmann::json entryJson(const std::string& dtype, const std::vector<std::int64_t>& shape, std::uint64_t begin,
                         std::uint64_t sizeBytes) {
    return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, begin + sizeBytes}}};
}

base::Error invalidTensor(const std::string& key, const std::string& why) {
    return {base::ErrorCode::InvalidArgument, "the tensor '" + key + "' cannot be written: " + why, ""};
}

base::Result<void> checkInputs(const std::vector<SafetensorsInput>& tensors) {
    std::set<std::string_view> keys;
    for (const SafetensorsInput& tensor : tensors) {
        const DtypeRow* row = findDtype(tensor.dtype);
        if (row == nullptr) {
            return invalidTensor(tensor.key, "unknown element type " + tensor.dtype);
        }
        if (tensor.key == "__metadata__" || tensor.key.starts_with(kPadPrefix) || !keys.insert(tensor.key).second) {
            return invalidTensor(tensor.key, "the key is reserved or stands twice");
        }
        std::uint64_t bytes = row->sizeBytes;
        for (const std::int64_t size : tensor.shape) {
            if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
                return invalidTensor(tensor.key, "a negative size or an overflow");
            }
        }
        if (bytes != tensor.bytes.size()) {
            return invalidTensor(tensor.key, "its bytes do not fit its shape");
        }
    }
    return {};
}

/// The header text, and each tensor's place from the start of the data.
std::string makeHeader(const std::vector<SafetensorsInput>& tensors, const std::map<std::string, std::string>& metadata,
                       std::map<std::string, SafetensorsEntry>& places) {
    std::string text;
    if (!metadata.empty()) {
        appendMember(text, "__metadata__", metadata);
    }
    std::uint64_t offset = 0;
    int pads = 0;
    for (const SafetensorsInput& tensor : tensors) {
        if (const std::uint64_t gap = gapBefore(offset); gap > 0) {
            appendMember(text, std::string(kPadPrefix) + std::to_string(pads++),
                         entryJson("U8", {static_cast<std::int64_t>(gap)}, offset, gap));
            offset += gap;
        }
        appendMember(text, tensor.key, entryJson(tensor.dtype, tensor.shape, offset, tensor.bytes.size()));
        places[tensor.key] = {tensor.dtype, tensor.shape, offset, tensor.bytes.size()};
        offset += tensor.bytes.size();
    }
    text += text.empty() ? "{}" : "}";
    text.append(static_cast<std::size_t>(gapBefore(kLengthBytes + text.size())), ' ');
    return text;
}

/// The file's pieces; `places` gets each tensor's place from the start of the file.
SafetensorsPieces layOut(const std::vector<SafetensorsInput>& tensors, const std::map<std::string, std::string>& metadata,
                         std::map<std::string, SafetensorsEntry>& places) {
    const std::string header = makeHeader(tensors, metadata, places);
    std::string head;
    for (std::size_t i = 0; i < kLengthBytes; ++i) {
        head.push_back(static_cast<char>((header.size() >> (8 * i)) & 0xffU));
    }
    head += header;
    static constexpr std::array<std::byte, kAlignment> kZeros{};
    SafetensorsPieces result{std::make_shared<const std::string>(std::move(head)), {}};
    result.pieces.reserve(1 + 2 * tensors.size());
    result.pieces.push_back(std::as_bytes(std::span(*result.head)));
    const std::uint64_t dataStart = result.head->size();
    std::uint64_t offset = dataStart;
    for (const SafetensorsInput& tensor : tensors) {
        const std::uint64_t gap = gapBefore(offset);
        result.pieces.push_back(std::span(kZeros).first(static_cast<std::size_t>(gap)));
        result.pieces.push_back(tensor.bytes);
        offset += gap + tensor.bytes.size();
        places[tensor.key].offset += dataStart;
    }
    return result;
}

base::Result<std::map<std::string, SafetensorsEntry>> writeFile(base::FileSystem& files, const std::filesystem::path& path,
                                                                const std::vector<SafetensorsInput>& tensors,
                                                                const std::map<std::string, std::string>& metadata) {
    std::map<std::string, SafetensorsEntry> places;
    const SafetensorsPieces laidOut = layOut(tensors, metadata, places);
    auto file = files.create(path);
    if (!file) {
        return file.error();
    }
    for (const std::span<const std::byte> piece : laidOut.pieces) {
        const auto appended = (*file)->append(piece);
        if (!appended) {
            return appended.error();
        }
    }
    if (const auto synced = (*file)->sync(); !synced) {
        return synced.error();
    }
    if (const auto closed = (*file)->close(); !closed) {
        return closed.error();
    }
    return places;
}

}  // namespace

base::Result<SafetensorsHeader> readSafetensorsHeader(std::span<const std::byte> bytes, const std::string& displayName) {
    return readDocument(displayName, [&] { return readHeader(bytes, displayName); });
}

base::Result<std::map<std::string, SafetensorsEntry>> writeSafetensors(base::FileSystem& files,
                                                                       const std::filesystem::path& path,
                                                                       const std::vector<SafetensorsInput>& tensors,
                                                                       const std::map<std::string, std::string>& metadata) {
    const auto valid = checkInputs(tensors);
    if (!valid) {
        return valid.error();
    }
    return base::guarded("writing '" + path.string() + "'", [&] { return writeFile(files, path, tensors, metadata); });
}

base::Result<SafetensorsPieces> layOutSafetensors(const std::vector<SafetensorsInput>& tensors,
                                                  const std::map<std::string, std::string>& metadata) {
    const auto valid = checkInputs(tensors);
    if (!valid) {
        return valid.error();
    }
    return base::guarded("laying out tensors", [&] {
        std::map<std::string, SafetensorsEntry> places;
        return layOut(tensors, metadata, places);
    });
}

std::string safetensorsDtype(const std::string& torchName) {
    for (const DtypeRow& row : kDtypes) {
        if (row.torch == torchName) {
            return std::string(row.safetensors);
        }
    }
    return "U8";
}

}  // namespace modulelens::capture
