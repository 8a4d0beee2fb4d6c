// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Guarded.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <filesystem>
#include <set>
#include <stdexcept>

using namespace modulelens;
using base::ErrorCode;

class GuardedTest : public QObject {
    Q_OBJECT

private slots:
    void value_passesThrough() {
        QCOMPARE(base::guarded("w", [] { return 3; }).value(), 3);
        QCOMPARE(base::guarded("w", [] { return base::Result<int>(4); }).value(), 4);
        QVERIFY(base::guarded("w", [] {}));
        const auto failed =
            base::guarded("w", []() -> base::Result<int> { return base::Error{ErrorCode::NotFound, "gone", ""}; });
        QVERIFY(failed.error().code == ErrorCode::NotFound);
    }

    void exceptions_becomeErrorsWithTheirPlace() {
        const auto plain = base::guarded("reading x", []() -> int { throw std::runtime_error("broken"); });
        QVERIFY(plain.error().code == ErrorCode::Internal);
        QCOMPARE(plain.error().message, std::string("reading x: broken"));
        QVERIFY(base::guarded("w", []() -> int { throw std::bad_alloc(); }).error().code == ErrorCode::OutOfMemory);
        // NOLINTNEXTLINE(bugprone-std-exception-baseclass): what a library throws may be anything.
        QVERIFY(base::guarded("w", []() -> int { throw 3; }).error().code == ErrorCode::Internal);
        const auto file = base::guarded("w", [] { return std::filesystem::file_size("/no/such/file"); });
        QVERIFY(file.error().code == ErrorCode::NotFound);
    }

    void errorText_joinsMessageAndFix() {
        const base::Error error{ErrorCode::Corrupt, "a.mlens is cut", "Fetch it again."};
        QCOMPARE(error.text(), std::string("a.mlens is cut. Fetch it again."));
        QCOMPARE(error.within("importing").message, std::string("importing: a.mlens is cut"));
    }

    void errorNames_areAllDifferent() {
        std::set<std::string_view> names;
        for (int i = 0; i <= static_cast<int>(ErrorCode::Internal); ++i) {
            names.insert(base::errorCodeName(static_cast<ErrorCode>(i)));
        }
        QCOMPARE(names.size(), static_cast<std::size_t>(ErrorCode::Internal) + 1);
    }
};

ML_TEST_MAIN(GuardedTest)
#include "tst_Guarded.moc"
