// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHash>
#include <QList>
#include <QSet>
#include <QWidget>

namespace modulelens::models {
struct Facet;
}

namespace modulelens::widgets {

/// The facets of a query as groups of check boxes with counts; groups fold. Up and Down move, Space chooses or folds.
/// Confined to its thread.
class FacetList : public QWidget {
    Q_OBJECT

public:
    explicit FacetList(QWidget* parent = nullptr);
    ~FacetList() override;

    void setFacets(const QList<models::Facet>& facets);
    void setOpen(const QString& field, bool open);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

signals:
    void toggled(const QString& field, const QString& value);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    enum class RowKind { Head, Entry, More };
    struct Row {
        RowKind kind = RowKind::Head;
        QString field;
        QString text;
        QString right;
        bool open = false;
        bool chosen = false;
        int y = 0;
        int height = 0;
    };
    void layOut();
    [[nodiscard]] int rowAt(int y) const;
    void activate(int row);

    QList<models::Facet> m_facets;
    QList<Row> m_rows;
    QHash<QString, bool> m_open;
    QSet<QString> m_showAll;
    int m_focusRow = 0;
    int m_hoverRow = -1;
};

} // namespace modulelens::widgets
