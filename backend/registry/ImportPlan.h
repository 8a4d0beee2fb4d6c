// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/capture/Bundle.h"
#include "backend/capture/NodeDocument.h"
#include "backend/capture/Safetensors.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace modulelens::registry {

/// A file of a bundle that becomes an object.
struct PlannedObject {
    std::string digest;
    std::string kind;                            ///< "version", "node", "program", "source", "run".
    capture::BundleFile file;
    std::set<std::string> children;              ///< Objects that this one names.
    std::set<std::string> tensors;               ///< Tensors that this one names, and that no child holds for it.
};

/// A version as its database row needs it.
struct PlannedVersion {
    std::string digest;
    std::string collection;
    std::string model;
    std::string module;
    std::string className;
    std::string stateDigest;                     ///< Root node.
    std::string stateArtifact;                   ///< Digest over root node and programs.
    std::vector<std::string> programs;
    std::string noProgramReason;
    std::string device;
    std::string torchVersion;
    std::set<std::string> dtypes;
    std::int64_t parameterBytes = 0;
    std::int64_t parameterCount = 0;
    std::int64_t callCount = 0;
    std::size_t run = 0;                         ///< Index in ImportPlan::runs.
};

struct PlannedRun {
    std::string digest;
    std::string model;
    std::string collection;
    std::int64_t step = 0;
    std::int64_t started = 0;                    ///< Microseconds since 1970, UTC.
    std::int64_t callCount = 0;
};

/// Everything that importing a bundle needs to know, read from a verified bundle.
struct ImportPlan {
    std::string bundleDigest;
    std::int64_t created = 0;                    ///< Microseconds since 1970, UTC.
    std::string incompleteReason;
    std::vector<std::string> tags;
    std::map<std::string, capture::AttributeValue> attributes;
    std::map<std::string, PlannedObject> objects;             ///< By digest.
    std::map<std::string, capture::SafetensorsInput> tensors; ///< By digest; the bytes live as long as the bundle.
    std::vector<PlannedVersion> versions;                     ///< In bundle order.
    std::vector<PlannedRun> runs;
    std::vector<std::string> warnings;
};

/// Reads the plan. Requires: bundle.verify() succeeded. Corrupt: a time that is none, names that contradict the collection id.
[[nodiscard]] base::Result<ImportPlan> planImport(capture::Bundle& bundle);

/// Digests of nodes that values of the node name: modules inside attributes and arguments of its construction.
[[nodiscard]] std::set<std::string> nodesNamedIn(const capture::NodeDocument& node);

/// InvalidArgument unless `name` may be a tag, an alias or an attribute key: not empty, at most 128 characters, no control
/// characters, valid UTF-8. `what` names it in the message: "tag".
[[nodiscard]] base::Result<void> checkLabel(const std::string& name, const std::string& what);

}  // namespace modulelens::registry
