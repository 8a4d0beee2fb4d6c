// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>

namespace modulelens::widgets {

/// The sRGB colour of an OKLCH triple (hue in degrees); chroma is reduced until the colour is in gamut.
[[nodiscard]] QColor oklch(double lightness, double chroma, double hueDegrees);

/// WCAG 2 contrast ratio of two opaque colours, 1 to 21.
[[nodiscard]] double contrastRatio(const QColor& a, const QColor& b);

/// `from` moved towards `to` by `share` (0 to 1) in sRGB.
[[nodiscard]] QColor mixed(const QColor& from, const QColor& to, double share);

/// Near-black or near-white, whichever contrasts more with `background`.
[[nodiscard]] QColor bestTextOn(const QColor& background);

} // namespace modulelens::widgets
