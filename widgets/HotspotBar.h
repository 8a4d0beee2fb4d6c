// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>
#include <QWidget>

namespace modulelens::widgets {

/// The strip above the flame graph: the path to what is selected, each part a step back, and one sentence that names the
/// heaviest self. Confined to its thread.
class HotspotBar : public QWidget {
    Q_OBJECT

public:
    explicit HotspotBar(QWidget* parent = nullptr);

    void setPath(const QStringList& parts);
    /// `brief` is shown where `sentence` does not fit. Empty: none.
    void setHotspot(const QString& sentence, const QString& brief);
    [[nodiscard]] QString hotspot() const { return m_sentence; }

    [[nodiscard]] QSize sizeHint() const override { return {300, 32}; }

signals:
    /// A part was chosen; 0 is the root.
    void partActivated(int index);
    void hotspotActivated();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;

private:
    /// Calls `visit(index, x, width)` for each shown part; negative index for the gap. Returns where the path ends.
    template <class Visit>
    double layOutPath(Visit visit) const;

    QStringList m_parts;
    QString m_sentence;
    QString m_brief;
};

/// The strip under the tree: name and form of the selected scope, then its values. Confined to its thread.
class DetailsStrip : public QWidget {
    Q_OBJECT

public:
    struct Item {
        QString title;
        QString value;
        QString note;
    };

    explicit DetailsStrip(QWidget* parent = nullptr);
    void show(const QString& name, const QString& form, QList<Item> items);

    [[nodiscard]] QSize sizeHint() const override { return {300, 48}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_name;
    QString m_form;
    QList<Item> m_items;
};

} // namespace modulelens::widgets
