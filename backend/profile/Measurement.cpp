// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Measurement.h"

#include <algorithm>
#include <utility>

namespace modulelens::profile {

namespace {

constexpr int kFewestRounds = 3;
constexpr int kMostWarmupRuns = 100;

class Loop {
public:
    Loop(const std::vector<TimedRun>& sides, const MeasurementPlan& plan, const MeasurementHooks& hooks)
        : m_sides(sides), m_plan(plan), m_hooks(hooks), m_random(plan.seed) {
        m_result.sides.resize(sides.size());
    }

    base::Result<Measurement> run() {
        for (std::size_t side = 0; side < m_sides.size(); ++side) {
            if (auto warm = warmUp(m_sides[side], m_result.sides[side]); !warm) {
                return warm.error();
            }
        }
        // What is measured in each round: the sides, and of two the first once more.
        std::vector<std::pair<const TimedRun*, MeasuredSide*>> slots;
        slots.reserve(m_sides.size() + 1);
        for (std::size_t side = 0; side < m_sides.size(); ++side) {
            slots.emplace_back(&m_sides[side], &m_result.sides[side]);
        }
        if (m_sides.size() == 2) {
            slots.emplace_back(&m_sides.front(), &m_result.again);
        }
        const int rounds = std::max(m_plan.repetitions, 1);
        const std::int64_t end = m_hooks.clockNs() + std::max<std::int64_t>(m_plan.budgetNs, 0);
        for (int round = 0; round < rounds && (round < kFewestRounds || m_hooks.clockNs() < end); ++round) {
            report("timing", round, rounds);
            for (std::size_t i = slots.size(); i-- > 1;) {
                std::swap(slots[i], slots[m_random.below(i + 1)]);
            }
            for (const auto& [timedRun, into] : slots) {
                if (auto taken = take(*timedRun, *into); !taken) {
                    return taken.error();
                }
            }
        }
        return std::move(m_result);
    }

private:
    void report(std::string_view stage, std::int64_t done, std::int64_t total) const {
        if (m_hooks.progress) {
            m_hooks.progress(stage, done, total);
        }
    }

    base::Result<void> warmUp(const TimedRun& timedRun, MeasuredSide& side) {
        const auto sideCount = static_cast<std::int64_t>(m_sides.size());
        const std::int64_t end = m_hooks.clockNs() + std::max<std::int64_t>(m_plan.budgetNs, 0) / 2 / sideCount;
        WarmUp warmUp;
        const auto isEnough = [&] {
            return m_plan.warmupRuns ? side.warmupRuns >= std::max(*m_plan.warmupRuns, 1) : warmUp.isSteady();
        };
        do {
            report("warm-up", side.warmupRuns, m_plan.warmupRuns.value_or(0));
            const base::Result<Timing> timing = timedRun();
            if (!timing) {
                return timing.error();
            }
            if (side.warmupRuns++ == 0) {
                side.firstCallNs = timing->hostNs;
            } else {
                warmUp.add(timing->hostNs);
            }
            if (!m_plan.warmupRuns && !isEnough() && (side.warmupRuns >= kMostWarmupRuns || m_hooks.clockNs() >= end)) {
                side.isWarmupCapped = true;
                break;
            }
        } while (!isEnough());
        return {};
    }

    base::Result<void> take(const TimedRun& timedRun, MeasuredSide& side) {
        const base::Result<Timing> timing = timedRun();
        if (!timing) {
            return timing.error();
        }
        side.hostNs.push_back(timing->hostNs);
        if (timing->deviceNs) {
            side.deviceNs.push_back(*timing->deviceNs);
        }
        side.order.push_back(m_timedRuns++);
        return {};
    }

    const std::vector<TimedRun>& m_sides;
    const MeasurementPlan& m_plan;
    const MeasurementHooks& m_hooks;
    Random m_random;
    std::int64_t m_timedRuns = 0;
    Measurement m_result;
};

}  // namespace

base::Result<Measurement> measure(const std::vector<TimedRun>& sides, const MeasurementPlan& plan,
                                  const MeasurementHooks& hooks) {
    return Loop(sides, plan, hooks).run();
}

}  // namespace modulelens::profile
