// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/HierarchyPage.h"

#include "app/explorer/Strip.h"
#include "models/Format.h"
#include "widgets/DropDown.h"
#include "widgets/FindField.h"
#include "widgets/FlameGraph.h"
#include "widgets/FlameGraphLegend.h"
#include "widgets/HotspotBar.h"
#include "widgets/KeyValueList.h"
#include "widgets/MetricTiles.h"
#include "widgets/MetricTree.h"
#include "widgets/SegmentedControl.h"
#include "widgets/Theme.h"

#include <QHBoxLayout>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace modulelens::explorer {

namespace {

using models::ProfileView;
using profile::kUnknown;
using profile::ScopeId;

constexpr std::array kTileMetrics = {"latency", "flops", "parameters", "activation", "peak", "bytes"};
constexpr int kNarrow = 1160;
constexpr int kLegendHeight = 28;
constexpr int kLeastFlameHeight = 84;
constexpr double kGreatestFlameShare = .45;

/// Half of the interquartile range over the median of the runs, as "±0.8 %"; empty for fewer than four runs.
QString spreadText(const std::vector<std::int64_t>& samples) {
    constexpr std::size_t kFewest = 4;
    if (samples.size() < kFewest) {
        return {};
    }
    std::vector<std::int64_t> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const std::int64_t median = sorted[sorted.size() / 2];
    if (median <= 0) {
        return {};
    }
    const double half = static_cast<double>(sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4]) / 2;
    return QStringLiteral("±") + models::formatShare(half / static_cast<double>(median));
}

} // namespace

HierarchyPage::HierarchyPage(QWidget* parent)
    : QWidget(parent),
      m_tiles(new widgets::MetricTiles(this)),
      m_direction(new widgets::SegmentedControl(tr("Direction"), this)),
      m_share(new widgets::SegmentedControl(tr("Self or total"), this)),
      m_find(new widgets::FindField(tr("Find in tree and flame"), QStringLiteral("Ctrl+F"), this)),
      m_path(new widgets::HotspotBar(this)),
      m_note(new widgets::NoteRow(this)),
      m_flame(new widgets::FlameGraph(&m_view, this)),
      m_legend(new widgets::FlameGraphLegend(&m_view, this)),
      m_tree(new widgets::MetricTree(&m_view, this)),
      m_details(new widgets::DetailsStrip(this)),
      m_grouping(new widgets::DropDown(tr("By"), 24, this)),
      m_order(new widgets::DropDown(tr("Order"), 24, this)),
      m_splitter(new QSplitter(Qt::Vertical, this)) {
    m_splitter->addWidget(makeFlamePane());
    m_splitter->addWidget(m_tree);
    m_splitter->setStretchFactor(1, 1);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->setHandleWidth(1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeToolbar());
    layout->addWidget(makePathRow());
    layout->addWidget(m_note);
    layout->addWidget(m_splitter, 1);
    layout->addWidget(m_details);
    m_note->setText({});
    setFocusProxy(m_tree);
    connectView();
}

HierarchyPage::~HierarchyPage() = default;

QWidget* HierarchyPage::makeToolbar() {
    m_direction->setSegments({{tr("Forward"), {}}, {tr("Backward"), {}}, {tr("Both"), {}}});
    m_direction->setCurrent(2);
    m_share->setSegments({{tr("Self"), {}}, {tr("Total"), {}}});
    m_share->setCurrent(1);
    m_find->setFixedWidth(248);
    auto* bar = new QWidget(this);
    bar->setProperty("surface", true);
    bar->setAttribute(Qt::WA_StyledBackground);
    bar->setFixedHeight(48);
    auto* layout = new QHBoxLayout(bar);
    layout->setContentsMargins(16, 0, 16, 0);
    layout->setSpacing(8);
    layout->addWidget(m_tiles);
    layout->addStretch(1);
    layout->addWidget(m_direction);
    layout->addWidget(m_share);
    layout->addWidget(m_find);
    return bar;
}

QWidget* HierarchyPage::makePathRow() {
    m_grouping->addItems({tr("module"), tr("call"), tr("class")});
    m_grouping->setAccessibleName(tr("Grouping"));
    m_order->addItems({tr("heaviest first"), tr("time")});
    auto* row = new Strip(this);
    row->setFixedHeight(32);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 16, 0);
    layout->setSpacing(8);
    layout->addWidget(m_path, 1);
    layout->addWidget(m_grouping);
    layout->addWidget(m_order);
    return row;
}

QWidget* HierarchyPage::makeFlamePane() {
    auto* pane = new QWidget(this);
    pane->setProperty("surface", true);
    pane->setAttribute(Qt::WA_StyledBackground);
    auto* layout = new QVBoxLayout(pane);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_flame, 1);
    layout->addWidget(m_legend);
    return pane;
}

