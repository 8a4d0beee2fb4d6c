// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace modulelens::test {

/// The smallest bundle that has one of everything: a module with one weight, one call, one program, one source, one run.
/// A test edits a document before it is sealed, and every digest after it fits again.
struct TinyBundle {
    using Edit = std::function<void(nlohmann::json&)>;

    Edit editNode = {};
    Edit editVersion = {};
    Edit editRun = {};
    Edit editIndex = {};
    std::function<void(std::string& program)> editProgram = {};
    std::function<void(std::string& tensors)> editTensors = {};

    /// Content by file name.
    [[nodiscard]] std::map<std::string, std::string> files() const;
};

/// bundle.sha256 for this bundle.json.
[[nodiscard]] std::string sealOf(const std::string& index);

}  // namespace modulelens::test
