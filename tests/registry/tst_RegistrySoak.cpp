// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/registry/RegistrySoak.h"
#include "tests/support/TestMain.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>

#include <cstdio>

using modulelens::test::RegistrySoak;
using modulelens::test::SoakCounts;

namespace {

/// How much, from the environment: ./dev soak registry sets it.
int amount(const char* name, int otherwise) {
    bool isNumber = false;
    const int value = qEnvironmentVariableIntValue(name, &isNumber);
    return isNumber ? value : otherwise;
}

} // namespace

/// A slice of `./dev soak registry`: nothing that was acknowledged is lost, nothing is corrupt, whenever a process dies and whatever fails.
class RegistrySoakTest : public QObject {
    Q_OBJECT

private slots:
    void killsAndFaults_loseNothing();
};

void RegistrySoakTest::killsAndFaults_loseNothing() {
#if defined(__SANITIZE_THREAD__)
    QSKIP("makes child processes, which the thread sanitizer cannot follow");
#endif
    const int kills = amount("MODULELENS_SOAK_KILLS", 60);
    const int faults = amount("MODULELENS_SOAK_FAULTS", 30);
    const int seconds = amount("MODULELENS_SOAK_SECONDS", 0);
    const int seed = amount("MODULELENS_SOAK_SEED", 1);
    const bool hasMemory = QFileInfo(QStringLiteral("/dev/shm")).isWritable();
    const QTemporaryDir folder((hasMemory ? QStringLiteral("/dev/shm") : QDir::tempPath()) +
                               QStringLiteral("/modulelens-soak-XXXXXX"));
    RegistrySoak soak(std::filesystem::path(folder.path().toStdString()), static_cast<unsigned>(seed));
    QElapsedTimer timer;
    timer.start();
    const SoakCounts& counts = soak.counts();
    // With a time, both kinds in their proportion until it is over.
    while ((counts.kills < kills || counts.faults < faults) && (seconds == 0 || timer.elapsed() < 1000LL * seconds)) {
        const bool wantsFault =
            counts.faults < faults && (counts.kills >= kills || counts.faults * kills <= counts.kills * faults);
        if (wantsFault) {
            soak.fault();
        } else {
            soak.kill();
        }
    }
    std::printf(
        "soak registry: %d kills (%d processes were done before), %d faults (%d operations not met), %d operations "
        "acknowledged: %d lost, %d corrupt, in %lld s (seed %d)\n",
        counts.kills, counts.survived, counts.faults, counts.unaffected, counts.acknowledged, counts.lost, counts.corrupt,
        static_cast<long long>(timer.elapsed() / 1000), seed);
    for (const std::string& finding : counts.findings) {
        std::printf("  %s\n", finding.c_str());
    }
    std::fflush(stdout);
    QCOMPARE(counts.lost, 0);
    QCOMPARE(counts.corrupt, 0);
    QVERIFY(counts.acknowledged > counts.kills / 2);
}

ML_TEST_MAIN(RegistrySoakTest)
#include "tst_RegistrySoak.moc"
