// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/StaticProfile.h"

#include "backend/graph/StaticCost.h"
#include "backend/profile/ModulePath.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace modulelens::operations {

namespace {

using profile::Direction;
using profile::isBelow;
using profile::lastSegment;
using profile::parentPath;
using profile::ScopeKind;

/// Path of a module call relative to the profiled module, and the how-many-eth call of that path.
using CallKey = std::pair<std::string, int>;

/// Programs separate module and class by ".", captures by ":"; profiles by ".".
std::string dottedClass(std::string name) {
    std::replace(name.begin(), name.end(), ':', '.');
    return name;
}

std::string relativePath(const std::string& module, const std::string& top) {
    if (module == top) {
        return {};
    }
    return isBelow(module, top) && !top.empty() ? module.substr(top.size() + 1) : module;
}

/// A module call of the traced run below the profiled one.
struct TracedCall {
    const capture::RunCall* call = nullptr;
    std::string path;
    int occurrence = 0;
    int parent = -1; ///< Index among the traced calls.
    int handle = -1; ///< Scope, once added.
};

/// The calls below the call of `run` that recorded `version`, that call first; empty when it is not there.
std::vector<TracedCall> tracedCalls(const capture::RunRecord& run, const capture::VersionDocument& version, int call) {
    const auto recorded = [&](const capture::RunCall& candidate) {
        return candidate.version == version.digest && candidate.versionCall == call;
    };
    auto top = std::find_if(run.calls.begin(), run.calls.end(), recorded);
    if (top == run.calls.end()) {
        top = std::find_if(run.calls.begin(), run.calls.end(),
                           [&](const capture::RunCall& candidate) { return candidate.module == version.module; });
    }
    std::vector<TracedCall> traced;
    std::map<int, int> indexByRunIndex;
    std::map<std::string, int> occurrences;
    for (auto at = top; at != run.calls.end(); ++at) {
        if (at->isRecompute) {
            continue;
        }
        int parent = -1;
        if (at != top) {
            const auto above = indexByRunIndex.find(at->parent);
            if (above == indexByRunIndex.end()) {
                continue;
            }
            parent = above->second;
        }
        indexByRunIndex.emplace(static_cast<int>(at - run.calls.begin()), static_cast<int>(traced.size()));
        std::string path = relativePath(at->module, version.module);
        const int occurrence = occurrences[path]++;
        traced.push_back({&*at, std::move(path), occurrence, parent, -1});
    }
    return traced;
}

/// A shared module is traced under its first name, while a program may call it by another one.
class ModuleNames {
public:
    ModuleNames(const capture::VersionDocument& version, const std::vector<TracedCall>& traced) {
        for (const TracedCall& call : traced) {
            m_traced.insert(call.path);
        }
        std::map<std::int64_t, std::vector<std::string>> namesByObject;
        for (const auto& [name, state] : version.stateTensors) {
            if (state.tensor.object) {
                namesByObject[*state.tensor.object].push_back(name);
            }
        }
        for (const auto& [object, names] : namesByObject) {
            for (const std::string& name : names) {
                const auto same = std::find_if(names.begin(), names.end(), [&](const std::string& other) {
                    return lastSegment(other) == lastSegment(name) && m_traced.contains(std::string(parentPath(other)));
                });
                if (same != names.end()) {
                    m_byState.emplace(parentPath(name), parentPath(*same));
                }
            }
        }
    }

    /// The traced name of the module that `path` names; `path` itself when nothing better is known.
    [[nodiscard]] std::string traced(const std::string& path) const {
        if (path.empty() || m_traced.contains(path)) {
            return path;
        }
        if (const auto found = m_byState.find(path); found != m_byState.end()) {
            return found->second;
        }
        const std::string above = traced(std::string(parentPath(path)));
        const std::string candidate = (above.empty() ? std::string() : above + '.') + std::string(lastSegment(path));
        return m_traced.contains(candidate) ? candidate : path;
    }

private:
    std::set<std::string> m_traced;
    std::map<std::string, std::string> m_byState;
};

/// Adds scopes in the order in which execution reaches them.
class StaticTree {
public:
    StaticTree(const capture::VersionDocument& version, const graph::Program* program, std::vector<TracedCall> traced)
        : m_program(program), m_names(version, traced), m_traced(std::move(traced)) {
        const std::string className = dottedClass(version.className);
        m_root = m_builder.addScope(-1, ScopeKind::Module, lastSegment(className), "", className, 0);
        m_firstByPath.emplace("", m_root);
        m_modules.push_back(m_root);
        m_paths.emplace(m_root, "");
        if (program != nullptr) {
            m_programHandles.assign(program->scopes.size(), -1);
            numberProgramCalls();
            if (!m_programHandles.empty()) {
                m_programHandles[0] = m_root;
            }
        }
        for (std::size_t i = 0; i < m_traced.size(); ++i) {
            m_tracedByKey.emplace(CallKey{m_traced[i].path, m_traced[i].occurrence}, i);
        }
        if (!m_traced.empty()) {
            m_traced.front().handle = m_root;
            m_nextTraced = 1;
        }
    }

