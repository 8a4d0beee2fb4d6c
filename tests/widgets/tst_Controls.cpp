// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/RegistrySearch.h"
#include "tests/support/TestMain.h"
#include "widgets/Banner.h"
#include "widgets/ChipRow.h"
#include "widgets/FacetList.h"
#include "widgets/FindField.h"
#include "widgets/MetricTiles.h"
#include "widgets/QueryField.h"
#include "widgets/SegmentedControl.h"
#include "widgets/TabStrip.h"

#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>

namespace modulelens::widgets {

/// The keyboard does what the mouse does, and nothing is chosen that cannot be.
class ControlsTest : public QObject {
    Q_OBJECT

private slots:
    void segments_moveWithTheArrows() {
        SegmentedControl control(QStringLiteral("Direction"));
        control.setSegments({{QStringLiteral("Forward"), {}}, {QStringLiteral("Backward"), {}}});
        QSignalSpy changed(&control, &SegmentedControl::currentChanged);
        QTest::keyClick(&control, Qt::Key_Right);
        QCOMPARE(control.current(), 1);
        QTest::keyClick(&control, Qt::Key_Right);
        QCOMPARE(control.current(), 1);
        QTest::keyClick(&control, Qt::Key_Left);
        QCOMPARE(control.current(), 0);
        QCOMPARE(changed.count(), 2);
        QCOMPARE(control.accessibleName(), QStringLiteral("Direction"));
    }

    void tiles_skipMetricsWithoutAValue() {
        MetricTiles tiles;
        MetricTiles::Tile latency{QStringLiteral("latency"), QStringLiteral("Latency"), QStringLiteral("1 ms"), {}, {}, true};
        MetricTiles::Tile peak{QStringLiteral("peak"), QStringLiteral("Peak"), QStringLiteral("—"), {}, {}, false};
        MetricTiles::Tile flops{QStringLiteral("flops"), QStringLiteral("FLOPs"), QStringLiteral("1 G"), {}, {}, true};
        tiles.setTiles({latency, peak, flops});
        tiles.setCurrent(QStringLiteral("latency"));
        tiles.resize(tiles.sizeHint());
        QTest::keyClick(&tiles, Qt::Key_Right);
        QCOMPARE(tiles.current(), QStringLiteral("flops"));
        QTest::mouseClick(&tiles, Qt::LeftButton, {}, QPoint(10, 10));
        QCOMPARE(tiles.current(), QStringLiteral("latency"));
        const int all = tiles.sizeHint().width();
        tiles.setCompact(true);
        QVERIFY(tiles.sizeHint().width() < all);
    }

    void queryField_splitsTermsFromText() {
        QueryField field;
        field.resize(280, 28);
        field.setQuery(QStringLiteral("model=x attn tag:\"two words\""));
        QCOMPARE(field.edit()->text(), QStringLiteral("attn"));
        QCOMPARE(field.query(), QStringLiteral("model=x tag:\"two words\" attn"));
        QSignalSpy changed(&field, &QueryField::queryChanged);
        QTest::keyClicks(field.edit(), QStringLiteral(" is:program"));
        QTest::keyClick(field.edit(), Qt::Key_Return);
        QCOMPARE(field.query(), QStringLiteral("model=x tag:\"two words\" is:program attn"));
        QCOMPARE(changed.last().first().toString(), field.query());
        const int without = field.height();
        field.setError(QStringLiteral("Unknown field at character 3."), 2);
        QVERIFY(field.height() > without);
        field.setError({}, -1);
        QCOMPARE(field.height(), without);
    }

    void banner_growsForWhatDoesNotFit() {
        QWidget host;
        host.resize(1000, 400);
        Banner banner(&host);
        banner.resize(900, banner.height());
        host.show();
        banner.show(Banner::Kind::Bad, QStringLiteral("It failed"), QStringLiteral("Try again."));
        const int low = banner.height();
        banner.show(Banner::Kind::Bad, QStringLiteral("It failed"),
                    QStringLiteral("The registry file /") + QString(400, u'a') +
                        QStringLiteral(" is missing. Import the bundle again."));
        const int high = banner.height();
        QVERIFY(high > low);
        banner.resize(400, banner.height());
        QVERIFY(banner.height() > high);
        banner.show(Banner::Kind::Bad, QStringLiteral("It failed"), QStringLiteral("Try again."));
        QCOMPARE(banner.height(), low);
    }

