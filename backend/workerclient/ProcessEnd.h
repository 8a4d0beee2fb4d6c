// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Error.h"

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::workerclient {

/// "SIGKILL" for 9; "signal 77" for one without a name.
[[nodiscard]] std::string signalName(int signal);

/// The newest lines that a process printed, bounded in number and length. Confined to its thread.
class OutputTail {
public:
    /// Adds bytes as they arrive and returns the lines that they complete.
    std::vector<std::string> append(std::string_view bytes);
    /// The newest `count` lines joined by " / ", the unfinished one included; empty when nothing was printed.
    [[nodiscard]] std::string last(std::size_t count) const;
    void clear();

private:
    void push(std::string line);

    std::deque<std::string> m_lines;
    std::string m_partial;
};

/// How a worker process ended.
struct ProcessEnd {
    bool bySignal = false;
    int code = 0; ///< Signal number or exit code.
};

/// WorkerCrashed with signal or exit code, what the worker was doing and its last lines. A program that ended before it
/// was ready with the shell's or the loader's 126 and 127 is EnvironmentMissing.
[[nodiscard]] base::Error errorFromProcessEnd(const ProcessEnd& end, bool wasReady, std::string_view program,
                                              std::string_view doing, const OutputTail& output);

} // namespace modulelens::workerclient
