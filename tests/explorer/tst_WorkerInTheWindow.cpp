// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/DocumentArea.h"
#include "app/explorer/HierarchyPage.h"
#include "app/explorer/JobsPanel.h"
#include "app/explorer/TensorsPage.h"
#include "app/explorer/ValidationPage.h"
#include "app/explorer/VersionHeader.h"
#include "app/explorer/VersionPage.h"
#include "models/Format.h"
#include "tests/explorer/WindowFixture.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"
#include "widgets/Banner.h"
#include "widgets/FlameGraph.h"
#include "widgets/MetricTree.h"

#include <QDialog>
#include <QMenu>
#include <QPlainTextEdit>
#include <QScopeGuard>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QToolButton>

#include <csignal>

namespace modulelens::explorer {

/// The real window with the real worker.
class WorkerInTheWindowTest : public QObject {
    Q_OBJECT

    static constexpr int kLimit = 120000;
    static std::vector<std::string> worker() { return {test::programPath("modulelens-worker").string()}; }

    static bool ended(const Session& session, int job) {
        const auto state = const_cast<Session&>(session).jobs().stateOf(job);
        return state != models::JobModel::State::Queued && state != models::JobModel::State::Running;
    }

    struct WidestFrame {
        const models::FlameSpan* span = nullptr;
        int row = 0;
    };