void HierarchyPage::connectView() {
    connect(&m_view, &ProfileView::profileChanged, this, [this] {
        showTotals();
        showSelection();
    });
    connect(&m_view, &ProfileView::valuesChanged, this, [this] {
        showTotals();
        showSelection();
        showSearch();
    });
    connect(&m_view, &ProfileView::selectionChanged, this, &HierarchyPage::showSelection);
    connect(&m_view, &ProfileView::searchChanged, this, &HierarchyPage::showSearch);
    connect(m_flame, &widgets::FlameGraph::contentHeightChanged, this, &HierarchyPage::fitFlame);
    connect(m_tiles, &widgets::MetricTiles::currentChanged, this, [this](const QString& metric) {
        m_view.setMetric(metric.toStdString());
        emit metricChosen(metric);
    });
    connect(m_direction, &widgets::SegmentedControl::currentChanged, this, [this](int index) {
        constexpr std::array kDirections = {ProfileView::Direction::Forward, ProfileView::Direction::Backward,
                                            ProfileView::Direction::Both};
        m_view.setDirection(kDirections[static_cast<std::size_t>(index)]);
    });
    connect(m_share, &widgets::SegmentedControl::currentChanged, this,
            [this](int index) { m_view.setShare(index == 0 ? ProfileView::Share::Self : ProfileView::Share::Total); });
    connect(m_grouping, &QComboBox::currentIndexChanged, this, [this](int index) {
        constexpr std::array kGroupings = {profile::Grouping::Module, profile::Grouping::Call, profile::Grouping::Class};
        m_view.setGrouping(kGroupings[static_cast<std::size_t>(index)]);
    });
    connect(m_order, &QComboBox::currentIndexChanged, this,
            [this](int index) { m_view.setOrder(index == 0 ? ProfileView::Order::Heaviest : ProfileView::Order::Time); });
    connect(m_find, &QLineEdit::textChanged, &m_view, &ProfileView::setSearchText);
    connect(m_find, &widgets::FindField::nextRequested, &m_view, &ProfileView::selectNextMatch);
    connect(m_find, &widgets::FindField::previousRequested, &m_view, &ProfileView::selectPreviousMatch);
    connect(m_path, &widgets::HotspotBar::hotspotActivated, this, [this] { m_view.select(m_view.hotspot()); });
    connect(m_path, &widgets::HotspotBar::partActivated, this, [this](int index) {
        const std::vector<ScopeId> path = m_view.pathTo(std::max(0, m_view.selection()));
        if (index < static_cast<int>(path.size())) {
            m_view.select(path[static_cast<std::size_t>(index)]);
        }
    });
}

void HierarchyPage::setProfile(std::shared_ptr<const profile::Profile> profile, const QString& note) {
    m_note->setText(note);
    m_view.setProfile(std::move(profile));
    const bool hasBackward =
        m_view.profile() != nullptr &&
        std::any_of(m_view.profile()->columns().begin(), m_view.profile()->columns().end(), [](const profile::Column& column) {
            return column.direction == profile::Direction::Backward && !column.total.empty() &&
                   column.total.front() != kUnknown;
        });
    m_direction->setVisible(hasBackward);
    m_tiles->setCurrent(QString::fromStdString(m_view.metric()));
    showTotals();
    showSelection();
    fitFlame();
}

void HierarchyPage::setMetric(const QString& metric) {
    m_tiles->setCurrent(metric);
}

void HierarchyPage::focusFind() {
    m_find->setFocus(Qt::ShortcutFocusReason);
}

void HierarchyPage::showTotals() {
    const std::shared_ptr<const profile::Profile>& profile = m_view.profile();
    QList<widgets::MetricTiles::Tile> tiles;
    for (const char* id : kTileMetrics) {
        const profile::Metric& metric = *profile::findMetric(id);
        widgets::MetricTiles::Tile tile;
        tile.id = QString::fromStdString(metric.id);
        tile.name = models::metricTitle(metric.id);
        const std::optional<std::int64_t> total = profile == nullptr ? std::nullopt : m_view.totalOf(metric.id, 0);
        tile.enabled = total.has_value();
        tile.value = total ? models::formatMetric(metric.unit, *total) : models::notApplicable();
        if (!total && profile != nullptr) {
            const auto reason = profile->facts().find("unknown." + metric.id);
            tile.reason = reason == profile->facts().end() ? tr("Not measured. Profile the version to measure it.")
                                                           : QString::fromStdString(reason->second);
        }
        if (total && metric.id == "flops" && !profile->coverage().unknown.empty()) {
            const auto unknown = static_cast<std::int64_t>(profile->coverage().unknown.size());
            tile.note = models::formatCount(unknown) + (unknown == 1 ? tr(" operator unknown") : tr(" operators unknown"));
        }
        if (total && metric.id == "latency" && m_view.forwardColumn() != nullptr) {
            const profile::Column* column = profile->column("latency", profile::Direction::Forward);
            tile.note = column == nullptr ? QString() : spreadText(column->samples);
        }
        tiles.append(tile);
    }
    m_tiles->setTiles(tiles);
    const QString sentence = m_view.hotspotSentence();
    const qsizetype colon = sentence.indexOf(QStringLiteral(": "));
    m_path->setHotspot(sentence, colon < 0 ? sentence : sentence.mid(colon + 2));
}

