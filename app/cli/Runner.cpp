// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Runner.h"

#include <utility>
#include <vector>

namespace modulelens::cli {

base::Result<Runner> makeRunner(CommandContext& context) {
    Runner runner;
    base::Result<operations::RunSettings> settings = context.runSettings();
    if (!settings) {
        return settings.error();
    }
    runner.settings = *std::move(settings);
    base::Result<operations::OperationContext> operation = context.operationContext();
    if (!operation) {
        return operation.error();
    }
    runner.context = *std::move(operation);
    base::Result<std::shared_ptr<registry::Registry>> registry = context.openAnyRegistry(Access::Reading);
    if (!registry) {
        return registry.error();
    }
    runner.registry = *std::move(registry);
    runner.operations = std::make_unique<operations::Operations>(runner.registry, std::vector<std::string>());
    if (const base::Result<void> allowed = context.allow(*runner.operations); !allowed) {
        return allowed.error();
    }
    const Arguments& arguments = context.arguments();
    if (arguments.verb() != nullptr && arguments.verb()->name == "verify") {
        // The folders of --python-path are those of the edited side.
        runner.settings.engine = protocol::engine_name::kSource;
        runner.operations->usePython(arguments.text("python"), {});
    } else if (runner.settings.engine == protocol::engine_name::kSource) {
        runner.operations->usePython(arguments.text("python"), arguments.texts("python-path"));
    } else if (arguments.has("python") || arguments.has("python-path")) {
        return base::Error{base::ErrorCode::InvalidArgument, "--python and --python-path are for the source engine",
                           "Add --engine source."};
    }
    runner.operations->prepareWorker(runner.settings.engine);
    if (!context.arguments().positionals().empty()) {
        runner.address = context.arguments().positionals().front();
    }
    return runner;
}

} // namespace modulelens::cli
