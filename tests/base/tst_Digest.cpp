// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Digest.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens;

class DigestTest : public QObject {
    Q_OBJECT

private slots:
    void sha256_givesTheStandardsExamples() {
        // FIPS 180-2, appendix B.
        QCOMPARE(base::sha256Hex(""), std::string("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
        QCOMPARE(base::sha256Hex("abc"), std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        QCOMPARE(base::sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                 std::string("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
    }

    void piecesInAnyCut_giveTheSame() {
        const std::string text = "the quick brown fox jumps over the lazy dog";
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            base::Sha256 sha;
            sha.update(text.substr(0, cut));
            sha.update(text.substr(cut));
            QCOMPARE(sha.finish(), base::sha256Hex(text));
        }
    }

    void md5_givesTheStandardsExample() { QCOMPARE(base::md5Hex("abc"), std::string("900150983cd24fb0d6963f7d28e17f72")); }

    void piecesOfMd5AndXxh128_giveTheSame() {
        // xxhsum -H2 of "abc", and RFC 1321.
        base::Xxh128 xxh;
        base::Md5 md5;
        for (const char* piece : {"a", "", "bc"}) {
            xxh.update(std::string_view(piece));
            md5.update(std::string_view(piece));
        }
        QCOMPARE(base::hexOf(xxh.finishBytes()), std::string("06b05ab6733a618578af5f94892f3950"));
        QCOMPARE(base::hexOf(md5.finishBytes()), std::string("900150983cd24fb0d6963f7d28e17f72"));
    }

    void base64_goesBothWays_andTakesNothingElse() {
        // RFC 4648, section 10.
        for (const auto& [bytes, text] :
             {std::pair("", ""), {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}}) {
            QCOMPARE(base::base64Of(bytes), std::string(text));
            QCOMPARE(base::bytesOfBase64(text).value(), std::string(bytes));
        }
        for (const char* wrong : {"Zg=", "Zg", "Zm9v\n", "Zm9v    ", "Zh==", "====", "Z===", "Zm9!", "Zm8=Zm8="}) {
            QVERIFY2(!base::bytesOfBase64(wrong), wrong);
        }
    }

    void lowerHex_isToldFromAnythingElse() {
        QVERIFY(base::isLowerHex("0af9", 4));
        for (const char* text : {"0AF9", "0af", "0af9f", "0ag9", "0af ", ""}) {
            QVERIFY(!base::isLowerHex(text, 4));
        }
    }
};

ML_TEST_MAIN(DigestTest)
#include "tst_Digest.moc"
