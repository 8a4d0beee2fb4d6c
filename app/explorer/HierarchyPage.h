// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/ProfileView.h"

#include <QWidget>

class QSplitter;

namespace modulelens::widgets {
class DetailsStrip;
class DropDown;
class FindField;
class FlameGraph;
class FlameGraphLegend;
class HotspotBar;
class MetricTiles;
class MetricTree;
class NoteRow;
class SegmentedControl;
} // namespace modulelens::widgets

namespace modulelens::explorer {

/// The module hierarchy of a version: flame graph above metric tree, one selection, one search, one metric switch. Confined
/// to its thread.
class HierarchyPage : public QWidget {
    Q_OBJECT

public:
    explicit HierarchyPage(QWidget* parent = nullptr);
    ~HierarchyPage() override;

    /// `note` says where the numbers come from when they were not measured here; empty otherwise.
    void setProfile(std::shared_ptr<const profile::Profile> profile, const QString& note);
    void setMetric(const QString& metric);
    void focusFind();

    [[nodiscard]] models::ProfileView& view() { return m_view; }
    [[nodiscard]] widgets::FlameGraph* flame() const { return m_flame; }
    [[nodiscard]] widgets::MetricTree* tree() const { return m_tree; }
    [[nodiscard]] widgets::FindField* findField() const { return m_find; }
    [[nodiscard]] widgets::MetricTiles* tiles() const { return m_tiles; }

signals:
    void metricChosen(const QString& metric);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    [[nodiscard]] QWidget* makeToolbar();
    [[nodiscard]] QWidget* makePathRow();
    [[nodiscard]] QWidget* makeFlamePane();
    void connectView();
    void showTotals();
    void showSelection();
    void showSearch();
    void fitFlame();

    models::ProfileView m_view;
    widgets::MetricTiles* m_tiles;
    widgets::SegmentedControl* m_direction;
    widgets::SegmentedControl* m_share;
    widgets::FindField* m_find;
    widgets::HotspotBar* m_path;
    widgets::NoteRow* m_note;
    widgets::FlameGraph* m_flame;
    widgets::FlameGraphLegend* m_legend;
    widgets::MetricTree* m_tree;
    widgets::DetailsStrip* m_details;
    widgets::DropDown* m_grouping;
    widgets::DropDown* m_order;
    QSplitter* m_splitter;
};

} // namespace modulelens::explorer
