// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// What is said of measured times. Pure functions: the same samples and seed give the same numbers on every machine.
namespace modulelens::profile {

/// A reproducible generator (splitmix64). Confined to its thread.
class Random {
public:
    explicit Random(std::uint64_t seed) : m_state(seed) {}
    [[nodiscard]] std::uint64_t next();
    /// Uniform from 0 to `count` - 1 (multiply and shift). Requires: `count` is positive and below 2^32.
    [[nodiscard]] std::size_t below(std::size_t count);

private:
    std::uint64_t m_state;
};

/// A closed interval with 95 % confidence.
struct Interval {
    double low = 0;
    double high = 0;
};

/// Statistics of one side of a measurement, in nanoseconds. Quantiles interpolate linearly between order statistics, as
/// numpy's default does, and are rounded to whole nanoseconds, halves up.
struct SampleStatistics {
    std::int64_t count = 0;
    std::int64_t medianNs = 0;
    std::int64_t p25Ns = 0;
    std::int64_t p75Ns = 0;
    std::int64_t p95Ns = 0;
    std::int64_t minimumNs = 0;
    std::int64_t maximumNs = 0;
    std::int64_t meanNs = 0;
    Interval medianInterval;                   ///< Bootstrap interval of the median.
};

/// The `fraction` quantile (0 to 1) of `sorted`. Requires: sorted and not empty.
[[nodiscard]] double quantileOfSorted(std::span<const double> sorted, double fraction);
/// Requires: not empty.
[[nodiscard]] double medianOf(std::vector<double> values);

/// Bootstrap percentile interval of the median: resamples with Random(seed), their 2.5 % and 97.5 % quantiles. 2000 resamples;
/// beyond 10000 values fewer, down to 200. Requires: not empty.
[[nodiscard]] Interval bootstrapMedian(std::span<const double> values, std::uint64_t seed);

/// Nothing when there are no samples: a missing number is never 0.
[[nodiscard]] std::optional<SampleStatistics> summarize(std::span<const std::int64_t> samplesNs, std::uint64_t seed);

/// Two sides measured in pairs: how many times as fast the second is as the first.
struct PairedRatio {
    double ratio = 1;                          ///< Median over the pairs of first / second.
    Interval interval;                         ///< Bootstrap interval of that median.
    std::int64_t pairs = 0;
};
/// Pairs without a positive time on both sides are left out; nothing when no pair remains.
[[nodiscard]] std::optional<PairedRatio> pairedRatio(std::span<const std::int64_t> firstNs,
                                                     std::span<const std::int64_t> secondNs, std::uint64_t seed);

/// One side compared with itself: neighbouring samples, their roles drawn from `seed`. Nothing when there are too few.
[[nodiscard]] std::optional<PairedRatio> neighbourRatio(std::span<const std::int64_t> samplesNs, std::uint64_t seed);

/// How far from 1 the interval of a comparison of a thing with itself reaches, as a fraction: max(high, 1 / low) - 1.
[[nodiscard]] double bandOf(const PairedRatio& sameThing);

/// Smallest difference that counts: 1 %, or the band of the session if that is wider.
[[nodiscard]] double smallestDifference(double aaBand);

enum class Verdict : std::uint8_t { Faster, Slower, Same, Ambiguous };
/// "faster", "slower", "same", "ambiguous".
[[nodiscard]] std::string_view verdictName(Verdict verdict);
/// Of the second side against the first: faster when the whole interval lies above 1 + delta, slower when below
/// 1 / (1 + delta), same when between the two, else ambiguous.
[[nodiscard]] Verdict verdictOf(const Interval& ratio, double delta);

/// Whether times drift while a measurement goes on, as on a device that gets hot.
struct Drift {
    double change = 0;                         ///< Change of the fitted line from first to last sample, by the median time.
    double score = 0;                          ///< Mann-Kendall score: how many standard deviations from no trend.
};
/// Theil-Sen line of the samples over their index; of long series at most 1000 evenly spread samples. Nothing below 8.
[[nodiscard]] std::optional<Drift> driftOf(std::span<const std::int64_t> samplesNs);
/// Slower by more than `band`, and not by chance (score above 2.58: one in two hundred).
[[nodiscard]] bool isThrottled(const std::optional<Drift>& drift, double band);

/// Decides when a warm-up may end: as soon as the medians of the last three windows of five runs agree within 5 %.
/// Confined to its thread.
class WarmUp {
public:
    /// Takes the time of the next run.
    void add(std::int64_t runNs);
    [[nodiscard]] bool isSteady() const { return m_isSteady; }
    [[nodiscard]] int runs() const { return m_runs; }

private:
    std::vector<double> m_window;
    std::vector<double> m_medians;
    int m_runs = 0;
    bool m_isSteady = false;
};

}  // namespace modulelens::profile
