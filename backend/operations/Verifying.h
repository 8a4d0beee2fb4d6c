// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/operations/Benchmarking.h"
#include "backend/operations/Operations.h"

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::operations {

/// Edited code for a version: a file, or folders that are imported from first, or both.
struct VerifySettings {
    RunSettings run;                       ///< The engine is always the source engine.
    std::filesystem::path file;            ///< Empty: no file.
    std::string className;                 ///< In the file, for the module itself; empty: the captured class's name.
    std::string python;                    ///< Interpreter; empty: the default.
    std::vector<std::string> pythonPath;   ///< Of the edited side alone.
    bool measures = true;                  ///< The paired benchmark too.
    int repetitions = 50;
    std::int64_t budgetMs = 3000;
    std::string mode = protocol::benchmarkmode::kHot;
};

struct VerifyReport {
    ValidationReport validation;           ///< Edited code against the captured outputs, with what it differs in.
    std::optional<BenchmarkReport> benchmark;   ///< First side: the code as installed. Second: the edited one.
    std::string benchmarkReason;           ///< Why there is none.
};

/// Gives the edited code the captured state and inputs, compares with the captured outputs, and times it in pairs against the code
/// without the edit: in `unedited`, or the edited side in `changed` when that is not null. Nothing is stored.
/// InvalidArgument: no edit, or it does not run. ConsentNeeded. EnvironmentMissing: a class cannot be imported.
[[nodiscard]] base::Result<VerifyReport> runVerification(registry::Registry& registry, WorkerJobs& unedited,
                                                         WorkerJobs* changed, const std::string& addressOrId,
                                                         const VerifySettings& settings, const OperationContext& context);

[[nodiscard]] nlohmann::ordered_json verifyDocument(const VerifyReport& report);
/// "Bit-exact: 1 of 1 output. 1.32 times as fast (95 %: 1.25 to 1.40): faster."
[[nodiscard]] std::string verifySentence(const VerifyReport& report);

} // namespace modulelens::operations
