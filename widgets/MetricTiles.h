// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QList>
#include <QWidget>

namespace modulelens::widgets {

/// The metric switch that is the summary too: one tile for each metric with its total, the chosen one in accent. Where
/// the tiles do not fit it shrinks to the chosen tile, which opens a menu. Confined to its thread.
class MetricTiles : public QWidget {
    Q_OBJECT

public:
    struct Tile {
        QString id;          ///< Metric id.
        QString name;
        QString value;       ///< Total, or "—".
        QString note;        ///< "98.7 % counted", or empty.
        QString reason;      ///< Tool tip: why there is no value, or what it means.
        bool enabled = true;
    };

    explicit MetricTiles(QWidget* parent = nullptr);

    void setTiles(QList<Tile> tiles);
    [[nodiscard]] const QList<Tile>& tiles() const { return m_tiles; }
    [[nodiscard]] QString current() const { return m_current; }
    void setCurrent(const QString& id);
    /// One tile instead of all.
    void setCompact(bool compact);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

signals:
    void currentChanged(const QString& id);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] int tileWidth(const Tile& tile) const;
    [[nodiscard]] int currentIndex() const;
    [[nodiscard]] int tileAt(double x) const;
    void move(int step);
    void showMenu();

    QList<Tile> m_tiles;
    QString m_current;
    bool m_compact = false;
};

} // namespace modulelens::widgets
