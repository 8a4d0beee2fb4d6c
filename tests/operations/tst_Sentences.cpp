// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Sentences.h"

#include <QTest>

#include "tests/support/TestMain.h"

using modulelens::base::ErrorCode;
using namespace modulelens;
using namespace modulelens::operations;

namespace {

ValidationReport report(const std::string& verdict, bool exact, const std::vector<std::string>& leaves) {
    ValidationReport made;
    made.verdict = verdict;
    made.exact = exact;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        protocol::LeafResult leaf;
        leaf.pointer = "/output/v/" + std::to_string(i);
        leaf.verdict = leaves[i];
        made.leaves.push_back(leaf);
    }
    return made;
}

} // namespace

class Sentences : public QObject {
    Q_OBJECT

private slots:
    void verdicts_areSentences() {
        QCOMPARE(verdictSentence(report("pass", true, {"exact", "exact", "exact"})), std::string("Bit-exact: 3 of 3 outputs."));
        QCOMPARE(verdictSentence(report("pass", true, {"exact"})), std::string("Bit-exact: 1 of 1 output."));
        ValidationReport close = report("pass", false, {"exact", "close"});
        close.maxAbsDiff = 1.5e-7;
        QCOMPARE(verdictSentence(close), std::string("Within tolerance: 2 of 2 outputs, largest difference 1.5e-07."));
        ValidationReport fail = report("fail", false, {"exact", "fail"});
        fail.maxAbsDiff = 0.25;
        QCOMPARE(verdictSentence(fail), std::string("Differs: 1 of 2 outputs, first at /output/v/1, largest difference 0.25."));
        ValidationReport none = report("no_program", false, {});
        none.reason = "data-dependent branch";
        QCOMPARE(verdictSentence(none), std::string("No program, so it cannot be checked: data-dependent branch."));
        QCOMPARE(verdictSentence(report("not_comparable", false, {})), std::string("Not comparable."));
    }

    void errors_sayWhatToDo() {
        QCOMPARE(errorSentence({ErrorCode::NotFound, "there is no version 'x'", "Try 'y'."}),
                 std::string("There is no version 'x'. Try 'y'."));
        QCOMPARE(errorSentence({ErrorCode::StorageFull, "cannot write 'f'", {}}),
                 std::string("Cannot write 'f'. Free some space, then try again."));
        QCOMPARE(errorSentence({ErrorCode::NotFound, "nothing there", {}}), std::string("Nothing there."));
    }

    void namesInErrors_stayAsTheyAre() {
        for (const char* text : {"minilm-l6:: has no alias.", "bundle.json is cut.", "model2 is odd.", "'x' is odd."}) {
            QCOMPARE(errorSentence({ErrorCode::NotFound, text, "x."}), std::string(text) + " x.");
        }
    }

    void durations_data() {
        QTest::addColumn<qint64>("nanoseconds");
        QTest::addColumn<QString>("text");
        QTest::newRow("zero") << qint64{0} << QStringLiteral("0 ns");
        QTest::newRow("below a microsecond") << qint64{999} << QStringLiteral("999 ns");
        QTest::newRow("microseconds") << qint64{1240} << QStringLiteral("1.24 \u00b5s");
        QTest::newRow("trailing zeros go") << qint64{12'000} << QStringLiteral("12 \u00b5s");
        QTest::newRow("milliseconds") << qint64{12'345'678} << QStringLiteral("12.3 ms");
        QTest::newRow("rounds up to the next unit") << qint64{999'960'000} << QStringLiteral("1 s");
        QTest::newRow("seconds") << qint64{123'456'000'000} << QStringLiteral("123 s");
    }
    void durations() {
        QFETCH(const qint64, nanoseconds);
        QFETCH(const QString, text);
        QCOMPARE(QString::fromStdString(durationText(nanoseconds)), text);
    }

    void attributes() {
        QCOMPARE(attributesText({}), std::string("-"));
        QCOMPARE(attributesText({{"batch", 8.0}, {"fused", true}, {"note", std::string("a, b")}, {"rate", 0.5}}),
                 std::string("batch=8.0, fused=true, note=a, b, rate=0.5"));
    }

    void sizesAndCounts() {
        QCOMPARE(bytesText(0), std::string("0 B"));
        QCOMPARE(bytesText(999), std::string("999 B"));
        QCOMPARE(bytesText(1500), std::string("1.5 kB"));
        QCOMPARE(bytesText(90'870'000), std::string("90.9 MB"));
        QCOMPARE(flopsText(192), std::string("192 FLOPs"));
        QCOMPARE(flopsText(1'234'000'000), std::string("1.23 GFLOPs"));
        QCOMPARE(countText(1, "version", "versions"), std::string("1 version"));
        QCOMPARE(countText(0, "version", "versions"), std::string("0 versions"));
    }
};

ML_TEST_MAIN(Sentences)
#include "tst_Sentences.moc"
