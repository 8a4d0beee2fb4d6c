// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace modulelens::base {

/// `text` with everything but letters, digits, "-._~" (RFC 3986, "unreserved") and the characters of `plain` percent-encoded.
[[nodiscard]] std::string percentEncoded(std::string_view text, std::string_view plain = {});

}  // namespace modulelens::base
