// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/SourceEdit.h"

#include "backend/operations/SavedFiles.h"
#include "backend/operations/Verifying.h"

#include <QFileInfo>
#include <QRegularExpression>

#include <utility>

namespace modulelens::models {

void SaveWatch::start(const QString& file) {
    stop();
    m_thread = std::jthread([this, path = std::filesystem::path(file.toStdString())](const std::stop_token& stop) {
        const operations::WatchedFiles watched{path, {}};
        operations::SavedState seen = operations::savedState(watched);
        // The destructor joins this thread, so `this` is there; events that it posted go with it.
        QMetaObject::invokeMethod(this, &SaveWatch::started, Qt::QueuedConnection);
        while (operations::waitForSave(watched, seen, stop)) {
            seen = operations::savedState(watched);
            QMetaObject::invokeMethod(this, &SaveWatch::saved, Qt::QueuedConnection);
        }
    });
}

void SaveWatch::stop() {
    if (m_thread.joinable()) {
        m_thread.request_stop();
        m_thread.join();
    }
}

int SourceEdit::errorLine() const {
    if (!m_error) {
        return 0;
    }
    const QRegularExpression place(QRegularExpression::escape(QFileInfo(m_file).fileName()) + QStringLiteral(":(\\d+)"));
    const QRegularExpressionMatch match = place.match(QString::fromStdString(m_error->message));
    return match.hasMatch() ? match.captured(1).toInt() : 0;
}

void SourceEdit::move(State state, const QString& note) {
    m_state = state;
    m_note = note;
    emit changed();
}

void SourceEdit::begin() {
    if (m_state == State::Closed) {
        m_error.reset();
        move(State::Opening);
    }
}

void SourceEdit::opened(const QString& file, bool isNewFile) {
    if (m_state == State::Opening) {
        m_file = file;
        m_isNewFile = isNewFile;
        move(State::Watching);
    }
}

void SourceEdit::failedToOpen(const base::Error& error) {
    if (m_state == State::Opening) {
        m_error = error;
        move(State::Closed);
    }
}

void SourceEdit::startRun() {
    m_runsAgain = false;
    ++m_run;
    move(State::Running);
    emit runWanted(m_run);
}

void SourceEdit::saved() {
    if (m_state == State::Watching) {
        startRun();
    } else if (m_state == State::Running && !m_runsAgain) {
        m_runsAgain = true;
        emit cancelWanted(m_run);
    }
    // While the question is open, the answer starts a run of whatever is in the file by then.
}

void SourceEdit::runNow() {
    if (m_state == State::Watching || m_state == State::Asking) {
        startRun();
    }
}

void SourceEdit::declined() {
    if (m_state == State::Asking) {
        move(State::Watching, tr("Not run: you did not consent to it. The next save asks again."));
    }
}

void SourceEdit::cancel() {
    if (m_state == State::Running) {
        m_runsAgain = false;
        emit cancelWanted(m_run);
    }
}

void SourceEdit::close() {
    if (m_state == State::Running) {
        emit cancelWanted(m_run);
    }
    ++m_run;
    m_report.reset();
    m_error.reset();
    m_trustsSaves = false;
    move(State::Closed);
}

void SourceEdit::finished(int run, Report report) {
    if (run != m_run || m_state != State::Running) {
        return;
    }
    if (m_runsAgain) {
        startRun();
        return;
    }
    m_report = std::move(report);
    m_error.reset();
    move(State::Watching);
}

void SourceEdit::failed(int run, const base::Error& error) {
    if (run != m_run || m_state != State::Running) {
        return;
    }
    if (m_runsAgain) {
        startRun();
    } else if (error.code == base::ErrorCode::ConsentNeeded) {
        move(State::Asking);
    } else if (error.code == base::ErrorCode::Cancelled) {
        move(State::Watching, tr("Cancelled. The next save runs it again."));
    } else {
        m_error = error;
        m_report.reset();
        move(State::Watching);
    }
}

} // namespace modulelens::models
