// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

namespace modulelens::models {
class JobModel;
}
namespace modulelens::widgets {
class ValueTable;
}

namespace modulelens::explorer {

/// The jobs at the foot of the window: a head of 28 px that says how many and shows the running one, and below it, when
/// open, the table with Cancel, Rerun and Log. Confined to its thread.
class JobsPanel : public QWidget {
    Q_OBJECT

public:
    explicit JobsPanel(models::JobModel& jobs, QWidget* parent = nullptr);

    void setOpen(bool open);
    [[nodiscard]] bool isOpen() const { return m_open; }
    [[nodiscard]] widgets::ValueTable* table() const { return m_table; }

signals:
    void openChanged(bool open);
    void logRequested(int id);

private:
    class Head;
    void adjustHeight();

    models::JobModel& m_jobs;
    Head* m_head;
    widgets::ValueTable* m_table;
    bool m_open = false;
};

} // namespace modulelens::explorer
