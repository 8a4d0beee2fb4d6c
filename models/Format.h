// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <QString>
#include <QStringView>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Values as a person reads them: one unit for each value, three significant digits, a no-break space before the unit.
namespace modulelens::models {

/// "—": the metric does not apply here.
[[nodiscard]] QString notApplicable();
/// "not captured": it applies, but nobody recorded it.
[[nodiscard]] QString notCaptured();

/// "950 ns", "12.4 µs", "3.45 ms", "1.20 s"; 0 is "0 ns".
[[nodiscard]] QString formatNanoseconds(std::int64_t nanoseconds);
/// "312 B", "8.4 kB", "745.0 MB", "2.35 GB" (powers of 1000).
[[nodiscard]] QString formatBytes(std::int64_t bytes);
/// "940", "300 M", "65.7 G", "4.61 T".
[[nodiscard]] QString formatFlops(std::int64_t flops);
/// "1 284 versions" style grouping with narrow spaces.
[[nodiscard]] QString formatCount(std::int64_t count);
/// "11.7 %"; under 0.05 % "< 0.1 %".
[[nodiscard]] QString formatShare(double share);
/// Value of a metric of a profile by its unit ("ns", "flops", "bytes"); profile::kUnknown becomes "—".
[[nodiscard]] QString formatMetric(std::string_view unit, std::int64_t value);
/// "7.9e−4", "0", "1.25": a floating-point value in a table, with a real minus sign.
[[nodiscard]] QString formatReal(double value);
/// "[32, 128, 1024]".
[[nodiscard]] QString formatShape(const std::vector<std::int64_t>& shape);
/// "now", "40 min", "2 h", "6 d", "3 mo" between two UTC times of the form "2026-11-30T16:00:00Z"; empty when unreadable.
[[nodiscard]] QString formatAge(const std::string& utc, const std::string& nowUtc);
/// The current time in that form.
[[nodiscard]] std::string utcNow();
/// "BertLayer" of "transformers.models.bert.modeling_bert:BertLayer".
[[nodiscard]] QString bareClassName(std::string_view className);
/// The name of a metric for a person ("latency" is "Latency", "parameters" is "Params").
[[nodiscard]] QString metricTitle(std::string_view metric);

} // namespace modulelens::models
