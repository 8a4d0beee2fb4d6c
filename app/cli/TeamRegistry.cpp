// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/TeamRegistry.h"

#include "backend/base/FileSystem.h"
#include "backend/wandb/SignIn.h"

#include <cstdio>

namespace modulelens::cli {

base::Result<std::shared_ptr<wandb::WandbRegistry>> openTeamRegistry(CommandContext& context, const std::string& address) {
    const auto parsed = wandb::parseRegistryAddress(address);
    if (!parsed) {
        return parsed.error();
    }
    auto signIn = wandb::findSignIn(base::realFileSystem(), wandb::processEnvironment);
    if (!signIn) {
        return signIn.error();
    }
    wandb::OpenOptions options;
    options.signIn = *std::move(signIn);
    options.stop = context.stop();
    options.onBytes = context.byteProgress("download");
    options.onRetry = [](const std::string& reason, std::chrono::milliseconds wait) {
        const double seconds = static_cast<double>(wait.count()) / 1000.0;
        std::fprintf(stderr, "modulelens: %s; trying again in %.1f s\n", printable(reason, false).c_str(), seconds);
    };
    auto opened = wandb::WandbRegistry::open(base::realFileSystem(), *parsed, std::move(options));
    if (!opened) {
        return opened.error();
    }
    return std::shared_ptr<wandb::WandbRegistry>(*std::move(opened));
}

base::Result<std::shared_ptr<registry::Registry>> CommandContext::openAnyRegistry(Access access) {
    if (wandb::isRegistryAddress(registryFolder().string())) {
        auto team = openTeamRegistry(*this, registryFolder().string());
        if (!team) {
            return team.error();
        }
        m_seenAt = [team = *team] { return team->seenAt(); };
        return std::shared_ptr<registry::Registry>(*team);
    }
    auto local = openRegistry(access);
    if (!local) {
        return local.error();
    }
    return std::shared_ptr<registry::Registry>(*std::move(local));
}

void CommandContext::warnOfAge() {
    const std::string seen = m_seenAt ? m_seenAt() : std::string();
    if (!seen.empty()) {
        warn("The server cannot be reached: this is what it showed at " + seen + ".");
    }
}

} // namespace modulelens::cli