    void findField_stepsAndClears() {
        FindField field(QStringLiteral("Find"), QStringLiteral("Ctrl+F"));
        QSignalSpy next(&field, &FindField::nextRequested);
        QSignalSpy previous(&field, &FindField::previousRequested);
        QTest::keyClicks(&field, QStringLiteral("attn"));
        QTest::keyClick(&field, Qt::Key_Return);
        QTest::keyClick(&field, Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(next.count(), 1);
        QCOMPARE(previous.count(), 1);
        QTest::keyClick(&field, Qt::Key_Escape);
        QVERIFY(field.text().isEmpty());
    }

    void facets_areChosenWithSpace() {
        FacetList list;
        list.setFacets({{QStringLiteral("tag"), QStringLiteral("Tag"), {{QStringLiteral("prod"), 3, false}}}});
        QSignalSpy toggled(&list, &FacetList::toggled);
        QTest::keyClick(&list, Qt::Key_Down);
        QTest::keyClick(&list, Qt::Key_Space);
        QCOMPARE(toggled.count(), 1);
        QCOMPARE(toggled.first().at(0).toString(), QStringLiteral("tag"));
        QCOMPARE(toggled.first().at(1).toString(), QStringLiteral("prod"));
    }

    void chips_areAddedAndRemovedByKeys() {
        ChipRow row;
        row.setChips({QStringLiteral("latest")}, {QStringLiteral("prod")});
        row.resize(400, 24);
        row.show();
        QSignalSpy removed(&row, &ChipRow::tagRemoved);
        QSignalSpy aliasRemoved(&row, &ChipRow::aliasRemoved);
        QTest::keyClick(&row, Qt::Key_Left);
        QTest::keyClick(&row, Qt::Key_Delete);
        QCOMPARE(removed.count(), 1);
        QCOMPARE(removed.first().first().toString(), QStringLiteral("prod"));
        // "latest" moves by itself and cannot be taken away.
        QTest::keyClick(&row, Qt::Key_Left);
        QTest::keyClick(&row, Qt::Key_Delete);
        QCOMPARE(aliasRemoved.count(), 0);

        QSignalSpy tagAdded(&row, &ChipRow::tagAdded);
        QSignalSpy aliasAdded(&row, &ChipRow::aliasAdded);
        auto* edit = row.findChild<QLineEdit*>();
        row.startAdding();
        QTest::keyClicks(edit, QStringLiteral("nightly"));
        QTest::keyClick(edit, Qt::Key_Return);
        QCOMPARE(tagAdded.first().first().toString(), QStringLiteral("nightly"));
        row.startAdding();
        QTest::keyClicks(edit, QStringLiteral("@golden"));
        QTest::keyClick(edit, Qt::Key_Return);
        QCOMPARE(aliasAdded.first().first().toString(), QStringLiteral("golden"));
    }

    void trouble_widensItsTabOnly() {
        TabStrip tabs(TabStrip::Kind::Pages);
        tabs.addTabWithIcon(Icon::Tree, QStringLiteral("Hierarchy"));
        tabs.addTabWithIcon(Icon::Check, QStringLiteral("Validation"));
        const int before = tabs.tabRect(1).width();
        tabs.setTrouble(1, QStringLiteral("14"));
        QVERIFY(tabs.tabRect(1).width() > before);
        tabs.setTrouble(1, {});
        QCOMPARE(tabs.tabRect(1).width(), before);
    }
};

} // namespace modulelens::widgets

using modulelens::widgets::ControlsTest;
ML_TEST_MAIN(ControlsTest)

#include "tst_Controls.moc"
