// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/RegistryDock.h"

#include "app/explorer/RegistryPanel.h"
#include "app/explorer/RegistryRail.h"

#include <QMainWindow>
#include <QStackedWidget>

namespace modulelens::explorer {

namespace {
constexpr int kRailBelow = 1280;
constexpr int kWidth = 304;
constexpr int kLeastWidth = 240;
constexpr int kGreatestWidth = 420;
}  // namespace

RegistryDock::RegistryDock(Session& session, QWidget* parent)
    : QDockWidget(parent),
      m_side(new QStackedWidget(this)),
      m_panel(new RegistryPanel(session, m_side)),
      m_rail(new RegistryRail(m_side)) {
    setObjectName(QStringLiteral("registry"));
    setWindowTitle(tr("Registry"));
    setFeatures(QDockWidget::NoDockWidgetFeatures);
    setTitleBarWidget(new QWidget(this));
    m_side->addWidget(m_panel);
    m_side->addWidget(m_rail);
    setWidget(m_side);
    setRail(false);
    connect(m_rail, &RegistryRail::registryRequested, this, &RegistryDock::toggle);
    connect(m_rail, &RegistryRail::searchRequested, this, &RegistryDock::focusQuery);
}

bool RegistryDock::isRail() const {
    return m_side->currentWidget() == m_rail;
}

void RegistryDock::setRail(bool rail) {
    m_side->setCurrentWidget(rail ? static_cast<QWidget*>(m_rail) : m_panel);
    setMinimumWidth(rail ? RegistryRail::kWidth : kLeastWidth);
    setMaximumWidth(rail ? RegistryRail::kWidth : kGreatestWidth);
    if (!rail) {
        resetWidth();
    }
}

void RegistryDock::adaptTo(int windowWidth) {
    const bool rail = windowWidth < kRailBelow;
    if (rail != m_railByWidth) {
        m_railByWidth = rail;
        setRail(rail);
    }
}

void RegistryDock::toggle() {
    setRail(!isRail());
}

void RegistryDock::focusQuery() {
    if (isRail()) {
        setRail(false);
    }
    m_panel->focusQuery();
}

void RegistryDock::resetWidth() {
    auto* window = qobject_cast<QMainWindow*>(parentWidget());
    if (window != nullptr && window->dockWidgetArea(this) != Qt::NoDockWidgetArea) {
        window->resizeDocks({this}, {kWidth}, Qt::Horizontal);
    }
}

} // namespace modulelens::explorer
