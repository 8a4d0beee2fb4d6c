// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "models/RegistryTreeModel.h"
#include "models/Task.h"

#include <QList>
#include <QObject>
#include <QStringList>

namespace modulelens::models {

struct FacetEntry {
    QString value;
    qint64 count = 0;
    bool chosen = false;                ///< The query asks for it.
};

struct Facet {
    QString field;                      ///< "model", "tag", "class", "device".
    QString title;
    QList<FacetEntry> entries;          ///< Most frequent first.
};

/// What the registry browser shows: a query, the tree of what it finds, counts and facets. Every answer comes from the
/// registry by way of the task pool. Confined to its thread (the GUI thread).
class RegistrySearch : public QObject {
    Q_OBJECT

public:
    RegistrySearch(TaskPool& pool, QObject* parent = nullptr);
    ~RegistrySearch() override;

    void setRegistry(std::shared_ptr<registry::Registry> registry);
    [[nodiscard]] const std::shared_ptr<registry::Registry>& registry() const { return m_registry; }

    /// Asks at once; what is shown stays until the answer has come.
    void setQuery(const QString& query);
    [[nodiscard]] const QString& query() const { return m_query; }
    /// Asks again, after an import or an edit.
    void refresh();
    /// Asks for ways to go on with a query that is being typed; `cursor` counts its characters. completed() answers the newest.
    void complete(const QString& query, int cursor);

    [[nodiscard]] RegistryTreeModel& tree() { return m_tree; }
    [[nodiscard]] const QList<Facet>& facets() const { return m_facets; }
    [[nodiscard]] qint64 versionCount() const { return m_versionCount; }
    [[nodiscard]] qint64 moduleCount() const { return m_moduleCount; }
    /// True when the registry holds no version at all, whatever the query; known after the first answer.
    [[nodiscard]] bool isEmptyRegistry() const { return m_answered && m_allVersions == 0; }
    [[nodiscard]] qint64 allVersions() const { return m_allVersions; }
    [[nodiscard]] bool hasAnswer() const { return m_answered; }
    /// Why the last query was refused, or empty.
    [[nodiscard]] const QString& errorText() const { return m_error; }
    /// Character of the query that the error is about, or -1.
    [[nodiscard]] int errorPosition() const { return m_errorPosition; }

signals:
    /// Tree, counts, facets or the error changed.
    void changed();
    void busyChanged(bool busy);
    /// Whole queries that `query` may become, the likeliest first; none when it cannot be completed.
    void completed(const QString& query, const QStringList& queries);

private:
    struct Answer;
    void show(const QString& query, Answer answer);

    std::shared_ptr<registry::Registry> m_registry;
    LatestTask m_task;
    LatestTask m_completion;
    RegistryTreeModel m_tree;
    QString m_query;
    QList<Facet> m_facets;
    qint64 m_versionCount = 0;
    qint64 m_moduleCount = 0;
    qint64 m_allVersions = 0;
    bool m_answered = false;
    QString m_error;
    int m_errorPosition = -1;
};

} // namespace modulelens::models
