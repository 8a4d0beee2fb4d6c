// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTreeView>

namespace modulelens::widgets {

/// The tree of models, modules and versions: verdict icons, tag and alias chips, counts and ages. Enter or a click
/// opens a version; "older versions" shows more. Confined to its thread.
class RegistryTree : public QTreeView {
    Q_OBJECT

public:
    explicit RegistryTree(QWidget* parent = nullptr);

signals:
    /// A row of kind Version was activated.
    void versionActivated(const QModelIndex& index);
    /// A row of kind More was activated.
    void moreActivated(const QModelIndex& index);

protected:
    void drawRow(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void drawBranches(QPainter* painter, const QRect& rect, const QModelIndex& index) const override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    void activate(const QModelIndex& index);

    QPersistentModelIndex m_hover;
};

} // namespace modulelens::widgets
