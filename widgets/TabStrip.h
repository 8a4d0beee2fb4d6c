// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/Chips.h"
#include "widgets/Icons.h"

#include <QHash>
#include <QTabBar>

namespace modulelens::widgets {

/// The tabs of documents (accent line on top, can be closed) or of a document's pages (accent line at the foot, a chip only
/// for trouble). Confined to its thread.
class TabStrip : public QTabBar {
    Q_OBJECT

public:
    enum class Kind { Documents, Pages };

    explicit TabStrip(Kind kind, QWidget* parent = nullptr);

    int addTabWithIcon(Icon icon, const QString& text);
    /// A chip after the tab's text; an empty text removes it.
    void setTrouble(int index, const QString& text, ChipKind kind = ChipKind::Bad);

signals:
    void closeRequested(int index);

protected:
    void paintEvent(QPaintEvent* event) override;
    QSize tabSizeHint(int index) const override;
    QSize minimumTabSizeHint(int index) const override { return tabSizeHint(index); }
    void mousePressEvent(QMouseEvent* event) override;

private:
    [[nodiscard]] QRect closeRect(int index) const;
    [[nodiscard]] Icon iconOf(int index) const;

    Kind m_kind;
};

} // namespace modulelens::widgets
