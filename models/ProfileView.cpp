// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/ProfileView.h"

#include "models/Format.h"

#include <algorithm>

namespace modulelens::models {

using profile::Aggregation;
using profile::Column;
using profile::Grouping;
using profile::Profile;
using profile::ScopeId;
using profile::ScopeKind;

namespace {

std::int64_t at(const std::vector<std::int64_t>& values, ScopeId scope) {
    return values[static_cast<std::size_t>(scope)];
}

std::optional<std::int64_t> sumOf(const Column* forward, const Column* backward, ScopeId scope,
                                  std::vector<std::int64_t> Column::* values) {
    std::optional<std::int64_t> sum;
    for (const Column* column : {forward, backward}) {
        if (column != nullptr && at(column->*values, scope) != profile::kUnknown) {
            const std::int64_t value = at(column->*values, scope);
            if (!sum) {
                sum = value;
            } else if (profile::findMetric(column->metric)->combine == profile::Combine::Max) {
                sum = std::max(*sum, value);
            } else if (__builtin_add_overflow(*sum, value, &*sum)) {
                sum = std::numeric_limits<std::int64_t>::max();
            }
        }
    }
    return sum;
}

QString fromView(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace

ProfileView::ProfileView(QObject* parent) : QObject(parent) {}

ProfileView::~ProfileView() = default;

bool ProfileView::isScope(ScopeId scope) const {
    return m_shown.profile != nullptr && scope >= 0 && scope < m_shown.profile->scopeCount();
}

void ProfileView::setProfile(std::shared_ptr<const Profile> source) {
    if (source == m_source) {
        return;
    }
    m_source = std::move(source);
    if (m_source == nullptr) {
        show({}, false);
        return;
    }
    base::Result<Aggregation> shown = profile::aggregate(m_source, m_grouping);
    show(shown ? std::move(shown).value() : Aggregation{m_source, {}, {}, {}}, false);
}

void ProfileView::setGrouping(Grouping grouping) {
    if (grouping == m_grouping) {
        return;
    }
    m_grouping = grouping;
    if (m_source == nullptr) {
        return;
    }
    base::Result<Aggregation> shown = profile::aggregate(m_source, m_grouping);
    show(shown ? std::move(shown).value() : Aggregation{m_source, {}, {}, {}}, true);
}

ScopeId ProfileView::findEqual(const Profile& before, ScopeId scope) const {
    if (scope < 0 || m_shown.profile == nullptr) {
        return kNoScope;
    }
    const Profile& now = *m_shown.profile;
    for (ScopeId candidate = 0; candidate < now.scopeCount(); ++candidate) {
        if (now.kind(candidate) == before.kind(scope) && now.call(candidate) == before.call(scope) &&
            now.path(candidate) == before.path(scope) && now.name(candidate) == before.name(scope)) {
            return candidate;
        }
    }
    return kNoScope;
}

void ProfileView::show(Aggregation shown, bool isSameSource) {
    const Aggregation before = std::move(m_shown);
    m_shown = std::move(shown);
    const auto moved = [&](ScopeId scope) -> ScopeId {
        if (scope < 0 || before.profile == nullptr || m_shown.profile == nullptr) {
            return kNoScope;
        }
        if (isSameSource) {
            const ScopeId first = before.first.empty() ? scope : before.first[static_cast<std::size_t>(scope)];
            return shownScope(first);
        }
        return findEqual(*before.profile, scope);
    };
    m_selection = moved(m_selection);
    m_hovered = kNoScope;
    m_zoomRoot = std::max<ScopeId>(0, moved(m_zoomRoot));
    m_history = {m_zoomRoot};
    m_historyAt = 0;
    m_knownColumns.clear();
    if (m_shown.profile != nullptr) {
        for (const Column& column : m_shown.profile->columns()) {
            if (at(column.total, 0) != profile::kUnknown) {
                m_knownColumns.push_back(&column);
            }
        }
    }
    chooseMetric();
    readColumns();
    runSearch();
    emit profileChanged();
    emit valuesChanged();
    emit selectionChanged();
    emit zoomChanged();
    emit searchChanged();
}

int ProfileView::members(ScopeId scope) const {
    return m_shown.members.empty() ? 1 : m_shown.members[static_cast<std::size_t>(scope)];
}

ScopeId ProfileView::sourceScope(ScopeId shown) const {
    return m_shown.first.empty() ? shown : m_shown.first[static_cast<std::size_t>(shown)];
}

ScopeId ProfileView::shownScope(ScopeId source) const {
    return m_shown.groupOf.empty() ? source : m_shown.groupOf[static_cast<std::size_t>(source)];
}

const Column* ProfileView::knownColumn(std::string_view metric, profile::Direction direction) const {
    const auto found = std::find_if(m_knownColumns.begin(), m_knownColumns.end(), [&](const Column* column) {
        return column->direction == direction && column->metric == metric;
    });
    return found == m_knownColumns.end() ? nullptr : *found;
}

void ProfileView::chooseMetric() {
    if (m_isMetricChosen || m_shown.profile == nullptr) {
        return;
    }
    m_metric = "latency";
    for (const profile::Metric& metric : profile::knownMetrics()) {
        if (knownColumn(metric.id, profile::Direction::Forward) != nullptr) {
            m_metric = metric.id;
            return;
        }
    }
}

void ProfileView::readColumns() {
    m_forward = m_direction == Direction::Backward ? nullptr : knownColumn(m_metric, profile::Direction::Forward);
    m_backward = m_direction == Direction::Forward ? nullptr : knownColumn(m_metric, profile::Direction::Backward);
    m_hotspot = kNoScope;
    if (isKnown() && givesWidths()) {
        std::int64_t most = 0;
        for (ScopeId scope = 0; scope < m_shown.profile->scopeCount(); ++scope) {
            const std::int64_t own = self(scope).value_or(0);
            if (own > most && m_shown.profile->kind(scope) != ScopeKind::Unattributed) {
                most = own;
                m_hotspot = scope;
            }
        }
    }
    rebuildOrder();
}

void ProfileView::rebuildOrder() {
    if (m_shown.profile == nullptr) {
        m_childOrder.reset();
        return;
    }
    profile::ChildOrder::Before before;
    if (m_order == Order::Heaviest && isKnown()) {
        // Unknown counts as nothing here, and no total exceeds 2^63, so a sum of two fits an unsigned number.
        const auto weight = [forward = m_forward, backward = m_backward](ScopeId scope) {
            std::uint64_t sum = 0;
            for (const Column* column : {forward, backward}) {
                sum += column == nullptr ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(0, at(column->total, scope)));
            }
            return sum;
        };
        // What no child explains stands last, however much it is: it is not a candidate for work.
        const auto isRest = [shown = m_shown.profile.get()](ScopeId scope) {
            return shown->kind(scope) == ScopeKind::Unattributed;
        };
        before = [weight, isRest](ScopeId left, ScopeId right) {
            return isRest(left) != isRest(right) ? isRest(right) : weight(left) > weight(right);
        };
    }
    m_childOrder = std::make_unique<profile::ChildOrder>(m_shown.profile, std::move(before));
}

bool ProfileView::givesWidths() const {
    const profile::Metric* metric = profile::findMetric(m_metric);
    return metric != nullptr && metric->combine != profile::Combine::Max;
}

QString ProfileView::unknownSentence() const {
    if (isKnown() || m_shown.profile == nullptr) {
        return {};
    }
    const QString title = metricTitle(m_metric);
    const auto reason = m_shown.profile->facts().find("unknown." + m_metric);
    if (reason != m_shown.profile->facts().end()) {
        return tr("%1 is unknown: %2").arg(title, fromView(reason->second));
    }
    if (m_direction != Direction::Both &&
        knownColumn(m_metric, m_direction == Direction::Forward ? profile::Direction::Backward : profile::Direction::Forward) !=
            nullptr) {
        return m_direction == Direction::Backward ? tr("%1 of the backward pass is unknown: it was not run").arg(title)
                                                  : tr("%1 of the forward pass is unknown: it was not run").arg(title);
    }
    const auto mode = m_shown.profile->facts().find("mode");
    if (mode != m_shown.profile->facts().end() && mode->second == "static") {
        return tr("%1 is unknown: these numbers were counted before a run; profile the version to measure it").arg(title);
    }
    return tr("%1 is unknown: this profile did not measure it").arg(title);
}

std::optional<std::int64_t> ProfileView::total(ScopeId scope) const {
    return sumOf(m_forward, m_backward, scope, &Column::total);
}

std::optional<std::int64_t> ProfileView::self(ScopeId scope) const {
    return sumOf(m_forward, m_backward, scope, &Column::self);
}

std::optional<std::int64_t> ProfileView::value(ScopeId scope) const {
    return m_share == Share::Self ? self(scope) : total(scope);
}

std::optional<std::int64_t> ProfileView::totalOf(std::string_view metric, ScopeId scope) const {
    return sumOf(m_direction == Direction::Backward ? nullptr : knownColumn(metric, profile::Direction::Forward),
                 m_direction == Direction::Forward ? nullptr : knownColumn(metric, profile::Direction::Backward), scope,
                 &Column::total);
}

QString ProfileView::hotspotSentence() const {
    if (m_hotspot == kNoScope) {
        return {};
    }
    const std::int64_t own = self(m_hotspot).value_or(0);
    const std::int64_t whole = std::max<std::int64_t>(1, total(0).value_or(1));
    const QString value = formatMetric(profile::findMetric(m_metric)->unit, own);
    const QString share = formatShare(static_cast<double>(own) / static_cast<double>(whole));
    const QString name = displayName(m_hotspot);
    const std::string_view path = m_shown.profile->path(m_hotspot);
    if (m_shown.profile->kind(m_hotspot) == ScopeKind::Operator && m_grouping != Grouping::Operator && !path.empty()) {
        return tr("Heaviest self: %1 in %2, %3, %4").arg(name, fromView(path), value, share);
    }
    return tr("Heaviest self: %1, %2, %3")
        .arg(path.empty() || m_grouping == Grouping::Operator ? name : fromView(path), value, share);
}

QString ProfileView::displayName(ScopeId scope) const {
    const Profile& shown = *m_shown.profile;
    if (shown.kind(scope) == ScopeKind::Unattributed && shown.name(scope).empty()) {
        return tr("not in any child");
    }
    if (shown.kind(scope) == ScopeKind::Module && shown.nameId(scope) == shown.classId(scope)) {
        return bareClassName(shown.name(scope));
    }
    return scope == 0 ? bareClassName(shown.name(scope)) : fromView(shown.name(scope));
}

std::vector<ScopeId> ProfileView::pathTo(ScopeId scope) const {
    std::vector<ScopeId> path;
    for (; isScope(scope); scope = m_shown.profile->parent(scope)) {
        path.push_back(scope);
    }
    std::reverse(path.begin(), path.end());
    return path;
}

void ProfileView::setMetric(const std::string& metric) {
    if (profile::findMetric(metric) == nullptr) {
        return;
    }
    m_isMetricChosen = true;
    if (metric == m_metric) {
        return;
    }
    m_metric = metric;
    readColumns();
    emit valuesChanged();
}

void ProfileView::setDirection(Direction direction) {
    if (direction == m_direction) {
        return;
    }
    m_direction = direction;
    readColumns();
    emit valuesChanged();
}

void ProfileView::setShare(Share share) {
    if (share == m_share) {
        return;
    }
    m_share = share;
    emit valuesChanged();
}

void ProfileView::setOrder(Order order) {
    if (order == m_order) {
        return;
    }
    m_order = order;
    rebuildOrder();
    emit orderChanged();
}

void ProfileView::select(ScopeId scope) {
    if (scope == m_selection || (scope != kNoScope && !isScope(scope))) {
        return;
    }
    m_selection = scope;
    emit selectionChanged();
}

void ProfileView::hover(ScopeId scope) {
    if (scope == m_hovered || (scope != kNoScope && !isScope(scope))) {
        return;
    }
    m_hovered = scope;
    emit hoverChanged();
}

void ProfileView::zoomTo(ScopeId scope) {
    if (scope == m_zoomRoot || !isScope(scope)) {
        return;
    }
    m_zoomRoot = scope;
    m_history.resize(m_historyAt + 1);
    m_history.push_back(scope);
    ++m_historyAt;
    emit zoomChanged();
}

void ProfileView::zoomUp() {
    if (isScope(m_zoomRoot) && m_zoomRoot != 0) {
        zoomTo(m_shown.profile->parent(m_zoomRoot));
    }
}

void ProfileView::goBack() {
    if (canGoBack()) {
        m_zoomRoot = m_history[--m_historyAt];
        emit zoomChanged();
    }
}

void ProfileView::goForward() {
    if (canGoForward()) {
        m_zoomRoot = m_history[++m_historyAt];
        emit zoomChanged();
    }
}

void ProfileView::setSearchText(const QString& text) {
    if (text == m_searchText) {
        return;
    }
    m_searchText = text;
    runSearch();
    emit searchChanged();
}

void ProfileView::runSearch() {
    m_searchResult = isSearching() && m_shown.profile != nullptr ? profile::search(*m_shown.profile, m_searchText.toStdString())
                                                                 : profile::SearchResult();
}

std::optional<double> ProfileView::matchedShare() const {
    if (!isKnown() || !givesWidths()) {
        return std::nullopt;
    }
    double matched = 0;
    for (const Column* column : {m_forward, m_backward}) {
        if (column != nullptr) {
            matched += static_cast<double>(profile::matchedTotal(m_searchResult, *column));
        }
    }
    const std::int64_t whole = total(0).value_or(0);
    return whole > 0 ? std::optional(matched / static_cast<double>(whole)) : std::nullopt;
}

int ProfileView::currentMatch() const {
    const std::vector<ScopeId>& matches = m_searchResult.matches();
    const auto found = std::lower_bound(matches.begin(), matches.end(), m_selection);
    return found != matches.end() && *found == m_selection ? static_cast<int>(found - matches.begin()) : -1;
}

void ProfileView::stepMatch(int by) {
    const std::vector<ScopeId>& matches = m_searchResult.matches();
    if (matches.empty()) {
        return;
    }
    const auto count = static_cast<int>(matches.size());
    int next = 0;
    if (const int current = currentMatch(); current >= 0) {
        next = (current + by + count) % count;
    } else {
        const auto after = std::upper_bound(matches.begin(), matches.end(), m_selection);
        next = (static_cast<int>(after - matches.begin()) + (by > 0 ? 0 : -1) + count) % count;
    }
    select(matches[static_cast<std::size_t>(next)]);
}

void ProfileView::selectNextMatch() {
    stepMatch(1);
}

void ProfileView::selectPreviousMatch() {
    stepMatch(-1);
}

} // namespace modulelens::models
