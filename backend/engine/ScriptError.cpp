// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/ScriptError.h"

#include <string_view>

namespace modulelens::engine {

namespace {

constexpr std::string_view kMark = "<--- HERE";
constexpr std::string_view kFile = "\n  File \"";
constexpr std::string_view kLine = "\", line ";
constexpr std::string_view kTraceback = "Traceback of TorchScript";
constexpr std::string_view kOriginal = "original code (most recent call last):\n";

std::string_view lineAt(std::string_view text, std::size_t position) {
    return text.substr(position, text.find('\n', position) - position);
}

/// "net.py:18" of a line "net.py(18): forward", as the original code of a traced module is listed; empty for any other line.
std::string placeOfFrame(std::string_view line) {
    const std::size_t close = line.find("): ");
    const std::size_t open = close == std::string_view::npos ? close : line.rfind('(', close);
    if (open == std::string_view::npos || open == 0 || open + 1 == close ||
        line.substr(0, open).find(": ") != std::string_view::npos ||
        line.substr(open + 1, close - open - 1).find_first_not_of("0123456789") != std::string_view::npos) {
        return {};
    }
    return std::string(line.substr(0, open)) + ':' + std::string(line.substr(open + 1, close - open - 1));
}

/// "RuntimeError: mat1 and mat2 ...": the first line after the last excerpt of source, whose lines are indented, and after a
/// traceback without excerpts.
std::string_view reasonIn(std::string_view text) {
    std::size_t at = text.rfind(kMark);
    if (at == std::string_view::npos) {
        return lineAt(text, 0);
    }
    while ((at = text.find('\n', at)) != std::string_view::npos) {
        ++at;
        const std::string_view line = lineAt(text, at);
        if (!line.empty() && line[0] != ' ' && !line.starts_with(kTraceback) && placeOfFrame(line).empty()) {
            return line;
        }
    }
    return lineAt(text, 0);
}

/// "net.py:18" of the innermost function.
std::string placeIn(std::string_view text) {
    if (const std::size_t original = text.rfind(kOriginal); original != std::string_view::npos) {
        if (std::string place = placeOfFrame(lineAt(text, original + kOriginal.size())); !place.empty()) {
            return place;
        }
    }
    const std::size_t at = text.rfind(kFile);
    if (at == std::string_view::npos) {
        return {};
    }
    const std::string_view line = lineAt(text, at + 1);
    const std::size_t from = kFile.size() - 1;
    const std::size_t to = line.find(kLine);
    if (to == std::string_view::npos) {
        return {};
    }
    const std::string_view number = line.substr(to + kLine.size());
    return std::string(line.substr(from, to - from)) + ':' + std::string(number.substr(0, number.find(',')));
}

}  // namespace

base::Error scriptError(const std::string& text) {
    std::string_view reason = reasonIn(text);
    constexpr std::string_view kPlain = "RuntimeError: ";
    if (reason.starts_with(kPlain)) {
        reason.remove_prefix(kPlain.size());
    }
    const std::string place = placeIn(text);
    const std::string message = std::string(reason.empty() ? std::string_view("the TorchScript interpreter failed") : reason) +
                                (place.empty() ? "" : " (from " + place + ")");
    for (const char* sign : {"can't allocate memory", "out of memory"}) {
        if (text.find(sign) != std::string::npos) {
            return {base::ErrorCode::OutOfMemory, message, "Work on a smaller batch, or on a device with more memory."};
        }
    }
    return {base::ErrorCode::InvalidArgument, message, "Give it inputs that it takes."};
}

}  // namespace modulelens::engine
