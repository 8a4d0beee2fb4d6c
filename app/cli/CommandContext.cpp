// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"

#include "backend/base/FileSystem.h"
#include "backend/operations/Permissions.h"

#include <unistd.h>

#include <cstdio>
#include <system_error>

namespace modulelens::cli {

namespace {

bool isPresent(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

} // namespace

CommandContext::CommandContext(const Arguments& arguments, const Interruption& interruption)
    : m_arguments(arguments), m_interruption(interruption) {}

std::filesystem::path CommandContext::registryFolder() const {
    return m_arguments.has("registry") ? std::filesystem::path(m_arguments.text("registry"))
                                       : registry::defaultRegistryFolder();
}

base::Result<std::shared_ptr<registry::LocalRegistry>> CommandContext::openRegistry(Access access) {
    using Mode = registry::LocalRegistry::Mode;
    const std::filesystem::path folder = registryFolder();
    if (folder.empty()) {
        return base::Error{
            base::ErrorCode::InvalidArgument,
            m_arguments.has("registry") ? "the registry folder is empty" : "no registry folder is known, since HOME is not set",
            "Name one with --registry or MODULELENS_REGISTRY."};
    }
    if (folder.string().starts_with("wandb:")) {
        return base::Error{base::ErrorCode::Unsupported, "the registry '" + folder.string() + "' is not a folder",
                           "This command works with a folder; registry fetch brings versions of a team's registry into one."};
    }
    std::error_code ignored;
    if (isPresent(folder) && !std::filesystem::is_directory(folder, ignored)) {
        return base::Error{base::ErrorCode::InvalidArgument, "the registry '" + folder.string() + "' is a file, not a folder",
                           "Name a folder with --registry."};
    }
    // A tracer may have filled the inbox of a folder in which no registry was made yet.
    const bool isThere = isPresent(folder / "registry.sqlite") || isPresent(folder / "inbox");
    if (access == Access::Reading && !isThere) {
        return base::Error{base::ErrorCode::NotFound, "there is no registry in '" + folder.string() + "'",
                           "Import a bundle first (modulelens import PATH), or name another folder with --registry."};
    }
    auto opened = registry::LocalRegistry::open(base::realFileSystem(), folder, Mode::ReadWrite);
    const bool isWritable = opened.hasValue();
    if (!opened && access == Access::Reading && opened.error().code == base::ErrorCode::PermissionDenied) {
        opened = registry::LocalRegistry::open(base::realFileSystem(), folder, Mode::ReadOnly);
    }
    if (!opened) {
        return opened.error();
    }
    std::shared_ptr<registry::LocalRegistry> registry = *std::move(opened);
    if (isWritable && isPresent(folder / "inbox")) {
        const base::Result<registry::ImportReport> report = registry->importInbox(stop(), byteProgress());
        if (!report) {
            warn("The inbox was not imported: " + report.error().message);
        } else {
            warnAll(report->warnings);
        }
    }
    return registry;
}

void CommandContext::publish(const base::Result<Answer>& answer) {
    if (m_print) {
        m_print(answer);
    }
    m_warnings.clear();
}

base::Result<operations::OperationContext> CommandContext::operationContext() const {
    const base::Result<std::optional<std::chrono::milliseconds>> timeout = m_arguments.timeout();
    if (!timeout) {
        return timeout.error();
    }
    operations::OperationContext context;
    context.stop = stop();
    context.timeout = *timeout;
    if (::isatty(STDERR_FILENO) != 0) {
        context.progress = [](const protocol::Progress& progress) {
            const std::string share =
                progress.total > 0 ? ' ' + std::to_string(progress.done) + '/' + std::to_string(progress.total) : "";
            std::fprintf(stderr, "\r\033[K%s%s", progress.stage.c_str(), share.c_str());
            if (progress.total > 0 && progress.done >= progress.total) {
                std::fputs("\r\033[K", stderr);
            }
        };
    }
    return context;
}

registry::ByteProgress CommandContext::byteProgress(const std::string& what) const {
    if (::isatty(STDERR_FILENO) == 0) {
        return {};
    }
    return [what](std::uint64_t done, std::uint64_t total) {
        if (total > 0) {
            std::fprintf(stderr, "\r\033[K%s %d %%%s", what.c_str(),
                         static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(total)),
                         done >= total ? "\r\033[K" : "");
        }
    };
}

base::Result<operations::RunSettings> CommandContext::runSettings() const {
    constexpr int kMostThreads = 4096;
    operations::RunSettings settings;
    if (m_arguments.has("device")) {
        settings.device = m_arguments.text("device");
    }
    const base::Result<std::optional<int>> threads = m_arguments.integer("threads", 1, kMostThreads);
    if (!threads) {
        return threads.error();
    }
    settings.threads = *threads;
    const base::Result<std::optional<int>> call = m_arguments.integer("call", 0);
    if (!call) {
        return call.error();
    }
    settings.call = call->value_or(0);
    if (m_arguments.has("engine")) {
        settings.engine = m_arguments.text("engine");
        if (settings.engine != protocol::engine_name::kProgram && settings.engine != protocol::engine_name::kSource) {
            return base::Error{base::ErrorCode::InvalidArgument, "there is no engine '" + settings.engine + "'",
                               "Engines are program and source."};
        }
    }
    return settings;
}

base::Result<void> CommandContext::allow(operations::Operations& operations) const {
    if (m_arguments.has("trust")) {
        operations.permissions().trustAll();
    }
    for (const std::string& library : m_arguments.texts("ops-library")) {
        if (const base::Result<void> added = operations.permissions().addLibrary(library); !added) {
            return added;
        }
    }
    return {};
}

} // namespace modulelens::cli
