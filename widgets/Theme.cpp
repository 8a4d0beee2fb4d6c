// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/Theme.h"

#include "widgets/Colours.h"
#include "widgets/ThemeController.h"

#include <QByteArray>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

namespace modulelens::widgets {

namespace {

struct LightnessChroma {
    double lightness;
    double chroma;
};

constexpr std::array<LightnessChroma, 3> kLightSteps = {{{.920, .035}, {.850, .075}, {.765, .100}}};
constexpr std::array<LightnessChroma, 3> kDarkSteps = {{{.350, .035}, {.450, .070}, {.660, .085}}};
constexpr std::array<double, 3> kOffsetShare = {.35, .8, 1};
constexpr LightnessChroma kLightEdge = {.650, .080};
constexpr LightnessChroma kDarkEdge = {.560, .060};
constexpr std::array<LightnessChroma, 4> kLightDiverging = {{{.920, .006}, {.840, .085}, {.730, .135}, {.540, .165}}};
constexpr std::array<LightnessChroma, 4> kDarkDiverging = {{{.370, .006}, {.480, .080}, {.660, .115}, {.800, .125}}};
constexpr int kFasterHue = 255;
constexpr int kSlowerHue = 45;

/// Lightness offset of each hue, chosen so that hues stay apart for colour-blind readers.
double lightnessOffset(int hue) {
    switch (hue) {
        case 110:
            return -.015;
        case 130:
            return .045;
        case 165:
            return .015;
        case 205:
            return .045;
        case 275:
            return .015;
        case 310:
            return -.045;
        case 345:
            return -.045;
        default:
            return 0;
    }
}

std::array<QColor, 7> divergingRamp(const std::array<LightnessChroma, 4>& steps) {
    std::array<QColor, 7> ramp;
    for (int index = 0; index < 7; ++index) {
        const int step = index - 3;
        const LightnessChroma& tone = steps[static_cast<std::size_t>(std::abs(step))];
        ramp[static_cast<std::size_t>(index)] = oklch(tone.lightness, tone.chroma, step <= 0 ? kFasterHue : kSlowerHue);
    }
    return ramp;
}

QColor rgb(QRgb value) {
    return QColor::fromRgb(value);
}

Theme lightTheme() {
    Theme t;
    t.mode = Theme::Mode::Light;
    t.window = rgb(0xF1F3F6);
    t.surface = rgb(0xFFFFFF);
    t.sunken = rgb(0xE6E9EE);
    t.hover = rgb(0xEBF0F7);
    t.sel = rgb(0xDFE4EC);
    t.line = rgb(0xD6DBE2);
    t.line2 = rgb(0x818A97);
    t.grid = rgb(0xE4E7EC);
    t.text = rgb(0x191D23);
    t.text2 = rgb(0x48515E);
    t.text3 = rgb(0x5C6572);
    t.accent = rgb(0x1F5FC4);
    t.accentSoft = rgb(0xDBE7FB);
    t.onAccent = rgb(0xFFFFFF);
    t.ok = rgb(0x0A6A5E);
    t.okSoft = rgb(0xD5EFEA);
    t.warn = rgb(0x835000);
    t.warnSoft = rgb(0xFAE9C6);
    t.bad = rgb(0xAE3018);
    t.badSoft = rgb(0xFCE1D9);
    t.hot = rgb(0xE0640F);
    t.hotText = rgb(0xA84200);
    t.bar = rgb(0x6A82A6);
    t.mark = rgb(0xFFDE7A);
    t.band = rgb(0xE6E9EE);
    t.tip = rgb(0x23282F);
    t.tipText = rgb(0xF2F4F7);
    t.tipText2 = rgb(0xB9C1CC);
    t.parameterFill = rgb(0xC9D0D9);
    t.optimizerFill = rgb(0x97A1AF);
    t.syntaxKeyword = rgb(0x5B45A8);
    t.syntaxLiteral = rgb(0x9A2F6E);
    t.syntaxComment = rgb(0x56606D);
    t.metricRamp = {oklch(.93, .018, 255), oklch(.82, .045, 255), oklch(.71, .060, 255), oklch(.612, .066, 255),
                    oklch(.48, .064, 255)};
    t.divergingRamp = divergingRamp(kLightDiverging);
    t.controlBorder = mixed(t.line, t.line2, .6);
    return t;
}

Theme darkTheme() {
    Theme t;
    t.mode = Theme::Mode::Dark;
    t.window = rgb(0x1B1E23);
    t.surface = rgb(0x22262C);
    t.sunken = rgb(0x15171B);
    t.hover = rgb(0x2B313A);
    t.sel = rgb(0x3B434F);
    t.line = rgb(0x373E48);
    t.line2 = rgb(0x76808E);
    t.grid = rgb(0x2F353E);
    t.text = rgb(0xE4E8ED);
    t.text2 = rgb(0xB4BDC8);
    t.text3 = rgb(0x9BA5B2);
    t.accent = rgb(0x7DB0FF);
    t.accentSoft = rgb(0x22385A);
    t.onAccent = rgb(0x0E1621);
    t.ok = rgb(0x4CC9B4);
    t.okSoft = rgb(0x163934);
    t.warn = rgb(0xE5B454);
    t.warnSoft = rgb(0x3D3015);
    t.bad = rgb(0xFF9275);
    t.badSoft = rgb(0x4A251C);
    t.hot = rgb(0xFFA35C);
    t.hotText = rgb(0xFFA766);
    t.bar = rgb(0x7F99C2);
    t.mark = rgb(0x705600);
    t.band = rgb(0x343A43);
    t.tip = rgb(0xE9ECF0);
    t.tipText = rgb(0x1A1E24);
    t.tipText2 = rgb(0x4C5562);
    t.parameterFill = rgb(0x4A535F);
    t.optimizerFill = rgb(0x6C7683);
    t.syntaxKeyword = rgb(0xB9A8FF);
    t.syntaxLiteral = rgb(0xF29BC6);
    t.syntaxComment = rgb(0xA3ADBA);
    t.metricRamp = {oklch(.33, .018, 255), oklch(.432, .040, 255), oklch(.537, .056, 255), oklch(.665, .060, 255),
                    oklch(.78, .055, 255)};
    t.divergingRamp = divergingRamp(kDarkDiverging);
    t.controlBorder = mixed(t.line, t.line2, .6);
    return t;
}

std::uint32_t fnv1a(const QByteArray& bytes) {
    std::uint32_t hash = 2166136261U;
    for (const char byte : bytes) {
        hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619U;
    }
    return hash;
}

QStringView bareClassName(QStringView className) {
    const qsizetype colon = className.lastIndexOf(u':');
    const QStringView qualified = className.mid(colon + 1);
    return qualified.mid(qualified.lastIndexOf(u'.') + 1);
}

} // namespace

const Theme& Theme::current() {
    return of(ThemeController::currentMode());
}

const Theme& Theme::of(Mode mode) {
    static const Theme light = lightTheme();
    static const Theme dark = darkTheme();
    return mode == Mode::Light ? light : dark;
}

QColor Theme::classFill(std::optional<int> hue, Step step) const {
    const auto index = static_cast<std::size_t>(step);
    if (!hue) {
        constexpr std::array<QRgb, 3> kLightGrey = {0xE9ECF0, 0xD5DAE1, 0xBFC6D0};
        constexpr std::array<QRgb, 3> kDarkGrey = {0x333942, 0x454D58, 0x5D6773};
        return rgb(mode == Mode::Light ? kLightGrey[index] : kDarkGrey[index]);
    }
    static std::map<std::pair<int, int>, QColor> cache;
    const std::pair key(*hue, static_cast<int>(mode) * 3 + static_cast<int>(step));
    const auto found = cache.find(key);
    if (found != cache.end()) {
        return found->second;
    }
    const LightnessChroma& tone = mode == Mode::Light ? kLightSteps[index] : kDarkSteps[index];
    const QColor colour = oklch(tone.lightness + lightnessOffset(*hue) * kOffsetShare[index], tone.chroma, *hue);
    cache.emplace(key, colour);
    return colour;
}

QColor Theme::classEdge(std::optional<int> hue) const {
    if (!hue) {
        return mode == Mode::Light ? line2 : mixed(surface, line2, .7);
    }
    const LightnessChroma& tone = mode == Mode::Light ? kLightEdge : kDarkEdge;
    static std::map<std::pair<int, int>, QColor> cache;
    const std::pair key(*hue, static_cast<int>(mode));
    const auto found = cache.find(key);
    if (found != cache.end()) {
        return found->second;
    }
    const QColor colour = oklch(tone.lightness, tone.chroma, *hue);
    cache.emplace(key, colour);
    return colour;
}

QPalette Theme::palette() const {
    QPalette palette;
    palette.setColor(QPalette::Window, window);
    palette.setColor(QPalette::WindowText, text);
    palette.setColor(QPalette::Base, surface);
    palette.setColor(QPalette::AlternateBase, window);
    palette.setColor(QPalette::Text, text);
    palette.setColor(QPalette::PlaceholderText, text3);
    palette.setColor(QPalette::Button, surface);
    palette.setColor(QPalette::ButtonText, text);
    palette.setColor(QPalette::BrightText, bad);
    palette.setColor(QPalette::Highlight, accentSoft);
    palette.setColor(QPalette::HighlightedText, text);
    palette.setColor(QPalette::Link, accent);
    palette.setColor(QPalette::LinkVisited, accent);
    palette.setColor(QPalette::ToolTipBase, tip);
    palette.setColor(QPalette::ToolTipText, tipText);
    palette.setColor(QPalette::Light, surface);
    palette.setColor(QPalette::Midlight, hover);
    palette.setColor(QPalette::Mid, line);
    palette.setColor(QPalette::Dark, line2);
    palette.setColor(QPalette::Shadow, line2);
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        palette.setColor(QPalette::Disabled, role, text3);
    }
    return palette;
}

