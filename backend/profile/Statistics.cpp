// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace modulelens::profile {

namespace {

constexpr std::size_t kResamples = 2000;
constexpr std::size_t kFewestResamples = 200;
constexpr std::size_t kMostDraws = 20'000'000;
constexpr double kLowTail = 0.025;
constexpr double kHighTail = 0.975;
constexpr double kLeastDelta = 0.01;
constexpr std::size_t kFewestForDrift = 8;
constexpr std::size_t kMostForDrift = 1000;
constexpr double kSurelyNotChance = 2.58;
constexpr std::size_t kWindow = 5;
constexpr std::size_t kAgreeing = 3;
constexpr double kAgreement = 1.05;

std::int64_t rounded(double value) {
    return static_cast<std::int64_t>(std::floor(value + 0.5));
}

std::vector<double> asDoubles(std::span<const std::int64_t> samples) {
    return {samples.begin(), samples.end()};
}

/// Between two order statistics.
double interpolated(double low, double high, double share) {
    return low + (high - low) * share;
}

/// The median by selection, which reorders `values`.
double selectMedian(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) {
        return *middle;
    }
    return interpolated(*std::max_element(values.begin(), middle), *middle, 0.5);
}

}  // namespace

std::uint64_t Random::next() {
    m_state += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = m_state;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
}

std::size_t Random::below(std::size_t count) {
    return static_cast<std::size_t>(((next() >> 32) * count) >> 32);
}

double quantileOfSorted(std::span<const double> sorted, double fraction) {
    const double place = fraction * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return interpolated(sorted[below], sorted[above], place - static_cast<double>(below));
}

double medianOf(std::vector<double> values) {
    return selectMedian(values);
}

Interval bootstrapMedian(std::span<const double> values, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> medians(std::clamp(kMostDraws / values.size(), kFewestResamples, kResamples));
    std::vector<double> resample(values.size());
    for (double& median : medians) {
        for (double& value : resample) {
            value = values[random.below(values.size())];
        }
        median = selectMedian(resample);
    }
    std::sort(medians.begin(), medians.end());
    return {quantileOfSorted(medians, kLowTail), quantileOfSorted(medians, kHighTail)};
}

std::optional<SampleStatistics> summarize(std::span<const std::int64_t> samplesNs, std::uint64_t seed) {
    if (samplesNs.empty()) {
        return std::nullopt;
    }
    const std::vector<double> values = asDoubles(samplesNs);
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    SampleStatistics statistics;
    statistics.count = static_cast<std::int64_t>(sorted.size());
    statistics.medianNs = rounded(quantileOfSorted(sorted, 0.5));
    statistics.p25Ns = rounded(quantileOfSorted(sorted, 0.25));
    statistics.p75Ns = rounded(quantileOfSorted(sorted, 0.75));
    statistics.p95Ns = rounded(quantileOfSorted(sorted, 0.95));
    statistics.minimumNs = rounded(sorted.front());
    statistics.maximumNs = rounded(sorted.back());
    statistics.meanNs = rounded(std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size()));
    statistics.medianInterval = bootstrapMedian(values, seed);
    return statistics;
}

std::optional<PairedRatio> pairedRatio(std::span<const std::int64_t> firstNs, std::span<const std::int64_t> secondNs,
                                       std::uint64_t seed) {
    std::vector<double> ratios;
    const std::size_t pairs = std::min(firstNs.size(), secondNs.size());
    ratios.reserve(pairs);
    for (std::size_t i = 0; i < pairs; ++i) {
        if (firstNs[i] > 0 && secondNs[i] > 0) {
            ratios.push_back(static_cast<double>(firstNs[i]) / static_cast<double>(secondNs[i]));
        }
    }
    if (ratios.empty()) {
        return std::nullopt;
    }
    return PairedRatio{medianOf(ratios), bootstrapMedian(ratios, seed), static_cast<std::int64_t>(ratios.size())};
}

std::optional<PairedRatio> neighbourRatio(std::span<const std::int64_t> samplesNs, std::uint64_t seed) {
    Random random(seed);
    std::array<std::vector<std::int64_t>, 2> halves;
    for (std::size_t i = 0; i + 1 < samplesNs.size(); i += 2) {
        const std::size_t role = random.below(2);
        halves[role].push_back(samplesNs[i]);
        halves[1 - role].push_back(samplesNs[i + 1]);
    }
    return pairedRatio(halves[0], halves[1], seed);
}

double bandOf(const PairedRatio& sameThing) {
    return std::max({sameThing.interval.high, 1 / sameThing.interval.low, 1.0}) - 1;
}

double smallestDifference(double aaBand) {
    return std::max(kLeastDelta, aaBand);
}

std::string_view verdictName(Verdict verdict) {
    switch (verdict) {
        case Verdict::Faster:
            return "faster";
        case Verdict::Slower:
            return "slower";
        case Verdict::Same:
            return "same";
        case Verdict::Ambiguous:
            return "ambiguous";
    }
    return "ambiguous";
}

Verdict verdictOf(const Interval& ratio, double delta) {
    const double upper = 1 + delta;
    const double lower = 1 / upper;
    if (ratio.low > upper) {
        return Verdict::Faster;
    }
    if (ratio.high < lower) {
        return Verdict::Slower;
    }
    return ratio.low >= lower && ratio.high <= upper ? Verdict::Same : Verdict::Ambiguous;
}

std::optional<Drift> driftOf(std::span<const std::int64_t> samplesNs) {
    const std::size_t count = std::min(samplesNs.size(), kMostForDrift);
    if (count < kFewestForDrift) {
        return std::nullopt;
    }
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<double>(samplesNs[i * samplesNs.size() / count]);
    }
    std::vector<double> slopes;
    slopes.reserve(count * (count - 1) / 2);
    double rises = 0;
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t k = i + 1; k < count; ++k) {
            slopes.push_back((values[k] - values[i]) / static_cast<double>(k - i));
            rises += values[k] > values[i] ? 1 : values[k] < values[i] ? -1 : 0;
        }
    }
    const double median = medianOf(values);
    const auto n = static_cast<double>(count);
    Drift drift;
    drift.change = median > 0 ? selectMedian(slopes) * (n - 1) / median : 0;
    const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
    drift.score = rises == 0 ? 0 : (rises - (rises > 0 ? 1 : -1)) / deviation;
    return drift;
}

bool isThrottled(const std::optional<Drift>& drift, double band) {
    return drift && drift->change > band && drift->score > kSurelyNotChance;
}

void WarmUp::add(std::int64_t runNs) {
    ++m_runs;
    m_window.push_back(static_cast<double>(runNs));
    if (m_window.size() < kWindow) {
        return;
    }
    m_medians.push_back(medianOf(m_window));
    m_window.clear();
    if (m_medians.size() > kAgreeing) {
        m_medians.erase(m_medians.begin());
    }
    const auto [least, most] = std::minmax_element(m_medians.begin(), m_medians.end());
    m_isSteady = m_medians.size() == kAgreeing && *most <= kAgreement * *least;
}

}  // namespace modulelens::profile
