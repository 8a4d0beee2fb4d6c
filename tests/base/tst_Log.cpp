// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Log.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <stdexcept>
#include <string>
#include <vector>

using namespace modulelens;

class LogTest : public QObject {
    Q_OBJECT

private slots:
    void cleanup() { base::setLogSink({}); }

    void entries_reachTheSinkFromTheMinimumOn() {
        std::vector<std::string> lines;
        base::setLogSink([&](base::LogLevel, std::string_view component,
                             std::string_view text) { lines.push_back(std::string(component) + "/" + std::string(text)); },
                         base::LogLevel::Warning);
        base::log(base::LogLevel::Info, "registry", "quiet");
        base::log(base::LogLevel::Error, "registry", "loud");
        QCOMPARE(lines, std::vector<std::string>{"registry/loud"});
    }

    void sinkThatThrows_harmsNobody() {
        base::setLogSink([](base::LogLevel, std::string_view, std::string_view) { throw std::runtime_error("x"); });
        base::log(base::LogLevel::Error, "registry", "text");
    }
};

ML_TEST_MAIN(LogTest)
#include "tst_Log.moc"
