// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QPainter;
class QPointF;
class QString;

namespace modulelens::widgets {

inline constexpr int kKeyCapHeight = 18;

/// Pixels that the cap of `key` takes.
[[nodiscard]] double keyCapWidth(const QString& key);
/// Draws a key as it looks on a keyboard, with its top right corner at `topRight`; returns its width.
double paintKeyCap(QPainter& painter, const QPointF& topRight, const QString& key);

} // namespace modulelens::widgets
