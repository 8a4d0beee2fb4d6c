// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/capture/ScalarType.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::capture {

/// A tensor of a capture: its form, and by digest where its data is (docs/formats/bundle.md, "A tensor reference").
struct TensorReference {
    ScalarType dtype = ScalarType::Float32;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> stride;        ///< In elements; always filled, contiguous when the file says nothing.
    std::string digest;                      ///< Empty when the data was not kept; then `gap` says why.
    std::string gap;
    std::vector<std::int64_t> storedShape;   ///< Shape of the stored data; equals `shape` unless dimensions were expanded.
    std::optional<std::int64_t> object;      ///< Same number within one call or state: the same tensor object.
    std::optional<std::int64_t> storage;     ///< Same number within one call or state: the same storage.
    std::int64_t offset = 0;                 ///< Of the view in its storage, in elements.
    std::int64_t storageBytes = 0;  ///< Of the whole captured storage; 0 when the view is all of it, or nothing is known.
    std::string device = "cpu";
    bool isParameter = false;
    bool requiresGrad = false;
    bool isConjugate = false;
    bool isNegative = false;

    /// Elements of the tensor as seen (expanded dimensions count).
    [[nodiscard]] std::int64_t elementCount() const;
    /// Bytes of the view, expanded dimensions counted once.
    [[nodiscard]] std::int64_t viewBytes() const;
    /// Bytes of the stored data.
    [[nodiscard]] std::int64_t storedBytes() const;
};

/// Reads the JSON form. Corrupt: a missing or mistyped key, an unknown dtype, negative sizes, a product that overflows
/// 2^60 bytes, or a stride or offset that could reach below zero. The message names `where`.
[[nodiscard]] base::Result<TensorReference> tensorReferenceFromJson(const nlohmann::json& json, const std::string& where);

/// True for an object whose "$t" is "tensor".
[[nodiscard]] bool isTensorReference(const nlohmann::json& json);

}  // namespace modulelens::capture
