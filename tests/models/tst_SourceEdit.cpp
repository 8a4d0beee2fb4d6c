// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/SourceEdit.h"

#include "backend/operations/Verifying.h"
#include "models/SourceDifference.h"
#include "tests/support/TestMain.h"

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

namespace modulelens::models {

class SourceEditTest : public QObject {
    Q_OBJECT

    using State = SourceEdit::State;

    struct Opened {
        SourceEdit edit;
        QSignalSpy runs{&edit, &SourceEdit::runWanted};
        QSignalSpy cancels{&edit, &SourceEdit::cancelWanted};

        Opened() {
            edit.begin();
            edit.opened(QStringLiteral("/data/Block.py"), true);
        }
        int run() const { return runs.last().first().toInt(); }
        void fail(base::ErrorCode code, const char* message = "") { edit.failed(run(), {code, message, {}}); }
        void finish() { edit.finished(run(), std::make_shared<operations::VerifyReport>()); }
    };

private slots:
    void openedFile_runsOnlyWhenItIsSaved() {
        Opened opened;
        QCOMPARE(opened.edit.state(), State::Watching);
        QCOMPARE(opened.runs.count(), 0);
        opened.edit.saved();
        QCOMPARE(opened.edit.state(), State::Running);
        QCOMPARE(opened.runs.count(), 1);
        opened.finish();
        QCOMPARE(opened.edit.state(), State::Watching);
        QVERIFY(opened.edit.report() != nullptr);
    }

    void saveDuringARun_endsItAndRunsOnce() {
        Opened opened;
        opened.edit.saved();
        opened.edit.saved();
        opened.edit.saved();
        QCOMPARE(opened.cancels.count(), 1);
        QCOMPARE(opened.runs.count(), 1);
        opened.fail(base::ErrorCode::Cancelled);
        QCOMPARE(opened.runs.count(), 2);
        QCOMPARE(opened.edit.state(), State::Running);
        opened.finish();
        QCOMPARE(opened.runs.count(), 2);
        QCOMPARE(opened.edit.state(), State::Watching);
    }

    void runThatEndsBeforeItIsCancelled_doesNotShowTheOldText() {
        Opened opened;
        opened.edit.saved();
        opened.edit.saved();
        opened.finish();
        QVERIFY(opened.edit.report() == nullptr);
        QCOMPARE(opened.runs.count(), 2);
    }

    void consent_isWaitedForAndTheAnswerDecides() {
        Opened opened;
        opened.edit.saved();
        opened.fail(base::ErrorCode::ConsentNeeded);
        QCOMPARE(opened.edit.state(), State::Asking);
        opened.edit.saved();
        QCOMPARE(opened.runs.count(), 1);
        opened.edit.declined();
        QCOMPARE(opened.edit.state(), State::Watching);
        QVERIFY(opened.edit.note().contains(QStringLiteral("consent")));
        opened.edit.saved();
        opened.fail(base::ErrorCode::ConsentNeeded);
        opened.edit.trustSaves();
        opened.edit.runNow();
        QCOMPARE(opened.runs.count(), 3);
        QVERIFY(opened.edit.trustsSaves());
        opened.finish();
        // Trust ends with the edit.
        opened.edit.close();
        QVERIFY(!opened.edit.trustsSaves());
    }

    void errorOfTheEditedCode_isAnAnswerWithItsLineAndTheWatchGoesOn() {
        Opened opened;
        opened.edit.saved();
        opened.finish();
        opened.edit.saved();
        opened.fail(base::ErrorCode::InvalidArgument,
                    "the edited source does not run: Block.py:12: SyntaxError: '(' was never closed (Block.py, line 12)");
        QCOMPARE(opened.edit.state(), State::Watching);
        QCOMPARE(opened.edit.errorLine(), 12);
        QVERIFY(opened.edit.report() == nullptr);
        opened.edit.saved();
        // Old content stays until there is new.
        QVERIFY(opened.edit.error().has_value());
        opened.fail(base::ErrorCode::Unsupported, "'m::a@v0' raised ValueError: no (at /data/Block.py:7: raise ValueError)");
        QCOMPARE(opened.edit.errorLine(), 7);
        opened.edit.saved();
        opened.fail(base::ErrorCode::WorkerCrashed, "the worker died");
        QCOMPARE(opened.edit.errorLine(), 0);
        opened.edit.saved();
        opened.finish();
        QVERIFY(!opened.edit.error().has_value());
    }

