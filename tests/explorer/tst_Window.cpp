// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/CommandPalette.h"
#include "app/explorer/CommandText.h"
#include "app/explorer/DocumentArea.h"
#include "app/explorer/JobsPanel.h"
#include "app/explorer/RegistryPanel.h"
#include "app/explorer/SourceEditPanel.h"
#include "app/explorer/SourcePage.h"
#include "app/explorer/VersionPage.h"
#include "tests/explorer/WindowFixture.h"
#include "tests/support/TestMain.h"
#include "widgets/Banner.h"
#include "widgets/QueryField.h"
#include "widgets/RegistryTree.h"

#include <QAbstractButton>
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

namespace modulelens::explorer {

class WindowTest : public QObject {
    Q_OBJECT

    static QModelIndex firstVersion(const QAbstractItemModel& model, const QModelIndex& parent = {}) {
        for (int row = 0; row < model.rowCount(parent); ++row) {
            const QModelIndex index = model.index(row, 0, parent);
            const auto kind =
                static_cast<models::RegistryTreeModel::RowKind>(index.data(models::RegistryTreeModel::KindRole).toInt());
            if (kind == models::RegistryTreeModel::RowKind::Version) {
                return index;
            }
            const QModelIndex found = firstVersion(model, index);
            if (found.isValid()) {
                return found;
            }
        }
        return {};
    }

private slots:
    void emptyRegistry_showsWhatToDo() {
        test::WindowFixture fixture;
        QVERIFY(fixture.openEmpty());
        QVERIFY(fixture.session.search().isEmptyRegistry());
        const auto* focused = qobject_cast<QAbstractButton*>(fixture.window.focusWidget());
        QVERIFY(focused != nullptr);
        QCOMPARE(focused->text(), QStringLiteral("Open a bundle"));
        QVERIFY(fixture.bannerText().isEmpty());
    }

    void typedQuery_findsAVersionAndEnterOpensIt() {
        test::WindowFixture fixture;
        QVERIFY(fixture.openGolden());
        RegistryPanel* panel = fixture.window.registryPanel();
        QTest::keyClicks(panel->queryField()->edit(), QStringLiteral("linear"));
        QTRY_COMPARE(fixture.session.search().query(), QStringLiteral("linear"));
        QTRY_VERIFY(fixture.session.pool().isIdle() && fixture.session.search().versionCount() == 1);
        QTRY_VERIFY(firstVersion(*panel->tree()->model()).isValid());
        panel->tree()->setCurrentIndex(firstVersion(*panel->tree()->model()));
        QTest::keyClick(panel->tree(), Qt::Key_Return);
        QVERIFY(fixture.window.documents()->current() != nullptr);
        QCOMPARE(fixture.window.documents()->current()->version().address(), QStringLiteral("golden::linear@v0"));
    }

