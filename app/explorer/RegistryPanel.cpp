// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/RegistryPanel.h"

#include "app/explorer/Session.h"
#include "app/explorer/Strip.h"
#include "models/Format.h"
#include "models/QueryText.h"
#include "widgets/EmptyState.h"
#include "widgets/FacetList.h"
#include "widgets/Fonts.h"
#include "widgets/QueryField.h"
#include "widgets/RegistryTree.h"
#include "widgets/SegmentedControl.h"
#include "widgets/Theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

namespace modulelens::explorer {

namespace {

using models::RegistryTreeModel;
using RowKind = RegistryTreeModel::RowKind;
using widgets::Icon;

constexpr int kGreatestFacetHeight = 420;

QToolButton* toolButton(Icon icon, const QString& name, QWidget* parent) {
    auto* button = new QToolButton(parent);
    button->setIcon(widgets::themedIcon(icon));
    button->setToolTip(name);
    button->setAccessibleName(name);
    return button;
}

} // namespace

RegistryPanel::RegistryPanel(Session& session, QWidget* parent)
    : QWidget(parent),
      m_session(session),
      m_connection(new widgets::SegmentedControl(tr("Connection"), this)),
      m_pages(new QStackedWidget(this)),
      m_query(new widgets::QueryField(this)),
      m_facets(new widgets::FacetList),
      m_countRow(new Strip(this, Strip::Lines::Both)),
      m_count(new QLabel(m_countRow)),
      m_results(new QStackedWidget(this)),
      m_tree(new widgets::RegistryTree(this)),
      m_empty(new widgets::EmptyState(this)),
      m_remote(new widgets::EmptyState(this)) {
    setProperty("surface", true);
    setAttribute(Qt::WA_StyledBackground);
    m_connection->setSegments({{tr("Local"), Icon::Database}, {QStringLiteral("W&B"), Icon::Cloud}});
    m_connection->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_remote->show(Icon::Cloud, tr("Not yet in this version"),
                   tr("Browsing a W&B registry comes later. Bundles that a run published can be imported from disk now."));
    m_pages->addWidget(makeLocalPage());
    m_pages->addWidget(m_remote);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeHeader());
    auto* connection = new QHBoxLayout;
    connection->setContentsMargins(12, 0, 12, 8);
    connection->addWidget(m_connection);
    layout->addLayout(connection);
    layout->addWidget(m_pages, 1);

    m_tree->setModel(&m_session.search().tree());
    connect(m_connection, &widgets::SegmentedControl::currentChanged, m_pages, &QStackedWidget::setCurrentIndex);
    connect(m_query, &widgets::QueryField::queryChanged, this,
            [this](const QString& text) { m_session.search().setQuery(text); });
    connect(m_query->edit(), &QLineEdit::textEdited, this,
            [this](const QString& text) { m_session.search().complete(text, m_query->edit()->cursorPosition()); });
    connect(&m_session.search(), &models::RegistrySearch::completed, this,
            [this](const QString& text, const QStringList& queries) {
                // Names that no facet shows; an answer for what is no longer there is of no use.
                if (text == m_query->edit()->text() && !queries.isEmpty()) {
                    m_query->setCompletions(queries);
                }
            });
    connect(m_query, &widgets::QueryField::resultsRequested, this, &RegistryPanel::focusFirstResult);
    connect(m_facets, &widgets::FacetList::toggled, this, [this](const QString& field, const QString& value) {
        m_query->setQuery(models::queryWithTermToggled(m_query->query(), models::queryTerm(field, value)));
        m_session.search().setQuery(m_query->query());
    });
    connect(&m_session.search(), &models::RegistrySearch::changed, this, &RegistryPanel::showSearch);
    connect(m_tree, &widgets::RegistryTree::versionActivated, this, [this](const QModelIndex& index) {
        emit versionActivated(index.data(RegistryTreeModel::VersionRole).value<models::VersionInfo>());
    });
    connect(m_tree, &QTreeView::expanded, this, [this](const QModelIndex& index) { noteOpened(index, true); });
    connect(m_tree, &QTreeView::collapsed, this, [this](const QModelIndex& index) { noteOpened(index, false); });
    connect(m_tree, &widgets::RegistryTree::moreActivated, &m_session.search().tree(), &RegistryTreeModel::loadMore);
    connect(&m_session.search().tree(), &RegistryTreeModel::childrenLoaded, this, &RegistryPanel::openFirstRows);
    connect(m_empty, &widgets::EmptyState::linkActivated, this, &RegistryPanel::importRequested);
    setTabOrder(m_connection, m_query->edit());
    setTabOrder(m_query->edit(), m_facets);
    setTabOrder(m_facets, m_tree);
    showSearch();
}

QWidget* RegistryPanel::makeHeader() {
    auto* header = new QWidget(this);
    header->setFixedHeight(36);
    auto* layout = new QHBoxLayout(header);
    layout->setContentsMargins(16, 0, 8, 0);
    layout->setSpacing(0);
    auto* title = new QLabel(tr("Registry"), header);
    title->setFont(widgets::uiFont(13, QFont::DemiBold));
    layout->addWidget(title, 1);
    QToolButton* import = toolButton(Icon::Tray, tr("Import a bundle"), header);
    QToolButton* refresh = toolButton(Icon::Refresh, tr("Read the registry again"), header);
    layout->addWidget(import);
    layout->addWidget(refresh);
    connect(import, &QToolButton::clicked, this, &RegistryPanel::importRequested);
    connect(refresh, &QToolButton::clicked, this, [this] { m_session.search().refresh(); });
    return header;
}

