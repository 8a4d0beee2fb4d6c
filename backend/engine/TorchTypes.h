// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Error.h"
#include "backend/base/ScalarType.h"

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <stdexcept>
#include <string>
#include <string_view>

/// What crosses between the plain structures of the other layers and LibTorch. Inside backend/engine only.
namespace modulelens::engine {

[[nodiscard]] c10::ScalarType torchType(base::ScalarType type);
/// Throws Failure (Unsupported) for an element type that captures do not know.
[[nodiscard]] base::ScalarType captureType(c10::ScalarType type);

/// An Error on its way through LibTorch code to the engine's boundary, where errorOfException turns it back.
class Failure : public std::runtime_error {
public:
    explicit Failure(base::Error error) : std::runtime_error(error.message), m_error(std::move(error)) {}
    [[nodiscard]] const base::Error& error() const { return m_error; }

private:
    base::Error m_error;
};

/// The exception being handled as an Error: a Failure's own, an allocation that failed as OutOfMemory, another c10::Error
/// without its backtrace. Requires: called inside a catch block.
[[nodiscard]] base::Error errorOfException(std::string_view where) noexcept;

/// Runs `body` (which returns Result<T>) and turns whatever it throws into an Error. The engine's only boundary to exceptions.
template <class Body>
[[nodiscard]] auto torchGuarded(std::string_view where, Body&& body) noexcept -> decltype(body()) {
    try {
        return body();
    } catch (...) {
        return errorOfException(where);
    }
}

/// Where tensors and device constants of the traced machine go here: `from` is the capture's main device type.
struct DeviceMap {
    c10::DeviceType from = c10::DeviceType::CPU;
    c10::Device to = c10::Device(c10::DeviceType::CPU);

    [[nodiscard]] c10::Device operator()(c10::DeviceType type) const {
        return type == from || type != c10::DeviceType::CPU ? to : c10::Device(c10::DeviceType::CPU);
    }
};

}  // namespace modulelens::engine
