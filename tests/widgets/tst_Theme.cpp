// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/Theme.h"

#include "tests/support/TestMain.h"
#include "widgets/Colours.h"
#include "widgets/Icons.h"
#include "widgets/ThemeController.h"

#include <QApplication>
#include <QImage>
#include <QPainter>
#include <QSignalSpy>
#include <QTest>

#include <algorithm>
#include <array>

namespace modulelens::widgets {

/// Least contrast of a colour over the five grounds that text stands on.
static double worstContrast(const Theme& theme, const QColor& colour) {
    double worst = 21;
    for (const QColor& ground : {theme.window, theme.surface, theme.sunken, theme.hover, theme.accentSoft}) {
        worst = std::min(worst, contrastRatio(colour, ground));
    }
    return worst;
}

class ThemeTest : public QObject {
    Q_OBJECT

private slots:
    void contrast_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }

    void contrast() {
        QFETCH(bool, dark);
        const Theme& t = Theme::of(dark ? Theme::Mode::Dark : Theme::Mode::Light);
        for (const QColor& words : {t.text, t.text2, t.text3, t.accent, t.ok, t.warn, t.bad, t.hotText}) {
            QVERIFY2(worstContrast(t, words) >= 4.5, qPrintable(words.name()));
        }
        const std::array<std::pair<QColor, QColor>, 9> pairs = {{{t.onAccent, t.accent},
                                                                 {t.ok, t.okSoft},
                                                                 {t.warn, t.warnSoft},
                                                                 {t.bad, t.badSoft},
                                                                 {t.text, t.mark},
                                                                 {t.text2, t.band},
                                                                 {t.text2, t.sel},
                                                                 {t.tipText, t.tip},
                                                                 {t.tipText2, t.tip}}};
        for (const auto& [words, ground] : pairs) {
            QVERIFY2(contrastRatio(words, ground) >= 4.5, qPrintable(words.name() + QStringLiteral(" on ") + ground.name()));
        }
        for (const QColor& mark : {t.line2, t.bar, t.hot, t.accent}) {
            QVERIFY2(contrastRatio(mark, t.surface) >= 3 && contrastRatio(mark, t.window) >= 3, qPrintable(mark.name()));
        }
    }

    void flameFills_carryReadableText() {
        for (const Theme::Mode mode : {Theme::Mode::Light, Theme::Mode::Dark}) {
            const Theme& t = Theme::of(mode);
            for (const std::optional<int> hue :
                 {std::optional<int>(), std::optional(110), std::optional(130), std::optional(165), std::optional(205),
                  std::optional(275), std::optional(310), std::optional(345)}) {
                for (const Theme::Step step : {Theme::Step::Quiet, Theme::Step::Mid, Theme::Step::Strong}) {
                    const QColor fill = t.classFill(hue, step);
                    QVERIFY2(contrastRatio(bestTextOn(fill), fill) >= 4.5, qPrintable(fill.name()));
                }
                QVERIFY(contrastRatio(t.classEdge(hue), t.surface) >= 2.5);
            }
            for (const QColor& fill : t.metricRamp) {
                QVERIFY(contrastRatio(bestTextOn(fill), fill) >= 4.5);
            }
            for (const QColor& fill : t.divergingRamp) {
                QVERIFY(contrastRatio(bestTextOn(fill), fill) >= 4.5);
            }
        }
    }

    /// Expected values from a second implementation of OKLCH in Python.
    void oklch_matchesASecondImplementation() {
        QCOMPARE(Theme::of(Theme::Mode::Light).classFill(275, Theme::Step::Quiet).name(), QStringLiteral("#dfe5fe"));
        QCOMPARE(Theme::of(Theme::Mode::Light).classFill(205, Theme::Step::Strong).name(), QStringLiteral("#68d4e0"));
        QCOMPARE(Theme::of(Theme::Mode::Dark).classFill(310, Theme::Step::Strong).name(), QStringLiteral("#9476ab"));
        QCOMPARE(Theme::of(Theme::Mode::Light).divergingRamp[6].name(), QStringLiteral("#b34a03"));
        QCOMPARE(Theme::of(Theme::Mode::Dark).divergingRamp[0].name(), QStringLiteral("#91c1fe"));
    }

