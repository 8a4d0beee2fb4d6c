// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/Settings.h"

#include "app/explorer/CommandLine.h"
#include "app/explorer/EditorCommand.h"
#include "tests/support/TestMain.h"

#include <QProcessEnvironment>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

namespace modulelens::explorer {

class SettingsTest : public QObject {
    Q_OBJECT

private slots:
    void everything_roundTrips() {
        const QTemporaryDir folder;
        QSettings store(folder.filePath(QStringLiteral("settings.ini")), QSettings::IniFormat);
        Settings settings;
        settings.geometry = QByteArray("\x01\x00geometry", 10);
        settings.windowState = "state";
        settings.theme = QStringLiteral("dark");
        settings.jobsOpen = true;
        settings.lastVersion = QStringLiteral("17");
        settings.python = QStringLiteral("/env/bin/python");
        settings.editor = QStringLiteral("code --wait {file}");
        settings.save(store);
        store.sync();
        QSettings again(folder.filePath(QStringLiteral("settings.ini")), QSettings::IniFormat);
        const Settings loaded = Settings::load(again);
        QCOMPARE(loaded.geometry, settings.geometry);
        QCOMPARE(loaded.windowState, settings.windowState);
        QCOMPARE(loaded.theme, settings.theme);
        QCOMPARE(loaded.jobsOpen, settings.jobsOpen);
        QCOMPARE(loaded.lastVersion, settings.lastVersion);
        QCOMPARE(loaded.python, settings.python);
        QCOMPARE(loaded.editor, settings.editor);
    }

    void garbage_isAsIfItWereNotThere() {
        const QTemporaryDir folder;
        QSettings store(folder.filePath(QStringLiteral("settings.ini")), QSettings::IniFormat);
        store.setValue(QStringLiteral("version"), Settings::kVersion);
        store.setValue(QStringLiteral("theme"), QStringLiteral("beige"));
        store.setValue(QStringLiteral("jobsOpen"), QStringLiteral("perhaps"));
        store.setValue(QStringLiteral("geometry"), QStringLiteral("garbage"));
        const Settings loaded = Settings::load(store);
        QCOMPARE(loaded.theme, QStringLiteral("system"));
    }

    void otherVersion_isIgnored() {
        const QTemporaryDir folder;
        QSettings store(folder.filePath(QStringLiteral("settings.ini")), QSettings::IniFormat);
        Settings settings;
        settings.theme = QStringLiteral("dark");
        settings.save(store);
        store.setValue(QStringLiteral("version"), Settings::kVersion + 1);
        QCOMPARE(Settings::load(store).theme, QStringLiteral("system"));
    }

    void editor_isTheSettingThenTheEnvironmentsUnlessItNeedsATerminal() {
        QProcessEnvironment environment;
        const QString file = QStringLiteral("/data/a b.py");
        QVERIFY(editorCommand({}, environment, file).isEmpty());
        environment.insert(QStringLiteral("EDITOR"), QStringLiteral("/usr/bin/vim"));
        QVERIFY(editorCommand({}, environment, file).isEmpty());
        environment.insert(QStringLiteral("VISUAL"), QStringLiteral("emacs -nw"));
        QVERIFY(editorCommand({}, environment, file).isEmpty());
        environment.insert(QStringLiteral("EDITOR"), QStringLiteral("gedit"));
        QCOMPARE(editorCommand({}, environment, file), QStringList({"gedit", file}));
        environment.insert(QStringLiteral("VISUAL"), QStringLiteral("code --wait"));
        QCOMPARE(editorCommand({}, environment, file), QStringList({"code", "--wait", file}));
        QCOMPARE(editorCommand(QStringLiteral("xterm -e vim {file} -n"), environment, file),
                 QStringList({"xterm", "-e", "vim", file, "-n"}));
        QCOMPARE(editorCommand(QStringLiteral("\"my editor\" --at={file}"), environment, file),
                 QStringList({"my editor", "--at=" + file}));
    }

    void commandLine_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("version");
        QTest::addColumn<QString>("view");
        QTest::addColumn<bool>("good");
        QTest::newRow("nothing") << QStringList() << "" << "" << true;
        QTest::newRow("address") << QStringList({"--registry", "/r", "m::a@v1"}) << "m::a@v1" << "" << true;
        QTest::newRow("link") << QStringList({"modulelens:open?version=m%3A%3Aa%40v1&view=tensors"}) << "m::a@v1" << "tensors"
                              << true;
        QTest::newRow("link without version") << QStringList({"modulelens:open?view=x"}) << "" << "x" << false;
        QTest::newRow("unknown option") << QStringList({"--fast"}) << "" << "" << false;
        QTest::newRow("missing value") << QStringList({"--registry"}) << "" << "" << false;
        QTest::newRow("bad theme") << QStringList({"--theme", "beige"}) << "" << "" << false;
        QTest::newRow("two versions") << QStringList({"a", "b"}) << "a" << "" << false;
    }
    void commandLine() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, version);
        QFETCH(QString, view);
        QFETCH(bool, good);
        const CommandLine line = parseCommandLine(arguments);
        QCOMPARE(line.error.isEmpty(), good);
        QCOMPARE(line.version, version);
        QCOMPARE(line.view, view);
    }
};

} // namespace modulelens::explorer

using modulelens::explorer::SettingsTest;
ML_TEST_MAIN(SettingsTest)

#include "tst_Settings.moc"
