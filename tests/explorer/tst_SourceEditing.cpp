// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/SourceEditPanel.h"
#include "app/explorer/SourcePage.h"
#include "app/explorer/SourceView.h"
#include "app/explorer/VersionPage.h"
#include "backend/operations/Permissions.h"
#include "backend/operations/Verifying.h"
#include "tests/explorer/WindowFixture.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"
#include "widgets/Banner.h"
#include "widgets/DifferenceView.h"

#include <QCheckBox>
#include <QFile>
#include <QMessageBox>
#include <QPushButton>
#include <QTest>

namespace modulelens::explorer {

/// "Edit source" in the real window with the real Python worker, from the button to the verdict.
class SourceEditingTest : public QObject {
    Q_OBJECT

    static constexpr int kLimit = 120000;
    using State = models::SourceEdit::State;

private slots:
    void initTestCase() {
        if (qEnvironmentVariableIsEmpty("MODULELENS_PYTHON")) {
            QSKIP("there is no Python with torch");
        }
        qputenv("PYTHONPATH", qgetenv("MODULELENS_SOURCE_DIR") + "/backend/python");
    }

    void init() {
        m_user = std::make_unique<QTemporaryDir>();
        qputenv("XDG_CONFIG_HOME", m_user->filePath(QStringLiteral("config")).toUtf8());
        qputenv("XDG_DATA_HOME", m_user->filePath(QStringLiteral("data")).toUtf8());
        m_fixture = std::make_unique<test::WindowFixture>(std::vector<std::string>{"/nonexistent/modulelens-worker"});
        QVERIFY(m_fixture->openGolden());
        // As an editor does it, the file that was opened is written elsewhere.
        m_fixture->session.setEditor(QStringLiteral("cp {file} ") + m_user->filePath(QStringLiteral("opened.py")));
        m_page = m_fixture->openVersion(QStringLiteral("linear"));
        QVERIFY(m_page != nullptr);
        m_page->editSource();
        QTRY_VERIFY_WITH_TIMEOUT(edit().state() == State::Watching, kLimit);
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(m_user->filePath(QStringLiteral("opened.py"))), kLimit);
        m_captured = read(edit().file());
    }

    void cleanup() {
        m_fixture.reset();
        // Neither window nor test waits for a worker.
        QVERIFY(test::childProcesses().empty());
    }

    void savedEdit_runsAfterConsentAndShowsVerdictAndDifference() {
        QCOMPARE(read(m_user->filePath(QStringLiteral("opened.py"))), m_captured);
        save(QStringLiteral("return F.linear(input, self.weight, self.bias)"),
             QStringLiteral("return torch.addmm(self.bias, input, self.weight.t())"));
        QMessageBox* question = asked();
        QVERIFY(question != nullptr);
        QVERIFY2(question->text().contains(QStringLiteral("Run the edited Linear")), qPrintable(question->text()));
        QVERIFY(question->informativeText().contains(QStringLiteral("Python code")));
        QVERIFY(question->checkBox() != nullptr && !question->checkBox()->isChecked());
        QCOMPARE(edit().state(), State::Asking);
        allow(false);
        QTRY_VERIFY_WITH_TIMEOUT(edit().report() != nullptr, kLimit);
        QVERIFY2(banner()->sentence().contains(QStringLiteral("times as fast")), qPrintable(banner()->sentence()));
        QVERIFY(edit().report()->benchmark->ratio.has_value());
        SourcePage* page = m_page->source();
        QCOMPARE(page->shown(), SourcePage::Shown::Difference);
        QCOMPARE(page->difference()->added(), 1);
        QCOMPARE(page->difference()->removed(), 1);
        for (const char* text : {"Against the captured outputs", "Times as fast", "95 %"}) {
            QVERIFY2(page->list()->asText().contains(QString::fromUtf8(text)), qPrintable(page->list()->asText()));
        }
        QCOMPARE(m_page->command(), QStringLiteral("modulelens verify golden::linear@v0 --edit --watch"));
        // Nothing is stored with the version, and this very text is consented to, once.
        QVERIFY(m_fixture->session.registry()->results(m_page->version().id.toStdString(), "benchmark")->empty());
        QCOMPARE(operations::ConsentStore().all()->size(), 1U);
        // Another text is another question.
        save(QStringLiteral("return F.linear(input, self.weight, self.bias)"), QStringLiteral("return input"));
        QVERIFY(asked() != nullptr);
        deny();
        QTRY_COMPARE(edit().state(), State::Watching);
        QVERIFY(banner()->detail().contains(QStringLiteral("did not consent")));
        QVERIFY(edit().report() != nullptr);
    }

