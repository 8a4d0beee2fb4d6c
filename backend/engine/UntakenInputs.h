// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::engine {

/// What is wrong with a call (its `args` and `kwargs`) that has a value for which the program has no input: an argument too
/// many, a misspelt keyword, at any depth, tensor or not. `pointers` say where the program's inputs stand. Nothing when every
/// value is taken. Containers of classes that only Python knows are looked into when the program takes a part of them. Pure.
[[nodiscard]] std::optional<std::string> untakenInput(const nlohmann::json& call, const std::vector<std::string>& pointers);

}  // namespace modulelens::engine
