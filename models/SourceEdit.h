// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <thread>

namespace modulelens::operations {
struct VerifyReport;
}

namespace modulelens::models {

/// Tells when a file was saved. A thread of its own looks at the disk. Confined to its thread (the GUI thread).
class SaveWatch : public QObject {
    Q_OBJECT

public:
    explicit SaveWatch(QObject* parent = nullptr) : QObject(parent) {}
    ~SaveWatch() override { stop(); }

    void start(const QString& file);
    void stop();

signals:
    /// Every save from now on is told.
    void started();
    void saved();

private:
    std::jthread m_thread;
};

/// The edit of one version: which file, whether it is being verified, what came of it. Decides when to verify; others do it,
/// and tell. Errors of the edited code are answers, the watch goes on. Confined to its thread (the GUI thread).
class SourceEdit : public QObject {
    Q_OBJECT

public:
    /// Asking: whoever sits there is asked whether the code may run.
    enum class State { Closed, Opening, Watching, Asking, Running };
    using Report = std::shared_ptr<const operations::VerifyReport>;

    using QObject::QObject;

    [[nodiscard]] State state() const { return m_state; }
    [[nodiscard]] bool isOpen() const { return m_state != State::Closed; }
    [[nodiscard]] const QString& file() const { return m_file; }
    [[nodiscard]] bool isNewFile() const { return m_isNewFile; }
    /// The newest answer: a report, or an error; neither before the first. It stays while the next one is awaited.
    [[nodiscard]] const Report& report() const { return m_report; }
    [[nodiscard]] const std::optional<base::Error>& error() const { return m_error; }
    /// Line of the file that the error names, from 1; 0 when it names none.
    [[nodiscard]] int errorLine() const;
    /// What else there is to say: cancelled, not consented to.
    [[nodiscard]] const QString& note() const { return m_note; }
    [[nodiscard]] bool trustsSaves() const { return m_trustsSaves; }
    [[nodiscard]] int runCount() const { return m_run; }

    /// The way in: begin(), then opened() or failedToOpen().
    void begin();
    void opened(const QString& file, bool isNewFile);
    void failedToOpen(const base::Error& error);
    /// The file was saved: it is verified again, at once or as soon as the run before has ended.
    void saved();
    /// By hand.
    void runNow();
    /// Later saves of this file may run without asking, until close().
    void trustSaves() { m_trustsSaves = true; }
    void declined();
    void cancel();
    void close();

    /// The outcome of a run by its number; one that is not the newest is dropped.
    void finished(int run, Report report);
    void failed(int run, const base::Error& error);

signals:
    void changed();
    /// Verify the file, and tell finished() or failed() with this number.
    void runWanted(int run);
    /// The run is not wanted any more; it still ends with failed() or finished().
    void cancelWanted(int run);

private:
    void startRun();
    void move(State state, const QString& note = {});

    State m_state = State::Closed;
    QString m_file;
    QString m_note;
    Report m_report;
    std::optional<base::Error> m_error;
    int m_run = 0;
    bool m_isNewFile = false;
    bool m_runsAgain = false;    ///< Saved while a run was under way.
    bool m_trustsSaves = false;
};

} // namespace modulelens::models
