// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/Icons.h"

#include <QAbstractButton>
#include <QWidget>

namespace modulelens::widgets {

/// One of the large rows of the welcome page: icon, title, sentence, shortcut. Confined to its thread.
class ActionRow : public QAbstractButton {
    Q_OBJECT

public:
    ActionRow(Icon icon, const QString& title, const QString& sentence, const QString& shortcut, QWidget* parent = nullptr);
    void setSentence(const QString& sentence);
    [[nodiscard]] QSize sizeHint() const override { return {720, 56}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    Icon m_icon;
    QString m_sentence;
    QString m_shortcut;
};

/// A few lines of code with a copy button. Lines that start with "$ " are commands, shown dimmed and copied without the
/// mark. Confined to its thread.
class CodeBlock : public QWidget {
    Q_OBJECT

public:
    explicit CodeBlock(const QStringList& lines, QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QStringList m_lines;
};

/// The dashed area that says where bundles may be dropped; the window takes the drop. Confined to its thread.
class DropArea : public QWidget {
    Q_OBJECT

public:
    explicit DropArea(const QString& text, QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override { return {720, 72}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_text;
};

} // namespace modulelens::widgets
