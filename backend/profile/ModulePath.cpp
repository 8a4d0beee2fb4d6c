// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/ModulePath.h"

#include <cstddef>

namespace modulelens::profile {

std::string_view lastSegment(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::string_view parentPath(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

bool isBelow(std::string_view path, std::string_view ancestor) {
    return ancestor.empty() ? !path.empty()
                            : path.size() > ancestor.size() && path.starts_with(ancestor) && path[ancestor.size()] == '.';
}

} // namespace modulelens::profile
