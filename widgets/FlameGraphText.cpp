// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the flame graph says in words: tooltips, the empty state, the description for screen readers.
#include "models/Format.h"
#include "widgets/FlameGraph.h"

#include <QAccessible>

#include <algorithm>

namespace modulelens::widgets {

using models::FlameSpan;
using models::ProfileView;
using profile::ScopeId;

namespace {

QString fromView(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace

QString FlameGraph::emptyText() const {
    if (m_view->profile() == nullptr) {
        return tr("No profile yet\nProfile this version to see where its time, its FLOPs and its memory go.");
    }
    const QString title = models::metricTitle(m_view->metric());
    if (!m_view->givesWidths()) {
        return tr("%1 has no flame graph\nThe values of modules do not add up to that of their parent; the table shows them.")
            .arg(title);
    }
    if (!m_view->isKnown()) {
        const QString sentence = m_view->unknownSentence();
        const qsizetype colon = sentence.indexOf(QLatin1String(": "));
        const QString reason = sentence.mid(colon + 2);
        return sentence.left(colon) + u'\n' + reason.left(1).toUpper() + reason.mid(1) +
               (reason.endsWith(u'.') ? QString() : QStringLiteral("."));
    }
    if (flameLayout().rowCount() == 0) {
        return tr("%1 is 0 here\nIt was measured, and nothing below %2 has any.")
            .arg(title, m_view->displayName(m_view->zoomRoot()));
    }
    return {};
}

QString FlameGraph::scopeText(ScopeId scope) const {
    const std::optional<std::int64_t> total = m_view->total(scope);
    const std::optional<std::int64_t> whole = m_view->total(0);
    QString text = m_view->displayName(scope);
    const QString path = fromView(m_view->profile()->path(scope));
    if (!path.isEmpty() && path != text) {
        text += tr(" in %1").arg(path);
    }
    const QString title = models::metricTitle(m_view->metric());
    if (!total) {
        return text + tr(", %1 unknown").arg(title);
    }
    text += tr(", %1 %2").arg(title, models::formatMetric(profile::findMetric(m_view->metric())->unit, *total));
    if (whole.value_or(0) > 0 && m_view->givesWidths()) {
        text += tr(", %1 of all").arg(models::formatShare(static_cast<double>(*total) / static_cast<double>(*whole)));
    }
    return text;
}

void FlameGraph::describeSelection() {
    QString text;
    if (m_view->profile() == nullptr || !emptyText().isEmpty()) {
        text = emptyText().replace(u'\n', QStringLiteral(": "));
    } else if (m_view->selection() == ProfileView::kNoScope) {
        text = tr("Nothing selected. Arrow keys go from box to box.");
    } else {
        text = scopeText(m_view->selection());
    }
    if (text != accessibleDescription()) {
        setAccessibleDescription(text);
        QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
        QAccessible::updateAccessibility(&changed);
    }
}

QStringList FlameGraph::tipLines(const FlameSpan& span) const {
    const profile::Profile& shown = *m_view->profile();
    const std::string& unit = profile::findMetric(m_view->metric())->unit;
    const auto value = [&](std::optional<std::int64_t> number) {
        return number ? models::formatMetric(unit, *number) : models::notCaptured();
    };
    if (span.hiddenCount > 0) {
        QStringList lines = {tr("%1 more in %2").arg(models::formatCount(span.hiddenCount), m_view->displayName(span.scope))};
        const std::vector<ScopeId>& children = m_view->childOrder().children(span.scope);
        constexpr int kNamed = 2;
        for (int i = 0; i < std::min<int>(kNamed, span.hiddenCount); ++i) {
            const ScopeId child = children[static_cast<std::size_t>(span.hiddenFirst) + static_cast<std::size_t>(i)];
            lines += m_view->displayName(child) + QStringLiteral("  ") + value(m_view->total(child));
        }
        if (span.hiddenCount > kNamed) {
            lines += tr("and %1 others; Enter zooms to %2")
                         .arg(models::formatCount(span.hiddenCount - kNamed), m_view->displayName(span.scope));
        }
        return lines;
    }
    const ScopeId scope = span.scope;
    const QString path = fromView(shown.path(scope));
    const bool isModule = shown.kind(scope) == profile::ScopeKind::Module;
    QString first = isModule && !path.isEmpty() ? path : m_view->displayName(scope);
    if (isModule && scope != 0) {
        first += QStringLiteral("  ") + models::bareClassName(shown.className(scope));
    } else if (!isModule && !path.isEmpty()) {
        first += tr(" in %1").arg(path);
    }
    QStringList lines = {first, tr("%1 total, %2 self").arg(value(m_view->total(scope)), value(m_view->self(scope)))};
    const auto share = [&](ScopeId of) {
        const double whole = static_cast<double>(m_view->total(of).value_or(0));
        return whole <= 0 ? models::notApplicable()
                          : models::formatShare(static_cast<double>(m_view->total(scope).value_or(0)) / whole);
    };
    const ScopeId parent = shown.parent(scope);
    lines += parent <= 0 ? tr("%1 of all").arg(share(0))
                         : tr("%1 of all, %2 of %3").arg(share(0), share(parent), m_view->displayName(parent));
    if (scope == m_view->hotspot()) {
        lines += tr("The heaviest self of this profile");
    } else if (m_view->members(scope) > 1) {
        lines += tr("Stands for %1 calls").arg(models::formatCount(m_view->members(scope)));
    }
    return lines;
}

} // namespace modulelens::widgets
