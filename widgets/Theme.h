// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QPalette>
#include <QStringView>

#include <array>
#include <optional>

namespace modulelens::widgets {

/// Every colour of the program, by what it means (one meaning, one colour). Widgets take colours from here when they
/// paint and never keep them. Immutable after construction.
struct Theme {
    enum class Mode { Light, Dark };
    /// How much self time a box of the flame graph has: under 0.6 % of the whole, under 2 %, more.
    enum class Step { Quiet = 0, Mid = 1, Strong = 2 };

    Mode mode = Mode::Light;
    QColor window, surface, sunken, hover, sel;
    QColor line, line2, grid;
    QColor text, text2, text3;
    QColor accent, accentSoft, onAccent;
    QColor ok, okSoft, warn, warnSoft, bad, badSoft;
    QColor hot, hotText;
    QColor bar, mark, band;
    QColor tip, tipText, tipText2;
    QColor parameterFill, optimizerFill;
    QColor syntaxKeyword, syntaxLiteral, syntaxComment;
    QColor controlBorder;                    ///< Outline of buttons, tiles and segments.
    std::array<QColor, 5> metricRamp;        ///< "Colour: metric", weak to strong.
    std::array<QColor, 7> divergingRamp;     ///< Index 0 is -3 (much faster), 3 is noise, 6 is +3 (much slower).

    /// The theme in use; the light one until ThemeController sets another. GUI thread only.
    [[nodiscard]] static const Theme& current();
    [[nodiscard]] static const Theme& of(Mode mode);

    /// Fill of a flame box. `hue` from classHue(); none is grey (containers, the root, lanes).
    [[nodiscard]] QColor classFill(std::optional<int> hue, Step step) const;
    /// The line at the foot of a flame box, and the outline of its legend entry.
    [[nodiscard]] QColor classEdge(std::optional<int> hue) const;
    /// The palette that Qt's own widgets paint with.
    [[nodiscard]] QPalette palette() const;
};

/// OKLCH hue of a class: by its kind (Attention, Norm, Embedding, Linear and the like, Conv), else by the hash of its name;
/// none for containers. Takes "package.module:QualName" or the bare name; equal names give equal hues in every run.
[[nodiscard]] std::optional<int> classHue(QStringView className);

/// Step of the palette for a share (0 to 1) of self in the whole.
[[nodiscard]] Theme::Step stepForShare(double share);

/// Index into Theme::divergingRamp for a relative change and the noise band around 0, both in the same unit.
[[nodiscard]] int divergingIndex(double change, double band);

} // namespace modulelens::widgets