    void query_keepsTheFocusWhileItAnswersAndDownLeadsToTheFirstVersion() {
        test::WindowFixture fixture;
        QVERIFY(fixture.openGolden());
        RegistryPanel* panel = fixture.window.registryPanel();
        QLineEdit* edit = panel->queryField()->edit();
        edit->setFocus();
        fixture.window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&fixture.window));
        QTest::keyClicks(edit, QStringLiteral("mo"));
        QTRY_COMPARE(fixture.session.search().query(), QStringLiteral("mo"));
        QTRY_VERIFY(fixture.session.pool().isIdle());
        QTest::keyClicks(edit, QStringLiteral("dule:linear"));
        QTRY_COMPARE(fixture.session.search().query(), QStringLiteral("module:linear"));
        QTRY_VERIFY(fixture.session.pool().isIdle() && firstVersion(*panel->tree()->model()).isValid());
        QTRY_VERIFY(edit->hasFocus());
        QTest::keyClick(edit, Qt::Key_Down);
        QVERIFY(panel->tree()->hasFocus());
        QTest::keyClick(panel->tree(), Qt::Key_Return);
        QVERIFY(fixture.window.documents()->current() != nullptr);
        QCOMPARE(fixture.window.documents()->current()->version().address(), QStringLiteral("golden::linear@v0"));
    }

    void tree_keepsWhatIsOpenAndChosenWhenItIsReadAgain() {
        test::WindowFixture fixture;
        QVERIFY(fixture.openGolden());
        VersionPage* page = fixture.openVersion(QStringLiteral("linear"));
        QVERIFY(page != nullptr);
        QTreeView* tree = fixture.window.registryPanel()->tree();
        const auto current = [tree] { return tree->currentIndex().data(models::RegistryTreeModel::KeyRole).toString(); };
        const QString key = QStringLiteral("version/") + page->version().id;
        QTRY_COMPARE(current(), key);
        const QModelIndex first = tree->model()->index(0, 0, tree->model()->index(0, 0));
        QVERIFY(tree->isExpanded(first));
        tree->collapse(first);
        QSignalSpy changed(&fixture.session.search(), &models::RegistrySearch::changed);
        fixture.session.search().refresh();
        QVERIFY(changed.wait(30000));
        QTRY_COMPARE(current(), key);
        QTRY_VERIFY(fixture.session.pool().isIdle());
        QVERIFY(tree->isExpanded(tree->currentIndex().parent()));
        QVERIFY(!tree->isExpanded(tree->model()->index(0, 0, tree->model()->index(0, 0))));
    }

    void termInTheQuery_becomesAChipAndCanBeTakenBack() {
        test::WindowFixture fixture;
        QVERIFY(fixture.openGolden());
        widgets::QueryField* field = fixture.window.registryPanel()->queryField();
        QTest::keyClicks(field->edit(), QStringLiteral("tag:golden"));
        QTest::keyClick(field->edit(), Qt::Key_Return);
        QVERIFY(field->edit()->text().isEmpty());
        QCOMPARE(field->query(), QStringLiteral("tag:golden"));
        QTRY_COMPARE(fixture.session.search().query(), QStringLiteral("tag:golden"));
        QTest::keyClick(field->edit(), Qt::Key_Backspace);
        QCOMPARE(field->edit()->text(), QStringLiteral("tag:golden"));
        QTest::keyClick(field->edit(), Qt::Key_Escape);
        QVERIFY(field->query().isEmpty());
        QTRY_VERIFY(fixture.session.search().query().isEmpty());
    }

    void brokenQuery_saysWhereAndKeepsWhatIsShown() {
        test::WindowFixture fixture;
        QVERIFY(fixture.openGolden());
        widgets::QueryField* field = fixture.window.registryPanel()->queryField();
        QTest::keyClicks(field->edit(), QStringLiteral("params>many"));
        QTRY_VERIFY(!field->errorText().isEmpty());
        QVERIFY2(field->errorText().contains(QStringLiteral("character 8")), qPrintable(field->errorText()));
        QCOMPARE(fixture.session.search().versionCount(), 3);
    }

    void tag_isAddedInPlace() {
        test::WindowFixture fixture;
        QVERIFY(fixture.openGolden());
        const VersionPage* page = fixture.openVersion(QStringLiteral("linear"));
        QVERIFY(page != nullptr);
        QSignalSpy changed(&fixture.session, &Session::versionChanged);
        fixture.session.editLabel(page->version(), Session::Label::AddTag, QStringLiteral("checked"));
        QVERIFY(changed.wait());
        QVERIFY(page->version().tags.contains(QStringLiteral("checked")));
        fixture.session.editLabel(page->version(), Session::Label::SetAlias, QStringLiteral("latest"));
        QTRY_VERIFY(!fixture.bannerText().isEmpty());
    }

    void folderThatIsAFile_isRefusedWithASentence() {
        test::WindowFixture fixture;
        QFile file(fixture.folder.filePath(QStringLiteral("registry")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.close();
        fixture.window.show();
        fixture.session.openFolder(fixture.registryFolder());
        QTRY_VERIFY(!fixture.bannerText().isEmpty());
        QVERIFY(fixture.window.isVisible());
        fixture.session.importPath(fixture.folder.filePath(QStringLiteral("bundle")));
        QVERIFY2(fixture.bannerText().startsWith(QStringLiteral("No registry is open")), qPrintable(fixture.bannerText()));
    }

    void failedJob_showsItsLogByKeyboard() {
        test::WindowFixture fixture({"/nonexistent/modulelens-worker"});
        QVERIFY(fixture.openGolden());
        VersionPage* page = fixture.openVersion(QStringLiteral("linear"));
        QVERIFY(page != nullptr);
        JobsPanel* jobs = fixture.window.jobsPanel();
        const int job = fixture.session.profile(page->version());
        QTRY_COMPARE(fixture.session.jobs().stateOf(job), models::JobModel::State::Failed);
        jobs->setOpen(true);
        auto* table = jobs->findChild<QTableView*>();
        table->setCurrentIndex(table->model()->index(0, 0));
        QSignalSpy asked(jobs, &JobsPanel::logRequested);
        // The window's own answer is a dialog that waits for its user.
        QObject::disconnect(jobs, &JobsPanel::logRequested, &fixture.window, nullptr);
        QTest::keyClick(table, Qt::Key_Return);
        QCOMPARE(asked.count(), 1);
        QCOMPARE(asked.first().first().toInt(), job);
    }

    void missingWorker_failsTheJobAndLeavesTheWindowAlive() {
        test::WindowFixture fixture({"/nonexistent/modulelens-worker"});
        QVERIFY(fixture.openGolden());
        VersionPage* page = fixture.openVersion(QStringLiteral("linear"));
        QVERIFY(page != nullptr);
        const int job = fixture.session.validate(page->version());
        QTRY_VERIFY_WITH_TIMEOUT(
            fixture.session.jobs().isIdle() && fixture.session.jobs().stateOf(job) == models::JobModel::State::Failed, 30000);
        QVERIFY2(fixture.session.jobs().sentenceOf(job).contains(QStringLiteral("/nonexistent/modulelens-worker")),
                 qPrintable(fixture.session.jobs().sentenceOf(job)));
        QVERIFY(fixture.window.isVisible());
    }

    void palette_saysWhichCommandDoesTheSameAndCopiesIt() {
        test::WindowFixture fixture;
        QVERIFY(fixture.openGolden());
        fixture.window.showPalette();
        auto* palette = fixture.window.findChild<CommandPalette*>();
        auto* edit = palette->findChild<QLineEdit*>();
        edit->setText(QStringLiteral("validate this"));
        // Without a version the command would name none.
        QCOMPARE(palette->sameCommand(), QString());
        QVERIFY(fixture.openVersion(QStringLiteral("linear")) != nullptr);
        fixture.session.setDevice(QStringLiteral("cuda:0"));
        fixture.window.showPalette();
        edit->setText(QStringLiteral("validate this"));
        QCOMPARE(palette->sameCommand(), QStringLiteral("modulelens validate golden::linear@v0 --device cuda:0"));
        QTest::keyClick(edit, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QApplication::clipboard()->text(), palette->sameCommand());
        edit->setText(QStringLiteral("switch between"));
        QCOMPARE(palette->sameCommand(), QString());
        edit->setText(QStringLiteral("module:activation"));
        QTRY_COMPARE(palette->sameCommand(), QStringLiteral("modulelens open golden::activation@v0"));
    }

    void commandText_quotesWhatAShellWouldRead() {
        QCOMPARE(shellWord(QStringLiteral("m::a.0@v1")), QStringLiteral("m::a.0@v1"));
        QCOMPARE(shellWord(QStringLiteral("my model::a")), QStringLiteral("'my model::a'"));
        QCOMPARE(shellWord(QStringLiteral("it's")), QStringLiteral("'it'\\''s'"));
        QCOMPARE(shellWord({}), QStringLiteral("''"));
        QCOMPARE(commandText(QStringLiteral("profile %v --backward%d"), QStringLiteral("m::%d@v0"), QStringLiteral("cpu")),
                 QStringLiteral("modulelens profile m::%d@v0 --backward"));
    }

    void jobs_nameTheWholeModelWithItsNumber() {
        test::WindowFixture fixture({"/nonexistent/modulelens-worker"});
        QVERIFY(fixture.openGolden());
        fixture.session.profile(fixture.openVersion({})->version());
        fixture.session.profile(fixture.openVersion(QStringLiteral("linear"))->version());
        models::JobModel& jobs = fixture.session.jobs();
        QTRY_VERIFY(jobs.isIdle());
        QCOMPARE(jobs.index(1, models::JobModel::ModuleColumn).data().toString(), QStringLiteral("golden@v0"));
        QCOMPARE(jobs.index(0, models::JobModel::ModuleColumn).data().toString(), QStringLiteral("golden::linear@v0"));
    }

    void editWithoutPythonOrEditor_saysWhatToDoAndKeepsTheFile() {
        const QTemporaryDir user;
        qputenv("XDG_CONFIG_HOME", user.filePath(QStringLiteral("config")).toUtf8());
        qputenv("XDG_DATA_HOME", user.filePath(QStringLiteral("data")).toUtf8());
        test::WindowFixture fixture;
        QVERIFY(fixture.openGolden());
        fixture.session.setPython(QStringLiteral("/no/such/python"));
        fixture.session.setEditor(QStringLiteral("/no/such/editor"));
        VersionPage* page = fixture.openVersion(QStringLiteral("linear"));
        QVERIFY(page != nullptr);
        page->editSource();
        QCOMPARE(page->view(), VersionPage::View::Source);
        const models::SourceEdit& edit = page->source()->panel()->edit();
        QTRY_COMPARE(edit.state(), models::SourceEdit::State::Watching);
        const widgets::Banner* banner = page->source()->panel()->banner();
        QCOMPARE(banner->sentence(), QStringLiteral("Edit Linear.py and save it"));
        QTRY_VERIFY2(banner->detail().contains(QStringLiteral("/no/such/editor could not be started")),
                     qPrintable(banner->detail()));
        QFile file(edit.file());
        QVERIFY(file.open(QIODevice::Append));
        file.write("# edited\n");
        file.close();
        QTRY_VERIFY_WITH_TIMEOUT(edit.error().has_value(), 30000);
        QVERIFY2(banner->detail().contains(QStringLiteral("/no/such/python")), qPrintable(banner->detail()));
        bool offersPython = false;
        for (const QPushButton* button : page->source()->panel()->findChildren<QPushButton*>()) {
            offersPython =
                offersPython || (button->isVisible() && button->text().startsWith(QStringLiteral("Choose a Python")));
        }
        QVERIFY(offersPython);
        QCOMPARE(edit.state(), models::SourceEdit::State::Watching);
        // Opened again, the edit is there.
        fixture.window.documents()->closeCurrent();
        page = fixture.openVersion(QStringLiteral("linear"));
        page->editSource();
        const models::SourceEdit& again = page->source()->panel()->edit();
        QTRY_COMPARE(again.state(), models::SourceEdit::State::Watching);
        QVERIFY(!again.isNewFile());
        QFile kept(again.file());
        QVERIFY(kept.open(QIODevice::ReadOnly) && kept.readAll().endsWith("# edited\n"));
    }

    void documents_goBackAndForward() {
        test::WindowFixture fixture;
        QVERIFY(fixture.openGolden());
        QVERIFY(fixture.openVersion(QStringLiteral("linear")) != nullptr);
        QVERIFY(fixture.openVersion(QStringLiteral("activation")) != nullptr);
        DocumentArea* documents = fixture.window.documents();
        QCOMPARE(documents->count(), 2);
        documents->goBack();
        QCOMPARE(documents->current()->version().module, QStringLiteral("linear"));
        QVERIFY(documents->canGoForward());
        documents->goForward();
        QCOMPARE(documents->current()->version().module, QStringLiteral("activation"));
        documents->closeCurrent();
        QCOMPARE(documents->count(), 1);
    }

    void lastVersion_isOpenedAgainAndAMissingOneIsNot() {
        test::WindowFixture fixture;
        QVERIFY(fixture.openGolden());
        QVERIFY(fixture.openVersion(QStringLiteral("linear")) != nullptr);
        Settings kept = fixture.window.settings();
        MainWindow again(fixture.session, fixture.theme, kept);
        again.restoreSession();
        kept.lastVersion = QStringLiteral("gone");
        MainWindow without(fixture.session, fixture.theme, kept);
        without.restoreSession();
        emit fixture.session.opened();
        QTRY_VERIFY(again.documents()->current() != nullptr);
        QCOMPARE(again.documents()->current()->version().module, QStringLiteral("linear"));
        QTRY_VERIFY(fixture.session.pool().isIdle());
        QVERIFY(!without.banner()->isVisible());
    }

    void layout_isKeptAndReset() {
        test::WindowFixture fixture;
        QVERIFY(fixture.openGolden());
        fixture.window.jobsPanel()->setOpen(true);
        const Settings kept = fixture.window.settings();
        QVERIFY(kept.jobsOpen);
        QVERIFY(!kept.geometry.isEmpty());
        const test::WindowFixture again({}, kept);
        QVERIFY(again.window.jobsPanel()->isOpen());
        fixture.window.resetLayout();
        QVERIFY(!fixture.window.jobsPanel()->isOpen());
    }
};

} // namespace modulelens::explorer

using modulelens::explorer::WindowTest;
ML_TEST_MAIN(WindowTest)

#include "tst_Window.moc"
