// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/support/TestMain.h"

#include <QFile>
#include <QFileInfo>
#include <QObject>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cstdio>
#include <map>

namespace modulelens::test {

namespace {

constexpr int kSkipped = 77;

std::map<QString, TestFactory>& registry() {
    static std::map<QString, TestFactory> tests;
    return tests;
}

struct LogFindings {
    QStringList warnings;
    bool skipped = false;
};

/// Qt Test reports neither skipped functions nor unexpected warnings in its exit code; its plain-text log names both.
LogFindings readLog(const QString& path) {
    LogFindings findings;
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
        findings.warnings.append(QStringLiteral("the test log could not be read: ") + file.errorString());
        return findings;
    }
    while (!file.atEnd()) {
        const QString line = QString::fromUtf8(file.readLine()).trimmed();
        if (line.startsWith(QLatin1String("SKIP"))) {
            findings.skipped = true;
        } else if (line.startsWith(QLatin1String("QWARN")) || line.startsWith(QLatin1String("QCRITICAL")) ||
                   line.startsWith(QLatin1String("QSYSTEM"))) {
            findings.warnings.append(line);
        }
    }
    return findings;
}

int runOne(const QString& name, TestFactory create, QStringList arguments) {
    const QTemporaryDir folder;
    const QString log = folder.filePath(QStringLiteral("log.txt"));
    arguments << QStringLiteral("-o") << QStringLiteral("-,txt") << QStringLiteral("-o") << log + QStringLiteral(",txt");
    const std::unique_ptr<QObject> test = create();
    int failures = QTest::qExec(test.get(), arguments);
    const LogFindings findings = readLog(log);
    for (const QString& warning : findings.warnings) {
        std::printf("FAIL!  : %s: unexpected warning: %s\n", qPrintable(name), qPrintable(warning));
        ++failures;
    }
    std::fflush(stdout);
    if (failures > 0) {
        return std::min(failures, kSkipped - 1);
    }
    return findings.skipped ? kSkipped : 0;
}

}  // namespace

bool registerTest(const char* file, TestFactory create) {
    const QString stem = QFileInfo(QString::fromUtf8(file)).completeBaseName();
    return registry().emplace(stem.mid(QStringLiteral("tst_").size()), create).second;
}

int runRegisteredTests(int argc, char** argv) {
    QStringList arguments;
    for (int i = 0; i < argc; ++i) {
        arguments.append(QString::fromLocal8Bit(argv[i]));
    }
    if (argc > 1 && argv[1][0] != '-') {
        const QString name = arguments.takeAt(1);
        const auto found = registry().find(name);
        if (found == registry().end()) {
            std::fprintf(stderr, "%s: no test class %s\n", argv[0], qPrintable(name));
            return 1;
        }
        return runOne(name, found->second, arguments);
    }
    int result = 0;
    for (const auto& [name, create] : registry()) {
        const int one = runOne(name, create, arguments);
        result = (result == 0 || result == kSkipped) ? std::max(result, one == 0 ? result : one) : result;
        if (one != 0 && one != kSkipped) {
            result = one;
        }
    }
    return result;
}

}  // namespace modulelens::test
