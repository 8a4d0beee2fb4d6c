// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/SignIn.h"

#include "backend/http/Url.h"
#include "backend/wandb/Netrc.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace modulelens::wandb {

namespace {

constexpr const char* kPublicServer = "https://api.wandb.ai";
constexpr std::uint64_t kNetrcBytes = 1 << 20;

/// Hosts of one deployment: a key for one is a key for all.
constexpr std::array kPublicHosts = {"api.wandb.ai", "api.forge.coreweave.com", "forge.coreweave.com"};

base::Error noKey(const std::string& baseUrl, const std::string& why) {
    return {base::ErrorCode::Unavailable, "There is no key for " + baseUrl + ": " + why + ".",
            "Set WANDB_API_KEY, or put a line 'machine HOST login user password KEY' into ~/.netrc (chmod 600)."};
}

std::vector<std::filesystem::path> netrcFiles(const Environment& environment) {
    if (const auto named = environment("NETRC"); named && !named->empty()) {
        return {*named};
    }
    const auto home = environment("HOME");
    if (!home || home->empty()) {
        return {};
    }
    return {std::filesystem::path(*home) / ".netrc", std::filesystem::path(*home) / "_netrc"};
}

std::optional<std::string> netrcKey(base::FileSystem& files, const Environment& environment, const http::Url& url) {
    std::vector<std::string> machines{url.hostAndPort()};
    if (std::find(kPublicHosts.begin(), kPublicHosts.end(), url.host) != kPublicHosts.end()) {
        machines.insert(machines.end(), kPublicHosts.begin(), kPublicHosts.end());
    }
    for (const std::filesystem::path& path : netrcFiles(environment)) {
        const base::Result<std::string> text = files.read(path, kNetrcBytes);
        if (!text) {
            continue;
        }
        for (const std::string& machine : machines) {
            if (auto password = netrcPassword(*text, machine)) {
                return password;
            }
        }
    }
    return std::nullopt;
}

bool isKeyCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

}  // namespace

std::optional<std::string> processEnvironment(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool isKeyForm(const std::string& key) {
    const auto dots = std::count(key.begin(), key.end(), '.');
    const bool isToken = dots == 2 && key.front() != '.' && key.back() != '.' && key.find("..") == std::string::npos;

    return (isToken || (dots == 0 && key.size() >= 40)) && key.size() <= 8192 &&
           std::all_of(key.begin(), key.end(), [&](char c) { return isKeyCharacter(c) || (isToken && c == '.'); });
}

base::Result<SignIn> findSignIn(base::FileSystem& files, const Environment& environment, const std::string& defaultBaseUrl) {
    const auto setting = [&](const char* name) { return environment(name).value_or(""); };
    SignIn signIn;
    signIn.baseUrl = setting("WANDB_BASE_URL");
    if (signIn.baseUrl.empty()) {
        signIn.baseUrl = defaultBaseUrl.empty() ? kPublicServer : defaultBaseUrl;
    }
    while (signIn.baseUrl.ends_with('/')) {
        signIn.baseUrl.pop_back();
    }
    const base::Result<http::Url> url = http::parseUrl(signIn.baseUrl);
    if (!url) {
        return url.error().within("the address of the W&B server");
    }
    signIn.caFile = setting("SSL_CERT_FILE");
    if (signIn.caFile.empty()) {
        signIn.caFile = setting("REQUESTS_CA_BUNDLE");
    }
    signIn.project = setting("MODULELENS_WANDB_PROJECT");
    if (signIn.project.empty()) {
        signIn.project = "modulelens";
    }
    signIn.userName = setting("WANDB_USERNAME");
    signIn.key = setting("WANDB_API_KEY");
    if (signIn.key.empty()) {
        const auto found = netrcKey(files, environment, *url);
        if (!found) {
            return noKey(signIn.baseUrl, "WANDB_API_KEY is not set, and no netrc file has an entry for " + url->hostAndPort());
        }
        signIn.key = *found;
    }
    if (!isKeyForm(signIn.key)) {
        return noKey(signIn.baseUrl, "what is set there has not the form of a key");
    }
    return signIn;
}

}  // namespace modulelens::wandb
