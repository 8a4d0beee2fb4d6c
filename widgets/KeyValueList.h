// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QList>
#include <QWidget>

namespace modulelens::widgets {

/// Titled groups of names and values, for side panels. Confined to its thread.
class KeyValueList : public QWidget {
    Q_OBJECT

public:
    struct Row {
        QString name;
        QString value;
        bool bad = false;
        bool monospace = false;
    };
    struct Group {
        QString title;
        QList<Row> rows;
    };

    explicit KeyValueList(QWidget* parent = nullptr);
    /// Width of the column of names; 112 by default.
    void setNameWidth(int pixels);
    void setGroups(QList<Group> groups);
    /// Text of all rows, for copying and for screen readers.
    [[nodiscard]] QString asText() const;

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {160, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QList<Group> m_groups;
    int m_nameWidth = 112;
};

/// A strip of 32 px with an icon and one sentence, where nothing is wrong. Confined to its thread.
class NoteRow : public QWidget {
    Q_OBJECT

public:
    explicit NoteRow(QWidget* parent = nullptr);
    void setText(const QString& text);
    [[nodiscard]] QString text() const { return m_text; }
    [[nodiscard]] QSize sizeHint() const override { return {300, 32}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_text;
};

} // namespace modulelens::widgets
