// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/base/Result.h"

#include <functional>
#include <optional>
#include <string>

namespace modulelens::wandb {

/// How to reach a W&B server. The key goes into the header of requests to `baseUrl` and nowhere else.
struct SignIn {
    std::string baseUrl;        ///< Without a "/" at its end.
    std::string key;
    std::string caFile;         ///< Empty: the system's certificates.
    std::string project;        ///< Of the team, where published artifacts are made before they are linked.
    std::string userName;       ///< For service accounts: on whose behalf; else empty.
};

/// Reads an environment variable; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

/// The process's own environment.
[[nodiscard]] std::optional<std::string> processEnvironment(const std::string& name);

/// Finds address and key: WANDB_BASE_URL, else `defaultBaseUrl`, else the public server; WANDB_API_KEY, else a netrc file (NETRC,
/// ~/.netrc, ~/_netrc) with an entry for the server's host and port. SSL_CERT_FILE or REQUESTS_CA_BUNDLE name certificates,
/// MODULELENS_WANDB_PROJECT the project. Blocks on disk; writes nothing.
/// Unavailable: no key, or one of no possible form. InvalidArgument: an unfit address.
[[nodiscard]] base::Result<SignIn> findSignIn(base::FileSystem& files, const Environment& environment,
                                              const std::string& defaultBaseUrl = {});

/// True for a text that can be a key: at least 40 letters, digits, "-" and "_", or the three parts of a JSON web token.
[[nodiscard]] bool isKeyForm(const std::string& key);

}  // namespace modulelens::wandb
