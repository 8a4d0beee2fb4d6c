// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/FlameGraphLegend.h"

#include "models/Format.h"
#include "widgets/FlameGraphPainter.h"
#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace modulelens::widgets {

using models::ProfileView;
using profile::ScopeId;

namespace {

constexpr std::size_t kMostEntries = 6;
constexpr int kInset = 16;
constexpr int kSwatch = 12;

} // namespace

FlameGraphLegend::FlameGraphLegend(ProfileView* view, QWidget* parent) : QWidget(parent), m_view(view) {
    setFixedHeight(28);
    setAccessibleName(tr("Colours of the flame graph"));
    connect(view, &ProfileView::profileChanged, this, &FlameGraphLegend::rebuild);
    connect(view, &ProfileView::valuesChanged, this, &FlameGraphLegend::rebuild);
    rebuild();
}

void FlameGraphLegend::rebuild() {
    m_entries.clear();
    if (m_view->profile() != nullptr && m_view->isKnown() && m_view->givesWidths()) {
        const profile::Profile& shown = *m_view->profile();
        std::vector<double> weight(static_cast<std::size_t>(shown.textCount()), 0);
        for (ScopeId scope = 1; scope < shown.scopeCount(); ++scope) {
            weight[static_cast<std::size_t>(FlameGraphPainter::hueClassId(shown, scope))] +=
                static_cast<double>(m_view->self(scope).value_or(0));
        }
        std::vector<std::int32_t> heaviest;
        for (std::int32_t id = 0; id < shown.textCount(); ++id) {
            const std::string_view name = shown.text(id);
            if (weight[static_cast<std::size_t>(id)] > 0 && id != shown.classId(0) &&
                classHue(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())))) {
                heaviest.push_back(id);
            }
        }
        std::sort(heaviest.begin(), heaviest.end(), [&](std::int32_t left, std::int32_t right) {
            const double a = weight[static_cast<std::size_t>(left)];
            const double b = weight[static_cast<std::size_t>(right)];
            return a > b || (a == b && left < right);
        });
        heaviest.resize(std::min(heaviest.size(), kMostEntries));
        for (const std::int32_t id : heaviest) {
            m_entries.push_back({models::bareClassName(shown.text(id)), 0, 0});
        }
    }
    setAccessibleDescription(classes().join(QStringLiteral(", ")));
    update();
}

QStringList FlameGraphLegend::classes() const {
    QStringList names;
    for (const Entry& entry : m_entries) {
        names += entry.name;
    }
    return names;
}

void FlameGraphLegend::layOut() {
    const QFontMetricsF metrics(uiFont(11));
    int x = kInset;
    for (Entry& entry : m_entries) {
        entry.left = x;
        entry.right = x + kSwatch + 6 + static_cast<int>(std::ceil(metrics.horizontalAdvance(entry.name)));
        x = entry.right + 14;
    }
}

void FlameGraphLegend::paintEvent(QPaintEvent*) {
    layOut();
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.surface);
    const int top = (height() - kSwatch) / 2;
    int end = kInset;
    for (const Entry& entry : m_entries) {
        if (entry.right > width() - kInset) {
            break;
        }
        const std::optional<int> hue = classHue(entry.name);
        painter.fillRect(QRect(entry.left, top, kSwatch, kSwatch), theme.classFill(hue, Theme::Step::Mid));
        painter.setPen(theme.classEdge(hue));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRect(entry.left, top, kSwatch - 1, kSwatch - 1));
        drawText(painter, QRectF(entry.left + kSwatch + 6, 0, entry.right - entry.left, height()), entry.name, uiFont(11),
                 theme.text2);
        end = entry.right;
    }
    const QString hint = tr("stronger colour: more self   ·   operators take their module’s hue");
    const double hintWidth = QFontMetricsF(uiFont(11)).horizontalAdvance(hint);
    if (!m_entries.empty() && end + 24 + hintWidth < width() - kInset) {
        drawText(painter, QRectF(0, 0, width() - kInset, height()), hint, uiFont(11), theme.text3, Qt::AlignRight);
    }
}

void FlameGraphLegend::mousePressEvent(QMouseEvent* event) {
    for (const Entry& entry : m_entries) {
        if (event->pos().x() >= entry.left && event->pos().x() < entry.right) {
            m_view->setSearchText(m_view->searchText() == entry.name ? QString() : entry.name);
            return;
        }
    }
}

} // namespace modulelens::widgets
