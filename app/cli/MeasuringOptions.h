// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "app/cli/Commands.h"

#include <chrono>
#include <optional>

namespace modulelens::cli {

/// Reads --mode, --repetitions and --budget into the `settings` of a command that times runs; what was not given stays
/// as it is. InvalidArgument names the option.
template <class Settings>
base::Result<void> readMeasuring(const Arguments& arguments, Settings& settings) {
    const base::Result<std::string> mode = benchmarkMode(arguments);
    if (!mode) {
        return mode.error();
    }
    settings.mode = *mode;
    const auto repetitions = arguments.integer("repetitions", 1, 1'000'000);
    if (!repetitions) {
        return repetitions.error();
    }
    settings.repetitions = repetitions->value_or(settings.repetitions);
    const base::Result<std::optional<std::chrono::milliseconds>> budget = arguments.seconds("budget");
    if (!budget) {
        return budget.error();
    }
    settings.budgetMs = budget->value_or(std::chrono::milliseconds(settings.budgetMs)).count();
    return {};
}

}  // namespace modulelens::cli
