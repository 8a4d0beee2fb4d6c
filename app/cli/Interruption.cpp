// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Interruption.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>

namespace modulelens::cli {

namespace {

constexpr int kExitCancelled = 130;
constexpr char kSignalByte = 's';
constexpr char kEndByte = 'e';

int pipeEnds[2] = {-1, -1};
std::atomic<int> signalCount = 0;

void onSignal(int) {
    const int savedErrno = errno;
    if (signalCount.fetch_add(1) > 0) {
        _exit(kExitCancelled);
    }
    [[maybe_unused]] const ssize_t written = ::write(pipeEnds[1], &kSignalByte, 1);
    errno = savedErrno;
}

} // namespace

Interruption::Interruption(std::optional<std::chrono::milliseconds> timeout) {
    if (::pipe(pipeEnds) != 0) {
        return; // Without descriptors left the process will not get far; signals keep their default.
    }
    struct sigaction action = {};
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    m_watcher = std::thread([this, timeout] { watch(timeout); });
}

Interruption::~Interruption() {
    if (m_watcher.joinable()) {
        [[maybe_unused]] const ssize_t written = ::write(pipeEnds[1], &kEndByte, 1);
        m_watcher.join();
    }
}

void Interruption::watch(std::optional<std::chrono::milliseconds> timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout.value_or(std::chrono::milliseconds(0));
    bool isLimited = timeout.has_value();
    while (true) {
        int wait = -1;
        if (isLimited) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
            wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
        }
        pollfd descriptor{pipeEnds[0], POLLIN, 0};
        const int ready = ::poll(&descriptor, 1, wait);
        if (ready == 0 && std::chrono::steady_clock::now() >= end) {
            isLimited = false;
            m_timedOut = true;
            m_stop.request_stop();
        } else if (ready > 0) {
            char byte = 0;
            if (::read(pipeEnds[0], &byte, 1) != 1 || byte == kEndByte) {
                return;
            }
            m_stop.request_stop();
        }
    }
}

base::Error Interruption::explained(base::Error error) const {
    if (error.code == base::ErrorCode::Cancelled && m_timedOut) {
        error.code = base::ErrorCode::Timeout;
        error.message += ", because the time limit was reached";
        error.fix = "Allow more time with --timeout.";
    }
    return error;
}

} // namespace modulelens::cli
