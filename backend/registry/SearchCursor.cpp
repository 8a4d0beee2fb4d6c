// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/SearchCursor.h"

#include "backend/base/Digest.h"

#include <nlohmann/json.hpp>

#include <array>

namespace modulelens::registry {

namespace {

using nlohmann::json;

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What the columns of a cursor hold, by sort: 'i' integer, 'n' integer or NULL, 's' text.
std::string_view formOf(SortKey sort) {
    switch (sort) {
        case SortKey::Name:
            return "sisiii";
        case SortKey::Latency:
        case SortKey::Flops:
        case SortKey::BytesMoved:
        case SortKey::Activation:
        case SortKey::Peak:
            return "ni";
        case SortKey::Newest:
        case SortKey::Oldest:
        case SortKey::Parameters:
            break;
    }
    return "ii";
}

std::string binding(const std::string& query, SortKey sort) {
    return base::sha256Hex(std::to_string(static_cast<int>(sort)) + "\n" + query).substr(0, 12);
}

std::string encode(const std::string& bytes) {
    std::string text;
    unsigned bits = 0;
    unsigned count = 0;
    for (const char c : bytes) {
        bits = (bits << 8) | static_cast<unsigned char>(c);
        count += 8;
        while (count >= 6) {
            count -= 6;
            text += kAlphabet[(bits >> count) & 63];
        }
        bits &= 0xFF;
    }
    if (count > 0) {
        text += kAlphabet[(bits << (6 - count)) & 63];
    }
    return text;
}

std::optional<std::string> decode(const std::string& text) {
    std::string bytes;
    unsigned bits = 0;
    unsigned count = 0;
    for (const char c : text) {
        const std::size_t value = kAlphabet.find(c);
        if (value == std::string_view::npos) {
            return std::nullopt;
        }
        bits = ((bits << 6) | static_cast<unsigned>(value)) & 0xFFFF;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes += static_cast<char>((bits >> count) & 0xFF);
        }
    }
    return bytes;
}

std::optional<SearchCursor> cursorOf(const json& document, const std::string& query, SortKey sort) {
    const std::string_view form = formOf(sort);
    if (!document.is_array() || document.size() != form.size() + 1 || document[0] != binding(query, sort)) {
        return std::nullopt;
    }
    SearchCursor cursor;
    for (std::size_t i = 0; i < form.size(); ++i) {
        const json& value = document[i + 1];
        if (form[i] == 'n' && value.is_null()) {
            cursor.values.emplace_back();
        } else if (form[i] == 's' && value.is_string()) {
            cursor.values.emplace_back(value.get<std::string>());
        } else if (form[i] != 's' && value.is_number_integer()) {
            cursor.values.emplace_back(value.get<std::int64_t>());
        } else {
            return std::nullopt;
        }
    }
    return cursor;
}

}  // namespace

std::string formatCursor(const SearchCursor& cursor, const std::string& query, SortKey sort) {
    json document = json::array({binding(query, sort)});
    for (const std::optional<CursorValue>& value : cursor.values) {
        if (!value) {
            document.push_back(nullptr);
        } else {
            std::visit([&](const auto& held) { document.push_back(held); }, *value);
        }
    }
    // A sort key is made of bytes of UTF-8 names, but is not UTF-8 itself when a name is not.
    return encode(document.dump(-1, ' ', false, json::error_handler_t::replace));
}

base::Result<SearchCursor> parseCursor(const std::string& text, const std::string& query, SortKey sort) {
    const std::optional<std::string> bytes = decode(text);
    if (bytes) {
        const json document = json::parse(*bytes, nullptr, false);
        if (std::optional<SearchCursor> cursor = cursorOf(document, query, sort)) {
            return std::move(*cursor);
        }
    }
    return base::Error{base::ErrorCode::InvalidArgument, "The cursor does not belong to this query and sort.",
                       "Ask for the first page again, without a cursor."};
}

}  // namespace modulelens::registry
