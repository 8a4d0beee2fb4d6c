// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>
#include <QWidget>

class QLineEdit;

namespace modulelens::widgets {

/// Aliases and tags of a version, edited in place: the cross of a chip removes it, "+" opens a field for a new one; a text
/// that starts with "@" is an alias. Only asks: the chips change when the owner shows the new state. Confined to its thread.
class ChipRow : public QWidget {
    Q_OBJECT

public:
    explicit ChipRow(QWidget* parent = nullptr);

    void setChips(const QStringList& aliases, const QStringList& tags);
    void startAdding();

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {24, 24}; }

signals:
    void tagAdded(const QString& tag);
    void tagRemoved(const QString& tag);
    void aliasAdded(const QString& alias);
    void aliasRemoved(const QString& alias);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Entry {
        QString text;
        bool alias = false;
        bool removable = false;
        int x = 0;
        int width = 0;
    };
    void layOut();
    void removeEntry(int index);
    void finishAdding(bool accept);
    [[nodiscard]] int entryAt(int x) const;

    QList<Entry> m_entries;
    QLineEdit* m_edit;
    int m_hover = -1;
    int m_focus = -1;
    int m_plusX = 0;
};

} // namespace modulelens::widgets
