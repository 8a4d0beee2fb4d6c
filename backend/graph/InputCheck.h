// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/graph/Program.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::graph {

/// What is about to be given to one input of a program.
struct GivenInput {
    std::size_t index = 0;               ///< In Program::inputs.
    std::string name;                    ///< How errors name it: "the input at /args/0".
    bool isTensor = false;
    base::ScalarType dtype = base::ScalarType::Float32;
    std::vector<std::int64_t> sizes;
    std::string deviceType;              ///< "cpu"; empty when it does not matter.
    std::optional<std::int64_t> integer;
};

/// The values of the program's symbolic sizes for these inputs. InvalidArgument, naming input, dimension, value and what is
/// allowed: an input of another kind, dtype, rank or device, a fixed dimension that differs, a free one outside its range,
/// one symbol with two values, a derived dimension (2*s0) that does not fit. Pure.
[[nodiscard]] base::Result<std::map<std::string, std::int64_t>> checkInputs(const Program& program,
                                                                            const std::vector<GivenInput>& given);

}  // namespace modulelens::graph
