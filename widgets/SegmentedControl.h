// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/Icons.h"

#include <QList>
#include <QWidget>

#include <optional>

namespace modulelens::widgets {

/// A few exclusive choices side by side. Left and Right move the choice. Confined to its thread.
class SegmentedControl : public QWidget {
    Q_OBJECT

public:
    struct Segment {
        QString text;
        std::optional<Icon> icon;
    };

    explicit SegmentedControl(const QString& accessibleName, QWidget* parent = nullptr);

    void setSegments(QList<Segment> segments);
    [[nodiscard]] int current() const { return m_current; }
    void setCurrent(int index);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

signals:
    /// Chosen by the person, or by setCurrent.
    void currentChanged(int index);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    [[nodiscard]] int segmentWidth(const Segment& segment) const;

    QList<Segment> m_segments;
    int m_current = 0;
};

} // namespace modulelens::widgets
