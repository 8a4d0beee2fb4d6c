// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/JobModel.h"

#include "backend/operations/JobQueue.h"
#include "models/Format.h"
#include "models/TableCells.h"

#include <QTimer>

#include <algorithm>
#include <chrono>

namespace modulelens::models {

namespace {

constexpr int kRefreshMilliseconds = 33;
constexpr int kTickMilliseconds = 1000;
constexpr std::int64_t kNsPerMs = 1000000;

using operations::JobSnapshot;
using operations::JobState;

JobModel::State stateFrom(JobState state) {
    switch (state) {
        case JobState::Queued:
            return JobModel::State::Queued;
        case JobState::Running:
            return JobModel::State::Running;
        case JobState::Done:
            return JobModel::State::Done;
        case JobState::Failed:
            return JobModel::State::Failed;
        case JobState::Cancelled:
            return JobModel::State::Cancelled;
    }
    return JobModel::State::Failed;
}

bool isOver(JobState state) {
    return state != JobState::Queued && state != JobState::Running;
}

/// What runs, what waits in its turn, what ended with the newest first: of many jobs the running one is in sight. `jobs`
/// come oldest first.
void sortForReading(std::vector<JobSnapshot>& jobs) {
    const auto firstOver =
        std::stable_partition(jobs.begin(), jobs.end(), [](const JobSnapshot& job) { return !isOver(job.state); });
    std::stable_partition(jobs.begin(), firstOver, [](const JobSnapshot& job) { return job.state == JobState::Running; });
    std::reverse(firstOver, jobs.end());
}

Tone toneOf(const JobSnapshot& job) {
    switch (job.state) {
        case JobState::Running:
            return Tone::Accent;
        case JobState::Done:
            return Tone::Good;
        case JobState::Failed:
            return Tone::Bad;
        case JobState::Cancelled:
        case JobState::Queued:
            break;
    }
    return Tone::Dim;
}

QString titleOfKind(const std::string& kind) {
    QString title = QString::fromStdString(kind);
    if (!title.isEmpty()) {
        title[0] = title[0].toUpper();
    }
    return title;
}

QString elapsedText(const JobSnapshot& job) {
    if (!job.started) {
        return notApplicable();
    }
    const auto end = job.finished.value_or(std::chrono::system_clock::now());
    const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(end - *job.started);
    if (elapsed < std::chrono::seconds(1)) {
        // "00:00" would say that nothing was done.
        return job.finished ? formatNanoseconds(std::max(kNsPerMs, elapsed.count() / kNsPerMs * kNsPerMs))
                            : JobModel::tr("under 1 s");
    }
    const qint64 seconds = std::max<qint64>(0, std::chrono::duration_cast<std::chrono::seconds>(elapsed).count());
    return QStringLiteral("%1:%2").arg(seconds / 60, 2, 10, QLatin1Char('0')).arg(seconds % 60, 2, 10, QLatin1Char('0'));
}

} // namespace

JobModel::JobModel(QObject* parent) : QAbstractTableModel(parent), m_refresh(new QTimer(this)), m_tick(new QTimer(this)) {
    m_refresh->setSingleShot(true);
    m_refresh->setInterval(kRefreshMilliseconds);
    connect(m_refresh, &QTimer::timeout, this, &JobModel::refresh);
    m_tick->setInterval(kTickMilliseconds);
    connect(m_tick, &QTimer::timeout, this, [this] {
        if (rowCount() > 0) {
            emit dataChanged(index(0, TimeColumn), index(rowCount() - 1, TimeColumn));
        }
    });
    m_queue = std::make_unique<operations::JobQueue>([this](int) { noteChange(); });
}

JobModel::~JobModel() {
    m_queue.reset();
}

void JobModel::noteChange() {
    // One queued call stands for all changes until it has arrived.
    if (!m_dirty.exchange(true)) {
        QMetaObject::invokeMethod(
            this,
            [this] {
                if (!m_refresh->isActive()) {
                    m_refresh->start();
                }
            },
            Qt::QueuedConnection);
    }
}

int JobModel::add(operations::JobRequest request, const QString& subject, const QString& device) {
    const int id = m_queue->add(std::move(request));
    m_meta.insert(id, {subject, device});
    refresh();
    return id;
}

void JobModel::cancel(int id) {
    m_queue->cancel(id);
}

void JobModel::rerun(int id) {
    if (const std::optional<int> again = m_queue->rerun(id)) {
        m_meta.insert(*again, m_meta.value(id));
        refresh();
    }
}

void JobModel::cancelAll() {
    // The queued ones first, or each would start when the one before it ends.
    for (const State state : {State::Queued, State::Running}) {
        for (const JobSnapshot& job : m_jobs) {
            if (stateFrom(job.state) == state) {
                m_queue->cancel(job.id);
            }
        }
    }
}

void JobModel::clearFinished() {
    m_queue->clearFinished();
}

void JobModel::refresh() {
    m_dirty = false;
    std::vector<JobSnapshot> now = m_queue->jobs();
    sortForReading(now);
    QList<std::pair<int, State>> ended;
    for (const JobSnapshot& job : now) {
        const JobSnapshot* before = find(job.id);
        if (isOver(job.state) && (before == nullptr || !isOver(before->state))) {
            ended.append({job.id, stateFrom(job.state)});
        }
    }
    const bool sameRows =
        now.size() == m_jobs.size() && std::equal(now.begin(), now.end(), m_jobs.begin(),
                                                  [](const JobSnapshot& a, const JobSnapshot& b) { return a.id == b.id; });
    if (sameRows) {
        m_jobs = std::move(now);
        if (!m_jobs.empty()) {
            emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
        }
    } else {
        beginResetModel();
        m_jobs = std::move(now);
        endResetModel();
    }
    if (isIdle()) {
        m_tick->stop();
    } else if (!m_tick->isActive()) {
        m_tick->start();
    }
    emit changed();
    for (const auto& [id, state] : ended) {
        emit finished(id, state);
    }
}

const JobSnapshot* JobModel::find(int id) const {
    const auto found = std::find_if(m_jobs.begin(), m_jobs.end(), [id](const JobSnapshot& job) { return job.id == id; });
    return found == m_jobs.end() ? nullptr : &*found;
}

int JobModel::idAt(int row) const {
    return row < 0 || row >= rowCount() ? 0 : m_jobs[static_cast<std::size_t>(row)].id;
}

JobModel::State JobModel::stateAt(int row) const {
    return stateOf(idAt(row));
}

JobModel::State JobModel::stateOf(int id) const {
    const JobSnapshot* job = find(id);
    return job == nullptr ? State::Cancelled : stateFrom(job->state);
}

JobModel::Action JobModel::actionAt(int row) const {
    switch (stateAt(row)) {
        case State::Queued:
        case State::Running:
            return Action::Cancel;
        case State::Failed:
            return Action::Log;
        case State::Done:
        case State::Cancelled:
            break;
    }
    return Action::Rerun;
}

QString JobModel::sentenceOf(int id) const {
    const JobSnapshot* job = find(id);
    return job == nullptr ? QString() : QString::fromStdString(job->sentence);
}

QString JobModel::logOf(int id) const {
    const JobSnapshot* job = find(id);
    if (job == nullptr) {
        return {};
    }
    QStringList lines(QString::fromStdString(job->title));
    for (const std::string& line : job->log) {
        lines.append(QString::fromStdString(line));
    }
    if (job->error) {
        lines.append(QString::fromStdString(job->error->text()));
    } else if (!job->sentence.empty()) {
        lines.append(QString::fromStdString(job->sentence));
    }
    return lines.join(u'\n');
}

QString JobModel::summary() const {
    int running = 0;
    int queued = 0;
    int done = 0;
    int failed = 0;
    for (const JobSnapshot& job : m_jobs) {
        running += job.state == JobState::Running ? 1 : 0;
        queued += job.state == JobState::Queued ? 1 : 0;
        failed += job.state == JobState::Failed ? 1 : 0;
        done += job.state == JobState::Done || job.state == JobState::Cancelled ? 1 : 0;
    }
    QStringList parts;
    const auto add = [&parts](int count, const QString& word) {
        if (count > 0) {
            parts.append(QString::number(count) + u' ' + word);
        }
    };
    add(running, tr("running"));
    add(queued, tr("queued"));
    add(done, tr("done"));
    add(failed, tr("failed"));
    return parts.isEmpty() ? tr("none yet") : parts.join(QStringLiteral(" · "));
}

int JobModel::runningRow() const {
    for (int row = 0; row < rowCount(); ++row) {
        if (stateAt(row) == State::Running) {
            return row;
        }
    }
    return -1;
}

bool JobModel::isIdle() const {
    return std::all_of(m_jobs.begin(), m_jobs.end(), [](const JobSnapshot& job) { return isOver(job.state); });
}

int JobModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_jobs.size());
}

int JobModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(ColumnCount);
}

QString JobModel::resultText(const JobSnapshot& job) const {
    switch (job.state) {
        case JobState::Queued:
            return tr("waiting for its turn");
        case JobState::Running: {
            if (job.cancelRequested) {
                return tr("stopping");
            }
            QString text = job.stage.empty() ? tr("starting") : QString::fromStdString(job.stage);
            if (job.total > 0) {
                text += QStringLiteral(" · ") + formatCount(job.done) + tr(" of ") + formatCount(job.total);
            }
            return text;
        }
        case JobState::Cancelled:
            return tr("cancelled");
        case JobState::Done:
        case JobState::Failed:
            break;
    }
    return QString::fromStdString(job.sentence).simplified();
}

QVariant JobModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const JobSnapshot& job = m_jobs[static_cast<std::size_t>(index.row())];
    const Meta meta = m_meta.value(job.id);
    const int column = index.column();
    switch (role) {
        case Qt::DisplayRole:
        case Qt::AccessibleTextRole:
            switch (column) {
                case JobColumn:
                    return titleOfKind(job.kind);
                case ModuleColumn:
                    return meta.subject.isEmpty() ? QString::fromStdString(job.title) : meta.subject;
                case DeviceColumn:
                    return meta.device;
                case ResultColumn:
                    return resultText(job);
                case TimeColumn:
                    return elapsedText(job);
                case ActionColumn:
                    switch (actionAt(index.row())) {
                        case Action::Cancel:
                            return tr("Cancel");
                        case Action::Rerun:
                            return tr("Rerun");
                        case Action::Log:
                            return tr("Log");
                    }
                    break;
                default:
                    break;
            }
            return {};
        case Qt::ToolTipRole:
            return column == ResultColumn ? QVariant(QString::fromStdString(job.sentence)) : QVariant();
        case StatusIconRole:
            return column == JobColumn ? QVariant(static_cast<int>(toneOf(job))) : QVariant();
        case ProgressRole:
            if (column == ResultColumn && job.state == JobState::Running) {
                return job.total > 0 ? static_cast<double>(job.done) / static_cast<double>(job.total) : -1.0;
            }
            return {};
        case ToneRole:
            if (column == ResultColumn) {
                const bool failed = job.state == JobState::Failed;
                return static_cast<int>(failed ? Tone::Bad : job.state == JobState::Done ? Tone::Normal : Tone::Secondary);
            }
            if (column == ActionColumn) {
                return static_cast<int>(job.state == JobState::Running ? Tone::Accent : Tone::Normal);
            }
            return static_cast<int>(column == DeviceColumn || column == TimeColumn ? Tone::Secondary : Tone::Normal);
        case NumberRole:
            return column == TimeColumn;
        case Qt::TextAlignmentRole:
            return static_cast<int>(column == TimeColumn ? Qt::AlignRight : Qt::AlignLeft);
        default:
            return {};
    }
}

QVariant JobModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return static_cast<int>((section == TimeColumn ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    switch (section) {
        case JobColumn:
            return tr("Job");
        case ModuleColumn:
            return tr("Module");
        case DeviceColumn:
            return tr("Device");
        case ResultColumn:
            return tr("Result");
        case TimeColumn:
            return tr("Time");
        default:
            return QString();
    }
}

} // namespace modulelens::models
