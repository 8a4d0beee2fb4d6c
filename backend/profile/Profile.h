// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::profile {

/// Index of a scope: dense, in preorder (a parent before its children, a subtree contiguous).
using ScopeId = std::int32_t;

/// How values of a metric combine over the tree (DESIGN §7). Sum: totals add up. Union: bytes of distinct storages, counted
/// where each is first reached, so they add up as well. Max: the total is the largest value in the subtree. Only Sum and Union
/// metrics give widths.
enum class Combine : std::uint8_t { Sum, Union, Max };

enum class Direction : std::uint8_t { Forward, Backward };

enum class ScopeKind : std::uint8_t {
    Module,          ///< A module call.
    Operator,        ///< A dispatcher operator called by its parent module.
    Unattributed,    ///< What no child explains, as a row of its own.
};

/// A metric and its rule. Ids are stable: "latency", "flops", "bytes", "parameters", "activation" (saved for backward), "peak"
/// (bytes alive at the run's peak, by the scope that allocated them, which add up), "high_water" (the most that was alive
/// while the scope ran, which does not), "buffers", "gradients" (storage, as "parameters"), "training_peak" (as "peak", of
/// forward and backward together).
struct Metric {
    std::string id;
    std::string unit;                 ///< "ns", "flops", "bytes".
    Combine combine = Combine::Sum;
};

/// The metrics of every profile, in the order in which they are shown. A new metric is a new row here.
[[nodiscard]] std::span<const Metric> knownMetrics();
[[nodiscard]] const Metric* findMetric(std::string_view id);

/// "Not measured", distinct from 0, in columns.
inline constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

/// One metric in one direction: a value for each scope, kUnknown where nothing is known.
struct Column {
    std::string metric;
    Direction direction = Direction::Forward;
    std::vector<std::int64_t> self;
    std::vector<std::int64_t> total;           ///< Derived from self by the metric's rule.
    std::vector<std::int64_t> samples;         ///< Raw samples of the whole (root total per repetition); may be empty.
};

/// FLOP coverage of the profile.
struct CoverageLists {
    std::vector<std::string> counted;
    std::vector<std::string> zero;
    std::vector<std::string> unknown;
};

/// The arrays of a profile before they are checked: scopes in preorder, one entry per scope in each array. `total` of a
/// column is ignored, since it is derived.
struct ProfileParts {
    std::vector<ScopeId> parent;
    std::vector<ScopeKind> kind;
    std::vector<std::int32_t> call;
    std::vector<std::int32_t> name;            ///< Text ids.
    std::vector<std::int32_t> path;
    std::vector<std::int32_t> className;
    std::string texts;                         ///< All texts after one another; text i ends at textEnds[i].
    std::vector<std::uint32_t> textEnds;
    std::vector<Column> columns;
    CoverageLists coverage;
    std::map<std::string, std::string> facts;
};

/// One immutable tree of scopes with metric columns. Build with ProfileBuilder, read with readProfile.
/// Immutable after construction; shared between threads as std::shared_ptr<const Profile>.
class Profile {
public:
    /// Checks `parts` and derives ends, depths and totals. InvalidArgument: no scope, arrays of different lengths, a parent out
    /// of preorder, a tree deeper than 32767, a text id out of range, an unknown metric, a column twice, a negative value,
    /// a total that overflows. The message names the scope or column.
    [[nodiscard]] static base::Result<std::shared_ptr<const Profile>> create(ProfileParts parts);

