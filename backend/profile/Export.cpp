// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Export.h"

#include <algorithm>

namespace modulelens::profile {

namespace {

std::string columnTitle(const Column& column) {
    return column.metric + (column.direction == Direction::Forward ? " forward" : " backward");
}

std::string_view kindName(ScopeKind kind) {
    switch (kind) {
        case ScopeKind::Module:
            return "module";
        case ScopeKind::Operator:
            return "operator";
        case ScopeKind::Unattributed:
            break;
    }
    return "unattributed";
}

std::string csvField(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        return std::string(text);
    }
    std::string quoted = "\"";
    for (const char letter : text) {
        quoted += letter;
        if (letter == '"') {
            quoted += '"';
        }
    }
    return quoted + '"';
}

std::string markdownCell(std::string_view text) {
    std::string cell;
    for (const char letter : text) {
        if (letter == '|' || letter == '\\') {
            cell += '\\';
        }
        cell += letter == '\n' || letter == '\r' ? ' ' : letter;
    }
    return cell;
}

} // namespace

std::string foldedStacks(const Profile& profile, const Column& column) {
    std::string lines;
    std::string stack;
    std::vector<std::size_t> lengths; // Of the stack text by depth.
    for (ScopeId scope = 0; scope < profile.scopeCount(); ++scope) {
        const auto depth = static_cast<std::size_t>(profile.depth(scope));
        stack.resize(depth == 0 ? 0 : lengths[depth - 1]);
        if (depth > 0) {
            stack += ';';
        }
        const std::size_t begin = stack.size();
        stack += profile.name(scope);
        std::replace_if(
            stack.begin() + static_cast<std::ptrdiff_t>(begin), stack.end(),
            [](char letter) { return letter == ';' || letter == '\n' || letter == '\r'; }, '_');
        lengths.resize(depth);
        lengths.push_back(stack.size());
        const std::int64_t self = column.self[static_cast<std::size_t>(scope)];
        if (self > 0) {
            lines += stack + ' ' + std::to_string(self) + '\n';
        }
    }
    return lines;
}

std::string csv(const Profile& profile) {
    std::string table = "depth,kind,name,path,class,call";
    for (const Column& column : profile.columns()) {
        table += ',' + columnTitle(column) + " self," + columnTitle(column) + " total";
    }
    table += "\r\n";
    for (ScopeId scope = 0; scope < profile.scopeCount(); ++scope) {
        table += std::to_string(profile.depth(scope)) + ',' + std::string(kindName(profile.kind(scope))) + ',' +
                 csvField(profile.name(scope)) + ',' + csvField(profile.path(scope)) + ',' +
                 csvField(profile.className(scope)) + ',' + std::to_string(profile.call(scope));
        for (const Column& column : profile.columns()) {
            for (const std::int64_t value :
                 {column.self[static_cast<std::size_t>(scope)], column.total[static_cast<std::size_t>(scope)]}) {
                table += ',';
                table += value == kUnknown ? "" : std::to_string(value);
            }
        }
        table += "\r\n";
    }
    return table;
}

std::string markdown(const Profile& profile, ScopeId root, int levels) {
    std::string head = "| module | class |";
    std::string rule = "| --- | --- |";
    for (const Column& column : profile.columns()) {
        head += ' ' + columnTitle(column) + " (" + findMetric(column.metric)->unit + ") |";
        rule += " ---: |";
    }
    std::string table = head + '\n' + rule + '\n';
    const int top = profile.depth(root);
    for (ScopeId scope = root; scope < profile.subtreeEnd(root);) {
        std::string indent;
        for (int i = top; i < profile.depth(scope); ++i) {
            indent += "&nbsp;&nbsp;";
        }
        table += "| " + indent + markdownCell(profile.name(scope)) + " | " + markdownCell(profile.className(scope)) + " |";
        for (const Column& column : profile.columns()) {
            const std::int64_t value = column.total[static_cast<std::size_t>(scope)];
            table += ' ' + (value == kUnknown ? std::string("—") : std::to_string(value)) + " |";
        }
        table += '\n';
        scope = profile.depth(scope) - top < levels ? scope + 1 : profile.subtreeEnd(scope);
    }
    return table;
}

} // namespace modulelens::profile
