// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/BundleOpener.h"
#include "app/explorer/DocumentArea.h"
#include "app/explorer/HierarchyPage.h"
#include "app/explorer/VersionPage.h"
#include "backend/operations/Permissions.h"
#include "tests/explorer/WindowFixture.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

#include <QInputDialog>
#include <QMessageBox>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QUrl>

namespace modulelens::explorer {

/// What the window asks before code or pickles of a file are read, with the real worker: denied, all is as before; allowed,
/// it is done and remembered by digest. Files are made by tests/operations/make_foreign.py.
class ConsentTest : public QObject {
    Q_OBJECT

    static constexpr int kLimit = 120000;

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(test::programPath("modulelens-worker"))) {
            QSKIP("modulelens-worker is not built: LibTorch was not found");
        }
        m_files = qEnvironmentVariable("MODULELENS_TEST_FOREIGN").toStdString();
        QVERIFY(std::filesystem::exists(m_files / "counter.pt"));
    }

    void init() {
        m_settings = std::make_unique<QTemporaryDir>();
        // The consents of this test alone.
        qputenv("XDG_CONFIG_HOME", m_settings->path().toUtf8());
    }

    void deniedImport_leavesAllAsItWasAndSaysSo() {
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openEmpty());
        drop(fixture, "counter.pt");
        QMessageBox* question = asked(fixture);
        QVERIFY(question != nullptr);
        QVERIFY2(question->text().contains(QStringLiteral("'counter.pt' is a TorchScript archive")),
                 qPrintable(question->text()));
        // The whole digest, and what it means; nothing is agreed to by Enter or Escape.
        QVERIFY(question->informativeText().contains(QStringLiteral("sha256 ")));
        QCOMPARE(question->defaultButton(), question->button(QMessageBox::Cancel));
        QTest::keyClick(question, Qt::Key_Escape);
        QTRY_VERIFY(!fixture.bannerText().isEmpty());
        QVERIFY2(fixture.bannerText().contains(QStringLiteral("counter.pt was not imported")),
                 qPrintable(fixture.bannerText()));
        QCOMPARE(fixture.session.search().allVersions(), 0);
        QVERIFY(operations::ConsentStore().all()->empty());
        QTRY_VERIFY(asked(fixture, 0) == nullptr);
    }

    void allowedImport_isRememberedByDigestAndAsksForInputs() {
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openEmpty());
        drop(fixture, "counter.pt");
        allow(fixture);
        // The archive has no inputs: without them it could never run.
        QTRY_VERIFY_WITH_TIMEOUT(fixture.window.findChild<QInputDialog*>(QStringLiteral("inputs")) != nullptr, kLimit);
        auto* inputs = fixture.window.findChild<QInputDialog*>(QStringLiteral("inputs"));
        inputs->setTextValue(QStringLiteral("float32[4,8]\nfactor=3\n"));
        QSignalSpy imported(&fixture.session, &Session::imported);
        inputs->accept();
        QVERIFY(imported.wait(kLimit));
        const auto consents = *operations::ConsentStore().all();
        QCOMPARE(consents.size(), 1U);
        QCOMPARE(consents[0].file.kind, std::string("torchscript"));
        QCOMPARE(consents[0].file.sha256.size(), 64U);
        // It runs, and nobody is asked again.
        fixture.window.openAddress(QStringLiteral("counter::"), {});
        QTRY_VERIFY_WITH_TIMEOUT(fixture.window.documents()->current() != nullptr, kLimit);
        QSignalSpy profiled(&fixture.session, &Session::profiled);
        fixture.window.documents()->current()->profile();
        QVERIFY(profiled.wait(kLimit));
        QVERIFY(asked(fixture, 0) == nullptr);
    }

    void takenBackConsent_isAskedForWhenItRuns() {
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openEmpty());
        const auto imported = fixture.session.operations()->import(m_files / "counter.pt", {"", {"float32[4,8]"}, true}, {});
        QVERIFY2(imported.hasValue(), imported.hasValue() ? "" : imported.error().message.c_str());
        QCOMPARE(*operations::ConsentStore().forget(""), 1);
        fixture.window.openAddress(QStringLiteral("counter::"), {});
        QTRY_VERIFY_WITH_TIMEOUT(fixture.window.documents()->current() != nullptr, kLimit);
        VersionPage* page = fixture.window.documents()->current();

        const int denied = fixture.session.profile(page->version());
        QMessageBox* question = asked(fixture);
        QVERIFY(question != nullptr);
        QTest::mouseClick(question->button(QMessageBox::Cancel), Qt::LeftButton);
        QTRY_COMPARE(fixture.session.jobs().stateOf(denied), models::JobModel::State::Failed);
        QTRY_VERIFY2(fixture.bannerText().contains(QStringLiteral("was not run")), qPrintable(fixture.bannerText()));
        QTRY_VERIFY(asked(fixture, 0) == nullptr);

        QSignalSpy profiled(&fixture.session, &Session::profiled);
        fixture.session.profile(page->version());
        allow(fixture);
        QVERIFY(profiled.wait(kLimit));
        QCOMPARE(operations::ConsentStore().all()->size(), 1U);
    }

    void sampleInputs_areLeftOutOrRead() {
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openEmpty());
        drop(fixture, "transposed.pt2");
        QMessageBox* question = asked(fixture);
        QVERIFY(question != nullptr);
        question->close();
        QTRY_VERIFY2(fixture.bannerText().contains(QStringLiteral("without its sample inputs")),
                     qPrintable(fixture.bannerText()));
        QTRY_COMPARE(fixture.session.search().allVersions(), 1);
        QTRY_VERIFY(asked(fixture, 0) == nullptr);
        drop(fixture, "transposed.pt2");
        allow(fixture);
        QTRY_COMPARE_WITH_TIMEOUT(fixture.session.search().allVersions(), 2, kLimit);
        fixture.window.openAddress(QStringLiteral("transposed::"), {});
        QTRY_VERIFY_WITH_TIMEOUT(fixture.window.documents()->current() != nullptr, kLimit);
        QSignalSpy profiled(&fixture.session, &Session::profiled);
        fixture.window.documents()->current()->profile();
        QVERIFY(profiled.wait(kLimit));
    }

    void libraryOfOperators_isLoadedOnlyWhenAllowed() {
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openEmpty());
        const auto imported = fixture.session.operations()->import(m_files / "custom_operator.pt2", {"", {}, true}, {});
        QVERIFY(imported.hasValue());
        fixture.window.openAddress(QStringLiteral("custom_operator::"), {});
        QTRY_VERIFY_WITH_TIMEOUT(fixture.window.documents()->current() != nullptr, kLimit);
        const models::VersionInfo version = fixture.window.documents()->current()->version();
        const QString library =
            QString::fromStdString((test::programPath("modulelens-worker").parent_path() / "libtest-operators.so").string());

        fixture.session.addLibrary(library);
        QMessageBox* question = asked(fixture);
        QVERIFY(question != nullptr);
        QVERIFY(question->informativeText().contains(QStringLiteral("can do whatever you can")));
        QTest::mouseClick(question->button(QMessageBox::Cancel), Qt::LeftButton);
        QTRY_VERIFY2(fixture.bannerText().contains(QStringLiteral("libtest-operators.so was not loaded")),
                     qPrintable(fixture.bannerText()));
        QVERIFY(fixture.session.libraries().isEmpty());
        const int without = fixture.session.profile(version);
        QTRY_COMPARE_WITH_TIMEOUT(fixture.session.jobs().stateOf(without), models::JobModel::State::Failed, kLimit);
        QVERIFY2(fixture.session.jobs().sentenceOf(without).contains(QStringLiteral("modulelens_test")),
                 qPrintable(fixture.session.jobs().sentenceOf(without)));
        QTRY_VERIFY(asked(fixture, 0) == nullptr);

        fixture.session.addLibrary(library);
        allow(fixture);
        QTRY_COMPARE_WITH_TIMEOUT(fixture.session.libraries(), QStringList(QStringLiteral("libtest-operators.so")), kLimit);
        const int with = fixture.session.profile(version);
        QTRY_VERIFY_WITH_TIMEOUT(fixture.session.jobs().isIdle(), kLimit);
        QVERIFY2(fixture.session.jobs().stateOf(with) == models::JobModel::State::Done,
                 qPrintable(fixture.session.jobs().sentenceOf(with)));
        fixture.session.forgetLibraries();
        QVERIFY(fixture.session.libraries().isEmpty());
    }

    void compiledPackage_isSaidToBeMachineCode() {
        test::WindowFixture fixture(worker());
        QVERIFY(fixture.openEmpty());
        int repeated = 0;
        ConsentRequest request;
        request.file = {std::string(64, 'a'), "aotinductor", "net.pt2"};
        request.sentence = QString::fromStdString(operations::consentQuestion(request.file));
        request.ifDeclined = QStringLiteral("net.pt2 was not imported");
        request.again = [&repeated] { ++repeated; };
        emit fixture.session.consentNeeded(request);
        QMessageBox* question = asked(fixture);
        QVERIFY(question != nullptr);
        QVERIFY(question->text().contains(QStringLiteral("holds a compiled library")));
        QVERIFY(question->informativeText().contains(QString(64, u'a')));
        allow(fixture);
        QTRY_COMPARE(repeated, 1);
        QVERIFY(*operations::ConsentStore().has(request.file.sha256, "aotinductor"));
        QVERIFY(!*operations::ConsentStore().has(request.file.sha256, "torchscript"));
    }

