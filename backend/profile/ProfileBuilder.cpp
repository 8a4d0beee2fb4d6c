// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Guarded.h"
#include "backend/profile/Preorder.h"
#include "backend/profile/Profile.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace modulelens::profile {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

struct TextHash {
    using is_transparent = void; // NOLINT(readability-identifier-naming): the standard library asks for this name.
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

} // namespace

struct ProfileBuilder::Data {
    ProfileParts parts;
    std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> textIds;
    std::vector<bool> unknownWhereUnset; ///< By column.
    std::string fault;                   ///< The first misuse, reported by build().

    std::int32_t intern(std::string_view text) {
        const auto found = textIds.find(text);
        if (found != textIds.end()) {
            return found->second;
        }
        if (parts.texts.size() + text.size() > std::numeric_limits<std::uint32_t>::max()) {
            note("the names of the scopes are longer than 4 GiB in all");
            return 0;
        }
        const auto id = static_cast<std::int32_t>(parts.textEnds.size());
        parts.texts.append(text);
        parts.textEnds.push_back(static_cast<std::uint32_t>(parts.texts.size()));
        textIds.emplace(text, id);
        return id;
    }

    std::size_t columnIndex(std::string_view metric, Direction direction) {
        const auto found = std::find_if(parts.columns.begin(), parts.columns.end(), [&](const Column& column) {
            return column.direction == direction && column.metric == metric;
        });
        if (found != parts.columns.end()) {
            return static_cast<std::size_t>(found - parts.columns.begin());
        }
        parts.columns.push_back(Column{std::string(metric), direction, {}, {}, {}});
        unknownWhereUnset.push_back(false);
        return parts.columns.size() - 1;
    }

    void note(std::string message) {
        if (fault.empty()) {
            fault = std::move(message);
        }
    }
};

ProfileBuilder::ProfileBuilder() : m_data(std::make_unique<Data>()) {}

ProfileBuilder::~ProfileBuilder() = default;

ProfileBuilder::ProfileBuilder(ProfileBuilder&&) noexcept = default;

ProfileBuilder& ProfileBuilder::operator=(ProfileBuilder&&) noexcept = default;

int ProfileBuilder::addScope(int parent, ScopeKind kind, std::string_view name, std::string_view path,
                             std::string_view className, int call) {
    ProfileParts& parts = m_data->parts;
    const auto handle = static_cast<int>(parts.parent.size());
    if (handle == 0 ? parent != -1 : parent < 0 || parent >= handle) {
        m_data->note("scope '" + std::string(name) + "' was added below scope " + std::to_string(parent) +
                     ", which does not exist");
        parent = handle == 0 ? -1 : 0;
    }
    parts.parent.push_back(parent);
    parts.kind.push_back(kind);
    parts.call.push_back(call);
    parts.name.push_back(m_data->intern(name));
    parts.path.push_back(m_data->intern(path));
    parts.className.push_back(m_data->intern(className));
    return handle;
}

void ProfileBuilder::addSelf(int scope, std::string_view metric, Direction direction, std::int64_t value) {
    const Metric* known = findMetric(metric);
    if (known == nullptr) {
        m_data->note("metric '" + std::string(metric) + "' is not known");
        return;
    }
    if (scope < 0 || static_cast<std::size_t>(scope) >= m_data->parts.parent.size()) {
        m_data->note("a value of " + known->id + " was given to scope " + std::to_string(scope) + ", which does not exist");
        return;
    }
    if (value < 0) {
        m_data->note("a negative value of " + known->id + " was given to scope " + std::to_string(scope));
        return;
    }
    std::vector<std::int64_t>& self = m_data->parts.columns[m_data->columnIndex(metric, direction)].self;
    if (self.size() <= static_cast<std::size_t>(scope)) {
        self.resize(m_data->parts.parent.size(), kUnknown);
    }
    std::int64_t& own = self[static_cast<std::size_t>(scope)];
    if (own == kUnknown) {
        own = value;
    } else if (known->combine == Combine::Max) {
        own = std::max(own, value);
    } else if (__builtin_add_overflow(own, value, &own)) {
        own = 0;
        m_data->note("the value of " + known->id + " at scope " + std::to_string(scope) + " exceeds 2^63");
    }
}

void ProfileBuilder::markUnknownWhereUnset(std::string_view metric, Direction direction) {
    m_data->unknownWhereUnset[m_data->columnIndex(metric, direction)] = true;
}

void ProfileBuilder::setSamples(std::string_view metric, Direction direction, std::vector<std::int64_t> samples) {
    m_data->parts.columns[m_data->columnIndex(metric, direction)].samples = std::move(samples);
}

void ProfileBuilder::setCoverage(CoverageLists coverage) {
    m_data->parts.coverage = std::move(coverage);
}

void ProfileBuilder::setFact(std::string_view key, std::string_view value) {
    m_data->parts.facts.insert_or_assign(std::string(key), std::string(value));
}

Result<std::shared_ptr<const Profile>> ProfileBuilder::build() {
    return base::guarded("building a profile", [&]() -> Result<std::shared_ptr<const Profile>> {
        if (!m_data->fault.empty()) {
            return Error{ErrorCode::InvalidArgument, m_data->fault, ""};
        }
        ProfileParts parts = std::move(m_data->parts);
        if (parts.parent.empty()) {
            return Error{ErrorCode::InvalidArgument, "a profile needs at least its root scope", ""};
        }
        for (std::size_t i = 0; i < parts.columns.size(); ++i) {
            std::vector<std::int64_t>& self = parts.columns[i].self;
            self.resize(parts.parent.size(), kUnknown);
            if (!m_data->unknownWhereUnset[i]) {
                std::replace(self.begin(), self.end(), kUnknown, std::int64_t{0});
            }
        }
        [[maybe_unused]] const std::vector<ScopeId> newIds = toPreorder(parts);
        parts.parent.shrink_to_fit();
        parts.kind.shrink_to_fit();
        for (std::vector<std::int32_t>* values : {&parts.call, &parts.name, &parts.path, &parts.className}) {
            values->shrink_to_fit();
        }
        for (Column& column : parts.columns) {
            column.self.shrink_to_fit();
        }
        return Profile::create(std::move(parts));
    });
}

} // namespace modulelens::profile
