// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <optional>
#include <string>
#include <string_view>

namespace modulelens::registry {

/// MODEL::MODULE@vN or MODEL::MODULE@alias (DESIGN §4); the default alias is "latest".
struct VersionAddress {
    std::string model;
    std::string module;
    std::optional<int> number;      ///< Set for @vN.
    std::string alias;              ///< Set otherwise.
};

/// Parses an address. InvalidArgument: no "::", two of them, an empty model, two "@", a bad percent-encoding, a NUL;
/// the message points at the character. A text without "::" may be a version id: see isVersionId.
[[nodiscard]] base::Result<VersionAddress> parseVersionAddress(std::string_view text);

/// True for a text that has the form of a version id: 1 to 128 ASCII letters, digits, '-', '_' or '='.
[[nodiscard]] bool isVersionId(std::string_view text);

/// True for the aliases that nobody may set: "latest" and "v<N>".
[[nodiscard]] bool isReservedAlias(std::string_view alias);

/// The address as text; "%", ":" and "@" inside names are percent-encoded.
[[nodiscard]] std::string formatVersionAddress(std::string_view model, std::string_view module, int number);

/// "modulelens:open?version=<percent-encoded address>".
[[nodiscard]] std::string formatDeepLink(const std::string& address, const std::string& view);

}  // namespace modulelens::registry
