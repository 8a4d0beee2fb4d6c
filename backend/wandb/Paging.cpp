// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Paging.h"

namespace modulelens::wandb {

namespace {

using capture::JsonView;
using nlohmann::json;

/// The connection at the end of `path`, or null when the server gave null on the way.
const json* connectionAt(const json& data, const std::vector<std::string>& path) {
    const json* at = &data;
    for (const std::string& key : path) {
        if (!at->is_object()) {
            return nullptr;
        }
        const auto member = at->find(key);
        if (member == at->end()) {
            return nullptr;
        }
        at = &*member;
    }
    return at->is_object() ? at : nullptr;
}

/// The next page's cursor, or nothing on the last.
std::optional<std::string> nextCursor(const JsonView& connection) {
    const JsonView info = connection.at("pageInfo");
    if (!info.at("hasNextPage").boolean()) {
        return std::nullopt;
    }
    return info.at("endCursor").string();
}

}  // namespace

base::Result<void> readPages(Service& service, const std::string& operation, const std::string& document, json variables,
                             const std::vector<std::string>& path, const std::string& missing,
                             const std::function<void(const JsonView&)>& onNode, const std::function<void()>& onPageEnd,
                             const std::stop_token& stop) {
    std::set<std::string> seen;
    std::optional<std::string> cursor;
    variables["count"] = kPageRows;
    do {
        variables["cursor"] = cursor ? json(*cursor) : json();
        const base::Result<json> data = service.run(operation, document, variables, stop);
        if (!data) {
            return data.error();
        }
        const json* found = connectionAt(*data, path);
        if (found == nullptr) {
            return base::Error{base::ErrorCode::NotFound, missing, "It does not exist, or the account has no access to it."};
        }
        const auto next = capture::readDocument("the answer of W&B to " + operation, [&] {
            const JsonView connection(*found, operation);
            const JsonView edges = connection.at("edges");
            for (std::size_t i = 0; i < edges.size(); ++i) {
                const JsonView edge = edges.element(i);
                if (const auto node = edge.find("node")) {
                    onNode(*node);
                }
            }
            return nextCursor(connection);
        });
        if (!next) {
            return next.error();
        }
        if (onPageEnd) {
            onPageEnd();
        }
        cursor = *next;
        if (cursor && !seen.insert(*cursor).second) {
            return base::Error{base::ErrorCode::Corrupt, "W&B gives the same page of " + operation + " again and again.",
                               "Try again; if it stays so, tell the server's operator."};
        }
    } while (cursor);
    return {};
}

}  // namespace modulelens::wandb
