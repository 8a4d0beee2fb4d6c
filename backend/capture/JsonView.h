// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Guarded.h"
#include "backend/base/Result.h"

#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace modulelens::capture {

/// Thrown inside this layer by JsonView and caught by readDocument, so that parsers read straight on.
struct DocumentError : std::exception {
    explicit DocumentError(base::Error reason) : error(std::move(reason)) {}
    [[nodiscard]] const char* what() const noexcept override { return error.message.c_str(); }

    base::Error error;
};

/// One value of an untrusted JSON document and the way to it, for messages that name the key. Every accessor checks
/// the type and throws DocumentError (Corrupt). Views point to their parents: they live on the stack, parents first.
/// Confined to its thread.
class JsonView {
public:
    JsonView(const nlohmann::json& json, std::string_view document) : m_json(&json), m_key(document) {}

    [[nodiscard]] const nlohmann::json& json() const { return *m_json; }
    [[nodiscard]] bool isNull() const { return m_json->is_null(); }

    /// Child of an object; fails when it is absent. `key` must outlive the view.
    [[nodiscard]] JsonView at(std::string_view key) const;
    /// Child of an object, or nothing when it is absent or null.
    [[nodiscard]] std::optional<JsonView> find(std::string_view key) const;
    /// Element of an array; requires index < size().
    [[nodiscard]] JsonView element(std::size_t index) const;
    /// Elements of an array.
    [[nodiscard]] std::size_t size() const;

    [[nodiscard]] const std::string& string() const;
    [[nodiscard]] std::int64_t integer() const;
    [[nodiscard]] std::int64_t nonNegative() const;
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::vector<std::int64_t> integers() const;
    [[nodiscard]] std::vector<std::string> strings() const;
    /// Lower-case hex sha256.
    [[nodiscard]] const std::string& digest() const;

    /// Text, or empty when the key is absent or null.
    [[nodiscard]] std::string stringOr(std::string_view key, std::string_view fallback) const;
    [[nodiscard]] std::int64_t integerOr(std::string_view key, std::int64_t fallback) const;
    [[nodiscard]] std::optional<std::int64_t> optionalInteger(std::string_view key) const;
    [[nodiscard]] bool booleanOr(std::string_view key, bool fallback) const;

    /// Calls `visit(name, view)` for each member of an object.
    template <class Visit>
    void forEachMember(Visit visit) const {
        requireObject();
        for (auto member = m_json->begin(); member != m_json->end(); ++member) {
            visit(member.key(), JsonView(member.value(), this, member.key()));
        }
    }

    [[noreturn]] void fail(const std::string& what) const;
    /// "versions/ab.json: state.tensors.weight".
    [[nodiscard]] std::string where() const;

private:
    JsonView(const nlohmann::json& json, const JsonView* parent, std::string_view key)
        : m_json(&json), m_parent(parent), m_key(key) {}
    JsonView(const nlohmann::json& json, const JsonView* parent, std::size_t index)
        : m_json(&json), m_parent(parent), m_index(static_cast<std::int64_t>(index)) {}
    void requireObject() const;

    const nlohmann::json* m_json;
    const JsonView* m_parent = nullptr;
    std::string_view m_key;
    std::int64_t m_index = -1;
};

/// Parses `text` with limits on depth. Corrupt: no JSON (the message names the offset), or too deep. Throws DocumentError.
[[nodiscard]] nlohmann::json parseJson(std::string_view text, std::string_view document);

/// Checks "schema" and "schema_version" of a document. Throws DocumentError, Unsupported for a newer version.
void checkSchema(const JsonView& view, std::string_view schema, std::int64_t newest);

/// Runs `body`, which may throw, and gives its value; whatever it throws becomes the Error.
template <class Body>
[[nodiscard]] auto readDocument(std::string_view document, Body body) -> base::Result<std::invoke_result_t<Body>> {
    using Value = std::invoke_result_t<Body>;
    return base::guarded(document, [&]() -> base::Result<Value> {
        try {
            return body();
        } catch (const DocumentError& error) {
            return error.error;
        }
    });
}

}  // namespace modulelens::capture
