// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <string>
#include <string_view>

namespace modulelens::http {

/// The parts of an absolute http or https URL, as far as we look at them.
struct Url {
    std::string scheme;        ///< "http" or "https".
    std::string host;          ///< Lower case; an IPv6 address without its brackets.
    int port = 0;              ///< Always set: 80 or 443 when the URL names none.
    std::string path;          ///< Begins with "/".

    /// "host:port" when the URL named a port other than its scheme's own, else "host": what netrc files have.
    [[nodiscard]] std::string hostAndPort() const;
};

/// InvalidArgument: not an absolute http or https URL, or one with a user name or password in it.
[[nodiscard]] base::Result<Url> parseUrl(const std::string& text);

/// True when `url` has the scheme, host and port of `base`, and its path lies at or below the path of `base`.
[[nodiscard]] bool isBelow(const Url& url, const Url& base);

/// What `reference`, absolute or relative, means on the page `base`. InvalidArgument: as parseUrl.
[[nodiscard]] base::Result<std::string> resolveUrl(const std::string& base, const std::string& reference);

}  // namespace modulelens::http
