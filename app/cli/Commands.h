// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "app/cli/Arguments.h"
#include "app/cli/Interruption.h"
#include "app/cli/Output.h"
#include "backend/base/Result.h"
#include "backend/operations/Operations.h"
#include "backend/registry/Registry.h"

#include <functional>
#include <memory>
#include <string>

namespace modulelens::cli {

/// Whether a command may change the registry. Reading commands still import what waits in the inbox and store results,
/// when they can.
enum class Access { Reading, Writing };

/// What a command works with. Confined to its thread.
class CommandContext {
public:
    CommandContext(const Arguments& arguments, const Interruption& interruption);

    [[nodiscard]] const Arguments& arguments() const { return m_arguments; }
    [[nodiscard]] std::stop_token stop() const { return m_interruption.token(); }
    /// --registry, else MODULELENS_REGISTRY, else the user's data folder.
    [[nodiscard]] std::filesystem::path registryFolder() const;

    /// Opens the registry and imports its inbox; what went wrong there is a warning. NotFound: reading, and nothing is
    /// there. PermissionDenied: writing, and it cannot be written. Unsupported: not a folder on this machine.
    [[nodiscard]] base::Result<std::shared_ptr<registry::LocalRegistry>> openRegistry(Access access);
    /// The same for commands that work with any registry: a folder, or "wandb:ENTITY/REGISTRY".
    [[nodiscard]] base::Result<std::shared_ptr<registry::Registry>> openAnyRegistry(Access access);
    /// Adds a warning when a team's registry could only show what it had seen before.
    void warnOfAge();

    /// Progress and log go to standard error when that is a terminal.
    [[nodiscard]] base::Result<operations::OperationContext> operationContext() const;
    /// Percent behind `what` on standard error when that is a terminal, else nothing.
    [[nodiscard]] registry::ByteProgress byteProgress(const std::string& what = "import") const;
    /// --device, --threads and --call.
    [[nodiscard]] base::Result<operations::RunSettings> runSettings() const;
    /// Gives `operations` what --trust and --ops-library allow. ConsentNeeded, NotFound: a library.
    [[nodiscard]] base::Result<void> allow(operations::Operations& operations) const;

    /// Prints an answer, or an error, at once: for commands that give several.
    void publish(const base::Result<Answer>& answer);
    void onPublish(std::function<void(const base::Result<Answer>&)> print) { m_print = std::move(print); }

    /// Shown on standard error, or in the envelope.
    void warn(std::string warning) { m_warnings.push_back(std::move(warning)); }
    void warnAll(const std::vector<std::string>& warnings) {
        m_warnings.insert(m_warnings.end(), warnings.begin(), warnings.end());
    }
    [[nodiscard]] const std::vector<std::string>& warnings() const { return m_warnings; }

private:
    const Arguments& m_arguments;
    const Interruption& m_interruption;
    std::vector<std::string> m_warnings;
    std::function<void(const base::Result<Answer>&)> m_print;
    std::function<std::string()> m_seenAt;
};

/// What --train says, or empty when it was not given. InvalidArgument: no optimizer that protocol::parseOptimizer() knows.
[[nodiscard]] base::Result<std::string> optimizerName(const CommandContext& context);

using Command = base::Result<Answer> (*)(CommandContext& context);

[[nodiscard]] base::Result<Answer> importFiles(CommandContext& context);
[[nodiscard]] base::Result<Answer> consent(CommandContext& context);
[[nodiscard]] base::Result<Answer> search(CommandContext& context);
[[nodiscard]] base::Result<Answer> show(CommandContext& context);
[[nodiscard]] base::Result<Answer> tree(CommandContext& context);
[[nodiscard]] base::Result<Answer> rebuild(CommandContext& context);
[[nodiscard]] base::Result<Answer> validate(CommandContext& context);
[[nodiscard]] base::Result<Answer> profileVersion(CommandContext& context);
[[nodiscard]] base::Result<Answer> benchmark(CommandContext& context);
[[nodiscard]] base::Result<Answer> calibrate(CommandContext& context);
[[nodiscard]] base::Result<Answer> memoryOfVersion(CommandContext& context);
[[nodiscard]] base::Result<Answer> verify(CommandContext& context);
[[nodiscard]] base::Result<Answer> sweep(CommandContext& context);

/// --mode, else "hot". InvalidArgument: there is no such mode.
[[nodiscard]] base::Result<std::string> benchmarkMode(const Arguments& arguments);

[[nodiscard]] base::Result<Answer> tag(CommandContext& context);
[[nodiscard]] base::Result<Answer> deleteVersions(CommandContext& context);
[[nodiscard]] base::Result<Answer> openExplorer(CommandContext& context);
[[nodiscard]] base::Result<Answer> registryNoun(CommandContext& context);
[[nodiscard]] base::Result<Answer> exportVersions(CommandContext& context);
[[nodiscard]] base::Result<Answer> note(CommandContext& context);
[[nodiscard]] base::Result<Answer> link(CommandContext& context);

/// Runs the program: reads `words`, runs the verb, prints. Returns the exit code.
[[nodiscard]] int runCommandLine(const std::vector<std::string>& words);

} // namespace modulelens::cli