    void classHue_isByKindThenByHash() {
        QCOMPARE(classHue(u"InteractionBlock"), 310);
        QCOMPARE(classHue(u"BertLayer"), 165);
        QCOMPARE(classHue(u"LowRankCrossNet"), 110);
        QCOMPARE(classHue(u"transformers.models.bert.modeling_bert:BertSelfAttention"), 275);
        QCOMPARE(classHue(u"LayerNorm"), 130);
        QCOMPARE(classHue(u"EmbeddingBagCollection"), 345);
        QCOMPARE(classHue(u"torch.nn.modules.container:ModuleList"), std::nullopt);
        QCOMPARE(classHue(u""), std::nullopt);
        QCOMPARE(classHue(u"my.norms.package:BertLayer"), classHue(u"BertLayer"));
    }

    void steps_followTheShareOfSelf() {
        QCOMPARE(stepForShare(0.005), Theme::Step::Quiet);
        QCOMPARE(stepForShare(0.006), Theme::Step::Mid);
        QCOMPARE(stepForShare(0.02), Theme::Step::Strong);
        QCOMPARE(divergingIndex(0.5, 0.8), 3);
        QCOMPARE(divergingIndex(1.0, 0.8), 4);
        QCOMPARE(divergingIndex(-3.0, 0.8), 1);
        QCOMPARE(divergingIndex(-10.0, 0.8), 0);
    }

    void controller_appliesTheSettingAndFollowsThePlatform() {
        ThemeController controller;
        QSignalSpy changed(&controller, &ThemeController::changed);
        controller.setSetting(ThemeController::Setting::Dark);
        QCOMPARE(Theme::current().mode, Theme::Mode::Dark);
        QCOMPARE(QApplication::palette().color(QPalette::Window), Theme::of(Theme::Mode::Dark).window);
        controller.setSetting(ThemeController::Setting::Light);
        QCOMPARE(Theme::current().mode, Theme::Mode::Light);
        QCOMPARE(changed.count(), 2);

        controller.setSetting(ThemeController::Setting::System);
        QPalette platform;
        platform.setColor(QPalette::Window, QColor(30, 30, 30));
        QApplication::setPalette(platform);
        QTRY_COMPARE(Theme::current().mode, Theme::Mode::Dark);
    }

    void icon_hasTheSizeOfItsBoxWhateverTheRatio() {
        const auto painted = [](QSize pixels, double ratio, double side) {
            QImage image(pixels, QImage::Format_ARGB32_Premultiplied);
            image.setDevicePixelRatio(ratio);
            image.fill(Qt::transparent);
            QPainter painter(&image);
            paintIcon(painter, QRectF(0, 0, side, side), Icon::Check, Qt::black);
            painter.end();
            image.setDevicePixelRatio(1);
            return image;
        };
        const QImage plain = painted({28, 28}, 1, 28);
        const QImage sharp = painted({28, 28}, 2, 14);
        QCOMPARE(sharp, plain);
    }

    void settingNames_roundTripAndGarbageIsSystem() {
        using Setting = ThemeController::Setting;
        for (const Setting setting : {Setting::Light, Setting::Dark, Setting::System}) {
            QCOMPARE(ThemeController::settingFromName(ThemeController::settingName(setting)), setting);
        }
        QCOMPARE(ThemeController::settingFromName(u"beige"), Setting::System);
    }
};

} // namespace modulelens::widgets

using modulelens::widgets::ThemeTest;
ML_TEST_MAIN(ThemeTest)

#include "tst_Theme.moc"
