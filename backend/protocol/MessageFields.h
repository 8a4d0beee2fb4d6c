// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Guarded.h"
#include "backend/base/Result.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

/// Two visitors over one description of a message's fields, so that each wire name stands once. A description is an
/// overload `fields(visitor, message)` that calls visitor.required("key", member) or visitor.optional("key", member).
namespace modulelens::protocol {

/// Writes a message as a JSON object. Confined to its thread.
class FieldWriter {
public:
    template <class Message>
    using Reference = const Message&;

    template <class Value>
    void required(const char* key, const Value& value) {
        m_json[key] = encoded(value);
    }

    /// An absent std::optional is left out; other members are always written.
    template <class Value>
    void optional(const char* key, const Value& value) {
        m_json[key] = encoded(value);
    }
    template <class Value>
    void optional(const char* key, const std::optional<Value>& value) {
        if (value) {
            m_json[key] = encoded(*value);
        }
    }

    [[nodiscard]] nlohmann::json take() { return std::move(m_json); }

private:
    template <class Value>
    static nlohmann::json encoded(const Value& value) {
        if constexpr (std::is_same_v<Value, double>) {
            return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
        } else if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string> ||
                             std::is_same_v<Value, nlohmann::json>) {
            return value;
        } else {
            FieldWriter writer;
            fields(writer, value);
            return writer.take();
        }
    }
    template <class Element>
    static nlohmann::json encoded(const std::vector<Element>& values) {
        nlohmann::json list = nlohmann::json::array();
        for (const Element& value : values) {
            list.push_back(encoded(value));
        }
        return list;
    }
    template <class Element>
    static nlohmann::json encoded(const std::map<std::string, Element>& values) {
        return values;
    }

    nlohmann::json m_json = nlohmann::json::object();
};

/// Reads a message from a JSON object and remembers the first error. Confined to its thread.
class FieldReader {
public:
    template <class Message>
    using Reference = Message&;

    FieldReader(const nlohmann::json& json, std::string where) : m_json(json), m_where(std::move(where)) {
        if (!json.is_object()) {
            fail("is not an object");
        }
    }

    template <class Value>
    void required(const char* key, Value& value) {
        if (m_error) {
            return;
        }
        const auto found = m_json.find(key);
        if (found == m_json.end()) {
            fail(std::string("has no '") + key + "'");
            return;
        }
        take(key, *found, value);
    }

    /// A missing or null member leaves `value` as it is.
    template <class Value>
    void optional(const char* key, Value& value) {
        if (const nlohmann::json* found = present(key)) {
            take(key, *found, value);
        }
    }
    template <class Value>
    void optional(const char* key, std::optional<Value>& value) {
        if (const nlohmann::json* found = present(key)) {
            Value read{};
            take(key, *found, read);
            value = std::move(read);
        }
    }

    [[nodiscard]] const std::optional<base::Error>& error() const { return m_error; }

private:
    [[nodiscard]] const nlohmann::json* present(const char* key) const {
        if (m_error) {
            return nullptr;
        }
        const auto found = m_json.find(key);
        return found == m_json.end() || found->is_null() ? nullptr : &*found;
    }

    void fail(const std::string& what) {
        if (!m_error) {
            m_error = base::Error{base::ErrorCode::InvalidArgument, m_where + " " + what, {}};
        }
    }
    void mistyped(const std::string& key, const char* expected) { fail("has a '" + key + "' that is not " + expected); }

    void take(const std::string& key, const nlohmann::json& json, std::string& value) {
        json.is_string() ? void(value = json.get<std::string>()) : mistyped(key, "a string");
    }
    void take(const std::string& key, const nlohmann::json& json, bool& value) {
        json.is_boolean() ? void(value = json.get<bool>()) : mistyped(key, "a boolean");
    }
    void take(const std::string& key, const nlohmann::json& json, double& value) {
        json.is_number() ? void(value = json.get<double>()) : mistyped(key, "a number");
    }
    void take(const std::string&, const nlohmann::json& json, nlohmann::json& value) { value = json; }

    template <class Integer>
        requires(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>)
    void take(const std::string& key, const nlohmann::json& json, Integer& value) {
        using Limits = std::numeric_limits<Integer>;
        if (json.is_number_unsigned()) {
            const auto read = json.get<std::uint64_t>();
            if (read <= static_cast<std::uint64_t>(Limits::max())) {
                value = static_cast<Integer>(read);
                return;
            }
        } else if (json.is_number_integer()) {
            const auto read = json.get<std::int64_t>();
            if constexpr (std::is_signed_v<Integer>) {
                if (read >= Limits::min() && read <= Limits::max()) {
                    value = static_cast<Integer>(read);
                    return;
                }
            }
        }
        mistyped(key, "an integer in range");
    }

    template <class Element>
    void take(const std::string& key, const nlohmann::json& json, std::vector<Element>& values) {
        if (!json.is_array()) {
            mistyped(key, "a list");
            return;
        }
        values.clear();
        for (const nlohmann::json& item : json) {
            Element value{};
            take(key, item, value);
            values.push_back(std::move(value));
        }
    }

    template <class Element>
    void take(const std::string& key, const nlohmann::json& json, std::map<std::string, Element>& values) {
        if (!json.is_object()) {
            mistyped(key, "an object");
            return;
        }
        values.clear();
        for (const auto& [name, item] : json.items()) {
            take(key, item, values[name]);
        }
    }

    template <class Message>
        requires(std::is_class_v<Message>)
    void take(const std::string& key, const nlohmann::json& json, Message& value) {
        FieldReader reader(json, m_where + ", '" + key + "',");
        fields(reader, value);
        if (reader.error() && !m_error) {
            m_error = reader.error();
        }
    }

    const nlohmann::json& m_json;
    std::string m_where;
    std::optional<base::Error> m_error;
};

/// What toJson and parse<Type> of a message do, given its description.
template <class Message>
nlohmann::json writeMessage(const Message& message) {
    FieldWriter writer;
    fields(writer, message);
    return writer.take();
}

template <class Message>
base::Result<Message> readMessage(const nlohmann::json& json, const char* name) {
    return base::guarded(name, [&]() -> base::Result<Message> {
        Message message{};
        FieldReader reader(json, name);
        fields(reader, message);
        if (reader.error()) {
            return *reader.error();
        }
        return message;
    });
}

/// Defines toJson and parse<Type> of a message from its description.
#define MODULELENS_DEFINE_MESSAGE(Type)                          \
    nlohmann::json toJson(const Type& message) {                 \
        return writeMessage(message);                            \
    }                                                            \
    base::Result<Type> parse##Type(const nlohmann::json& json) { \
        return readMessage<Type>(json, #Type);                   \
    }

} // namespace modulelens::protocol
