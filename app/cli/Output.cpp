// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Output.h"

#include "backend/protocol/ErrorTable.h"

#include <algorithm>

namespace modulelens::cli {

namespace {

constexpr int kSchemaVersion = 1;

/// Code points of UTF-8 text, which is near enough to its width on a terminal.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// The cell as it is shown.
std::string shownCell(const std::string& cell) {
    constexpr std::size_t kLongest = 200;
    constexpr std::size_t kHalf = 80;
    std::string text = printable(cell, false);
    if (width(text) <= kLongest) {
        return text;
    }
    const auto isInsideCharacter = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
    std::size_t head = kHalf;
    while (isInsideCharacter(head)) {
        --head;
    }
    std::size_t tail = text.size() - kHalf;
    while (isInsideCharacter(tail)) {
        --tail;
    }
    return text.substr(0, head) + "..." + text.substr(tail);
}

std::string serialized(const nlohmann::ordered_json& document) {
    return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace

std::string printable(const std::string& text, bool keepLines) {
    static constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string shown;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte >= 0x20 && byte != 0x7F) || (keepLines && c == '\n')) {
            shown += c;
        } else {
            shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
        }
    }
    return shown;
}

std::string formatTable(const std::vector<std::vector<std::string>>& table, const std::vector<std::size_t>& rightAligned) {
    std::vector<std::vector<std::string>> rows = table;
    for (std::vector<std::string>& row : rows) {
        std::transform(row.begin(), row.end(), row.begin(), shownCell);
    }
    std::vector<std::size_t> widths;
    for (const std::vector<std::string>& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width(row[i]));
        }
    }
    std::string text;
    for (const std::vector<std::string>& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - width(row[i]), ' ');
            const bool isRight = std::find(rightAligned.begin(), rightAligned.end(), i) != rightAligned.end();
            line += (i == 0 ? "" : "  ") + (isRight ? padding + row[i] : row[i] + padding);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

std::string envelope(const std::string& command, const Answer& answer) {
    return serialized({{"schema_version", kSchemaVersion},
                       {"command", command},
                       {"status", "ok"},
                       {"data", answer.data},
                       {"warnings", answer.warnings},
                       {"error", nullptr}});
}

std::string envelope(const std::string& command, const base::Error& error, const std::vector<std::string>& warnings) {
    const std::string fix = error.fix.empty() ? std::string(protocol::defaultAdvice(error.code)) : error.fix;
    return serialized({{"schema_version", kSchemaVersion},
                       {"command", command},
                       {"status", "error"},
                       {"data", nullptr},
                       {"warnings", warnings},
                       {"error",
                        {{"code", base::errorCodeName(error.code)},
                         {"message", error.message},
                         {"fix", fix.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(fix)}}}});
}

} // namespace modulelens::cli
