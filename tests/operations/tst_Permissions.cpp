// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Permissions.h"

#include <QTemporaryDir>
#include <QTest>
#include <fstream>

#include "tests/support/TestMain.h"

using namespace modulelens::operations;
using modulelens::base::ErrorCode;

namespace {

const GuardedFile kFile = {std::string(64, 'a'), "torchscript", "net.pt"};

} // namespace

class PermissionsTest : public QObject {
    Q_OBJECT

private slots:
    void withoutConsent_isRefusedWithTheFileInTheSentence() {
        Permissions permissions(store());
        const auto refused = permissions.require(kFile);
        QVERIFY(!refused.hasValue() && refused.error().code == ErrorCode::ConsentNeeded);
        QVERIFY(refused.error().message.find("net.pt") != std::string::npos);
        QVERIFY(refused.error().fix.find("--trust") != std::string::npos);
    }

    void trust_isRememberedForThisFileAndKindAlone() {
        Permissions trusting(store());
        trusting.trustAll();
        QVERIFY(trusting.require(kFile).hasValue());
        Permissions later(store());
        QVERIFY(later.require(kFile).hasValue());
        QVERIFY(!later.require({std::string(64, 'b'), "torchscript", "net.pt"}).hasValue());
        QVERIFY(!later.require({kFile.sha256, "operator_library", "net.pt"}).hasValue());
        QCOMPARE(store().all()->size(), 1U);
        QCOMPARE(*store().forget("aaa"), 1);
        QVERIFY(!later.require(kFile).hasValue());
    }

    void library_isAskedForByItsContent() {
        const std::filesystem::path library = folder() / "library.so";
        std::ofstream(library) << "one";
        Permissions permissions(store());
        QVERIFY(permissions.addLibrary(library).error().code == ErrorCode::ConsentNeeded);
        QVERIFY(permissions.addLibrary(folder() / "none.so").error().code == ErrorCode::NotFound);
        permissions.trustAll();
        QVERIFY(permissions.addLibrary(library).hasValue());
        QVERIFY(permissions.addLibrary(library).hasValue());
        QCOMPARE(permissions.libraries().size(), 1U);
        QCOMPARE(permissions.consent("x").size(), 2U);
        std::ofstream(library) << "two";
        Permissions later(store());
        QVERIFY(later.addLibrary(library).error().code == ErrorCode::ConsentNeeded);
    }

    void damagedFile_givesNoConsent() {
        for (const char* text :
             {"", "[]", "{\"schema\": \"modulelens.consent\", \"schema_version\": 2, \"allowed\": []}",
              "{\"schema\": \"modulelens.consent\", \"schema_version\": 1, \"allowed\": [{\"sha256\": 1}]}"}) {
            std::filesystem::create_directories(folder());
            std::ofstream(folder() / "damaged.json") << text;
            const ConsentStore damaged(folder() / "damaged.json");
            QVERIFY(damaged.all().error().code == ErrorCode::Corrupt);
            Permissions permissions(damaged);
            QVERIFY(permissions.require(kFile).error().code == ErrorCode::Corrupt);
        }
    }

private:
    [[nodiscard]] std::filesystem::path folder() const { return m_folder.path().toStdString(); }
    [[nodiscard]] ConsentStore store() const { return ConsentStore(folder() / "settings" / "consent.json"); }

    QTemporaryDir m_folder;
};

ML_TEST_MAIN(PermissionsTest)
#include "tst_Permissions.moc"
