// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/VersionHeader.h"

#include "models/Format.h"
#include "widgets/ChipRow.h"
#include "widgets/Chips.h"
#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace modulelens::explorer {

namespace {

using widgets::Chip;
using widgets::ChipKind;
using widgets::Icon;

constexpr int kInset = 16;
constexpr int kRoomForBenchmark = 900;

QFont plainTitle() {
    return widgets::uiFont(16);
}
QFont boldTitle() {
    return widgets::uiFont(16, QFont::DemiBold);
}

Chip verdictChip(const models::VersionInfo& version) {
    using Kind = models::VerdictWords::Kind;
    const models::VerdictWords verdict = models::verdictWords(version.verdict, version.exact);
    switch (verdict.kind) {
        case Kind::Good:
            return {verdict.words, ChipKind::Good, Icon::Check, false};
        case Kind::Bad:
            return {verdict.words, ChipKind::Bad, Icon::Failed, false};
        case Kind::Warning:
            return {verdict.words, ChipKind::Warning, Icon::Warning, false};
        case Kind::Neutral:
        case Kind::None:
            break;
    }
    return {verdict.words, ChipKind::Neutral, Icon::Ring, false};
}

QString metaText(const models::VersionInfo& version) {
    QStringList parts(version.className);
    if (!version.device.isEmpty()) {
        parts.append(version.device);
    }
    if (version.parameterBytes > 0) {
        parts.append(models::formatBytes(version.parameterBytes) + VersionHeader::tr(" of parameters"));
    }
    parts.append(QString::number(version.callCount) +
                 (version.callCount == 1 ? VersionHeader::tr(" call") : VersionHeader::tr(" calls")));
    if (!version.torchVersion.isEmpty()) {
        parts.append(QStringLiteral("torch ") + version.torchVersion);
    }
    const QString age = models::formatAge(version.created.toStdString(), models::utcNow());
    if (!age.isEmpty()) {
        parts.append(age == QStringLiteral("now") ? VersionHeader::tr("just now") : age + VersionHeader::tr(" ago"));
    }
    return parts.join(QStringLiteral(" · "));
}

} // namespace

VersionHeader::VersionHeader(QWidget* parent)
    : QWidget(parent),
      m_chips(new widgets::ChipRow(this)),
      m_validate(new QPushButton(widgets::themedIcon(Icon::Check), tr("Validate"), this)),
      m_profile(new QPushButton(widgets::themedIcon(Icon::Play), tr("Profile"), this)),
      m_profileMenu(new QToolButton(this)),
      m_benchmark(new QPushButton(widgets::themedIcon(Icon::Timer), tr("Benchmark"), this)),
      m_more(new QToolButton(this)) {
    setFixedHeight(64);
    m_validate->setToolTip(tr("Run on the captured inputs and compare with the captured outputs (Ctrl+R)"));
    m_profile->setToolTip(tr("Measure every module and operator (Ctrl+B)"));
    m_profileMenu->setIcon(widgets::themedIcon(Icon::ChevronDown));
    m_profileMenu->setProperty("outlined", true);
    m_profileMenu->setProperty("narrow", true);
    m_profileMenu->setToolTip(tr("Backward pass, training step, sweep"));
    m_profileMenu->setAccessibleName(tr("Other ways to profile"));
    m_profileMenu->setPopupMode(QToolButton::InstantPopup);
    m_benchmark->setToolTip(tr("Time the whole version, run by run (Ctrl+Alt+B)"));
    m_more->setIcon(widgets::themedIcon(Icon::More));
    m_more->setProperty("outlined", true);
    m_more->setToolTip(tr("More"));
    m_more->setAccessibleName(tr("More actions on this version"));
    m_more->setPopupMode(QToolButton::InstantPopup);
    connect(m_validate, &QPushButton::clicked, this, &VersionHeader::validateRequested);
    connect(m_profile, &QPushButton::clicked, this, &VersionHeader::profileRequested);
    connect(m_benchmark, &QPushButton::clicked, this, &VersionHeader::benchmarkRequested);
}

void VersionHeader::show(const models::VersionInfo& version) {
    m_version = version;
    m_chips->setChips(version.aliases, version.tags);
    setAccessibleName(version.address());
    arrange();
    update();
}

int VersionHeader::titleWidth() const {
    const double text = QFontMetricsF(plainTitle()).horizontalAdvance(m_version.model + QStringLiteral("::")) +
                        QFontMetricsF(boldTitle())
                            .horizontalAdvance(m_version.module + QStringLiteral("@v") + QString::number(m_version.number));
    const int actions = width() - m_validate->x();
    return std::min(static_cast<int>(std::ceil(text)), std::max(160, width() - actions - 2 * kInset - 160));
}

void VersionHeader::arrange() {
    int right = width() - kInset;
    m_benchmark->setVisible(width() >= kRoomForBenchmark);
    for (QWidget* action :
         {static_cast<QWidget*>(m_more), static_cast<QWidget*>(m_benchmark), static_cast<QWidget*>(m_profileMenu),
          static_cast<QWidget*>(m_profile), static_cast<QWidget*>(m_validate)}) {
        if (action->isHidden()) {
            continue;
        }
        const int wide = action == m_more ? 32 : action == m_profileMenu ? 24 : action->sizeHint().width();
        action->setGeometry(right - wide, 8, wide, 28);
        // Profile and the button for its other ways share an edge.
        right -= action == m_profileMenu ? wide - 1 : wide + 8;
    }
    const int x = kInset + titleWidth() + 12;
    m_chips->setGeometry(x, 9, std::max(24, right - x), 24);
}

void VersionHeader::resizeEvent(QResizeEvent*) {
    arrange();
}

void VersionHeader::paintEvent(QPaintEvent*) {
    const widgets::Theme& t = widgets::Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), t.surface);
    const double room = titleWidth();
    const QString number = QStringLiteral("@v") + QString::number(m_version.number);
    const double numberRoom = QFontMetricsF(boldTitle()).horizontalAdvance(number);
    double x = kInset;
    const bool whole = m_version.module.isEmpty();
    if (whole) {
        x += widgets::drawText(painter, QRectF(x, 9, room - numberRoom, 24), m_version.model, boldTitle(), t.text);
    } else {
        x += widgets::drawText(painter, QRectF(x, 9, (room - numberRoom) * .6, 24), m_version.model + QStringLiteral("::"),
                               plainTitle(), t.text2);
        x += widgets::drawText(painter, QRectF(x, 9, kInset + room - numberRoom - x + 1, 24), m_version.module, boldTitle(),
                               t.text, Qt::AlignLeft, Qt::ElideMiddle);
    }
    widgets::drawText(painter, QRectF(x, 9, numberRoom + 2, 24), number, boldTitle(), t.accent);
    int chipX = kInset;
    chipX += widgets::paintChip(painter, chipX, 48, verdictChip(m_version), widgets::kHeaderChipHeight) + 6;
    const Chip program = m_version.hasProgram ? Chip{tr("Rebuilds from program"), ChipKind::Neutral, Icon::Cube, false}
                                              : Chip{tr("No program"), ChipKind::Warning, Icon::Warning, false};
    chipX += widgets::paintChip(painter, chipX, 48, program, widgets::kHeaderChipHeight) + 10;
    widgets::drawText(painter, QRectF(chipX, 38, width() - chipX - kInset, 20), metaText(m_version), widgets::uiFont(12),
                      t.text2);
}

} // namespace modulelens::explorer
