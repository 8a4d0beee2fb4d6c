// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/ProfileView.h"

#include <QWidget>

#include <vector>

namespace modulelens::widgets {

/// Names the classes that hold most of the metric beside their colours; a click searches for the class. Confined to its
/// thread.
class FlameGraphLegend : public QWidget {
    Q_OBJECT

public:
    /// `view` must outlive the widget.
    explicit FlameGraphLegend(models::ProfileView* view, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override { return {300, 28}; }
    /// Class names as shown, the heaviest first.
    [[nodiscard]] QStringList classes() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;

private:
    struct Entry {
        QString name;
        int left = 0;
        int right = 0;
    };
    void rebuild();
    void layOut();

    models::ProfileView* m_view;
    std::vector<Entry> m_entries;
};

} // namespace modulelens::widgets