    /// Scope of a module call of the program.
    int programScope(int index) {
        if (index < 0 || static_cast<std::size_t>(index) >= m_programHandles.size()) {
            return m_root;
        }
        int& handle = m_programHandles[static_cast<std::size_t>(index)];
        if (handle >= 0) {
            return handle;
        }
        const graph::Scope& scope = m_program->scopes[static_cast<std::size_t>(index)];
        const auto traced = m_tracedByKey.find(m_programKeys[static_cast<std::size_t>(index)]);
        if (traced != m_tracedByKey.end()) {
            addTracedUpTo(traced->second);
            handle = m_traced[traced->second].handle;
        } else {
            const int above = programScope(scope.parent < index ? scope.parent : 0);
            handle = addModule(above, scope.path, scope.className, scope.call);
        }
        return handle;
    }

    void addOperator(const graph::NodeCost& node) {
        const int module = programScope(node.scope);
        const int scope = m_builder.addScope(module, ScopeKind::Operator, node.operatorName, m_paths.at(module), "",
                                             m_operatorCalls[{module, node.operatorName}]++);
        if (node.cost.coverage != graph::Coverage::Unknown) {
            m_builder.addSelf(scope, "flops", Direction::Forward, node.cost.flops);
        }
        if (node.cost.bytesMoved) {
            m_builder.addSelf(scope, "bytes", Direction::Forward, *node.cost.bytesMoved);
        }
    }

    /// The rest of the traced calls, which have no operators in the program.
    void addRemainingTraced() {
        if (!m_traced.empty()) {
            addTracedUpTo(m_traced.size() - 1);
        }
    }

    /// Measured host time of each traced call without its children's.
    void setTracedLatency() {
        if (m_traced.empty() || !m_traced.front().call->hostNs) {
            return;
        }
        std::vector<std::int64_t> self(m_traced.size(), 0);
        for (std::size_t i = 0; i < m_traced.size(); ++i) {
            const std::int64_t own = m_traced[i].call->hostNs.value_or(0);
            self[i] += own;
            if (m_traced[i].parent >= 0) {
                self[static_cast<std::size_t>(m_traced[i].parent)] -= own;
            }
        }
        m_builder.markUnknownWhereUnset("latency", Direction::Forward);
        for (std::size_t i = 0; i < m_traced.size(); ++i) {
            if (m_traced[i].call->hostNs) {
                // Clock resolution can make the children's sum exceed their parent's time by a little.
                m_builder.addSelf(m_traced[i].handle, "latency", Direction::Forward, std::max<std::int64_t>(self[i], 0));
            }
        }
    }

    /// Parameter bytes where each storage is first reached in name order.
    void setParameters(const capture::VersionDocument& version) {
        m_builder.addSelf(m_root, "parameters", Direction::Forward, 0);
        std::set<std::int64_t> seen;
        for (const auto& [name, state] : version.stateTensors) {
            const bool isNew = !state.tensor.storage || seen.insert(*state.tensor.storage).second;
            if (!state.isBuffer && isNew) {
                m_builder.addSelf(owner(m_names.traced(std::string(parentPath(name)))), "parameters", Direction::Forward,
                                  state.tensor.viewBytes());
            }
        }
    }

    /// A metric of operators is unknown where a formula is missing, and 0 for modules, which do nothing themselves.
    void setOperatorMetric(const char* metric) {
        m_builder.markUnknownWhereUnset(metric, Direction::Forward);
        for (const int module : m_modules) {
            m_builder.addSelf(module, metric, Direction::Forward, 0);
        }
    }

