// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/FlameGraphPainter.h"

#include "models/Format.h"
#include "widgets/Colours.h"
#include "widgets/Fonts.h"
#include "widgets/Icons.h"

#include <QFontMetricsF>
#include <QObject>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace modulelens::widgets {

using models::FlameLane;
using models::FlameLayout;
using models::FlameSpan;
using models::ProfileView;
using profile::Profile;
using profile::ScopeId;
using profile::ScopeKind;
using profile::SearchState;

namespace {

constexpr std::array<int, 7> kHues = {110, 130, 165, 205, 275, 310, 345};
constexpr int kRegular = 0;
constexpr int kMedium = 1;
constexpr int kSemibold = 2;
constexpr int kLeastLettersShown = 4;
constexpr int kLeastWidthWithValue = 110;
constexpr qsizetype kLabelLimit = 20000;

QString fromView(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

std::int64_t knownAt(const profile::Column* column, ScopeId scope, std::vector<std::int64_t> profile::Column::* values) {
    return column == nullptr ? 0 : std::max<std::int64_t>(0, (column->*values)[static_cast<std::size_t>(scope)]);
}

std::int64_t valueIn(const ProfileView& view, FlameLane lane, ScopeId scope,
                     std::vector<std::int64_t> profile::Column::* values) {
    return (lane == FlameLane::Backward ? 0 : knownAt(view.forwardColumn(), scope, values)) +
           (lane == FlameLane::Forward ? 0 : knownAt(view.backwardColumn(), scope, values));
}

QString valueText(const ProfileView& view, std::int64_t value) {
    return models::formatMetric(profile::findMetric(view.metric())->unit, value);
}

} // namespace

int FlameGraphPainter::rowHeight() {
    const double wanted = QFontMetricsF(uiFont(11)).height() + 4;
    return std::max(20, 4 * static_cast<int>(std::ceil(wanted / 4)));
}

FlameGraphPainter::FlameGraphPainter() {
    reset();
}

void FlameGraphPainter::reset() {
    m_profile = nullptr;
    m_fonts = {uiFont(11), uiFont(11, QFont::Medium), uiFont(11, QFont::DemiBold)};
    for (QHash<QString, Label>& labels : m_labels) {
        labels.clear();
    }
    m_elided.clear();
    m_rowHeight = rowHeight();
    const Theme& theme = Theme::current();
    m_mode = theme.mode;
    const auto style = [&](std::optional<int> hue, int step) {
        const QColor fill = theme.classFill(hue, static_cast<Theme::Step>(step));
        return Style{fill, bestTextOn(fill), theme.classEdge(hue)};
    };
    for (int step = 0; step < 3; ++step) {
        m_styles[kNoHue][static_cast<std::size_t>(step)] = style(std::nullopt, step);
        for (std::size_t i = 0; i < kHues.size(); ++i) {
            m_styles[i + 1][static_cast<std::size_t>(step)] = style(kHues[i], step);
        }
    }
    m_hotStyle = {theme.hot, bestTextOn(theme.hot), QColor()};
    const Style& quiet = m_styles[kNoHue][0];
    m_holdsStyle = {quiet.fill, theme.text2, quiet.foot};
    m_otherStyle = {quiet.fill, theme.text3, quiet.foot};
}

void FlameGraphPainter::prepare(const ProfileView& view) {
    if (Theme::current().mode != m_mode) {
        reset();
    }
    if (view.profile().get() != m_profile) {
        m_profile = view.profile().get();
        m_hueOfText.assign(static_cast<std::size_t>(m_profile->textCount()), -1);
    }
    for (QHash<QString, Label>& labels : m_labels) {
        if (labels.size() > kLabelLimit) {
            labels.clear();
        }
    }
    if (m_elided.size() > kLabelLimit) {
        m_elided.clear();
    }
    m_whole = std::max(1.0, static_cast<double>(view.total(0).value_or(0)));
}

std::int32_t FlameGraphPainter::hueClassId(const Profile& profile, ScopeId scope) {
    ScopeId module = scope;
    while (profile.kind(module) != ScopeKind::Module && profile.parent(module) >= 0) {
        module = profile.parent(module);
    }
    return profile.classId(module);
}

int FlameGraphPainter::hueIndex(const Profile& profile, ScopeId scope) {
    const ScopeKind kind = profile.kind(scope);
    if (scope == 0 || kind == ScopeKind::Unattributed || (kind == ScopeKind::Operator && profile.parent(scope) == 0)) {
        return kNoHue;
    }
    const std::int32_t classId = hueClassId(profile, scope);
    std::int8_t& index = m_hueOfText[static_cast<std::size_t>(classId)];
    if (index < 0) {
        const std::optional<int> hue = classHue(fromView(profile.text(classId)));
        const auto found = hue ? std::find(kHues.begin(), kHues.end(), *hue) : kHues.end();
        index = static_cast<std::int8_t>(found == kHues.end() ? kNoHue : found - kHues.begin() + 1);
    }
    return index;
}

double FlameGraphPainter::hotShare(const ProfileView& view, const FlameSpan& span) {
    const bool isAboveLanes =
        span.lane == FlameLane::Whole && view.forwardColumn() != nullptr && view.backwardColumn() != nullptr;
    if (span.scope != view.hotspot() || (isAboveLanes && view.childOrder().children(span.scope).size() > 0)) {
        return 0;
    }
    const std::int64_t own = valueIn(view, span.lane, span.scope, &profile::Column::self);
    const std::int64_t whole = valueIn(view, span.lane, span.scope, &profile::Column::total);
    return whole <= own ? 1 : static_cast<double>(own) / static_cast<double>(whole);
}

const FlameGraphPainter::Style& FlameGraphPainter::styleOf(const ProfileView& view, const FlameSpan& span) {
    if (span.isPass) {
        return m_styles[kNoHue][1];
    }
    if (hotShare(view, span) == 1) {
        return m_hotStyle;
    }
    const auto hue = static_cast<std::size_t>(hueIndex(*m_profile, span.scope));
    const double share = static_cast<double>(valueIn(view, span.lane, span.scope, &profile::Column::self)) / m_whole;
    const auto step = static_cast<std::size_t>(span.scope == 0 ? Theme::Step::Quiet : stepForShare(share));
    if (view.isSearching()) {
        switch (view.searchResult().state(span.scope)) {
            case SearchState::Match:
                return m_styles[hue][2];
            case SearchState::InsideMatch:
                break;
            case SearchState::HoldsMatch:
                return m_holdsStyle;
            case SearchState::None:
                return m_otherStyle;
        }
    }
    return m_styles[hue][step];
}

FlameGraphPainter::BoxColours FlameGraphPainter::coloursOf(const ProfileView& view, const FlameSpan& span) {
    prepare(view);
    if (span.hiddenCount > 0) {
        return {Theme::current().grid, Theme::current().text2, Theme::current().line2};
    }
    const Style& style = styleOf(view, span);
    return {style.fill, style.text, style.foot};
}

QRect FlameGraphPainter::boxOf(const Scene& scene, int row, const FlameSpan& span) const {
    const int left = static_cast<int>(std::lround(scene.originX + span.left * scene.stretch));
    const int right = static_cast<int>(std::lround(scene.originX + span.right() * scene.stretch));
    const int top = static_cast<int>(std::lround(scene.originY)) + row * m_rowHeight;
    return {left, top, std::max(1, right - left - 1), m_rowHeight - 1};
}

const FlameGraphPainter::Label& FlameGraphPainter::label(const QString& text, int weight) {
    QHash<QString, Label>& labels = m_labels[static_cast<std::size_t>(weight)];
    const auto found = labels.constFind(text);
    if (found != labels.constEnd()) {
        return *found;
    }
    Label made;
    made.text.setTextFormat(Qt::PlainText);
    made.text.setPerformanceHint(QStaticText::AggressiveCaching);
    made.text.setText(text);
    made.text.prepare({}, m_fonts[static_cast<std::size_t>(weight)]);
    made.width = QFontMetricsF(m_fonts[static_cast<std::size_t>(weight)]).horizontalAdvance(text);
    return *labels.insert(text, made);
}

QString FlameGraphPainter::labelOf(const ProfileView& view, const FlameSpan& span, double room) {
    const bool isHot = hotShare(view, span) == 1 && !span.isPass;
    const int weight = isHot ? kSemibold : span.isPass || span.scope == 0 ? kMedium : kRegular;
    QString name;
    if (span.isPass) {
        name = (span.lane == FlameLane::Forward ? QObject::tr("forward") : QObject::tr("backward")) + QStringLiteral("  ") +
               valueText(view, valueIn(view, span.lane, span.scope, &profile::Column::total));
    } else {
        name = view.displayName(span.scope);
        if (span.lane == FlameLane::Whole && span.scope == view.zoomRoot()) {
            name += QStringLiteral("  ") + valueText(view, valueIn(view, span.lane, span.scope, &profile::Column::total));
        }
    }
    if (label(name, weight).width <= room) {
        return name;
    }
    if (view.profile()->kind(span.scope) == ScopeKind::Operator && !span.isPass) {
        name = name.mid(name.lastIndexOf(QLatin1String("::")) + (name.contains(QLatin1String("::")) ? 2 : 1));
        while (name.startsWith(u'_') && name.size() > 1) {
            name.remove(0, 1);
        }
        if (label(name, weight).width <= room) {
            return name;
        }
    }
    if (label(name.left(kLeastLettersShown) + QChar(0x2026), weight).width > room) {
        return {};
    }
    const std::pair<QString, int> key(name, 4 * static_cast<int>(room) + weight);
    const auto found = m_elided.constFind(key);
    if (found != m_elided.constEnd()) {
        return *found;
    }
    const QFontMetricsF metrics(m_fonts[static_cast<std::size_t>(weight)]);
    return *m_elided.insert(key, metrics.elidedText(name, Qt::ElideRight, std::floor(room)));
}

void FlameGraphPainter::paint(QPainter& painter, const Scene& scene) {
    prepare(*scene.view);
    painter.setRenderHint(QPainter::Antialiasing, false);
    const FlameLayout& layout = *scene.layout;
    const int firstRow = std::max(0, static_cast<int>(std::floor((scene.clip.top() - scene.originY) / m_rowHeight)));
    const int lastRow =
        std::min(layout.rowCount() - 1, static_cast<int>(std::floor((scene.clip.bottom() - scene.originY) / m_rowHeight)));
    const double from = (scene.clip.left() - 1 - scene.originX) / scene.stretch;
    const double to = (scene.clip.right() + 1 - scene.originX) / scene.stretch;
    for (int row = firstRow; row <= lastRow; ++row) {
        const std::span<const FlameSpan> spans = layout.row(row);
        for (std::size_t i = layout.firstAfter(from, row); i < spans.size() && spans[i].left < to; ++i) {
            paintBox(painter, scene, spans[i], boxOf(scene, row, spans[i]));
        }
    }
    paintSelection(painter, scene);
}

void FlameGraphPainter::paintBox(QPainter& painter, const Scene& scene, const FlameSpan& span, const QRect& box) {
    if (span.hiddenCount > 0) {
        paintMerged(painter, span, box);
        return;
    }
    const Style& style = styleOf(*scene.view, span);
    painter.fillRect(box, style.fill);
    // The root above two lanes stands as plain as they do.
    const bool isAboveLanes =
        span.lane == FlameLane::Whole && scene.view->forwardColumn() != nullptr && scene.view->backwardColumn() != nullptr;
    if (box.width() > 3 && !span.isPass && !isAboveLanes && style.foot.isValid()) {
        painter.fillRect(QRect(box.left(), box.bottom(), box.width(), 1), style.foot);
    }
    const double hot = hotShare(*scene.view, span);
    QRect labelBox = box;
    if (hot > 0 && hot < 1) {
        const QRect own = box.adjusted(box.width() - std::max(1, static_cast<int>(std::lround(box.width() * hot))), 0, 0, 0);
        paintHotPart(painter, scene, span, own);
        labelBox.setRight(own.left() - 2);
    }
    if (span.scope == scene.view->hovered() && !span.isPass) {
        painter.setPen(Theme::current().text2);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(box.adjusted(0, 0, -1, -1));
    }
    if (labelBox.width() > 14) {
        paintLabels(painter, scene, span, labelBox, style.text);
    }
}

void FlameGraphPainter::paintHotPart(QPainter& painter, const Scene& scene, const FlameSpan& span, const QRect& part) {
    painter.fillRect(part, m_hotStyle.fill);
    if (part.width() <= 18) {
        return;
    }
    paintIcon(painter, QRectF(part.left() + 3, part.top() + (part.height() - 13) / 2.0, 13, 13), Icon::Hot, m_hotStyle.text);
    painter.setRenderHint(QPainter::Antialiasing, false);
    const QString value = valueText(*scene.view, valueIn(*scene.view, span.lane, span.scope, &profile::Column::self));
    for (const QString& words : {QString(value + QObject::tr(" in no child")), value}) {
        const Label& text = label(words, kSemibold);
        if (text.width + 22 <= part.width()) {
            painter.setFont(m_fonts[kSemibold]);
            painter.setPen(m_hotStyle.text);
            painter.drawStaticText(
                QPointF(part.left() + 18, part.top() + std::round((part.height() - text.text.size().height()) / 2)), text.text);
            return;
        }
    }
}

void FlameGraphPainter::paintMerged(QPainter& painter, const FlameSpan& span, const QRect& box) {
    const Theme& theme = Theme::current();
    painter.fillRect(box, theme.grid);
    if (box.width() > 1) {
        QPen dots(theme.line2, 1, Qt::CustomDashLine, Qt::FlatCap);
        dots.setDashPattern({2, 2});
        painter.setPen(dots);
        painter.drawLine(box.left(), box.bottom(), box.right() + 1, box.bottom());
    }
    if (box.width() < 16) {
        return;
    }
    const QString words = box.width() > 50 ? QObject::tr("%1 more").arg(models::formatCount(span.hiddenCount))
                                           : u'+' + models::formatCount(span.hiddenCount);
    const Label& text = label(words, kRegular);
    if (text.width + 6 < box.width()) {
        painter.setFont(m_fonts[kRegular]);
        painter.setPen(theme.text2);
        painter.drawStaticText(QPointF(std::round(box.left() + (box.width() - text.width) / 2),
                                       box.top() + std::round((box.height() - text.text.size().height()) / 2)),
                               text.text);
    }
}

void FlameGraphPainter::paintLabels(QPainter& painter, const Scene& scene, const FlameSpan& span, const QRect& box,
                                    const QColor& colour) {
    const ProfileView& view = *scene.view;
    const bool isHot = hotShare(view, span) == 1 && !span.isPass;
    const int weight = isHot ? kSemibold : span.isPass || span.scope == 0 ? kMedium : kRegular;
    double left = box.left() + 4;
    double room = box.width() - 8 - (box.width() > 40 ? 2 : 0);
    if (isHot && box.width() > 18) {
        paintIcon(painter, QRectF(box.left() + 3, box.top() + (box.height() - 13) / 2.0, 13, 13), Icon::Hot, colour);
        painter.setRenderHint(QPainter::Antialiasing, false);
        left += 14;
        room -= 14;
    }
    const auto draw = [&](double x, const Label& text) {
        painter.drawStaticText(QPointF(x, box.top() + std::round((box.height() - text.text.size().height()) / 2)), text.text);
    };
    painter.setPen(colour);
    const bool showsValueInName = span.isPass || (span.lane == FlameLane::Whole && span.scope == view.zoomRoot());
    if (!showsValueInName && box.width() > kLeastWidthWithValue) {
        const QString value = valueText(
            view, valueIn(view, span.lane, span.scope,
                          view.share() == ProfileView::Share::Self ? &profile::Column::self : &profile::Column::total));
        const double valueWidth = label(value, kRegular).width;
        if (label(view.displayName(span.scope), weight).width + valueWidth + 20 < room) {
            painter.setFont(m_fonts[kRegular]);
            draw(box.right() - 4 - valueWidth, label(value, kRegular));
            room -= valueWidth + 8;
        }
    }
    const QString name = labelOf(view, span, room);
    if (!name.isEmpty()) {
        painter.setFont(m_fonts[static_cast<std::size_t>(weight)]);
        draw(left, label(name, weight));
    }
}

void FlameGraphPainter::paintSelection(QPainter& painter, const Scene& scene) {
    const ProfileView& view = *scene.view;
    if (view.selection() == ProfileView::kNoScope || view.profile() == nullptr) {
        return;
    }
    const Theme& theme = Theme::current();
    painter.setBrush(Qt::NoBrush);
    for (const FlameLayout::Place& place : scene.layout->find(*view.profile(), view.childOrder(), view.selection())) {
        const FlameSpan& span = scene.layout->row(place.row)[place.index];
        const QRect box = boxOf(scene, place.row, span);
        QPen ring(theme.surface, 1);
        ring.setJoinStyle(Qt::MiterJoin);
        painter.setPen(ring);
        painter.drawRect(box.adjusted(-3, -3, 2, 2));
        ring = QPen(theme.text, 2);
        ring.setJoinStyle(Qt::MiterJoin);
        painter.setPen(ring);
        painter.drawRect(box.adjusted(-1, -1, 1, 1));
        if (scene.hasFocus) {
            ring = QPen(theme.accent, 2, Qt::CustomDashLine, Qt::FlatCap, Qt::MiterJoin);
            ring.setDashPattern({3, 2});
            painter.setPen(ring);
            painter.drawRect(box.adjusted(-1, -1, 1, 1));
        }
    }
}

} // namespace modulelens::widgets
