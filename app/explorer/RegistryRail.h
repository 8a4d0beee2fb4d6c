// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

namespace modulelens::explorer {

/// What stands for the registry where the window is narrow: two buttons that bring it back. Confined to its thread.
class RegistryRail : public QWidget {
    Q_OBJECT

public:
    static constexpr int kWidth = 40;

    explicit RegistryRail(QWidget* parent = nullptr);

signals:
    void registryRequested();
    void searchRequested();
};

} // namespace modulelens::explorer
