// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/ProgramArchive.h"
#include "backend/graph/StaticCost.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

#include <QTest>

#include <filesystem>

using namespace modulelens;

/// The programs that PyTorch 2.9 and later wrote (tests/support/make_golden_programs.py) are read without LibTorch.
class GoldenArchivesTest : public QObject {
    Q_OBJECT

private slots:
    void everyProgram_isRead_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("version");
        for (const auto& entry : std::filesystem::directory_iterator(test::dataPath("programs"))) {
            const QString stem = QString::fromStdString(entry.path().stem().string());
            QTest::newRow(qPrintable(stem)) << QString::fromStdString(entry.path().string()) << stem.section(u'-', 1);
        }
    }

    void everyProgram_isRead() {
        QFETCH(QString, path);
        QFETCH(QString, version);
        const auto file = base::realFileSystem().map(path.toStdString());
        QVERIFY(file);
        const auto bundle = base::ZipReader::open(*file, "golden");
        QVERIFY(bundle);
        int programs = 0;
        for (const auto& [name, member] : bundle->members()) {
            if (!name.ends_with(".pt2")) {
                continue;
            }
            ++programs;
            const auto slice = base::sliceOf(*file, member.offset, member.sizeBytes);
            const auto archive = graph::readProgramArchive(*slice, name);
            QVERIFY2(archive, archive ? "" : archive.error().text().c_str());
            const graph::Program& program = *archive->program;
            QVERIFY(QString::fromStdString(program.torchVersion).startsWith(version));
            QVERIFY(!program.graph.nodes.empty());
            QVERIFY(!program.scopes.empty());
            QVERIFY(!program.outputPointers.empty());
            for (const graph::Node& node : program.graph.nodes) {
                for (const graph::NamedArgument& input : node.inputs) {
                    const auto* unknown = std::get_if<graph::UnsupportedArgument>(&input.argument);
                    QVERIFY2(unknown == nullptr, unknown == nullptr ? "" : unknown->kind.c_str());
                }
            }
            const auto costs = graph::staticCosts(program, {});
            QVERIFY(costs.flops >= 0);
        }
        QVERIFY(programs >= 20);
    }
};

ML_TEST_MAIN(GoldenArchivesTest)
#include "tst_GoldenArchives.moc"