std::optional<int> classHue(QStringView className) {
    const QStringView name = bareClassName(className);
    for (const QStringView container : {u"ModuleList", u"Sequential", u"ModuleDict"}) {
        if (name == container) {
            return std::nullopt;
        }
    }
    if (name.isEmpty()) {
        return std::nullopt;
    }
    static constexpr std::array<std::pair<QStringView, int>, 9> kKinds = {{{u"Attention", 275},
                                                                           {u"Norm", 130},
                                                                           {u"Embedding", 345},
                                                                           {u"Linear", 205},
                                                                           {u"FFN", 205},
                                                                           {u"MLP", 205},
                                                                           {u"Dense", 205},
                                                                           {u"Intermediate", 205},
                                                                           {u"Conv", 165}}};
    for (const auto& [kind, hue] : kKinds) {
        if (name.contains(kind)) {
            return hue;
        }
    }
    static constexpr std::array<int, 3> kFree = {110, 165, 310};
    return kFree[(fnv1a(name.toUtf8()) >> 9U) % kFree.size()];
}

Theme::Step stepForShare(double share) {
    if (share >= .02) {
        return Theme::Step::Strong;
    }
    return share >= .006 ? Theme::Step::Mid : Theme::Step::Quiet;
}

int divergingIndex(double change, double band) {
    const double size = std::abs(change);
    int step = 0;
    if (size > band) {
        step = size < 3 * band ? 1 : size < 8 * band ? 2 : 3;
    }
    return 3 + (change < 0 ? -step : step);
}

} // namespace modulelens::widgets