    /// The widest box below the root that stands for one scope.
    static WidestFrame widestFrame(const widgets::FlameGraph& flame) {
        WidestFrame widest;
        for (int row = 1; row < flame.flameLayout().rowCount(); ++row) {
            for (const models::FlameSpan& span : flame.flameLayout().row(row)) {
                if (span.hiddenCount == 0 && !span.isPass && (widest.span == nullptr || span.width > widest.span->width)) {
                    widest = {&span, row};
                }
            }
        }
        return widest;
    }

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(test::programPath("modulelens-worker"))) {
            QSKIP("modulelens-worker is not built: LibTorch was not found");
        }
    }

    void profiledVersion_selectsTheSameScopeInFlameAndTree() {
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openGolden());
        VersionPage* page = fixture.openVersion({});
        QVERIFY(page != nullptr);
        QSignalSpy profiled(&fixture.session, &Session::profiled);
        page->profile();
        QVERIFY(profiled.wait(kLimit));
        HierarchyPage* hierarchy = page->hierarchy();
        QTRY_VERIFY(hierarchy->view().profile() != nullptr && hierarchy->flame()->flameLayout().rowCount() > 1);

        const WidestFrame widest = widestFrame(*hierarchy->flame());
        QVERIFY(widest.span != nullptr);
        const auto scope = widest.span->scope;
        QTest::mouseClick(hierarchy->flame()->viewport(), Qt::LeftButton, {},
                          hierarchy->flame()->boxRect(widest.row, *widest.span).center());
        QTRY_COMPARE(hierarchy->view().selection(), scope);
        const QModelIndex current = hierarchy->tree()->currentIndex();
        QVERIFY(current.isValid());
        QCOMPARE(hierarchy->tree()->treeModel()->scopeAt(current), scope);
        QVERIFY(hierarchy->tree()->selectionModel()->isRowSelected(current.row(), current.parent()));
        QVERIFY(hierarchy->tree()->visualRect(current).isValid());

        // The other way round: the row above in the tree is the box that the flame graph marks.
        QTest::keyClick(hierarchy->tree(), Qt::Key_Up);
        QCOMPARE(hierarchy->tree()->treeModel()->scopeAt(hierarchy->tree()->currentIndex()), hierarchy->view().selection());
    }

    void backwardPass_isShownBesideTheForwardPass() {
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openGolden());
        VersionPage* page = fixture.openVersion({});
        QVERIFY(page != nullptr);
        HierarchyPage* hierarchy = page->hierarchy();
        QVERIFY(hierarchy->view().backwardColumn() == nullptr);
        // As a person does it: the menu beside Profile.
        auto* menu = page->findChild<VersionHeader*>()->profileMenuButton()->menu();
        QSignalSpy profiled(&fixture.session, &Session::profiled);
        for (QAction* action : menu->actions()) {
            if (action->text() == QStringLiteral("Forward and backward")) {
                action->trigger();
            }
        }
        QVERIFY(profiled.wait(kLimit));
        QTRY_VERIFY(hierarchy->view().backwardColumn() != nullptr);
        const auto* forward = hierarchy->view().forwardColumn();
        QVERIFY(forward != nullptr && forward->total.front() > 0);
        QVERIFY(hierarchy->view().backwardColumn()->total.front() > 0);
        QCOMPARE(hierarchy->view().total(0).value_or(0),
                 forward->total.front() + hierarchy->view().backwardColumn()->total.front());
        // The tree has a column of each, the flame graph a lane of each.
        const widgets::MetricTree* tree = hierarchy->tree();
        QVERIFY(tree->treeModel()->isColumnUseful(models::MetricTreeModel::BackwardColumn));
        QVERIFY(tree->treeModel()->index(0, models::MetricTreeModel::BackwardColumn).data().toString() !=
                models::notCaptured());
        int passes = 0;
        for (const models::FlameSpan& span : hierarchy->flame()->flameLayout().row(1)) {
            passes += span.isPass ? 1 : 0;
        }
        QCOMPARE(passes, 2);
        // The row that is selected is in sight, however the flame graph grew meanwhile.
        hierarchy->view().select(hierarchy->view().hotspot());
        QVERIFY(tree->currentIndex().isValid());
        QTRY_VERIFY(tree->viewport()->rect().contains(tree->visualRect(tree->currentIndex()).center()));
        // Opened again, the stored profile has both.
        fixture.window.documents()->closeCurrent();
        VersionPage* again = fixture.openVersion({});
        QVERIFY(again != nullptr);
        QTRY_VERIFY(again->hierarchy()->view().backwardColumn() != nullptr);
    }

    void benchmarkAndSweep_areRunsWithTheirNumbersInTheLog() {
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openGolden());
        VersionPage* page = fixture.openVersion(QStringLiteral("linear"));
        QVERIFY(page != nullptr);
        models::JobModel& jobs = fixture.session.jobs();
        const int benchmark = fixture.session.benchmark(page->version());
        QTRY_VERIFY_WITH_TIMEOUT(ended(fixture.session, benchmark), kLimit);
        QVERIFY2(jobs.sentenceOf(benchmark).contains(QStringLiteral("samples")), qPrintable(jobs.sentenceOf(benchmark)));
        QVERIFY2(jobs.logOf(benchmark).contains(QStringLiteral("half of the runs from")), qPrintable(jobs.logOf(benchmark)));

        // A double click on the row shows the log.
        fixture.window.jobsPanel()->setOpen(true);
        auto* table = fixture.window.jobsPanel()->findChild<QTableView*>();
        emit table->doubleClicked(table->model()->index(0, models::JobModel::ResultColumn));
        auto* log = fixture.window.findChild<QDialog*>(QStringLiteral("log"));
        QVERIFY(log != nullptr && log->isVisible());
        QVERIFY(log->findChild<QPlainTextEdit*>()->toPlainText().contains(QStringLiteral("first call")));
        log->close();

        const int sweep = fixture.session.sweep(page->version(), QStringLiteral("batch=2,4"));
        QTRY_VERIFY_WITH_TIMEOUT(ended(fixture.session, sweep), kLimit);
        QVERIFY2(jobs.sentenceOf(sweep).startsWith(QStringLiteral("2 of 2 points")), qPrintable(jobs.sentenceOf(sweep)));
        QVERIFY2(jobs.logOf(sweep).contains(QStringLiteral("batch = 4: ")), qPrintable(jobs.logOf(sweep)));

        QCOMPARE(fixture.session.sweep(page->version(), QStringLiteral("batch=0")), 0);
        QVERIFY2(fixture.bannerText().contains(QStringLiteral("positive")), qPrintable(fixture.bannerText()));
        const auto stored = fixture.session.registry()->results(page->version().id.toStdString(), "benchmark");
        QCOMPARE(stored->size(), 2U);
    }

    void validatedVersion_showsTheVerdictEverywhere() {
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openGolden());
        VersionPage* page = fixture.openVersion(QStringLiteral("linear"));
        QVERIFY(page != nullptr);
        QSignalSpy changed(&fixture.session, &Session::versionChanged);
        page->validate();
        QVERIFY(changed.wait(kLimit));
        QCOMPARE(page->version().verdict, QStringLiteral("pass"));
        QVERIFY(page->validation()->hasReport());
        QVERIFY(page->validation()->model().rowCount() > 0);
        QVERIFY2(page->validation()->banner()->sentence().startsWith(QStringLiteral("Bit-exact")),
                 qPrintable(page->validation()->banner()->sentence()));
    }

    void tensors_areReadWhenThePageIsOpened() {
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openGolden());
        VersionPage* page = fixture.openVersion(QStringLiteral("linear"));
        QVERIFY(page != nullptr);
        QCOMPARE(page->tensors()->model().tensorCount(), 0);
        QSignalSpy loaded(page->tensors(), &TensorsPage::loaded);
        page->showView(VersionPage::View::Tensors);
        QVERIFY(loaded.count() > 0 || loaded.wait(kLimit));
        QVERIFY(page->tensors()->model().tensorCount() >= 2);
    }

    void workerThatNeverGetsReady_doesNotKeepTheWindowFromEnding() {
        qputenv("MODULELENS_WORKER_FAULT", "hang-in:initialize");
        const auto forget = qScopeGuard([] { qunsetenv("MODULELENS_WORKER_FAULT"); });
        {
            test::WindowFixture fixture(worker());
            QVERIFY(fixture.openGolden());
            fixture.window.openAddress(QStringLiteral("golden::linear@v0"), {});
            QTRY_VERIFY_WITH_TIMEOUT(test::childProcesses().size() == 1, kLimit);
            QVERIFY(!fixture.session.pool().isIdle());
        }
        // The test's own time limit catches a destructor that waits.
        QVERIFY(test::childProcesses().empty());
    }

    void killedWorker_failsItsJobAndTheNextIsGood() {
        qputenv("MODULELENS_WORKER_FAULT", "hang-in:profile");
        const auto forget = qScopeGuard([] { qunsetenv("MODULELENS_WORKER_FAULT"); });
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openGolden());
        VersionPage* page = fixture.openVersion(QStringLiteral("linear"));
        QVERIFY(page != nullptr);
        QTRY_VERIFY_WITH_TIMEOUT(fixture.session.pool().isIdle() && !fixture.session.devices().isEmpty(), kLimit);
        const int hanging = fixture.session.profile(page->version());
        QTRY_COMPARE_WITH_TIMEOUT(fixture.session.jobs().stateOf(hanging), models::JobModel::State::Running, kLimit);
        const std::vector<int> workers = test::childProcesses();
        QCOMPARE(workers.size(), 1U);
        QCOMPARE(::kill(workers.front(), SIGKILL), 0);
        QTRY_VERIFY_WITH_TIMEOUT(ended(fixture.session, hanging), kLimit);
        QCOMPARE(fixture.session.jobs().stateOf(hanging), models::JobModel::State::Failed);
        const QString sentence = fixture.session.jobs().sentenceOf(hanging);
        QVERIFY2(sentence.contains(QStringLiteral("SIGKILL")), qPrintable(sentence));
        QVERIFY(fixture.window.isVisible());

        qunsetenv("MODULELENS_WORKER_FAULT");
        const int good = fixture.session.profile(page->version());
        QTRY_VERIFY_WITH_TIMEOUT(ended(fixture.session, good), kLimit);
        QVERIFY2(fixture.session.jobs().stateOf(good) == models::JobModel::State::Done,
                 qPrintable(fixture.session.jobs().sentenceOf(good)));
    }
};

} // namespace modulelens::explorer

using modulelens::explorer::WorkerInTheWindowTest;
ML_TEST_MAIN(WorkerInTheWindowTest)

#include "tst_WorkerInTheWindow.moc"
