// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/Colours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace modulelens::widgets {

namespace {

double toGamma(double linear) {
    const double value = std::max(0.0, linear);
    return value <= 0.0031308 ? 12.92 * value : 1.055 * std::pow(value, 1 / 2.4) - 0.055;
}

double toLinear(double gamma) {
    return gamma <= 0.04045 ? gamma / 12.92 : std::pow((gamma + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& colour) {
    return 0.2126 * toLinear(colour.redF()) + 0.7152 * toLinear(colour.greenF()) + 0.0722 * toLinear(colour.blueF());
}

std::array<double, 3> linearFromOklch(double lightness, double chroma, double hueDegrees) {
    const double radians = hueDegrees * std::numbers::pi / 180;
    const double a = chroma * std::cos(radians);
    const double b = chroma * std::sin(radians);
    const auto cube = [](double value) { return value * value * value; };
    const double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b);
    const double m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b);
    const double s = cube(lightness - 0.0894841775 * a - 1.291485548 * b);
    return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s};
}

} // namespace

QColor oklch(double lightness, double chroma, double hueDegrees) {
    constexpr double kStep = 0.004;
    std::array<double, 3> linear = linearFromOklch(lightness, chroma, hueDegrees);
    const auto inGamut = [](double value) { return value >= -1e-4 && value <= 1.0001; };
    while (chroma > 0 && !std::all_of(linear.begin(), linear.end(), inGamut)) {
        chroma -= kStep;
        linear = linearFromOklch(lightness, chroma, hueDegrees);
    }
    const auto channel = [](double value) { return static_cast<int>(std::lround(255 * std::clamp(toGamma(value), 0.0, 1.0))); };
    return QColor(channel(linear[0]), channel(linear[1]), channel(linear[2]));
}

double contrastRatio(const QColor& a, const QColor& b) {
    const double first = luminance(a) + 0.05;
    const double second = luminance(b) + 0.05;
    return std::max(first, second) / std::min(first, second);
}

QColor mixed(const QColor& from, const QColor& to, double share) {
    const auto channel = [share](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * share)); };
    return QColor(channel(from.red(), to.red()), channel(from.green(), to.green()), channel(from.blue(), to.blue()));
}

QColor bestTextOn(const QColor& background) {
    const QColor dark(0x14, 0x18, 0x1D);
    const QColor light(0xF3, 0xF5, 0xF8);
    return contrastRatio(dark, background) >= contrastRatio(light, background) ? dark : light;
}

} // namespace modulelens::widgets
