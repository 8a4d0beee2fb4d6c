// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Log.h"

#include "backend/base/Mutex.h"

#include <cstdio>
#include <utility>

namespace modulelens::base {

namespace {

struct LogState {
    Mutex mutex;
    LogSink sink ML_GUARDED_BY(mutex);
    LogLevel minimum ML_GUARDED_BY(mutex) = LogLevel::Info;
};

/// Never destroyed, since threads may log while the process ends.
LogState& state() {
    static LogState* const instance = new LogState;
    return *instance;
}

const char* levelName(LogLevel level) {
    switch (level) {
        case LogLevel::Debug:
            return "debug";
        case LogLevel::Info:
            return "info";
        case LogLevel::Warning:
            return "warning";
        case LogLevel::Error:
            return "error";
    }
    return "error";
}

}  // namespace

void log(LogLevel level, std::string_view component, std::string_view text) noexcept {
    try {
        LogState& current = state();
        const MutexLock lock(current.mutex);
        if (level < current.minimum) {
            return;
        }
        if (current.sink) {
            current.sink(level, component, text);
        } else {
            std::fprintf(stderr, "%s: %.*s: %.*s\n", levelName(level), static_cast<int>(component.size()), component.data(),
                         static_cast<int>(text.size()), text.data());
        }
    } catch (...) {
        // A log entry that cannot be written is dropped: there is nobody to tell.
    }
}

void setLogSink(LogSink sink, LogLevel minimum) {
    LogState& current = state();
    const MutexLock lock(current.mutex);
    current.sink = std::move(sink);
    current.minimum = minimum;
}

}  // namespace modulelens::base
