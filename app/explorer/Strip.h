// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

namespace modulelens::explorer {

/// A row of controls on the window's colour, with a line below and, where it stands between two areas, above.
/// Lives on the GUI thread.
class Strip : public QWidget {
public:
    enum class Lines { Below, Both };
    explicit Strip(QWidget* parent, Lines lines = Lines::Below) : QWidget(parent), m_lines(lines) {}

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    Lines m_lines;
};

} // namespace modulelens::explorer
