// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/RegistrySearch.h"

#include "backend/registry/QueryCompletion.h"
#include "backend/registry/Registry.h"
#include "models/QueryText.h"

#include <QRegularExpression>

#include <algorithm>
#include <array>

namespace modulelens::models {

struct RegistrySearch::Answer {
    std::vector<registry::GroupSummary> models;
    std::array<std::vector<registry::FacetValue>, 4> facets;
    std::int64_t versionCount = 0;
    std::int64_t allVersions = 0;
};

namespace {

struct FacetField {
    const char* field;
    const char* title;
};
constexpr std::array<FacetField, 4> kFields = {{{"model", "Model"}, {"tag", "Tag"}, {"class", "Class"}, {"device", "Device"}}};

/// Index of the character that a message of the query parser ("… at character 7:" and a picture of the query) is about.
int positionIn(const QString& message) {
    static const QRegularExpression pattern(QStringLiteral("at character (\\d+)"));
    const QRegularExpressionMatch match = pattern.match(message);
    return match.hasMatch() ? match.captured(1).toInt() - 1 : -1;
}

/// The message without the picture, which the query field draws itself, and what to do.
QString sentenceOf(const base::Error& error) {
    QString message = QString::fromStdString(error.message);
    const qsizetype picture = message.indexOf(QStringLiteral(":\n"));
    if (picture >= 0) {
        message = message.left(picture) + u'.';
    }
    message += u' ' + QString::fromStdString(error.fix);
    return message.trimmed();
}

} // namespace

RegistrySearch::RegistrySearch(TaskPool& pool, QObject* parent)
    : QObject(parent), m_task(pool), m_completion(pool), m_tree(pool) {
    connect(&m_task, &LatestTask::busyChanged, this, &RegistrySearch::busyChanged);
}

RegistrySearch::~RegistrySearch() = default;

void RegistrySearch::setRegistry(std::shared_ptr<registry::Registry> registry) {
    m_registry = std::move(registry);
    m_answered = false;
    m_tree.setRegistry(m_registry);
    refresh();
}

void RegistrySearch::setQuery(const QString& query) {
    if (query != m_query) {
        m_query = query;
        refresh();
    }
}

void RegistrySearch::refresh() {
    if (!m_registry) {
        return;
    }
    const auto work = [registry = m_registry, query = m_query.toStdString()](std::stop_token stop) -> base::Result<Answer> {
        Answer answer;
        registry::SearchRequest request;
        request.limit = 1;
        const base::Result<registry::SearchPage> all = registry->search(request);
        if (!all) {
            return all.error();
        }
        answer.allVersions = all->total;
        request.query = query;
        const base::Result<registry::SearchPage> page = registry->search(request);
        if (!page) {
            return page.error();
        }
        answer.versionCount = page->total;
        base::Result<std::vector<registry::GroupSummary>> models = registry->models(query);
        if (!models) {
            return models.error();
        }
        answer.models = std::move(*models);
        if (stop.stop_requested()) {
            return answer;
        }
        std::vector<std::string> fields;
        fields.reserve(kFields.size());
        for (const FacetField& field : kFields) {
            fields.emplace_back(field.field);
        }
        base::Result<std::vector<registry::Facet>> facets = registry->facets(fields, query);
        if (!facets) {
            return facets.error();
        }
        for (std::size_t i = 0; i < std::min(kFields.size(), facets->size()); ++i) {
            answer.facets[i] = std::move((*facets)[i].values);
        }
        return answer;
    };
    m_task.run(work, [this, query = m_query](base::Result<Answer> outcome) {
        if (outcome) {
            m_error.clear();
            m_errorPosition = -1;
            show(query, std::move(*outcome));
        } else {
            m_error = sentenceOf(outcome.error());
            m_errorPosition = positionIn(QString::fromStdString(outcome.error().message));
        }
        emit changed();
    });
}

void RegistrySearch::complete(const QString& query, int cursor) {
    if (!m_registry) {
        return;
    }
    constexpr int kMostCompletions = 12;
    const std::string text = query.toStdString();
    const std::size_t at = query.left(cursor).toStdString().size();
    const auto work = [registry = m_registry, text, at](std::stop_token) {
        return registry::completeQuery(*registry, text, at, kMostCompletions);
    };
    m_completion.run(work, [this, text](base::Result<std::vector<registry::QueryCompletion>> outcome) {
        QStringList queries;
        if (outcome) {
            for (const registry::QueryCompletion& completion : *outcome) {
                queries.append(
                    QString::fromStdString(text.substr(0, completion.from) + completion.text + text.substr(completion.until)));
            }
        }
        emit completed(QString::fromStdString(text), queries);
    });
}

void RegistrySearch::show(const QString& query, Answer answer) {
    m_answered = true;
    m_allVersions = answer.allVersions;
    m_versionCount = answer.versionCount;
    m_moduleCount = 0;
    QList<RegistryTreeModel::ModelRow> rows;
    for (const registry::GroupSummary& group : answer.models) {
        m_moduleCount += group.moduleCount;
        rows.append({QString::fromStdString(group.name), group.versionCount});
    }
    m_facets.clear();
    for (std::size_t i = 0; i < kFields.size(); ++i) {
        Facet facet{QString::fromLatin1(kFields[i].field), QString::fromLatin1(kFields[i].title), {}};
        for (const registry::FacetValue& value : answer.facets[i]) {
            const QString text = QString::fromStdString(value.value);
            facet.entries.append({text, value.count, queryHasTerm(query, queryTerm(facet.field, text))});
        }
        m_facets.append(facet);
    }
    m_tree.setResult(query, rows);
}

} // namespace modulelens::models
