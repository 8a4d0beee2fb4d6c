// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/ProfileTree.h"

#include "backend/profile/ModulePath.h"

#include <algorithm>
#include <string_view>

namespace modulelens::engine {

namespace {

using profile::Direction;
using profile::isBelow;
using profile::lastSegment;
using profile::parentPath;
using profile::ScopeKind;

// Adds module scopes in the order in which execution reaches them.
class Tree {
public:
    Tree(const graph::Program& program, const std::string& rootName)
        : m_program(program), m_handles(program.scopes.size(), -1) {
        const std::string className = program.scopes.empty() ? std::string() : program.scopes.front().className;
        const std::string name = rootName.empty() ? std::string(lastSegment(className)) : rootName;
        m_root = builder.addScope(-1, ScopeKind::Module, name, "", className, 0);
        m_modules.emplace("", m_root);
        if (!m_handles.empty()) {
            m_handles[0] = m_root;
        }
    }

    int scope(int index) {
        if (index < 0 || static_cast<std::size_t>(index) >= m_handles.size()) {
            return m_root;
        }
        int& handle = m_handles[static_cast<std::size_t>(index)];
        if (handle < 0) {
            const graph::Scope& scope = m_program.scopes[static_cast<std::size_t>(index)];
            const int above = this->scope(scope.parent < index ? scope.parent : 0);
            const std::string& abovePath = scope.parent >= 0 && scope.parent < index
                                               ? m_program.scopes[static_cast<std::size_t>(scope.parent)].path
                                               : kNone;
            const int parent = container(above, abovePath, parentPath(scope.path));
            handle =
                builder.addScope(parent, ScopeKind::Module, lastSegment(scope.path), scope.path, scope.className, scope.call);
            m_modules.emplace(scope.path, handle);
        }
        return handle;
    }

    // The scope that counts the parameters of `module`: its first call, else its container, else what is above it.
    int owner(std::string_view module) const {
        while (true) {
            const auto found = m_modules.find(std::string(module));
            if (found != m_modules.end()) {
                return found->second;
            }
            module = parentPath(module);
        }
    }

    [[nodiscard]] int root() const { return m_root; }

    profile::ProfileBuilder builder;

private:
    // The scope of container `path` between a module call `above` and what it calls; `above` itself when there is none.
    int container(int above, std::string_view abovePath, std::string_view path) {
        if (!isBelow(path, abovePath)) {
            return above;
        }
        const int parent = container(above, abovePath, parentPath(path));
        const auto known = m_program.moduleClasses.find(std::string(path));
        if (known == m_program.moduleClasses.end()) {
            return parent;
        }
        const auto [found, isNew] = m_containers.try_emplace({above, std::string(path)}, -1);
        if (isNew) {
            found->second = builder.addScope(parent, ScopeKind::Module, lastSegment(path), path, known->second, 0);
            m_modules.emplace(path, found->second);
        }
        return found->second;
    }

    inline static const std::string kNone;