private:
    static std::vector<std::string> worker() { return {test::programPath("modulelens-worker").string()}; }

    void drop(test::WindowFixture& fixture, const char* file) {
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(QString::fromStdString((m_files / file).string()))});
        fixture.window.bundles()->import(data);
    }

    /// The dialog that asks, once it is there; null after `limit`.
    static QMessageBox* asked(const test::WindowFixture& fixture, int limit = kLimit) {
        const auto find = [&] { return fixture.window.findChild<QMessageBox*>(QStringLiteral("consent")); };
        static_cast<void>(QTest::qWaitFor([&] { return find() != nullptr && find()->isVisible(); }, limit));
        return find();
    }

    /// Presses the button that allows.
    static void allow(const test::WindowFixture& fixture) {
        QMessageBox* question = asked(fixture);
        QVERIFY(question != nullptr);
        for (QAbstractButton* button : question->buttons()) {
            if (question->buttonRole(button) == QMessageBox::AcceptRole) {
                QTest::mouseClick(button, Qt::LeftButton);
                return;
            }
        }
        QFAIL("no button allows it");
    }

    std::filesystem::path m_files;
    std::unique_ptr<QTemporaryDir> m_settings;
};

} // namespace modulelens::explorer

using modulelens::explorer::ConsentTest;
ML_TEST_MAIN(ConsentTest)

#include "tst_Consent.moc"
