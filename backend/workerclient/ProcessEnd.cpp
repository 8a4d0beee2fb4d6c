// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/workerclient/ProcessEnd.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace modulelens::workerclient {

namespace {

constexpr std::size_t kMaximumLines = 50;
constexpr std::size_t kMaximumLineBytes = 1000;
constexpr std::size_t kLinesInMessage = 3;

constexpr std::pair<int, const char*> kSignals[] = {
    {SIGABRT, "SIGABRT"}, {SIGALRM, "SIGALRM"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGHUP, "SIGHUP"},
    {SIGILL, "SIGILL"},   {SIGINT, "SIGINT"},   {SIGKILL, "SIGKILL"}, {SIGPIPE, "SIGPIPE"}, {SIGQUIT, "SIGQUIT"},
    {SIGSEGV, "SIGSEGV"}, {SIGSYS, "SIGSYS"},   {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"}, {SIGUSR1, "SIGUSR1"},
    {SIGUSR2, "SIGUSR2"}, {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"},
};

constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

} // namespace

std::string signalName(int signal) {
    const auto* found =
        std::find_if(std::begin(kSignals), std::end(kSignals), [signal](const auto& entry) { return entry.first == signal; });
    return found == std::end(kSignals) ? "signal " + std::to_string(signal) : found->second;
}

void OutputTail::push(std::string line) {
    m_lines.push_back(std::move(line));
    if (m_lines.size() > kMaximumLines) {
        m_lines.pop_front();
    }
}

std::vector<std::string> OutputTail::append(std::string_view bytes) {
    std::vector<std::string> complete;
    for (const char c : bytes) {
        if (c == '\n') {
            complete.push_back(std::exchange(m_partial, {}));
        } else if (c != '\r' && m_partial.size() < kMaximumLineBytes) {
            m_partial += c;
        }
    }
    std::erase(complete, std::string());
    for (const std::string& line : complete) {
        push(line);
    }
    return complete;
}

std::string OutputTail::last(std::size_t count) const {
    std::deque<std::string> lines = m_lines;
    if (!m_partial.empty()) {
        lines.push_back(m_partial);
    }
    std::string joined;
    for (std::size_t i = lines.size() - std::min(count, lines.size()); i < lines.size(); ++i) {
        joined += (joined.empty() ? "" : " / ") + lines[i];
    }
    return joined;
}

void OutputTail::clear() {
    m_lines.clear();
    m_partial.clear();
}

base::Error errorFromProcessEnd(const ProcessEnd& end, bool wasReady, std::string_view program, std::string_view doing,
                                const OutputTail& output) {
    const std::string printed = output.last(kLinesInMessage);
    const std::string lastWords = printed.empty() ? std::string() : "; the last it printed: " + printed;
    const bool missing = !end.bySignal && !wasReady && (end.code == kCannotExecute || end.code == kNotFound);
    if (missing) {
        return {base::ErrorCode::EnvironmentMissing,
                "the worker program '" + std::string(program) + "' cannot run here (exit code " + std::to_string(end.code) +
                    ")" + lastWords,
                "Install or build what it needs, or name another worker in MODULELENS_WORKER."};
    }
    if (!wasReady && printed.find("No module named modulelens") != std::string::npos) {
        return {base::ErrorCode::EnvironmentMissing,
                "'" + std::string(program) + "' is a Python without the package modulelens" + lastWords,
                "Run `pip install ./backend/python` with that Python, or name another one with --python or MODULELENS_PYTHON."};
    }
    const std::string how =
        end.bySignal ? "was killed by " + signalName(end.code) : "ended by itself with exit code " + std::to_string(end.code);
    const std::string when = doing.empty() ? std::string() : " during '" + std::string(doing) + "'";
    std::string fix = "Try again; the worker is started anew.";
    if (!wasReady) {
        fix = "Check that '" + std::string(program) + "' is a ModuleLens worker; MODULELENS_WORKER names another one.";
    }
    if (end.bySignal && end.code == SIGKILL) {
        fix = "The system may have run out of memory: close other programs or choose a smaller module, then try again.";
    }
    return {base::ErrorCode::WorkerCrashed, "the worker " + how + when + lastWords, std::move(fix)};
}

} // namespace modulelens::workerclient
