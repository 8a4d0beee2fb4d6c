// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// Module names as profiles hold them: segments joined by ".", "" for the profiled module itself.
namespace modulelens::profile {

/// What follows the last "."; the whole of a path without one. The result views into `path`.
[[nodiscard]] std::string_view lastSegment(std::string_view path);

/// The path without its last segment; "" for a path of one segment. The result views into `path`.
[[nodiscard]] std::string_view parentPath(std::string_view path);

/// True when `path` names a module strictly inside `ancestor`.
[[nodiscard]] bool isBelow(std::string_view path, std::string_view ancestor);

} // namespace modulelens::profile
