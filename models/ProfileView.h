// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/profile/Aggregate.h"
#include "backend/profile/ChildOrder.h"
#include "backend/profile/Profile.h"
#include "backend/profile/Search.h"

#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::models {

/// What the views of one profile show together: the metric and its direction, the grouping, the order, one selection, one
/// hover, one zoom and one search. Flame graph, metric tree and strips hold a pointer to it and follow its signals.
/// Scope ids are those of profile(), which changes with profileChanged(). Confined to its thread.
class ProfileView : public QObject {
    Q_OBJECT

public:
    using ScopeId = profile::ScopeId;

    enum class Direction { Forward, Backward, Both };
    enum class Share { Total, Self };
    enum class Order { Heaviest, Time };

    static constexpr ScopeId kNoScope = -1;

    explicit ProfileView(QObject* parent = nullptr);
    ~ProfileView() override;

    /// Shows another profile, or none for null. Selection and zoom stay on the scope of the same name and path when there is
    /// one. Until setMetric() was called the first metric that is known is shown.
    void setProfile(std::shared_ptr<const profile::Profile> source);
    /// The profile as it was set; null when there is none.
    [[nodiscard]] const std::shared_ptr<const profile::Profile>& source() const { return m_source; }
    /// The profile as it is shown: grouped as grouping() says. Null when there is none.
    [[nodiscard]] const std::shared_ptr<const profile::Profile>& profile() const { return m_shown.profile; }
    /// How many scopes of source() a shown scope stands for.
    [[nodiscard]] int members(ScopeId scope) const;
    /// The scope of source() that a shown scope stands for first, and back.
    [[nodiscard]] ScopeId sourceScope(ScopeId shown) const;
    [[nodiscard]] ScopeId shownScope(ScopeId source) const;

    [[nodiscard]] const std::string& metric() const { return m_metric; }
    [[nodiscard]] Direction direction() const { return m_direction; }
    [[nodiscard]] Share share() const { return m_share; }
    [[nodiscard]] profile::Grouping grouping() const { return m_grouping; }
    [[nodiscard]] Order order() const { return m_order; }

    /// The metric's columns that count in the chosen direction; null when the profile has none, or none that holds a value.
    [[nodiscard]] const profile::Column* forwardColumn() const { return m_forward; }
    [[nodiscard]] const profile::Column* backwardColumn() const { return m_backward; }
    /// False when no value of the metric is known in the chosen direction.
    [[nodiscard]] bool isKnown() const { return m_forward != nullptr || m_backward != nullptr; }
    /// True when the metric's totals add up, so that they may be drawn as widths.
    [[nodiscard]] bool givesWidths() const;
    /// "Peak memory is unknown: ..." for the metric; empty when it is known.
    [[nodiscard]] QString unknownSentence() const;

    /// Value of the metric over the chosen direction; absent when unknown.
    [[nodiscard]] std::optional<std::int64_t> total(ScopeId scope) const;
    [[nodiscard]] std::optional<std::int64_t> self(ScopeId scope) const;
    /// Self or total, as share() says.
    [[nodiscard]] std::optional<std::int64_t> value(ScopeId scope) const;
    /// Total of any metric at a scope over the chosen direction.
    [[nodiscard]] std::optional<std::int64_t> totalOf(std::string_view metric, ScopeId scope) const;
    /// The module or operator with the greatest self value of the metric, or kNoScope.
    [[nodiscard]] ScopeId hotspot() const { return m_hotspot; }
    /// "Heaviest self: aten::bmm in layers.3.attn, 2.02 ms, 11.7 %", or empty.
    [[nodiscard]] QString hotspotSentence() const;
    /// Name of a scope for a person: the bare class name for the root.
    [[nodiscard]] QString displayName(ScopeId scope) const;
    /// Scopes from the root down to `scope`.
    [[nodiscard]] std::vector<ScopeId> pathTo(ScopeId scope) const;
    /// Children in order(); heaviest goes by the total over the chosen direction, with what
    /// no child explains last. Requires: a profile.
    [[nodiscard]] const profile::ChildOrder& childOrder() const { return *m_childOrder; }

    [[nodiscard]] ScopeId selection() const { return m_selection; }
    [[nodiscard]] ScopeId hovered() const { return m_hovered; }
    [[nodiscard]] ScopeId zoomRoot() const { return m_zoomRoot; }
    [[nodiscard]] bool canGoBack() const { return m_historyAt > 0; }
    [[nodiscard]] bool canGoForward() const { return m_historyAt + 1 < m_history.size(); }

    [[nodiscard]] const QString& searchText() const { return m_searchText; }
    [[nodiscard]] bool isSearching() const { return !m_searchText.isEmpty(); }
    [[nodiscard]] const profile::SearchResult& searchResult() const { return m_searchResult; }
    /// Share of the metric that lies in matches, 0 to 1; absent when unknown.
    [[nodiscard]] std::optional<double> matchedShare() const;
    /// Index of the selected match among the matches, or -1.
    [[nodiscard]] int currentMatch() const;

public slots:
    void setMetric(const std::string& metric);
    void setDirection(Direction direction);
    void setShare(Share share);
    void setGrouping(profile::Grouping grouping);
    void setOrder(Order order);
    /// kNoScope clears. Ids out of range are ignored, here and below.
    void select(ScopeId scope);
    void hover(ScopeId scope);
    /// Makes `scope` the whole width of the flame graph and remembers the step.
    void zoomTo(ScopeId scope);
    /// Zooms to the parent of the zoomed scope.
    void zoomUp();
    void goBack();
    void goForward();
    void setSearchText(const QString& text);
    /// Selects the next or previous match in preorder, starting over at the ends.
    void selectNextMatch();
    void selectPreviousMatch();

signals:
    /// Other scopes are shown: every id is void. Comes before the other signals.
    void profileChanged();
    /// Metric, direction or share changed; hotspot() and childOrder() with them.
    void valuesChanged();
    void orderChanged();
    void selectionChanged();
    void hoverChanged();
    void zoomChanged();
    void searchChanged();

private:
    void show(profile::Aggregation shown, bool isSameSource);
    void readColumns();
    void rebuildOrder();
    void chooseMetric();
    void runSearch();
    void stepMatch(int by);
    [[nodiscard]] bool isScope(ScopeId scope) const;
    [[nodiscard]] const profile::Column* knownColumn(std::string_view metric, profile::Direction direction) const;
    [[nodiscard]] ScopeId findEqual(const profile::Profile& before, ScopeId scope) const;

    std::shared_ptr<const profile::Profile> m_source;
    profile::Aggregation m_shown;
    std::string m_metric = "latency";
    bool m_isMetricChosen = false;
    Direction m_direction = Direction::Both;
    Share m_share = Share::Total;
    profile::Grouping m_grouping = profile::Grouping::Module;
    Order m_order = Order::Heaviest;
    std::vector<const profile::Column*> m_knownColumns;
    const profile::Column* m_forward = nullptr;
    const profile::Column* m_backward = nullptr;
    ScopeId m_hotspot = kNoScope;
    std::unique_ptr<profile::ChildOrder> m_childOrder;
    ScopeId m_selection = kNoScope;
    ScopeId m_hovered = kNoScope;
    ScopeId m_zoomRoot = 0;
    std::vector<ScopeId> m_history = {0};
    std::size_t m_historyAt = 0;
    QString m_searchText;
    profile::SearchResult m_searchResult;
};

} // namespace modulelens::models
