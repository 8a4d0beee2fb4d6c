// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Timestamp.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace modulelens::registry {

namespace {

constexpr std::int64_t kSecond = 1'000'000;

/// Reads exactly `digits` digits at `at` and moves it behind them.
std::optional<int> takeNumber(std::string_view text, std::size_t& at, std::size_t digits) {
    if (at + digits > text.size()) {
        return std::nullopt;
    }
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
        const char c = text[at + i];
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        value = value * 10 + (c - '0');
    }
    at += digits;
    return value;
}

bool takeChar(std::string_view text, std::size_t& at, char wanted) {
    if (at < text.size() && text[at] == wanted) {
        ++at;
        return true;
    }
    return false;
}

std::int64_t microsecondsOfDay(std::chrono::year_month_day day) {
    return std::chrono::sys_days(day).time_since_epoch().count() * std::int64_t{86'400} * kSecond;
}

/// The part after 'T': adds it to `span`, which begins at midnight.
bool takeTimeOfDay(std::string_view text, std::size_t& at, TimeSpan& span) {
    const std::optional<int> hour = takeNumber(text, at, 2);
    if (!hour || *hour > 23 || !takeChar(text, at, ':')) {
        return false;
    }
    const std::optional<int> minute = takeNumber(text, at, 2);
    if (!minute || *minute > 59) {
        return false;
    }
    span.from += (*hour * std::int64_t{3600} + *minute * std::int64_t{60}) * kSecond;
    span.until = span.from + 60 * kSecond;
    if (!takeChar(text, at, ':')) {
        return true;
    }
    const std::optional<int> second = takeNumber(text, at, 2);
    if (!second || *second > 59) {
        return false;
    }
    span.from += *second * kSecond;
    span.until = span.from + kSecond;
    if (!takeChar(text, at, '.')) {
        return true;
    }
    std::int64_t unit = kSecond;
    bool any = false;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        unit /= 10;
        span.from += (text[at] - '0') * unit;
        any = true;
        ++at;
    }
    span.until = span.from + (unit > 0 ? unit : 1);
    return any;
}

}  // namespace

std::optional<TimeSpan> parseTimeSpan(std::string_view text) {
    using namespace std::chrono;
    std::size_t at = 0;
    const std::optional<int> yearNumber = takeNumber(text, at, 4);
    if (!yearNumber) {
        return std::nullopt;
    }
    const year first(*yearNumber);
    if (at == text.size()) {
        return TimeSpan{microsecondsOfDay(first / January / 1), microsecondsOfDay((first + years(1)) / January / 1)};
    }
    const bool dash = takeChar(text, at, '-');
    const std::optional<int> monthNumber = dash ? takeNumber(text, at, 2) : std::nullopt;
    if (!monthNumber || *monthNumber < 1 || *monthNumber > 12) {
        return std::nullopt;
    }
    const year_month month = first / *monthNumber;
    if (at == text.size()) {
        return TimeSpan{microsecondsOfDay(month / 1), microsecondsOfDay((month + months(1)) / 1)};
    }
    const std::optional<int> dayNumber = takeChar(text, at, '-') ? takeNumber(text, at, 2) : std::nullopt;
    if (!dayNumber || !(month / *dayNumber).ok()) {
        return std::nullopt;
    }
    TimeSpan span;
    span.from = microsecondsOfDay(month / *dayNumber);
    span.until = span.from + 86'400 * kSecond;
    if (takeChar(text, at, 'T') && !takeTimeOfDay(text, at, span)) {
        return std::nullopt;
    }
    takeChar(text, at, 'Z');
    return at == text.size() ? std::optional<TimeSpan>(span) : std::nullopt;
}

std::string formatUtc(std::int64_t microseconds) {
    using namespace std::chrono;
    const sys_time<std::chrono::microseconds> time{std::chrono::microseconds(microseconds)};
    const sys_days day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss clock(time - day);
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
    return text.data();
}

std::int64_t currentUtcMicroseconds() {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace modulelens::registry
