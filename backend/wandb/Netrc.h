// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace modulelens::wandb {

/// The password that a netrc file has for `machine` ("host" or "host:port", matched as a whole), else that of its "default"
/// entry, else nothing. Quoted words, comments and macro definitions are understood; a broken file gives what stands before the
/// break.
[[nodiscard]] std::optional<std::string> netrcPassword(std::string_view text, std::string_view machine);

}  // namespace modulelens::wandb
