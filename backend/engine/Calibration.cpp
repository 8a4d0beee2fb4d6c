// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Calibration.h"

#include "backend/engine/DeviceClock.h"
#include "backend/engine/MachineState.h"
#include "backend/engine/Modes.h"
#include "backend/engine/TorchTypes.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace modulelens::engine {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLargestArray = std::int64_t{256} << 20;
constexpr std::int64_t kSmallestArray = std::int64_t{16} << 20;
constexpr std::int64_t kShareOfMemory = 8;
constexpr int kFewestRuns = 3;
constexpr int kMostRuns = 200;

class Calibration {
public:
    Calibration(c10::Device device, std::int64_t budgetMs, const std::atomic<bool>& stop, const JobContext& job)
        : m_device(device), m_budgetMs(std::max<std::int64_t>(budgetMs, 1)), m_stop(stop), m_job(job) {}

    protocol::CalibrateResult run() {
        const at::NoGradGuard noGrad;
        m_result.environment = measuringEnvironment(m_device);
        m_result.timerNs = timerCostNs();
        m_result.nullOperatorNs = nullOperatorCostNs(m_device);
        const OtherLoad load;
        measureMemory();
        for (const at::ScalarType type : kTypes) {
            measureProducts(type);
        }
        m_result.environment.otherCpus = load.busyCpus();
        m_result.environment.clockHzAfter = processorClockHz();
        return m_result;
    }

private:
    static constexpr std::array kTypes = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf};
    static constexpr std::int64_t kParts = static_cast<std::int64_t>(kTypes.size()) + 3;

    void next(std::string_view stage) {
        if (m_job.progress) {
            m_job.progress(stage, m_part, kParts);
        }
        ++m_part;
    }

    template <class Action>
    std::int64_t once(Action& action) {
        if (m_stop.load(std::memory_order_relaxed)) {
            throw Failure({base::ErrorCode::Cancelled, "calibrating was cancelled", ""});
        }
        const Clock::time_point start = Clock::now();
        action();
        synchronize(m_device);
        return std::max<std::int64_t>(std::chrono::nanoseconds(Clock::now() - start).count(), 1);
    }

    /// The least time of one run of `action`, over as many runs as its share of the budget allows.
    template <class Action>
    std::int64_t best(Action action) {
        const Clock::time_point end = Clock::now() + std::chrono::milliseconds(m_budgetMs / kParts);
        (void)once(action);
        std::int64_t least = once(action);
        for (int i = 1; i < kMostRuns && (i < kFewestRuns || Clock::now() < end); ++i) {
            least = std::min(least, once(action));
        }
        return least;
    }

    static std::int64_t perSecond(double amount, std::int64_t ns) {
        constexpr double kNsPerSecond = 1e9;
        return std::llround(amount * kNsPerSecond / static_cast<double>(ns));
    }

    void measureMemory() {
        const std::int64_t available = availableMemoryBytes().value_or(kLargestArray * kShareOfMemory);
        const std::int64_t bytes = std::clamp(available / kShareOfMemory, kSmallestArray, kLargestArray);
        const auto elements = bytes / static_cast<std::int64_t>(sizeof(float));
        const at::TensorOptions options = at::TensorOptions().dtype(at::kFloat).device(m_device);
        at::Tensor target = at::ones({elements}, options);
        const at::Tensor left = at::ones({elements}, options);
        const at::Tensor right = at::ones({elements}, options);
        const auto size = static_cast<double>(left.nbytes());
        m_result.arrayBytes = static_cast<std::int64_t>(left.nbytes());
        next("read");
        m_result.readBytesPerSecond = perSecond(size, best([&] { (void)at::sum(left); }));
        next("copy");
        m_result.copyBytesPerSecond = perSecond(2 * size, best([&] { target.copy_(left); }));
        next("triad");
        constexpr double kScale = 3;
        m_result.triadBytesPerSecond = perSecond(3 * size, best([&] { at::add_out(target, left, right, kScale); }));
    }

    void measureProducts(at::ScalarType type) {
        const std::string name(base::scalarTypeName(captureType(type)));
        next(name);
        try {
            protocol::PeakRate peak{name, 0, 0};
            const Clock::time_point end = Clock::now() + std::chrono::milliseconds(m_budgetMs / kParts);
            // Larger matrices reach more, until one product takes its share of the budget.
            for (std::int64_t size = 256; size <= 8192; size *= 2) {
                const std::int64_t rate = rateOfSize(type, size, end);
                if (rate > peak.flopsPerSecond) {
                    peak.flopsPerSecond = rate;
                    peak.size = size;
                }
                constexpr double kGrowth = 8;
                const double nextSeconds = kGrowth * flopsOf(size) / static_cast<double>(rate);
                if (Clock::now() + std::chrono::duration<double>(nextSeconds * kFewestRuns) > end) {
                    break;
                }
            }
            m_result.peaks.push_back(peak);
        } catch (const c10::Error& error) {
            m_result.unmeasured.push_back(name + ": " + error.what_without_backtrace());
        }
    }

    static double flopsOf(std::int64_t size) {
        const auto n = static_cast<double>(size);
        return 2 * n * n * n;
    }

    std::int64_t rateOfSize(at::ScalarType type, std::int64_t size, Clock::time_point end) {
        const at::TensorOptions options = at::TensorOptions().dtype(type).device(m_device);
        const at::Tensor left = at::ones({size, size}, at::TensorOptions().device(m_device)).div_(3).to(options);
        const at::Tensor right = left.clone();
        at::Tensor product = at::empty({size, size}, options);
        auto multiply = [&] { at::mm_out(product, left, right); };
        (void)once(multiply);
        std::int64_t least = once(multiply);
        // Small matrices only lead the way; the last size gets the rest of the share.
        constexpr int kRunsOfASize = 10;
        for (int i = 1; i < kRunsOfASize && (i < kFewestRuns || Clock::now() < end); ++i) {
            least = std::min(least, once(multiply));
        }
        return perSecond(flopsOf(size), least);
    }

    c10::Device m_device;
    std::int64_t m_budgetMs;
    const std::atomic<bool>& m_stop;
    const JobContext& m_job;
    protocol::CalibrateResult m_result;
    std::int64_t m_part = 0;
};

}  // namespace

protocol::CalibrateResult calibrateDevice(c10::Device device, std::int64_t budgetMs, const std::atomic<bool>& stop,
                                          const JobContext& job) {
    return Calibration(device, budgetMs, stop, job).run();
}

}  // namespace modulelens::engine
