// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <cstdint>
#include <optional>
#include <vector>

namespace modulelens::engine {

struct Step;

/// How the executor gets one argument.
struct TapeLoad {
    enum class Kind : std::uint8_t {
        Constant,  ///< A copy of constants[index].
        Copy,      ///< A copy of slot `index`.
        Move,      ///< Slot `index`, moved out: its last use.
        Computed,  ///< Argument `index` of the step, which wants work: a list, a wrapped number.
    };
    Kind kind = Kind::Constant;
    std::uint32_t index = 0;
};

/// What the executor reads of one step; its loads, stores and dead slots follow those of the step before it.
struct TapeStep {
    std::optional<c10::OperatorHandle> operation;  ///< None: a step that the executor runs from its Step.
    std::uint32_t loads = 0;
    std::uint32_t stores = 0;
    std::uint32_t dead = 0;
    bool hasListResult = false;                    ///< Its stores are those of its Step instead.
};

/// The steps of a graph laid out for the executor's loop: small, in one piece, in the order in which they are read.
struct Tape {
    std::vector<TapeStep> steps;                   ///< One for each of PlanGraph::steps.
    std::vector<TapeLoad> loads;
    std::vector<std::int32_t> stores;              ///< Slot of each return value; -1: dropped.
    std::vector<std::int32_t> dead;                ///< Slots to clear after the step.
    std::vector<c10::IValue> constants;
    std::size_t mostLoads = 0;                     ///< Of one step.
};

/// Lays out `steps`, whose last uses are known.
[[nodiscard]] Tape makeTape(const std::vector<Step>& steps);

}  // namespace modulelens::engine
