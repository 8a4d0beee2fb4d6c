// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/Strip.h"

#include "widgets/Theme.h"

#include <QPainter>

namespace modulelens::explorer {

void Strip::paintEvent(QPaintEvent*) {
    const widgets::Theme& t = widgets::Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), t.window);
    painter.fillRect(0, height() - 1, width(), 1, t.line);
    if (m_lines == Lines::Both) {
        painter.fillRect(0, 0, width(), 1, t.line);
    }
}

} // namespace modulelens::explorer
