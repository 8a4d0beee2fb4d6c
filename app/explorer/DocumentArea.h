// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/explorer/VersionPage.h"
#include "models/VersionInfo.h"

#include <QWidget>

class QStackedWidget;

namespace modulelens::widgets {
class TabStrip;
}

namespace modulelens::explorer {

class Session;

/// The open documents as tabs. Opening a version that is open already shows it again. Remembers the order in which
/// documents were looked at, for back and forward. Confined to its thread.
class DocumentArea : public QWidget {
    Q_OBJECT

public:
    explicit DocumentArea(Session& session, QWidget* parent = nullptr);

    VersionPage* open(const models::VersionInfo& version);
    /// Null when nothing is open.
    [[nodiscard]] VersionPage* current() const;
    [[nodiscard]] int count() const;
    void closeCurrent();
    void goBack();
    void goForward();
    [[nodiscard]] bool canGoBack() const { return m_at > 0; }
    [[nodiscard]] bool canGoForward() const { return m_at + 1 < m_visited.size(); }

signals:
    /// Another document is in front, or none.
    void currentChanged();

private:
    void close(int index);
    void visit();
    [[nodiscard]] VersionPage* pageAt(int index) const;
    [[nodiscard]] int indexOf(const QString& id) const;
    void showVisited();

    Session& m_session;
    widgets::TabStrip* m_tabs;
    QStackedWidget* m_stack;
    QStringList m_visited;
    qsizetype m_at = -1;
    bool m_isStepping = false;
};

} // namespace modulelens::explorer
