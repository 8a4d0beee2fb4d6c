// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/ModelJson.h"

#include "backend/base/ArchiveSafety.h"

#include <array>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace modulelens::graph {

namespace {

using base::ScalarType;

constexpr int kMaximumDepth = 200;
constexpr std::size_t kMaximumRank = 64;

/// torch/_export/serde/schema.py, class ScalarType.
constexpr std::array<std::pair<std::int64_t, ScalarType>, 21> kScalarTypes{{
    {1, ScalarType::UInt8},           {2, ScalarType::Int8},
    {3, ScalarType::Int16},           {4, ScalarType::Int32},
    {5, ScalarType::Int64},           {6, ScalarType::Float16},
    {7, ScalarType::Float32},         {8, ScalarType::Float64},
    {9, ScalarType::Complex32},       {10, ScalarType::Complex64},
    {11, ScalarType::Complex128},     {12, ScalarType::Bool},
    {13, ScalarType::BFloat16},       {28, ScalarType::UInt16},
    {29, ScalarType::Float8E4M3FN},   {30, ScalarType::Float8E5M2},
    {31, ScalarType::Float8E4M3FNUZ}, {32, ScalarType::Float8E5M2FNUZ},
    {33, ScalarType::Float8E8M0FNU},  {34, ScalarType::UInt32},
    {35, ScalarType::UInt64},
}};

/// By torch.export's number: c10::Layout of SparseCoo, SparseCsr, SparseCsc, SparseBsr, SparseBsc, Mkldnn, Strided.
constexpr std::array<int, 8> kLayouts{-1, 1, 2, 4, 5, 6, 3, 0};
/// By torch.export's number: c10::MemoryFormat of Contiguous, ChannelsLast, ChannelsLast3d, Preserve.
constexpr std::array<int, 5> kMemoryFormats{-1, 0, 2, 3, 1};

template <std::size_t N>
int lookUp(const std::array<int, N>& table, const JsonNode& json, std::string_view what) {
    const std::int64_t number = integer(json, what);
    if (number < 1 || number >= static_cast<std::int64_t>(N)) {
        failCorrupt(std::string(what) + " " + std::to_string(number) + " is unknown");
    }
    return table[static_cast<std::size_t>(number)];
}

}  // namespace

void failCorrupt(const std::string& what) {
    throw FormatError{{base::ErrorCode::Corrupt, what, "The program is damaged or was changed; capture the module again."}};
}

void failUnsupported(const std::string& what, const std::string& fix) {
    throw FormatError{{base::ErrorCode::Unsupported, what, fix}};
}

nlohmann::json parseText(std::string_view text, const std::string& displayName) {
    const auto depth = base::checkJsonDepth(text, kMaximumDepth, displayName);
    if (!depth) {
        throw FormatError{depth.error()};
    }
    try {
        return nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        failCorrupt("'" + displayName + "' is no valid JSON at byte " + std::to_string(error.byte));
    }
}

const nlohmann::json& member(const nlohmann::json& object, std::string_view key) {
    if (object.is_object()) {
        const auto found = object.find(key);
        if (found != object.end()) {
            return *found;
        }
    }
    failCorrupt("the key '" + std::string(key) + "' is missing");
}