QWidget* RegistryPanel::makeLocalPage() {
    auto* page = new QWidget(this);
    auto* layout = new QVBoxLayout(page);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* query = new QHBoxLayout;
    query->setContentsMargins(12, 0, 12, 8);
    query->addWidget(m_query);
    layout->addLayout(query);
    auto* scroll = new QScrollArea(page);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setWidget(m_facets);
    scroll->setObjectName(QStringLiteral("facetScroll"));
    layout->addWidget(scroll);
    m_countRow->setFixedHeight(28);
    auto* count = new QHBoxLayout(m_countRow);
    count->setContentsMargins(12, 0, 12, 0);
    m_count->setFont(widgets::uiFont(12, QFont::Medium));
    count->addWidget(m_count);
    layout->addWidget(m_countRow);
    m_results->addWidget(m_tree);
    m_results->addWidget(m_empty);
    layout->addWidget(m_results, 1);
    return page;
}

void RegistryPanel::showSearch() {
    models::RegistrySearch& search = m_session.search();
    // Another query starts anew; the same one, read again, keeps what was open and chosen.
    if (search.query() != m_shownQuery) {
        m_shownQuery = search.query();
        m_opened.clear();
        m_closed.clear();
    } else {
        m_wanted = m_shown;
    }
    m_query->setError(search.errorText(), search.errorPosition());
    const bool found = search.versionCount() > 0;
    m_facets->setFacets(found ? search.facets() : QList<models::Facet>());
    auto* scroll = findChild<QScrollArea*>(QStringLiteral("facetScroll"));
    scroll->setFixedHeight(std::min(m_facets->sizeHint().height() + 4, kGreatestFacetHeight));
    m_countRow->setVisible(search.hasAnswer() && !search.isEmptyRegistry());
    // The type is named: a string builder would refer to texts that are gone.
    const auto counted = [](qint64 count, const QString& one, const QString& many) -> QString {
        return models::formatCount(count) + (count == 1 ? one : many);
    };
    m_count->setText(counted(search.versionCount(), tr(" version"), tr(" versions")) + tr(" in ") +
                     counted(search.moduleCount(), tr(" module"), tr(" modules")));
    QStringList completions = {QStringLiteral("model="),   QStringLiteral("module:"),      QStringLiteral("class:"),
                               QStringLiteral("tag:"),     QStringLiteral("alias:"),       QStringLiteral("params>"),
                               QStringLiteral("latency<"), QStringLiteral("is:validated"), QStringLiteral("is:program")};
    for (const models::Facet& facet : search.facets()) {
        for (const models::FacetEntry& entry : facet.entries) {
            completions.append(models::queryTerm(facet.field, entry.value));
        }
    }
    m_query->setCompletions(completions);
    if (search.isEmptyRegistry()) {
        m_empty->show(Icon::Database, tr("Nothing here yet"),
                      tr("This registry has no versions. Drop a .mlens bundle here, or"), tr("open one from disk"));
    } else {
        m_empty->show(Icon::Search, tr("No version found"), tr("Take a filter out, or shorten the text."));
    }
    m_results->setCurrentWidget(search.hasAnswer() && !found ? static_cast<QWidget*>(m_empty) : m_tree);
    openFirstRows();
}

void RegistryPanel::openFirstRows() {
    // A short answer opens by itself: the models, and the first module with its versions.
    constexpr int kFewModels = 4;
    const RegistryTreeModel& model = m_session.search().tree();
    if (model.rowCount() == 0) {
        return;
    }
    const bool searching = !m_session.search().query().isEmpty();
    const auto open = [this](const QModelIndex& index) {
        if (index.isValid() && !m_closed.contains(index.data(RegistryTreeModel::KeyRole).toString())) {
            m_tree->expand(index);
        }
    };
    for (int row = 0; row < model.rowCount() && row < kFewModels; ++row) {
        const QModelIndex index = model.index(row, 0);
        if (row > 0 && !searching) {
            break;
        }
        open(index);
        if (model.rowCount(index) > 0 && row == 0) {
            open(model.index(0, 0, index));
        }
    }
    for (const QString& key : QSet<QString>(m_opened)) {
        open(model.find(key));
    }
    const QModelIndex wanted = m_wanted.isEmpty() ? QModelIndex() : model.find(m_wanted);
    if (wanted.isValid()) {
        m_tree->setCurrentIndex(wanted);
        m_wanted.clear();
    }
}

void RegistryPanel::noteOpened(const QModelIndex& index, bool opened) {
    const QString key = index.data(RegistryTreeModel::KeyRole).toString();
    (opened ? m_opened : m_closed).insert(key);
    (opened ? m_closed : m_opened).remove(key);
}

void RegistryPanel::showVersion(const models::VersionInfo& version) {
    m_shown = QStringLiteral("version/") + version.id;
    m_wanted = m_shown;
    const QStringList keys = {QString(QStringLiteral("model/") + version.model),
                              QString(QStringLiteral("module/") + version.model + u'/' + version.module)};
    for (const QString& key : keys) {
        // What is not loaded yet is opened when it arrives.
        m_opened.insert(key);
        m_closed.remove(key);
    }
    openFirstRows();
}

void RegistryPanel::focusFirstResult() {
    const RegistryTreeModel& model = m_session.search().tree();
    QModelIndex index = model.index(0, 0);
    // The first version when it is in sight, else the row that it is below.
    while (m_tree->isExpanded(index) && model.rowCount(index) > 0) {
        index = model.index(0, 0, index);
    }
    if (index.isValid() && m_results->currentWidget() == m_tree) {
        m_tree->setCurrentIndex(index);
        m_tree->setFocus(Qt::ShortcutFocusReason);
    }
}

void RegistryPanel::focusQuery() {
    m_query->edit()->setFocus(Qt::ShortcutFocusReason);
}

} // namespace modulelens::explorer
