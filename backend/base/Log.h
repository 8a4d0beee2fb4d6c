// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string_view>

namespace modulelens::base {

enum class LogLevel { Debug, Info, Warning, Error };

/// Receives one entry: level, component ("registry"), one line of text. Called by whatever thread logs, one at a time.
using LogSink = std::function<void(LogLevel, std::string_view component, std::string_view text)>;

/// Sends an entry to the sink, standard error by default. Never throws, never fails. Thread-safe.
void log(LogLevel level, std::string_view component, std::string_view text) noexcept;

/// Replaces the sink; an empty one brings standard error back. Entries below `minimum` are dropped. Thread-safe.
void setLogSink(LogSink sink, LogLevel minimum = LogLevel::Info);

}  // namespace modulelens::base
