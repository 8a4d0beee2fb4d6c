// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/RegistryRail.h"

#include "widgets/Icons.h"

#include <QToolButton>
#include <QVBoxLayout>

namespace modulelens::explorer {

RegistryRail::RegistryRail(QWidget* parent) : QWidget(parent) {
    setProperty("strip", true);
    setAttribute(Qt::WA_StyledBackground);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 4, 4, 4);
    layout->setSpacing(4);
    const auto add = [this, layout](widgets::Icon icon, const QString& name) {
        auto* button = new QToolButton(this);
        button->setIcon(widgets::themedIcon(icon));
        button->setToolTip(name);
        button->setAccessibleName(name);
        button->setFixedSize(32, 32);
        layout->addWidget(button);
        return button;
    };
    connect(add(widgets::Icon::Database, tr("Show the registry")), &QToolButton::clicked, this,
            &RegistryRail::registryRequested);
    connect(add(widgets::Icon::Search, tr("Search the registry")), &QToolButton::clicked, this, &RegistryRail::searchRequested);
    layout->addStretch(1);
}

} // namespace modulelens::explorer
