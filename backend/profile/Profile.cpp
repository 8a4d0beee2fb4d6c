// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/profile/Profile.h"

#include "backend/base/Guarded.h"

#include <algorithm>
#include <array>

namespace modulelens::profile {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

const std::array<Metric, 10> kMetrics = {{
    {"latency", "ns", Combine::Sum},
    {"flops", "flops", Combine::Sum},
    {"bytes", "bytes", Combine::Sum},
    {"parameters", "bytes", Combine::Union},
    {"activation", "bytes", Combine::Sum},
    {"peak", "bytes", Combine::Sum},
    {"high_water", "bytes", Combine::Max},
    {"buffers", "bytes", Combine::Union},
    {"gradients", "bytes", Combine::Union},
    {"training_peak", "bytes", Combine::Sum},
}};

constexpr int kDepthLimit = std::numeric_limits<std::int16_t>::max();

Error invalid(std::string message) {
    return Error{ErrorCode::InvalidArgument, std::move(message), ""};
}

std::string columnName(const Column& column) {
    return column.metric + (column.direction == Direction::Forward ? " forward" : " backward");
}

Result<void> checkLengths(const ProfileParts& parts) {
    const std::size_t count = parts.parent.size();
    if (count == 0) {
        return invalid("a profile needs at least its root scope");
    }
    if (count > static_cast<std::size_t>(std::numeric_limits<ScopeId>::max())) {
        return invalid("a profile holds at most 2^31 - 1 scopes");
    }
    if (parts.kind.size() != count || parts.call.size() != count || parts.name.size() != count || parts.path.size() != count ||
        parts.className.size() != count) {
        return invalid("the arrays of scopes differ in length");
    }
    for (const Column& column : parts.columns) {
        if (column.self.size() != count) {
            return invalid("column " + columnName(column) + " does not have one value per scope");
        }
    }
    return {};
}

Result<void> checkTexts(const ProfileParts& parts) {
    std::uint32_t end = 0;
    for (const std::uint32_t textEnd : parts.textEnds) {
        if (textEnd < end || textEnd > parts.texts.size()) {
            return invalid("a string offset is out of range");
        }
        end = textEnd;
    }
    const auto textCount = static_cast<std::int64_t>(parts.textEnds.size());
    for (const std::vector<std::int32_t>* ids : {&parts.name, &parts.path, &parts.className}) {
        const auto bad = std::find_if(ids->begin(), ids->end(), [&](std::int32_t id) { return id < 0 || id >= textCount; });
        if (bad != ids->end()) {
            return invalid("scope " + std::to_string(bad - ids->begin()) + " names string " + std::to_string(*bad) +
                           ", which does not exist");
        }
    }
    return {};
}

Result<void> deriveTotals(Column& column, const std::vector<ScopeId>& parent) {
    const Metric* metric = findMetric(column.metric);
    if (metric == nullptr) {
        return invalid("metric '" + column.metric + "' is not known");
    }
    column.total = column.self;
    for (std::size_t i = column.total.size(); i-- > 0;) {
        const std::int64_t value = column.total[i];
        if (value < 0 && value != kUnknown) {
            return invalid("column " + columnName(column) + " has a negative value at scope " + std::to_string(i));
        }
        if (i == 0 || value == kUnknown) {
            continue;
        }
        std::int64_t& above = column.total[static_cast<std::size_t>(parent[i])];
        if (above == kUnknown) {
            above = value;
        } else if (metric->combine == Combine::Max) {
            above = std::max(above, value);
        } else if (above < 0 || __builtin_add_overflow(above, value, &above)) {
            return invalid("column " + columnName(column) + " has a negative value or a total beyond 2^63 at scope " +
                           std::to_string(parent[i]));
        }
    }
    return {};
}

} // namespace

std::span<const Metric> knownMetrics() {
    return kMetrics;
}

const Metric* findMetric(std::string_view id) {
    const auto found = std::find_if(kMetrics.begin(), kMetrics.end(), [&](const Metric& metric) { return metric.id == id; });
    return found == kMetrics.end() ? nullptr : &*found;
}

Result<std::shared_ptr<const Profile>> Profile::create(ProfileParts parts) {
    return base::guarded("building a profile", [&]() -> Result<std::shared_ptr<const Profile>> {
        if (const Result<void> lengths = checkLengths(parts); !lengths) {
            return lengths.error();
        }
        if (const Result<void> texts = checkTexts(parts); !texts) {
            return texts.error();
        }
        auto profile = std::shared_ptr<Profile>(new Profile);
        const std::size_t count = parts.parent.size();
        profile->m_end.resize(count);
        profile->m_depth.resize(count);
        std::vector<ScopeId> open; // The path from the root to the scope before the current one.
        for (std::size_t i = 0; i < count; ++i) {
            const ScopeId parent = parts.parent[i];
            const auto scope = static_cast<ScopeId>(i);
            while (!open.empty() && open.back() != parent) {
                profile->m_end[static_cast<std::size_t>(open.back())] = scope;
                open.pop_back();
            }
            if (i == 0 ? parent != -1 : open.empty()) {
                return invalid("scope " + std::to_string(i) + " has parent " + std::to_string(parent) +
                               ", which is not preorder");
            }
            if (open.size() > kDepthLimit) {
                return invalid("the tree of scopes is deeper than " + std::to_string(kDepthLimit));
            }
            profile->m_depth[i] = static_cast<std::int16_t>(open.size());
            open.push_back(scope);
        }
        for (const ScopeId scope : open) {
            profile->m_end[static_cast<std::size_t>(scope)] = static_cast<ScopeId>(count);
        }
        for (std::size_t i = 0; i < parts.columns.size(); ++i) {
            Column& column = parts.columns[i];
            for (std::size_t j = 0; j < i; ++j) {
                if (parts.columns[j].metric == column.metric && parts.columns[j].direction == column.direction) {
                    return invalid("column " + columnName(column) + " is there twice");
                }
            }
            if (const Result<void> totals = deriveTotals(column, parts.parent); !totals) {
                return totals.error();
            }
        }
        profile->m_parts = std::move(parts);
        return std::shared_ptr<const Profile>(std::move(profile));
    });
}

std::string_view Profile::text(std::int32_t id) const {
    const std::uint32_t begin = id == 0 ? 0 : m_parts.textEnds[index(id - 1)];
    return std::string_view(m_parts.texts).substr(begin, m_parts.textEnds[index(id)] - begin);
}

const Column* Profile::column(std::string_view metric, Direction direction) const {
    const auto found = std::find_if(m_parts.columns.begin(), m_parts.columns.end(), [&](const Column& column) {
        return column.direction == direction && column.metric == metric;
    });
    return found == m_parts.columns.end() ? nullptr : &*found;
}

std::size_t Profile::memoryBytes() const {
    const auto held = [](const auto& values) { return values.capacity() * sizeof(values[0]); };
    std::size_t bytes = held(m_parts.parent) + held(m_parts.kind) + held(m_parts.call) + held(m_parts.name) +
                        held(m_parts.path) + held(m_parts.className) + held(m_parts.texts) + held(m_parts.textEnds) +
                        held(m_end) + held(m_depth);
    for (const Column& column : m_parts.columns) {
        bytes += held(column.self) + held(column.total) + held(column.samples);
    }
    return bytes;
}

} // namespace modulelens::profile
