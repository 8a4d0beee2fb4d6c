// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/DocumentArea.h"

#include "app/explorer/Session.h"
#include "widgets/TabStrip.h"

#include <QScopedValueRollback>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace modulelens::explorer {

DocumentArea::DocumentArea(Session& session, QWidget* parent)
    : QWidget(parent),
      m_session(session),
      m_tabs(new widgets::TabStrip(widgets::TabStrip::Kind::Documents, this)),
      m_stack(new QStackedWidget(this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_tabs);
    layout->addWidget(m_stack, 1);
    connect(m_tabs, &widgets::TabStrip::currentChanged, this, [this](int index) {
        // Tabs may be moved; the page of a tab is found by the version that the tab names.
        if (index >= 0) {
            m_stack->setCurrentWidget(pageAt(index));
            visit();
        }
        emit currentChanged();
    });
    connect(m_tabs, &widgets::TabStrip::closeRequested, this, &DocumentArea::close);
}

VersionPage* DocumentArea::pageAt(int index) const {
    const QString id = m_tabs->tabToolTip(index);
    for (int i = 0; i < m_stack->count(); ++i) {
        auto* page = static_cast<VersionPage*>(m_stack->widget(i));
        if (page->version().id == id) {
            return page;
        }
    }
    return nullptr;
}

int DocumentArea::indexOf(const QString& id) const {
    for (int i = 0; i < m_tabs->count(); ++i) {
        if (m_tabs->tabToolTip(i) == id) {
            return i;
        }
    }
    return -1;
}

VersionPage* DocumentArea::open(const models::VersionInfo& version) {
    int index = indexOf(version.id);
    if (index < 0) {
        m_stack->addWidget(new VersionPage(m_session, version, this));
        const QSignalBlocker block(m_tabs);
        index = m_tabs->addTabWithIcon(widgets::Icon::Module, version.shortName());
        m_tabs->setTabToolTip(index, version.id);
        m_tabs->setCurrentIndex(-1);
    }
    if (m_tabs->currentIndex() == index) {
        m_stack->setCurrentWidget(pageAt(index));
        visit();
        emit currentChanged();
    }
    m_tabs->setCurrentIndex(index);
    return pageAt(index);
}

VersionPage* DocumentArea::current() const {
    return m_tabs->currentIndex() < 0 ? nullptr : pageAt(m_tabs->currentIndex());
}

int DocumentArea::count() const {
    return m_tabs->count();
}

void DocumentArea::close(int index) {
    VersionPage* page = pageAt(index);
    m_visited.removeAll(page->version().id);
    m_at = m_visited.size() - 1;
    m_tabs->removeTab(index);
    m_stack->removeWidget(page);
    page->deleteLater();
    emit currentChanged();
}

void DocumentArea::closeCurrent() {
    if (m_tabs->currentIndex() >= 0) {
        close(m_tabs->currentIndex());
    }
}

void DocumentArea::visit() {
    const VersionPage* page = current();
    if (m_isStepping || page == nullptr || (m_at >= 0 && m_visited.value(m_at) == page->version().id)) {
        return;
    }
    m_visited = m_visited.mid(0, m_at + 1);
    m_visited.append(page->version().id);
    m_at = m_visited.size() - 1;
}

void DocumentArea::showVisited() {
    const QScopedValueRollback stepping(m_isStepping, true);
    m_tabs->setCurrentIndex(indexOf(m_visited.value(m_at)));
}

void DocumentArea::goBack() {
    if (canGoBack()) {
        --m_at;
        showVisited();
    }
}

void DocumentArea::goForward() {
    if (canGoForward()) {
        ++m_at;
        showVisited();
    }
}

} // namespace modulelens::explorer
