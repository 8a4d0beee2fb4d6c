// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <QAbstractTableModel>
#include <QHash>
#include <QString>

#include <atomic>
#include <memory>
#include <vector>

namespace modulelens::operations {
class JobQueue;
struct JobRequest;
struct JobSnapshot;
} // namespace modulelens::operations

class QTimer;

namespace modulelens::models {

/// The job queue as a table (what runs, then what waits in its turn, then what ended, newest first), and the way to add, cancel and rerun jobs. Owns the queue, whose thread does the
/// work. Confined to its thread (the GUI thread); the queue's own calls from other threads arrive here queued, at most
/// thirty times a second. The destructor cancels what runs and waits for it.
class JobModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { JobColumn, ModuleColumn, DeviceColumn, ResultColumn, TimeColumn, ActionColumn, ColumnCount };
    enum class State { Queued, Running, Done, Failed, Cancelled };
    /// What a click in the last column does.
    enum class Action { Cancel, Rerun, Log };

    explicit JobModel(QObject* parent = nullptr);
    ~JobModel() override;

    /// Adds a job; `subject` is the address it is about and `device` where it runs, for the table. Returns its id.
    int add(operations::JobRequest request, const QString& subject, const QString& device);
    void cancel(int id);
    /// Cancels what runs and everything that waits.
    void cancelAll();
    void rerun(int id);
    void clearFinished();

    [[nodiscard]] int idAt(int row) const;
    [[nodiscard]] State stateAt(int row) const;
    [[nodiscard]] Action actionAt(int row) const;
    /// Result or error sentence of a job, or empty while it has none.
    [[nodiscard]] QString sentenceOf(int id) const;
    [[nodiscard]] State stateOf(int id) const;
    /// Error, log lines and all, of a job.
    [[nodiscard]] QString logOf(int id) const;
    /// "1 running · 3 done", or "none yet".
    [[nodiscard]] QString summary() const;
    /// Row of the running job, or -1.
    [[nodiscard]] int runningRow() const;
    [[nodiscard]] bool isIdle() const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

signals:
    /// A job reached its end.
    void finished(int id, modulelens::models::JobModel::State state);
    /// Anything changed; for summaries.
    void changed();

private:
    struct Meta {
        QString subject;
        QString device;
    };
    void noteChange();
    void refresh();
    [[nodiscard]] const operations::JobSnapshot* find(int id) const;
    [[nodiscard]] QString resultText(const operations::JobSnapshot& job) const;

    std::vector<operations::JobSnapshot> m_jobs;   ///< In the order of the rows.
    QHash<int, Meta> m_meta;
    QTimer* m_refresh;
    QTimer* m_tick;
    std::atomic<bool> m_dirty = false;
    std::unique_ptr<operations::JobQueue> m_queue; ///< Last, so that it ends first.
};

} // namespace modulelens::models
