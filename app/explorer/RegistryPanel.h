// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/VersionInfo.h"

#include <QSet>
#include <QWidget>

class QLabel;
class QModelIndex;
class QStackedWidget;

namespace modulelens::widgets {
class EmptyState;
class FacetList;
class QueryField;
class RegistryTree;
class SegmentedControl;
} // namespace modulelens::widgets

namespace modulelens::explorer {

class Session;

/// The registry browser: connection switch, query, facets, counts, tree. Confined to its thread.
class RegistryPanel : public QWidget {
    Q_OBJECT

public:
    explicit RegistryPanel(Session& session, QWidget* parent = nullptr);

    /// Selects the row of a version when it is loaded, opening what it is in.
    void showVersion(const models::VersionInfo& version);
    void focusQuery();
    [[nodiscard]] widgets::QueryField* queryField() const { return m_query; }
    [[nodiscard]] widgets::RegistryTree* tree() const { return m_tree; }

signals:
    void versionActivated(const modulelens::models::VersionInfo& version);
    void importRequested();

private:
    void showSearch();
    void openFirstRows();
    void noteOpened(const QModelIndex& index, bool opened);
    void focusFirstResult();
    [[nodiscard]] QWidget* makeHeader();
    [[nodiscard]] QWidget* makeLocalPage();

    Session& m_session;
    widgets::SegmentedControl* m_connection;
    QStackedWidget* m_pages;
    widgets::QueryField* m_query;
    widgets::FacetList* m_facets;
    QWidget* m_countRow;
    QLabel* m_count;
    QStackedWidget* m_results;
    widgets::RegistryTree* m_tree;
    widgets::EmptyState* m_empty;
    widgets::EmptyState* m_remote;
    QString m_wanted;               ///< Key of the version row to select when it arrives.
    QString m_shown;                ///< Key of the version that was shown last.
    QString m_shownQuery;
    QSet<QString> m_opened;         ///< Keys of rows to open when they arrive.
    QSet<QString> m_closed;         ///< Keys of rows that a person closed.
};

} // namespace modulelens::explorer
