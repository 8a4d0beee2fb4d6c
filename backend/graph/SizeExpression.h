// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace modulelens::graph {

/// Value of a symbolic size as torch.export writes it, in sympy's constructor form ("Mul(Integer(2), Symbol('s77',
/// positive=True))") or as ordinary text ("2*s77", "s0//2 + Max(1, s1)"). Symbols take their values from `symbols`.
/// Nothing: a symbol without a value, a form that is not known, a result that is no integer, or an overflow. Pure.
[[nodiscard]] std::optional<std::int64_t> evaluateSize(std::string_view expression,
                                                       const std::map<std::string, std::int64_t>& symbols);

/// The name when `expression` is nothing but one symbol.
[[nodiscard]] std::optional<std::string> soleSymbol(std::string_view expression);

/// True when `expression` names the symbol.
[[nodiscard]] bool mentionsSymbol(std::string_view expression, std::string_view symbol);

}  // namespace modulelens::graph
