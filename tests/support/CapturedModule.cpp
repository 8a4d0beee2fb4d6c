// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/support/CapturedModule.h"

#include "tests/support/TestPaths.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace modulelens::test {

namespace {

template <class T>
T require(base::Result<T> result, const std::string& what) {
    if (!result) {
        throw std::runtime_error(what + ": " + result.error().text());
    }
    return std::move(result).value();
}

}  // namespace

std::filesystem::path capturesFolder(const std::string& set) {
    return programPath("x").parent_path().parent_path() / "captures" / set;
}

std::vector<std::string> capturedModules(const std::string& set) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(capturesFolder(set), ignored)) {
        if (entry.is_directory()) {
            names.push_back(entry.path().filename().string());
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

nlohmann::json expectedOf(const std::string& name, const std::string& key, const std::string& set) {
    std::ifstream file(capturesFolder(set) / "expected.json");
    const nlohmann::json all = nlohmann::json::parse(file);
    return all.contains(name) && all[name].contains(key) ? all[name][key] : nlohmann::json();
}

CapturedModule::CapturedModule(const std::string& name, const std::string& set)
    : CapturedModule(require(capture::findBundles(base::realFileSystem(), capturesFolder(set) / name), name).front(), 0) {}

CapturedModule::CapturedModule(const std::filesystem::path& path, std::size_t index) {
    const std::string name = path.string();
    m_bundle = require(capture::Bundle::open(base::realFileSystem(), path), name);
    m_version = require(m_bundle->version(m_bundle->index().versions.at(index)), name);
    for (const auto& [digest, place] : require(m_bundle->tensorExtents(), name)) {
        m_tensors.push_back(extent(digest, place));
    }
}

protocol::Extent CapturedModule::extent(const std::string& digest, const capture::FileExtent& place) const {
    return {digest, place.file.string(), place.offset, place.sizeBytes};
}

protocol::LoadParams CapturedModule::loadParams(std::size_t call) const {
    const std::string& digest = m_version.calls.at(call).program;
    const auto& programs = m_bundle->index().programs;
    const auto program =
        std::find_if(programs.begin(), programs.end(), [&](const capture::BundleFile& file) { return file.sha256 == digest; });
    protocol::LoadParams params;
    params.name = m_version.model;
    params.program = extent(digest, m_bundle->extent(*program));
    params.tensors = m_tensors;
    params.state = *m_version.stateJson;
    return params;
}

nlohmann::json CapturedModule::source() const {
    nlohmann::json source = {{"root", m_version.stateDigest}, {"nodes", nlohmann::json::object()}};
    for (const capture::BundleFile& node : m_bundle->index().nodes) {
        const capture::FileExtent place = m_bundle->extent(node);
        std::ifstream file(place.file, std::ios::binary);
        file.seekg(static_cast<std::streamoff>(place.offset));
        std::string text(place.sizeBytes, ' ');
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
        source["nodes"][node.sha256] = nlohmann::json::parse(text);
    }
    for (const capture::CallDocument& call : m_version.calls) {
        source["values"].push_back(*call.json);
    }
    return source;
}

protocol::CallParams CapturedModule::callParams(int handle, std::size_t call) const {
    protocol::CallParams params;
    params.handle = handle;
    params.call = *m_version.calls.at(call).json;
    params.tensors = m_tensors;
    params.threads = 2;
    return params;
}

}  // namespace modulelens::test
