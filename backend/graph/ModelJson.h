// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Guarded.h"
#include "backend/base/Result.h"
#include "backend/graph/JsonTree.h"
#include "backend/graph/Program.h"

#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace modulelens::graph {

// Checked access to untrusted JSON of torch.export. Everything throws FormatError, which readFormat turns into an Error.

struct FormatError : std::exception {
    explicit FormatError(base::Error reason) : error(std::move(reason)) {}
    [[nodiscard]] const char* what() const noexcept override { return error.message.c_str(); }

    base::Error error;
};

/// Corrupt, with `what` as the message and the advice to fetch the file again.
[[noreturn]] void failCorrupt(const std::string& what);
[[noreturn]] void failUnsupported(const std::string& what, const std::string& fix);

/// Parses `text` with a limit on depth.
[[nodiscard]] nlohmann::json parseText(std::string_view text, const std::string& displayName);
/// The same as a tree that refers to `text`.
[[nodiscard]] JsonTree parseTree(std::string_view text, const std::string& displayName);

/// Child of an object, which must be there.
[[nodiscard]] const nlohmann::json& member(const nlohmann::json& object, std::string_view key);
[[nodiscard]] const JsonNode& member(const JsonNode& object, std::string_view key);
/// Child of an object, or nullptr when it is absent or null.
[[nodiscard]] const nlohmann::json* findMember(const nlohmann::json& object, std::string_view key);
[[nodiscard]] const JsonNode* findMember(const JsonNode& object, std::string_view key);
/// The json itself when it is an array, else fails. The result lives as long as `json`, so no temporary is taken.
const nlohmann::json& array(const nlohmann::json& json, std::string_view what);
const nlohmann::json& array(nlohmann::json&& json, std::string_view what) = delete;
const JsonNode& array(const JsonNode& json, std::string_view what);
const JsonNode& array(JsonNode&& json, std::string_view what) = delete;
[[nodiscard]] const std::string& text(const nlohmann::json& json, std::string_view what);
[[nodiscard]] std::string text(const JsonNode& json, std::string_view what);
[[nodiscard]] std::int64_t integer(const nlohmann::json& json, std::string_view what);
[[nodiscard]] std::int64_t integer(const JsonNode& json, std::string_view what);
[[nodiscard]] bool boolean(const JsonNode& json, std::string_view what);
/// A number, or one of the strings "Infinity", "-Infinity", "NaN" that torch writes.
[[nodiscard]] double number(const JsonNode& json, std::string_view what);

/// Calls `visit(key, value)` for each member of an object; fails when `json` is none.
template <class Visit>
void forEachMember(const JsonNode& json, std::string_view what, Visit visit) {
    if (!json.isObject()) {
        failCorrupt(std::string(what) + " is no object");
    }
    for (JsonNode::Iterator at = json.begin(); at != json.end(); ++at) {
        const JsonNode& key = *at;
        ++at;
        visit(key.text(), *at);
    }
}

/// Key and value of a one-key object, which is how torch.export writes a union. Keys with null values do not count.
struct UnionValue {
    std::string_view key;
    const JsonNode& value;
};
[[nodiscard]] UnionValue unionValue(const JsonNode& json, std::string_view what);

/// torch.export numbers element types, layouts and memory formats in its own way. The first gives ours, the others c10's.
[[nodiscard]] base::ScalarType scalarTypeFromExport(const JsonNode& json);
[[nodiscard]] int layoutFromExport(const JsonNode& json);
[[nodiscard]] int memoryFormatFromExport(const JsonNode& json);

[[nodiscard]] SymbolicInteger symbolicInteger(const JsonNode& json);
[[nodiscard]] TensorMeta tensorMeta(const JsonNode& json);

/// Runs `body`, which may throw, and gives its value; whatever it throws becomes the Error, after `where`.
template <class Body>
[[nodiscard]] auto readFormat(const std::string& where, Body body) -> base::Result<std::invoke_result_t<Body>> {
    using Read = std::invoke_result_t<Body>;
    return base::guarded(where, [&]() -> base::Result<Read> {
        try {
            return body();
        } catch (const FormatError& error) {
            return error.error.within(where);
        }
    });
}

}  // namespace modulelens::graph