    void cancel_keepsTheAnswerBefore() {
        Opened opened;
        opened.edit.saved();
        opened.finish();
        opened.edit.runNow();
        opened.edit.cancel();
        QCOMPARE(opened.cancels.count(), 1);
        opened.fail(base::ErrorCode::Cancelled);
        QCOMPARE(opened.edit.state(), State::Watching);
        QVERIFY(opened.edit.report() != nullptr);
        QVERIFY(opened.edit.note().startsWith(QStringLiteral("Cancelled")));
    }

    void closedEdit_dropsWhatComesLate() {
        Opened opened;
        opened.edit.saved();
        opened.edit.close();
        QCOMPARE(opened.cancels.count(), 1);
        opened.finish();
        opened.edit.saved();
        QCOMPARE(opened.edit.state(), State::Closed);
        QVERIFY(opened.edit.report() == nullptr);
        opened.edit.begin();
        opened.edit.failedToOpen({base::ErrorCode::PermissionDenied, "no", {}});
        QCOMPARE(opened.edit.state(), State::Closed);
        QVERIFY(opened.edit.error().has_value());
    }

    void savedFile_isTold() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a.py"));
        const auto write = [&path](const char* text) {
            QFile file(path);
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text);
        };
        write("one");
        SaveWatch watch;
        QSignalSpy started(&watch, &SaveWatch::started);
        QSignalSpy saved(&watch, &SaveWatch::saved);
        watch.start(path);
        QVERIFY(started.count() > 0 || started.wait());
        write("another");
        QVERIFY(saved.count() > 0 || saved.wait());
        watch.stop();
    }

    void difference_facesChangedLines() {
        const SourceDifference difference = sourceDifference(
            QStringLiteral("--- captured\n+++ now\n@@ -8,5 +8,6 @@\n def forward(self, x):\n-    # old\n-    y = self.a(x)\n"
                           "+    y = self.b(x)\n+    z = y + 1\n+    return z\n-    return y\n \n"));
        using Kind = DifferenceRow::Kind;
        QCOMPARE(difference.added, 3);
        QCOMPARE(difference.removed, 3);
        QCOMPARE(difference.rows[0].kind, Kind::Fold);
        QCOMPARE(difference.rows[0].title, QStringLiteral("7 equal lines"));
        QCOMPARE(difference.rows[1].before.number, 8);
        QCOMPARE(difference.rows[2].before.text, QStringLiteral("    # old"));
        QCOMPARE(difference.rows[2].after.number, 0);
        const DifferenceRow& changed = difference.rows[3];
        QCOMPARE(changed.before.number, 10);
        QCOMPARE(changed.after.number, 9);
        QCOMPARE(changed.before.text.mid(changed.before.changedFrom, changed.before.changedTo - changed.before.changedFrom),
                 QStringLiteral("a"));
        QCOMPARE(changed.after.text.mid(changed.after.changedFrom, changed.after.changedTo - changed.after.changedFrom),
                 QStringLiteral("b"));
    }

    void difference_ofGarbageIsEmpty() {
        for (const char* text : {"", "hello", "@@ nonsense @@\n+x", "+x\n-y"}) {
            QVERIFY(sourceDifference(QString::fromLatin1(text)).rows.empty());
        }
    }
};

} // namespace modulelens::models

using modulelens::models::SourceEditTest;
ML_TEST_MAIN(SourceEditTest)

#include "tst_SourceEdit.moc"
