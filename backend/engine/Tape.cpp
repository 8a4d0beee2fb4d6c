// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Tape.h"

#include "backend/engine/Plan.h"

#include <algorithm>

namespace modulelens::engine {

namespace {

TapeLoad loadOf(const ArgumentSource& source, std::size_t position, std::vector<c10::IValue>& constants) {
    switch (source.kind) {
        case SourceKind::Constant:
            constants.push_back(source.constant);
            return {TapeLoad::Kind::Constant, static_cast<std::uint32_t>(constants.size() - 1)};
        case SourceKind::Slot:
            return {TapeLoad::Kind::Copy, static_cast<std::uint32_t>(source.slot)};
        case SourceKind::LastSlot:
            return {TapeLoad::Kind::Move, static_cast<std::uint32_t>(source.slot)};
        default:
            return {TapeLoad::Kind::Computed, static_cast<std::uint32_t>(position)};
    }
}

}  // namespace

Tape makeTape(const std::vector<Step>& steps) {
    Tape tape;
    tape.steps.reserve(steps.size());
    for (const Step& step : steps) {
        TapeStep packed;
        packed.dead = static_cast<std::uint32_t>(step.dead.size());
        tape.dead.insert(tape.dead.end(), step.dead.begin(), step.dead.end());
        if (step.kind == StepKind::Operator) {
            packed.operation = step.operation;
            packed.loads = static_cast<std::uint32_t>(step.arguments.size());
            for (std::size_t i = 0; i < step.arguments.size(); ++i) {
                tape.loads.push_back(loadOf(step.arguments[i], i, tape.constants));
            }
            packed.hasListResult = step.hasListResult;
            if (!step.hasListResult) {
                packed.stores = static_cast<std::uint32_t>(step.results.size());
                std::transform(step.results.begin(), step.results.end(), std::back_inserter(tape.stores),
                               [](const StepResult& result) { return result.slot; });
            }
        }
        tape.mostLoads = std::max<std::size_t>(tape.mostLoads, packed.loads);
        tape.steps.push_back(packed);
    }
    return tape;
}

}  // namespace modulelens::engine
