// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Sentences.h"

#include "backend/protocol/ErrorTable.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>

namespace modulelens::operations {

namespace {

struct Unit {
    double size;
    const char* name;
};

/// Three significant digits in the largest unit that leaves at least 1.
std::string inUnits(std::int64_t value, std::span<const Unit> units) {
    const double magnitude = std::abs(static_cast<double>(value));
    const Unit* unit = &units.front();
    for (const Unit& candidate : units) {
        // 999.6 of a unit would be shown as 1000.
        if (magnitude >= candidate.size * 0.9995) {
            unit = &candidate;
        }
    }
    const double scaled = static_cast<double>(value) / unit->size;
    const int decimals = unit == &units.front() || std::abs(scaled) >= 99.95 ? 0 : std::abs(scaled) >= 9.995 ? 1 : 2;
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, scaled);
    std::string number = text;
    if (decimals > 0) {
        number.erase(number.find_last_not_of('0') + 1);
        if (number.back() == '.') {
            number.pop_back();
        }
    }
    return number + ' ' + unit->name;
}

std::string numberText(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

std::string withReason(const std::string& sentence, const std::string& reason) {
    return sentence + (reason.empty() ? "." : ": " + reason + (reason.back() == '.' ? "" : "."));
}

} // namespace

std::string durationText(std::int64_t nanoseconds) {
    static constexpr std::array<Unit, 4> kUnits = {{{1, "ns"}, {1e3, "\u00b5s"}, {1e6, "ms"}, {1e9, "s"}}};
    return inUnits(nanoseconds, kUnits);
}

std::string bytesText(std::int64_t bytes) {
    static constexpr std::array<Unit, 5> kUnits = {{{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
    return inUnits(bytes, kUnits);
}

std::string flopsText(std::int64_t flops) {
    static constexpr std::array<Unit, 5> kUnits = {
        {{1, "FLOPs"}, {1e3, "kFLOPs"}, {1e6, "MFLOPs"}, {1e9, "GFLOPs"}, {1e12, "TFLOPs"}}};
    return inUnits(flops, kUnits);
}

std::string attributesText(const std::map<std::string, registry::AttributeValue>& attributes) {
    std::string text;
    for (const auto& [key, value] : attributes) {
        text += text.empty() ? key : ", " + key;
        text += '=';
        if (const auto* held = std::get_if<std::string>(&value)) {
            text += *held;
        } else if (const auto* number = std::get_if<double>(&value)) {
            text += nlohmann::json(*number).dump();
        } else {
            text += std::get<bool>(value) ? "true" : "false";
        }
    }
    return text.empty() ? "-" : text;
}

std::string countText(std::int64_t count, const std::string& singular, const std::string& plural) {
    return std::to_string(count) + ' ' + (count == 1 ? singular : plural);
}

std::string errorSentence(const base::Error& error) {
    base::Error shown = error;
    if (shown.fix.empty()) {
        shown.fix = std::string(protocol::defaultAdvice(error.code));
    }
    std::string sentence = shown.text();
    // Only a plain word gets a capital: names stay as they are.
    const auto word = std::find_if(sentence.begin(), sentence.end(), [](char c) { return c < 'a' || c > 'z'; });
    if (word != sentence.begin() && word != sentence.end() && *word == ' ') {
        sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
    }
    if (!sentence.empty() && sentence.back() != '.' && sentence.back() != '!' && sentence.back() != '?') {
        sentence += '.';
    }
    return sentence;
}

std::string verdictSentence(const ValidationReport& report) {
    const auto count = static_cast<std::int64_t>(report.leaves.size());
    const auto good = std::count_if(report.leaves.begin(), report.leaves.end(), [](const protocol::LeafResult& leaf) {
        return leaf.verdict == "exact" || leaf.verdict == "close";
    });
    const std::string of = std::to_string(good) + " of " + countText(count, "output", "outputs");
    if (report.verdict == "pass" && report.exact) {
        return "Bit-exact: " + of + ".";
    }
    if (report.verdict == "pass") {
        return "Within tolerance: " + of + (report.maxAbsDiff ? ", largest difference " + numberText(*report.maxAbsDiff) : "") +
               ".";
    }
    if (report.verdict == "fail") {
        const auto worst = std::find_if(report.leaves.begin(), report.leaves.end(),
                                        [](const protocol::LeafResult& leaf) { return leaf.verdict == "fail"; });
        std::string sentence = "Differs: " + std::to_string(count - good) + " of " + countText(count, "output", "outputs");
        if (worst != report.leaves.end()) {
            sentence += ", first at " + worst->pointer;
        }
        if (report.maxAbsDiff) {
            sentence += ", largest difference " + numberText(*report.maxAbsDiff);
        }
        return withReason(sentence, report.reason);
    }
    if (report.verdict == "no_program") {
        return withReason("No program, so it cannot be checked", report.reason);
    }
    return withReason("Not comparable", report.reason);
}

std::string profileSentence(const ProfileReport& report) {
    std::string sentence;
    const auto add = [&](const std::string& part) { sentence += (sentence.empty() ? "" : ", ") + part; };
    if (report.result.latencyNs) {
        add(durationText(*report.result.latencyNs));
    }
    if (report.result.training && report.result.training->backwardNs) {
        add("backward " + durationText(*report.result.training->backwardNs));
    }
    if (report.result.flops) {
        add((report.result.unknown.empty() ? "" : "at least ") + flopsText(*report.result.flops));
    }
    if (report.result.peakBytes) {
        add("peak " + bytesText(*report.result.peakBytes));
    }
    return sentence.empty() ? "Profiled." : sentence + ".";
}

std::string rebuildSentence(const RebuildReport& report) {
    const char* from = report.engine != protocol::engine_name::kSource ? "its program"
                       : report.how == "structure"                     ? "its class and structure"
                       : report.how == "init"                          ? "its class and constructor arguments"
                                                                       : "its program, in Python";
    return std::string("Runs again from ") + from + ": " +
           countText(static_cast<std::int64_t>(report.outputs.size()), "output", "outputs") + " in " +
           durationText(report.hostNs) + ".";
}

std::string importSentence(const registry::ImportReport& report) {
    std::string sentence = countText(report.versionsNew, "version", "versions") + " added";
    if (report.versionsKnown > 0) {
        sentence += ", " + std::to_string(report.versionsKnown) + " already there";
    }
    return sentence + " (" + bytesText(static_cast<std::int64_t>(report.bytesStored)) + " stored).";
}

} // namespace modulelens::operations