    void trustedSaves_runWithoutAskingThroughErrors() {
        save(QStringLiteral("return F.linear("), QStringLiteral("return F.linear(("));
        QVERIFY(asked() != nullptr);
        allow(true);
        QTRY_VERIFY_WITH_TIMEOUT(edit().error().has_value(), kLimit);
        const int line =
            1 + static_cast<int>(m_captured.left(m_captured.indexOf(QStringLiteral("return F.linear("))).count(u'\n'));
        QCOMPARE(edit().errorLine(), line);
        QCOMPARE(m_page->source()->shown(), SourcePage::Shown::Edited);
        QTRY_COMPARE(m_page->source()->editedText()->markedLine(), line);
        QVERIFY2(banner()->detail().contains(QStringLiteral("SyntaxError")), qPrintable(banner()->detail()));

        save(QStringLiteral("return F.linear("), QStringLiteral("raise ValueError('by hand')\n        return F.linear("));
        QTRY_VERIFY_WITH_TIMEOUT(banner()->detail().contains(QStringLiteral("by hand")), kLimit);
        QCOMPARE(edit().errorLine(), line);

        save(QStringLiteral("self.bias)"), QStringLiteral("self.bias) * 2"));
        QTRY_VERIFY_WITH_TIMEOUT(edit().report() != nullptr, kLimit);
        QCOMPARE(edit().report()->validation.verdict, std::string("fail"));
        QCOMPARE(m_page->source()->shown(), SourcePage::Shown::Difference);
        QVERIFY2(m_page->source()->list()->asText().contains(QStringLiteral("Drifts")),
                 qPrintable(m_page->source()->list()->asText()));
        QVERIFY(asked(0) == nullptr);
        // The trust is that of this edit: the same job again, once it has ended, is not trusted.
        const int job = m_page->source()->panel()->job();
        QTest::mouseClick(button(QStringLiteral("End the edit")), Qt::LeftButton);
        QCOMPARE(m_page->source()->shown(), SourcePage::Shown::Captured);
        models::JobModel& jobs = m_fixture->session.jobs();
        QTRY_COMPARE(jobs.stateOf(job), models::JobModel::State::Done);
        save(QStringLiteral("self.bias)"), QStringLiteral("self.bias) * 3"));
        jobs.rerun(job);
        const int again = jobs.idAt(0);
        QTRY_COMPARE_WITH_TIMEOUT(jobs.stateOf(again), models::JobModel::State::Failed, kLimit);
        QVERIFY2(jobs.sentenceOf(again).contains(QStringLiteral("consent")), qPrintable(jobs.sentenceOf(again)));
    }

    void endlessEdit_isCancelledByHandAndByTheNextSave() {
        const QString endless = QStringLiteral(
            "open(__file__ + '.reached', 'w').close()\n        while True:\n            pass\n"
            "        return F.linear(");
        const QString reached = edit().file() + QStringLiteral(".reached");
        save(QStringLiteral("return F.linear("), endless);
        QVERIFY(asked() != nullptr);
        allow(true);
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(reached), kLimit);
        QCOMPARE(edit().state(), State::Running);
        QTest::mouseClick(button(QStringLiteral("Cancel")), Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(edit().state(), State::Watching, kLimit);
        QVERIFY(banner()->detail().startsWith(QStringLiteral("Cancelled")));

        QVERIFY(QFile::remove(reached));
        QTest::mouseClick(button(QStringLiteral("Run now")), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(reached), kLimit);
        save({}, {});
        QTRY_VERIFY_WITH_TIMEOUT(edit().report() != nullptr, kLimit);
        QVERIFY(edit().report()->validation.exact);
    }

    void closedWindow_doesNotWaitForARun() {
        const QString reached = edit().file() + QStringLiteral(".reached");
        save(QStringLiteral("return F.linear("),
             QStringLiteral("open(__file__ + '.reached', 'w').close()\n        while True:\n            pass\n"
                            "        return F.linear("));
        QVERIFY(asked() != nullptr);
        allow(false);
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(reached), kLimit);
        // cleanup() closes it; the test's time limit catches a wait.
    }

private:
    const models::SourceEdit& edit() const { return m_page->source()->panel()->edit(); }
    widgets::Banner* banner() const { return m_page->source()->panel()->banner(); }

    QPushButton* button(const QString& text) const {
        for (QPushButton* found : m_page->source()->panel()->findChildren<QPushButton*>()) {
            if (found->text() == text && found->isVisible()) {
                return found;
            }
        }
        return nullptr;
    }

    static QString read(const QString& path) {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
    }

    /// The captured text with one change.
    void save(const QString& from, const QString& to) {
        QString text = m_captured;
        if (!from.isEmpty()) {
            QVERIFY(text.contains(from));
            text.replace(text.lastIndexOf(from), from.size(), to);
        }
        const QString swap = edit().file() + QStringLiteral(".swap");
        QFile file(swap);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text.toUtf8());
        file.close();
        std::filesystem::rename(swap.toStdString(), edit().file().toStdString());
    }

    QMessageBox* asked(int limit = kLimit) const {
        const auto find = [this] { return m_fixture->window.findChild<QMessageBox*>(QStringLiteral("consent")); };
        static_cast<void>(QTest::qWaitFor([&] { return find() != nullptr && find()->isVisible(); }, limit));
        return find();
    }

    void allow(bool laterToo) const {
        QMessageBox* question = asked();
        question->checkBox()->setChecked(laterToo);
        for (QAbstractButton* choice : question->buttons()) {
            if (question->buttonRole(choice) == QMessageBox::AcceptRole) {
                QTest::mouseClick(choice, Qt::LeftButton);
                break;
            }
        }
        QTRY_VERIFY(asked(0) == nullptr);
    }

    void deny() const {
        QTest::keyClick(asked(), Qt::Key_Escape);
        QTRY_VERIFY(asked(0) == nullptr);
    }

    std::unique_ptr<QTemporaryDir> m_user;
    std::unique_ptr<test::WindowFixture> m_fixture;
    VersionPage* m_page = nullptr;
    QString m_captured;
};

} // namespace modulelens::explorer

using modulelens::explorer::SourceEditingTest;
ML_TEST_MAIN(SourceEditingTest)

#include "tst_SourceEditing.moc"
