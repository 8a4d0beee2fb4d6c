// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

#include "widgets/Icons.h"

class QPushButton;

namespace modulelens::widgets {

/// What stands where there is nothing to show: an icon, one bold line, one sentence, at most one link. Confined to its
/// thread.
class EmptyState : public QWidget {
    Q_OBJECT

public:
    explicit EmptyState(QWidget* parent = nullptr);

    void show(Icon icon, const QString& title, const QString& sentence, const QString& link = {});
    [[nodiscard]] QString title() const { return m_title; }

signals:
    void linkActivated();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    [[nodiscard]] QRect sentenceRect() const;
    void placeLink();

    Icon m_icon = Icon::Info;
    QString m_title;
    QString m_sentence;
    QPushButton* m_link;
};

} // namespace modulelens::widgets
