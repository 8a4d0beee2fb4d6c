// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/Icons.h"

#include <QWidget>

class QLabel;
class QPushButton;

namespace modulelens::widgets {

/// What stands where there is nothing to show: an icon, one bold line, one sentence, at most one link. Confined to its
/// thread.
class EmptyState : public QWidget {
    Q_OBJECT

public:
    explicit EmptyState(QWidget* parent = nullptr);

    void show(Icon icon, const QString& title, const QString& sentence, const QString& link = {});
    [[nodiscard]] QString title() const;

signals:
    void linkActivated();

protected:
    void changeEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void recolour();

    Icon m_icon = Icon::Info;
    QLabel* m_title;
    QLabel* m_sentence;
    QPushButton* m_link;
};

} // namespace modulelens::widgets
