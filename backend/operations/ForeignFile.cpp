// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/ForeignFile.h"

#include "backend/base/FileSystem.h"
#include "backend/base/ZipReader.h"

#include <algorithm>
#include <string_view>

namespace modulelens::operations {

namespace {

std::string_view headOf(std::span<const std::byte> bytes, std::size_t count) {
    return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), count)};
}

base::Result<ImportKind> identifyArchive(const std::vector<std::string>& names, const std::string& shown) {
    const auto any = [&](auto test) { return std::any_of(names.begin(), names.end(), test); };
    const auto holds = [&](std::string_view part) {
        return any([&](const std::string& name) { return name.find(part) != std::string::npos; });
    };
    const auto endsWith = [&](std::string_view end) {
        return any([&](const std::string& name) { return name.ends_with(end); });
    };
    if (any([](const std::string& name) { return name == "bundle.json"; })) {
        return ImportKind::Bundle;
    }
    if (holds("/models/") && endsWith("/archive_format")) {
        return ImportKind::Exported;
    }
    if (holds("/data/aotinductor/")) {
        return ImportKind::AotInductor;
    }
    if (endsWith("/data.pkl") && endsWith("/constants.pkl") && holds("/code/")) {
        return ImportKind::TorchScript;
    }
    if (endsWith("/data.pkl") || any([](const std::string& name) { return name == "data.pkl"; })) {
        return base::Error{base::ErrorCode::Unsupported,
                           "'" + shown + "' is a checkpoint of torch.save: pickled values without a program",
                           "Save the module with torch.export.save or torch.jit.save, or capture it with the tracer."};
    }
    if (any([](const std::string& name) { return name == "serialized_exported_program.json"; })) {
        return base::Error{base::ErrorCode::Unsupported, "'" + shown + "' is a .pt2 of a torch older than 2.8",
                           "Export it again with torch 2.9 or newer."};
    }
    return base::Error{base::ErrorCode::Unsupported,
                       "'" + shown + "' is a zip archive, but neither a bundle, a .pt2 nor a TorchScript archive",
                       "Name a bundle, a .mlens, or a file of torch.export.save or torch.jit.save."};
}

} // namespace

base::Result<ImportKind> identifyImport(const std::filesystem::path& path) {
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed)) {
        return ImportKind::Bundle;
    }
    const auto file = base::realFileSystem().map(path);
    if (!file) {
        return file.error();
    }
    const std::span<const std::byte> bytes = (*file)->bytes();
    const std::string shown = path.filename().string();
    if (headOf(bytes, 2) != "PK") {
        // A pickle begins with its protocol; a safetensors file, which may have the same first byte, has a '{' after its length.
        const bool isPickle = bytes.size() > 1 && bytes[0] == std::byte{0x80} && bytes[1] <= std::byte{5};
        return base::Error{
            base::ErrorCode::Unsupported,
            "'" + shown +
                (isPickle ? "' is a plain pickle, which ModuleLens never reads" : "' is no file that ModuleLens can import"),
            "Name a bundle, a .mlens, or a file of torch.export.save or torch.jit.save."};
    }
    const auto names = base::ZipReader::memberNames(bytes, shown);
    if (!names) {
        return names.error();
    }
    return identifyArchive(*names, shown);
}

} // namespace modulelens::operations
