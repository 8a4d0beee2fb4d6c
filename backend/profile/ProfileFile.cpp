// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/ProfileFile.h"

#include "backend/base/Guarded.h"
#include "backend/capture/Safetensors.h"

#include <nlohmann/json.hpp>

#include <cstring>

namespace modulelens::profile {

using base::Error;
using base::ErrorCode;
using base::Result;
using capture::SafetensorsEntry;
using capture::SafetensorsHeader;
using capture::SafetensorsInput;
using nlohmann::json;

namespace {

constexpr int kSchemaVersion = 1;
constexpr const char* kFormat = "modulelens.profile";

std::string columnKey(const std::string& metric, Direction direction, const char* what) {
    return metric + (direction == Direction::Forward ? ".forward." : ".backward.") + what;
}

template <class T>
SafetensorsInput tensor(std::string key, const char* dtype, const std::vector<T>& values) {
    return {std::move(key), dtype, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))};
}

/// A reader of one file's tensors: copies them out, each checked against the dtype and length that are expected.
/// Confined to its thread.
class TensorReader {
public:
    TensorReader(const SafetensorsHeader& header, std::span<const std::byte> bytes, const std::string& displayName)
        : m_header(header), m_bytes(bytes), m_displayName(displayName) {}

    Error corrupt(const std::string& what) const {
        return Error{ErrorCode::Corrupt, m_displayName + " is not a profile file: " + what,
                     "Profile the module again to replace it."};
    }

    /// `count` -1 takes any length.
    template <class T>
    Result<std::vector<T>> read(const std::string& key, const char* dtype, std::int64_t count) const {
        const auto found = m_header.entries.find(key);
        if (found == m_header.entries.end()) {
            return corrupt("tensor " + key + " is missing");
        }
        const SafetensorsEntry& entry = found->second;
        if (entry.dtype != dtype || entry.shape.size() != 1 || (count >= 0 && entry.shape[0] != count) ||
            entry.sizeBytes != static_cast<std::uint64_t>(entry.shape[0]) * sizeof(T) || entry.offset > m_bytes.size() ||
            entry.sizeBytes > m_bytes.size() - entry.offset) {
            return corrupt("tensor " + key + " has an unexpected dtype or length");
        }
        std::vector<T> values(static_cast<std::size_t>(entry.shape[0]));
        if (!values.empty()) {
            std::memcpy(values.data(), m_bytes.data() + entry.offset, static_cast<std::size_t>(entry.sizeBytes));
        }
        return values;
    }

    bool has(const std::string& key) const { return m_header.entries.contains(key); }

private:
    const SafetensorsHeader& m_header;
    std::span<const std::byte> m_bytes;
    const std::string& m_displayName;
};

Result<void> checkFormat(const SafetensorsHeader& header, const TensorReader& reader, const std::string& displayName) {
    const auto format = header.metadata.find("format");
    if (format == header.metadata.end() || format->second != kFormat) {
        return reader.corrupt("its metadata does not say format " + std::string(kFormat));
    }
    const auto version = header.metadata.find("schema_version");
    const json number = json::parse(version == header.metadata.end() ? "null" : version->second, nullptr, false);
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() == 0) {
        return reader.corrupt("its metadata has no schema_version");
    }
    if (number.get<std::uint64_t>() > kSchemaVersion) {
        return Error{ErrorCode::Unsupported,
                     displayName + " has profile schema version " + version->second + ", this build reads up to " +
                         std::to_string(kSchemaVersion),
                     "Update ModuleLens."};
    }
    return {};
}

Result<void> readDocument(const SafetensorsHeader& header, const TensorReader& reader, ProfileParts& parts) {
    const auto found = header.metadata.find("profile");
    const json document = found == header.metadata.end() ? json() : json::parse(found->second, nullptr, false);
    if (!document.is_object() || !document.contains("facts") || !document.contains("coverage")) {
        return reader.corrupt("its metadata has no readable profile entry");
    }
    try {
        parts.facts = document.at("facts").get<std::map<std::string, std::string>>();
        const json& coverage = document.at("coverage");
        parts.coverage.counted = coverage.at("counted").get<std::vector<std::string>>();
        parts.coverage.zero = coverage.at("zero").get<std::vector<std::string>>();
        parts.coverage.unknown = coverage.at("unknown").get<std::vector<std::string>>();
    } catch (const json::exception&) {
        return reader.corrupt("its facts or coverage have an unexpected form");
    }
    return {};
}

template <class T>
bool take(Result<std::vector<T>> values, std::vector<T>& into, Result<void>& outcome) {
    if (!values) {
        outcome = values.error();
        return false;
    }
    into = std::move(values).value();
    return true;
}

