// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/VersionInfo.h"

#include <QWidget>

class QPushButton;
class QToolButton;

namespace modulelens::widgets {
class ChipRow;
}

namespace modulelens::explorer {

/// Head of a version page: name, aliases and tags (edited in place), verdict, what it was captured on, actions. Confined to
/// its thread.
class VersionHeader : public QWidget {
    Q_OBJECT

public:
    explicit VersionHeader(QWidget* parent = nullptr);

    void show(const models::VersionInfo& version);
    [[nodiscard]] widgets::ChipRow* chips() const { return m_chips; }
    [[nodiscard]] QToolButton* moreButton() const { return m_more; }
    /// Right of Profile: the other ways to profile.
    [[nodiscard]] QToolButton* profileMenuButton() const { return m_profileMenu; }

signals:
    void validateRequested();
    void profileRequested();
    void benchmarkRequested();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void arrange();
    [[nodiscard]] int titleWidth() const;

    models::VersionInfo m_version;
    widgets::ChipRow* m_chips;
    QPushButton* m_validate;
    QPushButton* m_profile;
    QToolButton* m_profileMenu;
    QPushButton* m_benchmark;
    QToolButton* m_more;
};

} // namespace modulelens::explorer
