// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/profile/Profile.h"

#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace modulelens::test {

/// Two blocks and a head: forward and backward latency, the heaviest self deep inside the first block.
inline constexpr const char* kTwoBlockModel =
    "Model;layers:ModuleList;0:Block;attn:Attention;aten::_softmax 500/300\n"
    "Model;layers:ModuleList;0:Block;up:Linear;aten::addmm 90/100\n"
    "Model;layers:ModuleList;1:Block;norm:LayerNorm 60/50\nModel;head:Linear 200/100\nModel 1/1\n";

/// A profile from folded stacks, one "A;B;aten::mm 5" per line: self latency, forward; "5/7" adds 7 backward. A segment
/// "name:Class" gives the class (default: the name); one with "::" is an operator. Equal prefixes are one scope.
inline profile::ProfileBuilder foldedBuilder(const std::string& text, std::map<std::string, int>* handles = nullptr) {
    using profile::Direction;
    using profile::ScopeKind;
    profile::ProfileBuilder builder;
    std::map<std::string, int> known;
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
        const std::size_t space = line.rfind(' ');
        if (space == std::string::npos) {
            continue;
        }
        const std::string numbers = line.substr(space + 1);
        std::istringstream segments(line.substr(0, space));
        std::string segment;
        std::string prefix;
        std::string path;
        int scope = -1;
        while (std::getline(segments, segment, ';')) {
            const bool isOperator = segment.find("::") != std::string::npos;
            const std::size_t colon = isOperator ? std::string::npos : segment.find(':');
            const std::string name = segment.substr(0, colon);
            const std::string className = colon == std::string::npos ? name : segment.substr(colon + 1);
            if (scope >= 0 && !isOperator) {
                path += (path.empty() ? "" : ".") + name;
            }
            prefix += (prefix.empty() ? "" : ";") + name;
            const auto found = known.find(prefix);
            scope = found != known.end() ? found->second
                                         : builder.addScope(scope, isOperator ? ScopeKind::Operator : ScopeKind::Module, name,
                                                            path, isOperator ? "" : className, 0);
            known[prefix] = scope;
        }
        const std::size_t slash = numbers.find('/');
        builder.addSelf(scope, "latency", Direction::Forward, std::stoll(numbers));
        if (slash != std::string::npos) {
            builder.addSelf(scope, "latency", Direction::Backward, std::stoll(numbers.substr(slash + 1)));
        }
    }
    if (handles != nullptr) {
        *handles = std::move(known);
    }
    return builder;
}

inline std::shared_ptr<const profile::Profile> foldedProfile(const std::string& text) {
    return foldedBuilder(text).build().value();
}

/// The first scope of that name, or -1.
inline profile::ScopeId scopeNamed(const profile::Profile& profile, std::string_view name) {
    for (profile::ScopeId scope = 0; scope < profile.scopeCount(); ++scope) {
        if (profile.name(scope) == name) {
            return scope;
        }
    }
    return -1;
}

/// A random tree of `count` scopes: names and classes from small sets, skewed latencies, six further columns.
inline std::shared_ptr<const profile::Profile> randomProfile(int count, unsigned seed, int maxDepth = 24) {
    using profile::Direction;
    std::mt19937 random(seed);
    const std::vector<std::string> classes = {"Block", "Attention", "Linear", "LayerNorm", "Embedding", "Sequential"};
    profile::ProfileBuilder builder;
    std::vector<int> depths = {0};
    std::vector<std::string> paths = {""};
    const int root = builder.addScope(-1, profile::ScopeKind::Module, "Model", "", "Model", 0);
    std::vector<int> modules = {root};
    for (int i = 1; i < count; ++i) {
        // Mostly below a recent module, so that trees become deep as well as wide.
        const std::size_t reach = random() % 4 == 0 ? modules.size() : std::min<std::size_t>(modules.size(), 64);
        const int parent = modules[modules.size() - 1 - random() % reach];
        const int depth = depths[static_cast<std::size_t>(parent)] + 1;
        const bool isOperator = random() % 2 == 0 || depth >= maxDepth;
        const std::string& parentPath = paths[static_cast<std::size_t>(parent)];
        const std::string name = isOperator ? "aten::op" + std::to_string(random() % 40) : std::to_string(random() % 12);
        const std::string path = isOperator ? parentPath : parentPath.empty() ? name : parentPath.substr(0, 24) + "." + name;
        const int scope = builder.addScope(parent, isOperator ? profile::ScopeKind::Operator : profile::ScopeKind::Module, name,
                                           path, isOperator ? "" : classes[random() % classes.size()], 0);
        depths.push_back(depth);
        paths.push_back(path);
        if (!isOperator) {
            modules.push_back(scope);
        }
        const std::int64_t base = 1 + static_cast<std::int64_t>(random() % 1000);
        const std::int64_t nanoseconds = random() % 100 == 0 ? base * 300 : base;
        builder.addSelf(scope, "latency", Direction::Forward, isOperator ? nanoseconds : nanoseconds / 50);
        builder.addSelf(scope, "latency", Direction::Backward, isOperator ? 2 * nanoseconds : 0);
        builder.addSelf(scope, "flops", Direction::Forward, isOperator ? nanoseconds * 1000 : 0);
        builder.addSelf(scope, "bytes", Direction::Forward, isOperator ? nanoseconds * 64 : 0);
        builder.addSelf(scope, "parameters", Direction::Forward, isOperator ? 0 : base * 4);
        builder.addSelf(scope, "activation", Direction::Forward, isOperator ? base * 16 : 0);
        builder.addSelf(scope, "peak", Direction::Forward, isOperator ? base : 0);
    }
    return builder.build().value();
}

} // namespace modulelens::test
