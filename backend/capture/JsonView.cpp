// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/JsonView.h"

#include "backend/base/ArchiveSafety.h"
#include "backend/base/Digest.h"

#include <limits>

namespace modulelens::capture {

namespace {

constexpr int kMaximumDepth = 200;
constexpr std::size_t kShownKeyBytes = 100;

}  // namespace

JsonView JsonView::at(std::string_view key) const {
    requireObject();
    const auto member = m_json->find(key);
    if (member == m_json->end()) {
        fail("has no key '" + std::string(key) + "'");
    }
    return JsonView(*member, this, key);
}

std::optional<JsonView> JsonView::find(std::string_view key) const {
    requireObject();
    const auto member = m_json->find(key);
    if (member == m_json->end() || member->is_null()) {
        return std::nullopt;
    }
    return JsonView(*member, this, key);
}

JsonView JsonView::element(std::size_t index) const {
    return JsonView((*m_json)[index], this, index);
}

std::size_t JsonView::size() const {
    if (!m_json->is_array()) {
        fail("is no list");
    }
    return m_json->size();
}

const std::string& JsonView::string() const {
    const auto* text = m_json->get_ptr<const std::string*>();
    if (text == nullptr) {
        fail("is no text");
    }
    return *text;
}

std::int64_t JsonView::integer() const {
    if (const auto* value = m_json->get_ptr<const nlohmann::json::number_unsigned_t*>()) {
        if (*value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            return static_cast<std::int64_t>(*value);
        }
    } else if (const auto* negative = m_json->get_ptr<const nlohmann::json::number_integer_t*>()) {
        return *negative;
    }
    fail("is no 64-bit integer");
}

std::int64_t JsonView::nonNegative() const {
    const std::int64_t value = integer();
    if (value < 0) {
        fail("is negative");
    }
    return value;
}

bool JsonView::boolean() const {
    const auto* value = m_json->get_ptr<const bool*>();
    if (value == nullptr) {
        fail("is neither true nor false");
    }
    return *value;
}

std::vector<std::int64_t> JsonView::integers() const {
    std::vector<std::int64_t> values(size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = element(i).integer();
    }
    return values;
}

std::vector<std::string> JsonView::strings() const {
    std::vector<std::string> values(size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = element(i).string();
    }
    return values;
}

const std::string& JsonView::digest() const {
    const std::string& text = string();
    if (!base::isLowerHex(text, 64)) {
        fail("is no sha256");
    }
    return text;
}

std::string JsonView::stringOr(std::string_view key, std::string_view fallback) const {
    const auto found = find(key);
    return found ? found->string() : std::string(fallback);
}

std::int64_t JsonView::integerOr(std::string_view key, std::int64_t fallback) const {
    const auto found = find(key);
    return found ? found->integer() : fallback;
}

std::optional<std::int64_t> JsonView::optionalInteger(std::string_view key) const {
    const auto found = find(key);
    return found ? std::optional(found->integer()) : std::nullopt;
}

bool JsonView::booleanOr(std::string_view key, bool fallback) const {
    const auto found = find(key);
    return found ? found->boolean() : fallback;
}

void JsonView::fail(const std::string& what) const {
    throw DocumentError{{base::ErrorCode::Corrupt, "'" + where() + "' " + what,
                         "The capture is damaged or was changed; capture the module again."}};
}

std::string JsonView::where() const {
    if (m_parent == nullptr) {
        return std::string(m_key);
    }
    const std::string own = m_index >= 0 ? "[" + std::to_string(m_index) + "]" : std::string(m_key.substr(0, kShownKeyBytes));
    const std::string above = m_parent->where();
    if (m_parent->m_parent == nullptr) {
        return above + ": " + own;
    }
    return above + (m_index >= 0 ? "" : ".") + own;
}

void JsonView::requireObject() const {
    if (!m_json->is_object()) {
        fail("is no object");
    }
}

nlohmann::json parseJson(std::string_view text, std::string_view document) {
    const auto depth = base::checkJsonDepth(text, kMaximumDepth, document);
    if (!depth) {
        throw DocumentError{depth.error()};
    }
    try {
        return nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        throw DocumentError{{base::ErrorCode::Corrupt,
                             "'" + std::string(document) + "' is no valid JSON at byte " + std::to_string(error.byte),
                             "The capture is damaged or was changed; capture the module again."}};
    }
}

void checkSchema(const JsonView& view, std::string_view schema, std::int64_t newest) {
    const JsonView name = view.at("schema");
    if (name.string() != schema) {
        name.fail("is not \"" + std::string(schema) + "\"");
    }
    const JsonView version = view.at("schema_version");
    if (version.integer() < 1) {
        version.fail("is below 1");
    }
    if (version.integer() > newest) {
        throw DocumentError{{base::ErrorCode::Unsupported,
                             "'" + view.where() + "' has schema version " + std::to_string(version.integer()) +
                                 ", and this ModuleLens reads up to version " + std::to_string(newest),
                             "Update ModuleLens."}};
    }
}

}  // namespace modulelens::capture
