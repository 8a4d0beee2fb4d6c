// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/ModuleTreeProfile.h"

#include "backend/profile/ModulePath.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace modulelens::operations {

namespace {

using profile::Direction;

constexpr int kDeepest = 200;

/// Adds the scopes of one version. Confined to its thread.
class ModuleTree {
public:
    explicit ModuleTree(registry::Registry& registry) : m_registry(registry) {}

    base::Result<void> add(const std::string& digest, const std::string& path, int parent, int depth) {
        if (depth > kDeepest) {
            return base::Error{base::ErrorCode::Corrupt, "the modules of the version nest too deeply", "Import it again."};
        }
        const base::Result<capture::NodeDocument> node = m_registry.node(digest);
        if (!node) {
            return node.error();
        }
        std::string className = node->className;
        std::replace(className.begin(), className.end(), ':', '.');
        const std::string_view name = path.empty() ? profile::lastSegment(className) : profile::lastSegment(path);
        const int scope = builder.addScope(parent, profile::ScopeKind::Module, name, path, className, 0);
        scopes.emplace(path, scope);
        for (const auto& [child, childDigest] : node->children) {
            if (childDigest.empty()) {
                continue;
            }
            if (auto added = add(childDigest, path.empty() ? child : path + '.' + child, scope, depth + 1); !added) {
                return added;
            }
        }
        return {};
    }

    profile::ProfileBuilder builder;
    std::map<std::string, int, std::less<>> scopes;

private:
    registry::Registry& m_registry;
};

} // namespace

base::Result<std::shared_ptr<const profile::Profile>> buildModuleTreeProfile(registry::Registry& registry,
                                                                             const capture::VersionDocument& version) {
    ModuleTree tree(registry);
    if (auto added = tree.add(version.stateDigest, "", -1, 0); !added) {
        return added.error();
    }
    tree.builder.addSelf(tree.scopes.at(""), "parameters", Direction::Forward, 0);
    std::set<std::int64_t> storages;
    for (const auto& [name, state] : version.stateTensors) {
        if (state.isBuffer || (state.tensor.storage && !storages.insert(*state.tensor.storage).second)) {
            continue;
        }
        const auto owner = tree.scopes.find(profile::parentPath(name));
        tree.builder.addSelf(owner == tree.scopes.end() ? tree.scopes.at("") : owner->second, "parameters", Direction::Forward,
                             state.tensor.viewBytes());
    }
    tree.builder.setFact("mode", "static");
    tree.builder.setFact("unknown.flops", "the operators of this program are known only when it runs");
    return tree.builder.build();
}

} // namespace modulelens::operations