Result<void> readScopes(const TensorReader& reader, ProfileParts& parts) {
    Result<void> outcome;
    if (!take(reader.read<ScopeId>("tree.parent", "I32", -1), parts.parent, outcome)) {
        return outcome;
    }
    const auto count = static_cast<std::int64_t>(parts.parent.size());
    std::vector<std::uint8_t> kinds;
    std::vector<char> texts;
    std::vector<std::int64_t> ends;
    if (!take(reader.read<std::uint8_t>("tree.kind", "U8", count), kinds, outcome) ||
        !take(reader.read<std::int32_t>("tree.call", "I32", count), parts.call, outcome) ||
        !take(reader.read<std::int32_t>("tree.name", "I32", count), parts.name, outcome) ||
        !take(reader.read<std::int32_t>("tree.path", "I32", count), parts.path, outcome) ||
        !take(reader.read<std::int32_t>("tree.class", "I32", count), parts.className, outcome) ||
        !take(reader.read<char>("strings.bytes", "U8", -1), texts, outcome) ||
        !take(reader.read<std::int64_t>("strings.ends", "I64", -1), ends, outcome)) {
        return outcome;
    }
    parts.texts.assign(texts.begin(), texts.end());
    parts.kind.resize(kinds.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (kinds[i] > static_cast<std::uint8_t>(ScopeKind::Unattributed)) {
            return reader.corrupt("scope " + std::to_string(i) + " has kind " + std::to_string(kinds[i]));
        }
        parts.kind[i] = static_cast<ScopeKind>(kinds[i]);
    }
    parts.textEnds.resize(ends.size());
    for (std::size_t i = 0; i < ends.size(); ++i) {
        if (ends[i] < 0 || ends[i] > std::numeric_limits<std::uint32_t>::max()) {
            return reader.corrupt("a string offset is out of range");
        }
        parts.textEnds[i] = static_cast<std::uint32_t>(ends[i]);
    }
    return outcome;
}

Result<void> readColumns(const TensorReader& reader, ProfileParts& parts) {
    Result<void> outcome;
    const auto count = static_cast<std::int64_t>(parts.parent.size());
    for (const Metric& metric : knownMetrics()) {
        for (const Direction direction : {Direction::Forward, Direction::Backward}) {
            if (!reader.has(columnKey(metric.id, direction, "self"))) {
                continue;
            }
            Column column{metric.id, direction, {}, {}, {}};
            const std::string samples = columnKey(metric.id, direction, "samples");
            if (!take(reader.read<std::int64_t>(columnKey(metric.id, direction, "self"), "I64", count), column.self, outcome) ||
                (reader.has(samples) && !take(reader.read<std::int64_t>(samples, "I64", -1), column.samples, outcome))) {
                return outcome;
            }
            parts.columns.push_back(std::move(column));
        }
    }
    return outcome;
}

} // namespace

Result<void> writeProfile(base::FileSystem& files, const std::filesystem::path& path, const Profile& profile) {
    return base::guarded("writing a profile", [&]() -> Result<void> {
        const ProfileParts& parts = profile.parts();
        std::vector<std::uint8_t> kinds(parts.kind.size());
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            kinds[i] = static_cast<std::uint8_t>(parts.kind[i]);
        }
        const std::vector<std::int64_t> ends(parts.textEnds.begin(), parts.textEnds.end());
        std::vector<SafetensorsInput> tensors;
        tensors.push_back(tensor("tree.parent", "I32", parts.parent));
        tensors.push_back(tensor("tree.kind", "U8", kinds));
        tensors.push_back(tensor("tree.call", "I32", parts.call));
        tensors.push_back(tensor("tree.name", "I32", parts.name));
        tensors.push_back(tensor("tree.path", "I32", parts.path));
        tensors.push_back(tensor("tree.class", "I32", parts.className));
        tensors.push_back(
            {"strings.bytes", "U8", {static_cast<std::int64_t>(parts.texts.size())}, std::as_bytes(std::span(parts.texts))});
        tensors.push_back(tensor("strings.ends", "I64", ends));
        json metrics = json::object();
        for (const Column& column : parts.columns) {
            const Metric& metric = *findMetric(column.metric);
            const char* rule = metric.combine == Combine::Sum ? "sum" : metric.combine == Combine::Union ? "union" : "max";
            metrics[metric.id] = {{"unit", metric.unit}, {"combine", rule}};
            tensors.push_back(tensor(columnKey(column.metric, column.direction, "self"), "I64", column.self));
            if (!column.samples.empty()) {
                tensors.push_back(tensor(columnKey(column.metric, column.direction, "samples"), "I64", column.samples));
            }
        }
        const CoverageLists& coverage = parts.coverage;
        const json document = {
            {"metrics", metrics},
            {"facts", parts.facts},
            {"coverage", {{"counted", coverage.counted}, {"zero", coverage.zero}, {"unknown", coverage.unknown}}}};
        const auto written =
            capture::writeSafetensors(files, path, tensors,
                                      {{"format", kFormat},
                                       {"schema_version", std::to_string(kSchemaVersion)},
                                       {"profile", document.dump(-1, ' ', false, json::error_handler_t::replace)}});
        if (!written) {
            return written.error();
        }
        return {};
    });
}

Result<std::shared_ptr<const Profile>> readProfile(base::FileSystem& files, const std::filesystem::path& path) {
    return base::guarded("reading a profile", [&]() -> Result<std::shared_ptr<const Profile>> {
        const std::string displayName = path.filename().string();
        const auto file = files.map(path);
        if (!file) {
            return file.error();
        }
        const std::span<const std::byte> bytes = file.value()->bytes();
        const Result<SafetensorsHeader> header = capture::readSafetensorsHeader(bytes, displayName);
        if (!header) {
            return header.error();
        }
        const TensorReader reader(*header, bytes, displayName);
        ProfileParts parts;
        for (const Result<void>& step :
             {checkFormat(*header, reader, displayName), readDocument(*header, reader, parts), readScopes(reader, parts)}) {
            if (!step) {
                return step.error();
            }
        }
        if (const Result<void> columns = readColumns(reader, parts); !columns) {
            return columns.error();
        }
        Result<std::shared_ptr<const Profile>> profile = Profile::create(std::move(parts));
        if (!profile && profile.error().code == ErrorCode::InvalidArgument) {
            return reader.corrupt(profile.error().message);
        }
        return profile;
    });
}

} // namespace modulelens::profile