    profile::ProfileBuilder& builder() { return m_builder; }

private:
    /// Which traced call each module call of the program is. Calls by several names of one module count together, in
    /// the order of the program.
    void numberProgramCalls() {
        std::map<std::string, std::set<std::string>> spellings;
        for (const graph::Scope& scope : m_program->scopes) {
            m_programKeys.emplace_back(m_names.traced(scope.path), scope.call);
            spellings[m_programKeys.back().first].insert(scope.path);
        }
        std::map<std::string, int> counts;
        for (CallKey& key : m_programKeys) {
            if (spellings[key.first].size() > 1) {
                key.second = counts[key.first]++;
            }
        }
    }

    void addTracedUpTo(std::size_t last) {
        for (; m_nextTraced <= last; ++m_nextTraced) {
            TracedCall& traced = m_traced[m_nextTraced];
            const int above = m_traced[static_cast<std::size_t>(traced.parent)].handle;
            traced.handle = addModule(above, traced.path, dottedClass(traced.call->className), traced.occurrence);
        }
    }

    int addModule(int above, const std::string& path, const std::string& className, int call) {
        const int parent = container(above, m_paths.at(above), parentPath(path));
        return add(parent, path, className, call);
    }

    int add(int parent, std::string_view path, const std::string& className, int call) {
        const int handle = m_builder.addScope(parent, ScopeKind::Module, lastSegment(path), path, className, call);
        m_modules.push_back(handle);
        m_paths.emplace(handle, path);
        m_firstByPath.emplace(path, handle);
        return handle;
    }

    /// The scope of container `path` between a module call `above` and what it calls; `above` itself when there is none.
    int container(int above, std::string_view abovePath, std::string_view path) {
        if (m_program == nullptr || !isBelow(path, abovePath)) {
            return above;
        }
        const int parent = container(above, abovePath, parentPath(path));
        const auto known = m_program->moduleClasses.find(std::string(path));
        if (known == m_program->moduleClasses.end()) {
            return parent;
        }
        const auto [found, isNew] = m_containers.try_emplace({above, std::string(path)}, -1);
        if (isNew) {
            found->second = add(parent, path, dottedClass(known->second), 0);
        }
        return found->second;
    }

    /// The scope that counts the parameters of `module`: its first call, else its container, else what is above it.
    [[nodiscard]] int owner(std::string_view module) const {
        while (true) {
            const auto found = m_firstByPath.find(std::string(module));
            if (found != m_firstByPath.end()) {
                return found->second;
            }
            module = parentPath(module);
        }
    }

    const graph::Program* m_program;
    profile::ProfileBuilder m_builder;
    ModuleNames m_names;
    std::vector<TracedCall> m_traced;
    std::vector<CallKey> m_programKeys;
    std::map<CallKey, std::size_t> m_tracedByKey;
    std::size_t m_nextTraced = 0;
    int m_root = 0;
    std::vector<int> m_programHandles;
    std::vector<int> m_modules;
    std::map<int, std::string> m_paths;
    std::map<std::string, int> m_firstByPath;
    std::map<std::pair<int, std::string>, int> m_containers;
    std::map<std::pair<int, std::string>, int> m_operatorCalls;
};

} // namespace

base::Result<std::shared_ptr<const profile::Profile>> buildStaticProfile(const capture::VersionDocument& version, int call,
                                                                         const graph::Program* program,
                                                                         const capture::RunRecord* run) {
    StaticTree tree(version, program, run == nullptr ? std::vector<TracedCall>() : tracedCalls(*run, version, call));
    if (program != nullptr) {
        const graph::StaticCosts costs = graph::staticCosts(*program, {});
        for (const graph::NodeCost& node : costs.nodes) {
            tree.addOperator(node);
        }
        tree.builder().setCoverage({costs.counted, costs.zero, costs.unknown});
    }
    tree.addRemainingTraced();
    if (program != nullptr) {
        tree.setOperatorMetric("flops");
        tree.setOperatorMetric("bytes");
    }
    tree.setTracedLatency();
    tree.setParameters(version);
    tree.builder().setFact("mode", "static");
    if (run != nullptr) {
        tree.builder().setFact("device", run->device);
    }
    return tree.builder().build();
}

} // namespace modulelens::operations
