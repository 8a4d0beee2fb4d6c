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

std::string serialized(const nlohmann::ordered_json& document) {
    return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace

std::string formatTable(const std::vector<std::vector<std::string>>& rows, const std::vector<std::size_t>& rightAligned) {
    std::vector<std::size_t> widths;
    for (const std::vector<std::string>& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width(row[i]));
        }
    }
    std::string table;
    for (const std::vector<std::string>& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - width(row[i]), ' ');
            const bool isRight = std::find(rightAligned.begin(), rightAligned.end(), i) != rightAligned.end();
            line += (i == 0 ? "" : "  ") + (isRight ? padding + row[i] : row[i] + padding);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        table += line + '\n';
    }
    return table;
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
