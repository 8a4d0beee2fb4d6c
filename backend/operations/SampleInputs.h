// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/base/ScalarType.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::operations {

/// An input that a person gives for a program that brings none (docs/cli.md, "Inputs").
struct SampleInput {
    std::string name;                        ///< Of the argument, or empty: by position.
    std::optional<nlohmann::json> value;     ///< Encoded as in docs/formats/bundle.md; absent: a tensor.
    base::ScalarType dtype = base::ScalarType::Float32;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;            ///< Of the tensor, row-major.
};

/// Reads "float32[1,512]", "int64[2,8]:0..999", "x=float32[3]", "16000", "0.5", "true", "none", "'text'" or
/// "@FILE.safetensors:KEY". Tensors hold standard normal numbers, or integers of the range (0 and 1 by default), the same ones
/// every time; `seed` makes those of several inputs differ. InvalidArgument: none of these. NotFound, Corrupt: the file.
[[nodiscard]] base::Result<SampleInput> parseSampleInput(const std::string& text, std::uint64_t seed);

} // namespace modulelens::operations
