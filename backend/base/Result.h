// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Error.h"

#include <cstdlib>
#include <utility>
#include <variant>

namespace modulelens::base {

/// A value or an Error: a strict subset of std::expected<T, Error>, and [[nodiscard]].
/// Requires: value() only when hasValue(), error() only when not; a breach aborts, since it is our fault.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

    [[nodiscard]] bool hasValue() const { return m_state.index() == 0; }
    explicit operator bool() const { return hasValue(); }

    [[nodiscard]] T& value() & { return *pointer(); }
    [[nodiscard]] const T& value() const& { return *pointer(); }
    [[nodiscard]] T&& value() && { return std::move(*pointer()); }
    [[nodiscard]] T& operator*() & { return *pointer(); }
    [[nodiscard]] const T& operator*() const& { return *pointer(); }
    [[nodiscard]] T&& operator*() && { return std::move(*pointer()); }
    [[nodiscard]] T* operator->() { return pointer(); }
    [[nodiscard]] const T* operator->() const { return pointer(); }

    [[nodiscard]] const Error& error() const {
        const Error* error = std::get_if<1>(&m_state);
        if (error == nullptr) {
            std::abort();
        }
        return *error;
    }

private:
    [[nodiscard]] T* pointer() {
        T* value = std::get_if<0>(&m_state);
        if (value == nullptr) {
            std::abort();
        }
        return value;
    }
    [[nodiscard]] const T* pointer() const {
        const T* value = std::get_if<0>(&m_state);
        if (value == nullptr) {
            std::abort();
        }
        return value;
    }

    std::variant<T, Error> m_state;
};

/// Success without a value, or an Error. `Result<void>{}` is success.
template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : m_state(std::move(error)) {}

    [[nodiscard]] bool hasValue() const { return m_state.index() == 0; }
    explicit operator bool() const { return hasValue(); }
    [[nodiscard]] const Error& error() const {
        const Error* error = std::get_if<1>(&m_state);
        if (error == nullptr) {
            std::abort();
        }
        return *error;
    }

private:
    std::variant<std::monostate, Error> m_state;
};

}  // namespace modulelens::base
