// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/JsonView.h"
#include "backend/wandb/Service.h"

#include <nlohmann/json.hpp>

namespace modulelens::wandb {

/// The most rows that one page of a list is asked for; the server gives fewer when it wants.
constexpr int kPageRows = 1000;

/// Reads a list page by page: runs `document` with the variables "cursor" and "count" until the server says that there is no more.
/// A page may be empty and not the last. `path` leads from the data to the connection; null on the way is NotFound, with
/// `missing` as its message. `onNode` gets each row's node, `onPageEnd` (may be empty) is called after each page.
/// Corrupt: a cursor that comes twice. Throws nothing; what `onNode` throws becomes the error.
[[nodiscard]] base::Result<void> readPages(Service& service, const std::string& operation, const std::string& document,
                                           nlohmann::json variables, const std::vector<std::string>& path,
                                           const std::string& missing,
                                           const std::function<void(const capture::JsonView&)>& onNode,
                                           const std::function<void()>& onPageEnd, const std::stop_token& stop);

}  // namespace modulelens::wandb