const nlohmann::json* findMember(const nlohmann::json& object, std::string_view key) {
    if (!object.is_object()) {
        return nullptr;
    }
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

const nlohmann::json& array(const nlohmann::json& json, std::string_view what) {
    if (!json.is_array()) {
        failCorrupt(std::string(what) + " is no list");
    }
    return json;
}

const std::string& text(const nlohmann::json& json, std::string_view what) {
    const auto* value = json.get_ptr<const std::string*>();
    if (value == nullptr) {
        failCorrupt(std::string(what) + " is no text");
    }
    return *value;
}

std::int64_t integer(const nlohmann::json& json, std::string_view what) {
    if (const auto* value = json.get_ptr<const nlohmann::json::number_unsigned_t*>()) {
        if (*value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            return static_cast<std::int64_t>(*value);
        }
    } else if (const auto* negative = json.get_ptr<const nlohmann::json::number_integer_t*>()) {
        return *negative;
    }
    failCorrupt(std::string(what) + " is no 64-bit integer");
}

JsonTree parseTree(std::string_view text, const std::string& displayName) {
    auto tree = JsonTree::parse(text, kMaximumDepth, displayName);
    if (!tree) {
        throw FormatError{tree.error()};
    }
    return std::move(tree).value();
}

const JsonNode& member(const JsonNode& object, std::string_view key) {
    if (const JsonNode* found = object.find(key)) {
        return *found;
    }
    failCorrupt("the key '" + std::string(key) + "' is missing");
}

const JsonNode* findMember(const JsonNode& object, std::string_view key) {
    const JsonNode* found = object.find(key);
    return found == nullptr || found->isNull() ? nullptr : found;
}

const JsonNode& array(const JsonNode& json, std::string_view what) {
    if (!json.isArray()) {
        failCorrupt(std::string(what) + " is no list");
    }
    return json;
}

std::string text(const JsonNode& json, std::string_view what) {
    if (!json.isText()) {
        failCorrupt(std::string(what) + " is no text");
    }
    return json.text();
}

std::int64_t integer(const JsonNode& json, std::string_view what) {
    const std::string_view source = json.source();
    std::int64_t value = 0;
    if (json.type() == JsonNode::Type::Integer &&
        std::from_chars(source.data(), source.data() + source.size(), value).ec == std::errc()) {
        return value;
    }
    failCorrupt(std::string(what) + " is no 64-bit integer");
}

bool boolean(const JsonNode& json, std::string_view what) {
    if (json.type() != JsonNode::Type::True && json.type() != JsonNode::Type::False) {
        failCorrupt(std::string(what) + " is neither true nor false");
    }
    return json.type() == JsonNode::Type::True;
}

double number(const JsonNode& json, std::string_view what) {
    if (json.type() == JsonNode::Type::Integer || json.type() == JsonNode::Type::Float) {
        const std::string_view source = json.source();
        double value = 0;
        if (std::from_chars(source.data(), source.data() + source.size(), value).ec == std::errc()) {
            return value;
        }
    }
    if (json.equals("Infinity") || json.equals("inf")) {
        return std::numeric_limits<double>::infinity();
    }
    if (json.equals("-Infinity") || json.equals("-inf")) {
        return -std::numeric_limits<double>::infinity();
    }
    if (json.equals("NaN") || json.equals("nan")) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    failCorrupt(std::string(what) + " is no number");
}

UnionValue unionValue(const JsonNode& json, std::string_view what) {
    const JsonNode* key = nullptr;
    const JsonNode* value = nullptr;
    std::size_t count = 0;
    if (json.isObject()) {
        for (JsonNode::Iterator at = json.begin(); at != json.end(); ++at) {
            const JsonNode& name = *at;
            ++at;
            if (!at->isNull()) {
                key = &name;
                value = &*at;
                ++count;
            }
        }
    }
    if (count != 1) {
        failCorrupt(std::string(what) + " does not hold exactly one kind of value");
    }
    return {key->source(), *value};
}

base::ScalarType scalarTypeFromExport(const JsonNode& json) {
    const std::int64_t number = integer(json, "an element type");
    for (const auto& [exported, type] : kScalarTypes) {
        if (exported == number) {
            return type;
        }
    }
    failUnsupported("element type " + std::to_string(number) + " of torch.export is unknown", "Update ModuleLens.");
}

int layoutFromExport(const JsonNode& json) {
    return lookUp(kLayouts, json, "layout");
}

int memoryFormatFromExport(const JsonNode& json) {
    return lookUp(kMemoryFormats, json, "memory format");
}

SymbolicInteger symbolicInteger(const JsonNode& json) {
    const auto [kind, value] = unionValue(json, "a size");
    SymbolicInteger result;
    if (kind == "as_int") {
        result.literal = integer(value, "a size");
        return result;
    }
    if (kind != "as_expr") {
        failCorrupt("a size is of the unknown kind '" + std::string(kind.substr(0, 40)) + "'");
    }
    result.expression = text(member(value, "expr_str"), "the expression of a size");
    if (const JsonNode* hint = findMember(value, "hint")) {
        if (const JsonNode* known = findMember(*hint, "as_int")) {
            result.hint = integer(*known, "the hint of a size");
        }
    }
    return result;
}

TensorMeta tensorMeta(const JsonNode& json) {
    TensorMeta meta;
    meta.dtype = scalarTypeFromExport(member(json, "dtype"));
    const auto readSizes = [&](std::string_view key) {
        const JsonNode& list = array(member(json, key), key);
        if (list.size() > kMaximumRank) {
            failCorrupt("a tensor has more than 64 dimensions");
        }
        std::vector<SymbolicInteger> sizes;
        sizes.reserve(list.size());
        for (const JsonNode& size : list) {
            sizes.push_back(symbolicInteger(size));
            if (sizes.back().literal.value_or(0) < 0 || sizes.back().hint.value_or(0) < 0) {
                failCorrupt("a tensor has a negative size or stride");
            }
        }
        return sizes;
    };
    meta.sizes = readSizes("sizes");
    meta.strides = readSizes("strides");
    const SymbolicInteger offset = symbolicInteger(member(json, "storage_offset"));
    meta.storageOffset = offset.literal ? *offset.literal : offset.hint.value_or(0);
    const JsonNode& device = member(json, "device");
    meta.device = text(member(device, "type"), "a device type");
    if (const JsonNode* index = findMember(device, "index")) {
        meta.device += ":" + std::to_string(integer(*index, "a device index"));
    }
    meta.requiresGrad = boolean(member(json, "requires_grad"), "requires_grad");
    meta.layout = static_cast<int>(integer(member(json, "layout"), "a layout") & 0xff);
    return meta;
}

}  // namespace modulelens::graph
