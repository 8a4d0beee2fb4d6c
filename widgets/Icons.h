// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QIcon>

class QColor;
class QPainter;
class QRectF;

namespace modulelens::widgets {

/// The icons of the program: one path each on a grid of 16 px, drawn with a stroke in the colour of the text beside it.
enum class Icon {
    ChevronRight,
    ChevronDown,
    ChevronUp,
    Close,
    Search,
    Play,
    Check,
    Warning,
    Failed,
    Info,
    Ring,
    Timer,
    Compare,
    Swap,
    Folder,
    Cloud,
    Database,
    Flask,
    Cube,
    Module,
    Chip,
    Tree,
    Flame,
    Hot,
    Operators,
    Roofline,
    Memory,
    Grid,
    Code,
    History,
    Refresh,
    More,
    Filter,
    Copy,
    Pin,
    Log,
    Back,
    Forward,
    Moon,
    Tray,
    Up,
    Down,
    Equal,
    Plus,
    Minus,
    Graph,
    Scale,
    Branch,
    Star,
    Out,
    Flag,
    Sliders,
    Gap,
    Rows,
    Layers,
    Link,
    Sun,
};

/// Draws `icon` into `box` in `colour`, crisp at the painter's device pixel ratio.
void paintIcon(QPainter& painter, const QRectF& box, Icon icon, const QColor& colour);

/// The icon for buttons, tabs and menus: text colour of the theme at the time of painting, so that a theme change needs
/// nothing but a repaint. Disabled is dimmed, On takes the accent.
[[nodiscard]] QIcon themedIcon(Icon icon);

} // namespace modulelens::widgets
