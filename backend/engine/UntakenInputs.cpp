// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/UntakenInputs.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace modulelens::engine {

namespace {

using nlohmann::json;

std::string token(std::string key) {
    for (std::size_t i = 0; i < key.size(); ++i) {
        if (key[i] == '~' || key[i] == '/') {
            key.replace(i, 1, key[i] == '~' ? "~0" : "~1");
            ++i;
        }
    }
    return "/" + key;
}

/// Looks for values that are not taken. Confined to its thread.
class Finder {
public:
    explicit Finder(const std::vector<std::string>& pointers) : m_taken(pointers.begin(), pointers.end()) {}

    /// The place of the first one in `value`, which stands at `pointer`.
    [[nodiscard]] std::optional<std::string> find(const json& value, const std::string& pointer) const {
        if (m_taken.contains(pointer)) {
            return std::nullopt;
        }
        if (value.is_array()) {
            return findInList(value, pointer, "");
        }
        if (!value.is_object()) {
            return pointer;
        }
        const auto tag = value.find("$t");
        if (tag == value.end()) {
            return findInObject(value, pointer);
        }
        static const std::set<std::string> leaves{"tensor", "float", "complex", "dtype", "device"};
        const std::string kind = tag->is_string() ? tag->get<std::string>() : std::string();
        if (leaves.contains(kind)) {
            return pointer;
        }
        const auto content = value.find("v");
        const bool isOpaque = kind == "pytree" || kind == "dataclass" || kind == "namedtuple";
        if (content == value.end() || (isOpaque && !takesPartOf(pointer))) {
            return std::nullopt;
        }
        if (kind == "tuple" || kind == "namedtuple" || kind == "pytree" || kind == "size") {
            return findInList(*content, pointer + "/v", "");
        }
        if (kind == "dict" || kind == "mapping") {
            return findInList(*content, pointer + "/v", "/1");
        }
        return kind == "dataclass" ? findInObject(*content, pointer + "/v") : std::nullopt;
    }

    [[nodiscard]] bool takesPartOf(const std::string& pointer) const {
        const auto next = m_taken.lower_bound(pointer + "/");
        return m_taken.contains(pointer) || (next != m_taken.end() && next->starts_with(pointer + "/"));
    }

private:
    [[nodiscard]] std::optional<std::string> findInList(const json& list, const std::string& pointer, const char* part) const {
        for (std::size_t i = 0; list.is_array() && i < list.size(); ++i) {
            const json& item = list[i];
            const bool isPair = *part != '\0';
            if (isPair && (!item.is_array() || item.size() != 2)) {
                continue;
            }
            if (auto found = find(isPair ? item[1] : item, pointer + "/" + std::to_string(i) + part)) {
                return found;
            }
        }
        return std::nullopt;
    }

    [[nodiscard]] std::optional<std::string> findInObject(const json& object, const std::string& pointer) const {
        for (auto item = object.begin(); object.is_object() && item != object.end(); ++item) {
            if (auto found = find(item.value(), pointer + token(item.key()))) {
                return found;
            }
        }
        return std::nullopt;
    }

    std::set<std::string> m_taken;
};

/// The keywords that have an input, as "; it takes 'scale', 'y'".
std::string keywordsText(const std::vector<std::string>& pointers) {
    constexpr std::string_view kKeywords = "/kwargs/";
    std::set<std::string> names;
    for (const std::string& pointer : pointers) {
        if (pointer.starts_with(kKeywords)) {
            names.insert(pointer.substr(kKeywords.size(), pointer.find('/', kKeywords.size()) - kKeywords.size()));
        }
    }
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "; it takes '" : ", '") + name + "'";
    }
    return text.empty() ? "; it takes none" : text;
}

}  // namespace

std::optional<std::string> untakenInput(const json& call, const std::vector<std::string>& pointers) {
    const Finder finder(pointers);
    const json none = json::object();
    const auto named = call.find("kwargs");
    const json& keywords = named != call.end() && named->is_object() ? *named : none;
    for (auto item = keywords.begin(); item != keywords.end(); ++item) {
        const std::string pointer = "/kwargs" + token(item.key());
        if (!finder.takesPartOf(pointer) && finder.find(item.value(), pointer)) {
            return "the call has the keyword '" + item.key() + "', which the program does not take" + keywordsText(pointers);
        }
    }
    for (const char* part : {"args", "kwargs"}) {
        const auto values = call.find(part);
        const auto found = values == call.end() ? std::nullopt : finder.find(*values, std::string("/") + part);
        if (found) {
            return "the call has an input at " + *found + ", which the program does not take";
        }
    }
    return std::nullopt;
}

}  // namespace modulelens::engine