    const graph::Program& m_program;
    int m_root = 0;
    std::vector<int> m_handles;
    std::map<std::pair<int, std::string>, int> m_containers;
    std::map<std::string, int> m_modules;
};

void addIfKnown(Tree& tree, int scope, const char* metric, const std::optional<std::int64_t>& value,
                Direction direction = Direction::Forward) {
    if (value) {
        tree.builder.addSelf(scope, metric, direction, *value);
    }
}

void addBackward(Tree& tree, int scope, const BackwardNumbers& numbers) {
    addIfKnown(tree, scope, "latency", numbers.latencyNs, Direction::Backward);
    addIfKnown(tree, scope, "flops", numbers.flops, Direction::Backward);
    addIfKnown(tree, scope, "bytes", numbers.bytes, Direction::Backward);
}

void addOwn(Tree& tree, const char* metric, const std::vector<OwnBytes>& owners) {
    for (const OwnBytes& own : owners) {
        tree.builder.addSelf(tree.owner(own.module), metric, Direction::Forward, own.bytes);
    }
}

// A metric that is unknown for some operators is marked so there, and 0 for modules, which do nothing themselves.
void markGaps(Tree& tree, const ProfileInput& input, const std::vector<int>& modules, const char* metric,
              std::optional<std::int64_t> OperatorNumbers::* member) {
    const auto isKnown = [&](const OperatorNumbers& numbers) { return (numbers.*member).has_value(); };
    const auto known = std::count_if(input.operators.begin(), input.operators.end(), isKnown);
    if (known > 0 && known < static_cast<std::ptrdiff_t>(input.operators.size())) {
        tree.builder.markUnknownWhereUnset(metric, Direction::Forward);
        for (const int module : modules) {
            tree.builder.addSelf(module, metric, Direction::Forward, 0);
        }
    }
}

}  // namespace

base::Result<std::shared_ptr<const profile::Profile>> makeProfile(const graph::Program& program, const ProfileInput& input) {
    Tree tree(program, input.rootName);
    std::vector<int> modules{tree.root()};
    std::int64_t explainedNs = 0;
    for (const OperatorNumbers& numbers : input.operators) {
        const int module = tree.scope(numbers.scope);
        modules.push_back(module);
        const std::string path = numbers.scope >= 0 && static_cast<std::size_t>(numbers.scope) < program.scopes.size()
                                     ? program.scopes[static_cast<std::size_t>(numbers.scope)].path
                                     : std::string();
        const int scope = tree.builder.addScope(module, ScopeKind::Operator, numbers.name, path, "", 0);
        addIfKnown(tree, scope, "latency", numbers.latencyNs);
        addIfKnown(tree, scope, "flops", numbers.flops);
        addIfKnown(tree, scope, "bytes", numbers.bytes);
        addIfKnown(tree, scope, "peak", numbers.peakBytes);
        addIfKnown(tree, scope, "high_water", numbers.highWaterBytes);
        addIfKnown(tree, scope, "activation", numbers.activationBytes);
        addIfKnown(tree, scope, "training_peak", numbers.trainingPeakBytes);
        addBackward(tree, scope, numbers.backward);
        explainedNs += numbers.latencyNs.value_or(0);
    }
    std::sort(modules.begin(), modules.end());
    modules.erase(std::unique(modules.begin(), modules.end()), modules.end());
    markGaps(tree, input, modules, "flops", &OperatorNumbers::flops);
    markGaps(tree, input, modules, "bytes", &OperatorNumbers::bytes);
    tree.builder.addSelf(tree.root(), "parameters", Direction::Forward, 0);
    addOwn(tree, "parameters", input.parameters);
    addOwn(tree, "buffers", input.buffers);
    addOwn(tree, "gradients", input.gradients);
    for (const TrainingRow& row : input.trainingRows) {
        const int module = tree.owner(row.module);
        const int scope = tree.builder.addScope(module, row.isOperator ? ScopeKind::Operator : ScopeKind::Unattributed,
                                                row.name, row.isOperator ? row.module : std::string(), "", 0);
        addIfKnown(tree, scope, "training_peak", row.trainingPeakBytes);
        addBackward(tree, scope, row.backward);
    }
    if (input.plainNs && *input.plainNs > explainedNs) {
        const int rest = tree.builder.addScope(tree.root(), ScopeKind::Unattributed, "not in any operator", "", "", 0);
        tree.builder.addSelf(rest, "latency", Direction::Forward, *input.plainNs - explainedNs);
    }
    if (!input.plainSamples.empty()) {
        tree.builder.setSamples("latency", Direction::Forward, input.plainSamples);
    }
    if (!input.backwardSamples.empty()) {
        tree.builder.setSamples("latency", Direction::Backward, input.backwardSamples);
    }
    tree.builder.setCoverage(input.coverage);
    for (const auto& [key, value] : input.facts) {
        tree.builder.setFact(key, value);
    }
    return tree.builder.build();
}

std::int64_t median(std::vector<std::int64_t> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : values[middle - 1] + (values[middle] - values[middle - 1]) / 2;
}

}  // namespace modulelens::engine