void HierarchyPage::showSelection() {
    const std::shared_ptr<const profile::Profile>& profile = m_view.profile();
    if (profile == nullptr || profile->scopeCount() == 0) {
        m_path->setPath({});
        m_details->show({}, {}, {});
        return;
    }
    const ScopeId scope = std::max<ScopeId>(0, m_view.selection());
    QStringList parts;
    for (const ScopeId step : m_view.pathTo(scope)) {
        parts.append(m_view.displayName(step));
    }
    m_path->setPath(parts);

    const bool isOperator = profile->kind(scope) == profile::ScopeKind::Operator;
    const std::string_view path = profile->path(scope);
    QString name = QString::fromUtf8(path.data(), static_cast<qsizetype>(path.size()));
    if (isOperator || name.isEmpty()) {
        name += (name.isEmpty() ? QString() : QStringLiteral(" · ")) + m_view.displayName(scope);
    }
    QString form = isOperator ? tr("operator") : models::bareClassName(profile->className(scope));
    QList<widgets::DetailsStrip::Item> items;
    const profile::Metric* driving = profile::findMetric(m_view.metric());
    const std::optional<std::int64_t> all = m_view.total(0);
    const auto shareOfAll = [&all](std::int64_t value) {
        return all && *all > 0 ? models::formatShare(static_cast<double>(value) / static_cast<double>(*all)) + tr(" of all")
                               : QString();
    };
    if (driving != nullptr) {
        if (const std::optional<std::int64_t> total = m_view.total(scope)) {
            items.append({models::metricTitle(driving->id), models::formatMetric(driving->unit, *total), shareOfAll(*total)});
        }
        if (const std::optional<std::int64_t> self = m_view.self(scope)) {
            items.append({tr("Self"), models::formatMetric(driving->unit, *self), shareOfAll(*self)});
        }
    }
    for (const profile::Metric& metric : profile::knownMetrics()) {
        const std::optional<std::int64_t> total = m_view.totalOf(metric.id, scope);
        const bool isMeaningless = isOperator && metric.id == "parameters" && total.value_or(0) == 0;
        if (total && !isMeaningless && (driving == nullptr || metric.id != driving->id)) {
            items.append({models::metricTitle(metric.id), models::formatMetric(metric.unit, *total), {}});
        }
    }
    const std::optional<std::int64_t> flops = m_view.totalOf("flops", scope);
    const std::optional<std::int64_t> latency = m_view.totalOf("latency", scope);
    if (flops && latency && *latency > 0 && *flops > 0) {
        // FLOPs per nanosecond are GFLOP/s.
        items.append(
            {tr("Achieved"),
             models::formatFlops(static_cast<std::int64_t>(static_cast<double>(*flops) / static_cast<double>(*latency) * 1e9)) +
                 QStringLiteral("FLOP/s"),
             {}});
    }
    const int members = m_view.members(scope);
    if (members > 1) {
        items.append({tr("Calls"), models::formatCount(members), {}});
    }
    m_details->show(name, form, items);
}

void HierarchyPage::showSearch() {
    if (!m_view.isSearching()) {
        m_find->setCount({});
        return;
    }
    const auto matches = static_cast<std::int64_t>(m_view.searchResult().matches().size());
    QString text = matches == 0 ? tr("none found") : models::formatCount(matches) + tr(" found");
    if (const std::optional<double> share = m_view.matchedShare(); share && matches > 0) {
        text += QStringLiteral(", ") + models::formatShare(*share);
    }
    m_find->setCount(text);
}

void HierarchyPage::fitFlame() {
    const int most = std::max(kLeastFlameHeight, static_cast<int>(height() * kGreatestFlameShare));
    const int wanted = std::clamp(m_flame->contentHeight() + kLegendHeight, kLeastFlameHeight + kLegendHeight, most);
    m_splitter->setSizes({wanted, std::max(100, m_splitter->height() - wanted)});
}

void HierarchyPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const int tilesNeeded = [this] {
        m_tiles->setCompact(false);
        return m_tiles->sizeHint().width();
    }();
    const int rest =
        m_share->sizeHint().width() + m_find->width() + (m_direction->isVisible() ? m_direction->sizeHint().width() + 8 : 0);
    m_tiles->setCompact(width() < tilesNeeded + rest + 64 || width() < kNarrow - 320);
    fitFlame();
}

} // namespace modulelens::explorer
