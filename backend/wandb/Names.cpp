// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Names.h"

#include "backend/registry/VersionAddress.h"

#include <algorithm>

namespace modulelens::wandb {

namespace {

constexpr std::string_view kPrefix = "wandb:";
constexpr std::string_view kProjectPrefix = "wandb-registry-";
constexpr std::size_t kLongest = 128;

base::Error unfit(std::string_view what, std::string_view name, const std::string& rule) {
    return {base::ErrorCode::InvalidArgument,
            "W&B takes no " + std::string(what) + " '" + std::string(name.substr(0, kLongest)) + "'.", rule};
}

bool isAsciiWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Bytes of characters beyond ASCII count as letters: the server decides which are.
bool isWord(char c) {
    return isAsciiWord(c) || c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

bool isControl(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace

bool isRegistryAddress(std::string_view text) {
    return text.starts_with(kPrefix);
}

base::Result<RegistryAddress> parseRegistryAddress(std::string_view text) {
    const std::string form = "Write wandb:ENTITY/REGISTRY, with the name of your team or organisation.";
    const std::size_t slash = text.find('/');
    if (!isRegistryAddress(text) || slash == std::string_view::npos) {
        return base::Error{base::ErrorCode::InvalidArgument,
                           "'" + std::string(text.substr(0, 200)) + "' is no registry of W&B.", form};
    }
    RegistryAddress address{std::string(text.substr(kPrefix.size(), slash - kPrefix.size())),
                            std::string(text.substr(slash + 1))};
    if (address.registry.starts_with(kProjectPrefix)) {
        address.registry.erase(0, kProjectPrefix.size());
    }
    const auto isUnfit = [](const std::string& name, std::size_t longest) {
        return name.empty() || name.size() > longest || name.find_first_of("/\\#?%:") != std::string::npos ||
               std::any_of(name.begin(), name.end(), isControl);
    };
    if (isUnfit(address.entity, kLongest) || isUnfit(address.registry, kLongest - kProjectPrefix.size())) {
        return base::Error{base::ErrorCode::InvalidArgument,
                           "'" + std::string(text.substr(0, 200)) + "' is no registry of W&B.", form};
    }
    return address;
}

std::string registryProject(std::string_view registry) {
    return std::string(kProjectPrefix) + std::string(registry);
}

base::Result<void> checkTag(std::string_view name) {
    const std::string rule = "A tag there has letters, digits, '-', '_' and single blanks inside, at most 128.";
    if (name.empty() || name.size() > kLongest || !isWord(name.front()) || !isWord(name.back()) ||
        !std::all_of(name.begin(), name.end(), [](char c) { return isWord(c) || c == ' '; })) {
        return unfit("tag", name, rule);
    }
    return {};
}

base::Result<void> checkAlias(std::string_view name) {
    if (registry::isReservedAlias(name)) {
        return unfit("alias", name, "'latest' and 'v<N>' are given by the registry.");
    }
    if (name.empty() || name.size() > kLongest || name.find_first_of("/:") != std::string_view::npos ||
        std::any_of(name.begin(), name.end(), isControl)) {
        return unfit("alias", name, "An alias there has 1 to 128 characters, none of them '/' or ':'.");
    }
    return {};
}

base::Result<void> checkCollection(std::string_view name) {
    if (name.empty() || name.size() > kLongest ||
        !std::all_of(name.begin(), name.end(), [](char c) { return isAsciiWord(c) || c == '.' || c == '-'; })) {
        return unfit("collection", name, "A collection there has 1 to 128 letters, digits, '.', '_' and '-'.");
    }
    return {};
}

}  // namespace modulelens::wandb
