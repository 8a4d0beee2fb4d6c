// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::graph {

/// One value of a JsonTree. Its text stays as it stands in the document until it is asked for, since most of a program's
/// JSON is never read. Valid as long as its tree; immutable, shared freely between threads.
class JsonNode {
public:
    enum class Type : std::uint8_t { Null, False, True, Integer, Float, Text, Array, Object };

    /// Walks the elements of an array. Of an object: its keys and values in turn.
    class Iterator {
    public:
        explicit Iterator(const JsonNode* node) : m_node(node) {}
        const JsonNode& operator*() const { return *m_node; }
        const JsonNode* operator->() const { return m_node; }
        Iterator& operator++() {
            m_node += m_node->m_span;
            return *this;
        }
        bool operator!=(const Iterator& other) const { return m_node != other.m_node; }

    private:
        const JsonNode* m_node;
    };

    [[nodiscard]] Type type() const { return m_type; }
    [[nodiscard]] bool isNull() const { return m_type == Type::Null; }
    [[nodiscard]] bool isText() const { return m_type == Type::Text; }
    [[nodiscard]] bool isArray() const { return m_type == Type::Array; }
    [[nodiscard]] bool isObject() const { return m_type == Type::Object; }

    /// Elements of an array, or members of an object; else 0.
    [[nodiscard]] std::size_t size() const { return isArray() || isObject() ? m_size : 0; }
    /// The children of an array or object; nothing else has any.
    [[nodiscard]] Iterator begin() const { return Iterator(this + 1); }
    [[nodiscard]] Iterator end() const { return Iterator(this + (isArray() || isObject() ? m_span : 1U)); }

    /// The value of `key` in an object, the last one if there are several; nullptr when there is none.
    [[nodiscard]] const JsonNode* find(std::string_view key) const;

    /// A text's value; of everything else the source text.
    [[nodiscard]] std::string text() const;
    /// Whether a text's value is `other`.
    [[nodiscard]] bool equals(std::string_view other) const;
    /// As written: of a text without its quotes and with its escapes.
    [[nodiscard]] std::string_view source() const { return {m_text, m_size}; }

private:
    friend class JsonParser;

    const char* m_text = nullptr;
    std::uint32_t m_size = 0;   ///< Bytes of the source text, or number of children.
    std::uint32_t m_span = 1;   ///< Nodes of this value, itself included.
    Type m_type = Type::Null;
    bool m_hasEscapes = false;
};

/// A JSON document (RFC 8259, UTF-8) as nodes in the document's order. Refers to the text that it was parsed from, which
/// must outlive it.
class JsonTree {
public:
    /// Corrupt: no valid JSON, or nested deeper than `depthLimit`. `displayName` names it in the message.
    [[nodiscard]] static base::Result<JsonTree> parse(std::string_view text, int depthLimit, const std::string& displayName);

    [[nodiscard]] const JsonNode& root() const { return m_nodes.front(); }

private:
    std::vector<JsonNode> m_nodes;
};

}  // namespace modulelens::graph