    [[nodiscard]] ScopeId scopeCount() const { return static_cast<ScopeId>(m_parts.parent.size()); }
    /// -1 for the root, which is scope 0.
    [[nodiscard]] ScopeId parent(ScopeId scope) const { return m_parts.parent[index(scope)]; }
    /// One past the last scope of the subtree. Children of s: c = s + 1, then c = subtreeEnd(c), while c < subtreeEnd(s).
    [[nodiscard]] ScopeId subtreeEnd(ScopeId scope) const { return m_end[index(scope)]; }
    [[nodiscard]] bool hasChildren(ScopeId scope) const { return subtreeEnd(scope) > scope + 1; }
    /// True when `scope` is `ancestor` or below it.
    [[nodiscard]] bool isInside(ScopeId scope, ScopeId ancestor) const {
        return scope >= ancestor && scope < subtreeEnd(ancestor);
    }
    [[nodiscard]] int depth(ScopeId scope) const { return m_depth[index(scope)]; }
    [[nodiscard]] ScopeKind kind(ScopeId scope) const { return m_parts.kind[index(scope)]; }
    [[nodiscard]] int call(ScopeId scope) const { return m_parts.call[index(scope)]; }
    /// Last segment of the module's name, or the operator's name ("aten::addmm"). The root's name is the module's class.
    [[nodiscard]] std::string_view name(ScopeId scope) const { return text(nameId(scope)); }
    /// Module name relative to the profiled module ("" for the root); for an operator its module's.
    [[nodiscard]] std::string_view path(ScopeId scope) const { return text(pathId(scope)); }
    /// Class name for modules ("BertLayer" qualified as captured), empty for operators.
    [[nodiscard]] std::string_view className(ScopeId scope) const { return text(classId(scope)); }
    /// String ids: equal ids are equal texts; compare these, not texts.
    [[nodiscard]] std::int32_t nameId(ScopeId scope) const { return m_parts.name[index(scope)]; }
    [[nodiscard]] std::int32_t pathId(ScopeId scope) const { return m_parts.path[index(scope)]; }
    [[nodiscard]] std::int32_t classId(ScopeId scope) const { return m_parts.className[index(scope)]; }
    [[nodiscard]] std::string_view text(std::int32_t id) const;
    [[nodiscard]] std::int32_t textCount() const { return static_cast<std::int32_t>(m_parts.textEnds.size()); }

    [[nodiscard]] std::span<const Column> columns() const { return m_parts.columns; }
    /// Null when the profile has no such column: the metric is unknown everywhere.
    [[nodiscard]] const Column* column(std::string_view metric, Direction direction) const;
    [[nodiscard]] const CoverageLists& coverage() const { return m_parts.coverage; }
    /// Free text facts ("device", "threads", "torch", "engine", "repetitions", "mode", ...). The fact "unknown.<metric>" is
    /// one sentence that says why the profile has no column of that metric.
    [[nodiscard]] const std::map<std::string, std::string>& facts() const { return m_parts.facts; }
    /// The arrays as they are stored.
    [[nodiscard]] const ProfileParts& parts() const { return m_parts; }
    /// Bytes of memory that the profile holds.
    [[nodiscard]] std::size_t memoryBytes() const;

private:
    Profile() = default;
    [[nodiscard]] static std::size_t index(ScopeId scope) { return static_cast<std::size_t>(scope); }

    ProfileParts m_parts;
    std::vector<ScopeId> m_end;
    std::vector<std::int16_t> m_depth;
};

/// Builds a Profile scope by scope. Scopes may be added in any order as long as a parent is added before its child and
/// siblings in execution order; build() renumbers to preorder. Confined to its thread.
class ProfileBuilder {
public:
    ProfileBuilder();
    ~ProfileBuilder();
    ProfileBuilder(ProfileBuilder&&) noexcept;
    ProfileBuilder& operator=(ProfileBuilder&&) noexcept;

    /// Adds a scope and returns its handle for this builder. `parent` is -1 for the root, which comes first and only once.
    [[nodiscard]] int addScope(int parent, ScopeKind kind, std::string_view name, std::string_view path,
                               std::string_view className, int call);
    /// Adds to the self value of a metric (Sum, Union), or raises it (Max). Once set, the value is known. Not negative.
    void addSelf(int scope, std::string_view metric, Direction direction, std::int64_t value);
    /// Declares a column that stays kUnknown where addSelf is never called; without it unset scopes of a used column are 0.
    void markUnknownWhereUnset(std::string_view metric, Direction direction);
    void setSamples(std::string_view metric, Direction direction, std::vector<std::int64_t> samples);
    void setCoverage(CoverageLists coverage);
    void setFact(std::string_view key, std::string_view value);

    /// Derives totals and returns the profile. InvalidArgument: no root, a parent or scope that was not added, a total that
    /// overflows, a negative value, an unknown metric id. Requires: called once.
    [[nodiscard]] base::Result<std::shared_ptr<const Profile>> build();

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

}  // namespace modulelens::profile
