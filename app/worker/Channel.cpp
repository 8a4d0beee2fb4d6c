// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/worker/Channel.h"

#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace modulelens::worker {

Channel Channel::takeStandardStreams() {
    Channel channel;
    std::signal(SIGPIPE, SIG_IGN);
    // A terminal sends it to the client as well, which decides what becomes of the worker.
    std::signal(SIGINT, SIG_IGN);
    channel.m_out = ::dup(STDOUT_FILENO);
    if (channel.m_out < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        std::_Exit(1);
    }
    return channel;
}

bool Channel::write(std::string_view bytes) const {
    while (!bytes.empty()) {
        const ssize_t written = ::write(m_out, bytes.data(), bytes.size());
        if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    return true;
}

std::string_view Channel::read(char* buffer, std::size_t capacity) const {
    while (true) {
        const ssize_t count = ::read(m_in, buffer, capacity);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        return {buffer, count > 0 ? static_cast<std::size_t>(count) : 0};
    }
}

}  // namespace modulelens::worker
