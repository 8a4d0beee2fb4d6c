// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/Task.h"
#include "models/TensorTableModel.h"
#include "models/VersionInfo.h"

#include <QWidget>

class QStackedWidget;

namespace modulelens::widgets {
class Banner;
class EmptyState;
class KeyValueList;
class NoteRow;
class SegmentedControl;
class ValueTable;
} // namespace modulelens::widgets

namespace modulelens::explorer {

class Session;

/// Inputs and outputs of a captured call: form, statistics, spread, NaN and Inf. Reads when it is shown first. Confined to
/// its thread.
class TensorsPage : public QWidget {
    Q_OBJECT

public:
    TensorsPage(Session& session, const models::VersionInfo& version, QWidget* parent = nullptr);

    /// Readable names of the tensors by JSON Pointer, for each call.
    void setNames(const QList<QHash<QString, QString>>& names);
    [[nodiscard]] models::TensorTableModel& model() { return m_model; }
    [[nodiscard]] widgets::ValueTable* table() const { return m_table; }

signals:
    /// How many tensors hold a NaN.
    void nanCountChanged(int tensors);
    void loaded();

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    class Histogram;
    void read(int call);
    void showTensor(int row);

    Session& m_session;
    models::VersionInfo m_version;
    models::LatestTask m_task;
    models::TensorTableModel m_model;
    widgets::Banner* m_banner;
    widgets::NoteRow* m_note;
    widgets::SegmentedControl* m_calls;
    QStackedWidget* m_pages;
    widgets::EmptyState* m_empty;
    widgets::ValueTable* m_table;
    QWidget* m_side;
    Histogram* m_histogram;
    widgets::KeyValueList* m_facts;
    QList<QHash<QString, QString>> m_names;
    bool m_asked = false;
};

} // namespace modulelens::explorer
