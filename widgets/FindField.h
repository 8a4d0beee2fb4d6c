// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLineEdit>

namespace modulelens::widgets {

/// A search field with a magnifier, a shortcut hint while empty and a count of matches while not. Enter and F3 go to the
/// next match, with Shift to the previous; Escape clears. Confined to its thread.
class FindField : public QLineEdit {
    Q_OBJECT

public:
    FindField(const QString& placeholder, const QString& shortcutHint, QWidget* parent = nullptr);

    /// "3 found, 12.4 %"; shown at the right end while there is a text.
    void setCount(const QString& text);

signals:
    void nextRequested();
    void previousRequested();

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;

private:
    void updateMargins();

    QString m_hint;
    QString m_count;
};

} // namespace modulelens::widgets
