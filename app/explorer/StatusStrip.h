// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QList>
#include <QStatusBar>

namespace modulelens::explorer {

/// The last row of the window: worker, registry, version of the program. Confined to its thread.
class StatusStrip : public QStatusBar {
    Q_OBJECT

public:
    explicit StatusStrip(QWidget* parent = nullptr);
    void setWorker(const QString& text, bool ready);
    void setRegistry(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_worker;
    bool m_ready = false;
    QString m_registry;
};

} // namespace modulelens::explorer
