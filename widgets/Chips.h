// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/Icons.h"

#include <QString>

#include <optional>

class QPainter;

namespace modulelens::widgets {

enum class ChipKind { Tag, Alias, Good, Warning, Bad, Neutral, Token };

/// A small labelled box: a tag, an alias, a verdict (then always with icon and word), a count.
struct Chip {
    QString text;
    ChipKind kind = ChipKind::Tag;
    std::optional<Icon> icon;
    bool closable = false;
};

inline constexpr int kRowChipHeight = 16;
inline constexpr int kHeaderChipHeight = 20;

[[nodiscard]] int chipWidth(const Chip& chip);
/// Draws at `x`, centred on `centreY`; returns the width.
int paintChip(QPainter& painter, int x, double centreY, const Chip& chip, int height = kRowChipHeight);

} // namespace modulelens::widgets
