// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Digest.h"
#include "backend/wandb/Manifest.h"
#include "tests/support/TestMain.h"

#include <QTest>
#include <algorithm>

using namespace modulelens;

namespace {

/// JSON written with single quotes.
std::string jsonText(std::string text) {
    std::replace(text.begin(), text.end(), '\'', '"');
    return text;
}

/// Base64 of the MD5 of nothing.
const std::string kEmptyMd5 = "1B2M2Y8AsgTpgAmY7PhCfg==";

std::string manifestText(const std::string& contents,
                         const std::string& head = "\"version\":1,\"storagePolicy\":\"wandb-storage-policy-v1\"") {
    return "{" + head + ",\"storagePolicyConfig\":{\"storageLayout\":\"V2\"},\"contents\":{" + contents + "}}";
}

std::string entryText(const std::string& path) {
    return "\"" + path + jsonText("':{'digest':'") + kEmptyMd5 + jsonText("','size':0,'birthArtifactID':'QQ=='}");
}

}  // namespace

class ManifestTest : public QObject {
    Q_OBJECT

private slots:
    void manifest_goesThroughItsText() {
        const auto manifest =
            wandb::parseManifest(manifestText(entryText("state/a b.bin") + jsonText(",'x':{'digest':'") + kEmptyMd5 +
                                              jsonText("','size':9007199254740993,'extra':{'alg':'XXH128'},'local_path':'/home/"
                                                       "x','skip_cache':false},'r':{'digest':'etag','ref':'s3://b/k'}")));
        QVERIFY2(manifest.hasValue(), manifest ? "" : manifest.error().message.c_str());
        QCOMPARE(manifest->entries.at("x").sizeBytes, std::uint64_t{9007199254740993});
        QVERIFY(manifest->entries.at("x").algorithm == wandb::DigestAlgorithm::Xxh128);
        QCOMPARE(manifest->entries.at("r").reference, std::string("s3://b/k"));
        QCOMPARE(manifest->entries.at("state/a b.bin").birthArtifact, std::string("QQ=="));
        wandb::Manifest own;
        own.entries["a"] = {kEmptyMd5, wandb::DigestAlgorithm::Md5, 7, "QQ==", ""};
        const std::string text = wandb::writeManifest(own);
        QCOMPARE(wandb::parseManifest(text)->entries.at("a").sizeBytes, std::uint64_t{7});
        QVERIFY(text.find("local_path") == std::string::npos);
    }

    void digest_isThatOfTheSdk() {
        // hashlib.md5(b"wandb-artifact-manifest-v1\n" + b"B:" + d + b"\n" + b"a:" + d + b"\n" + "é:".encode() + d + b"\n"), d as below.
        wandb::Manifest manifest;
        for (const char* path : {"a", "B", "\xc3\xa9"}) {
            manifest.entries[path] = {kEmptyMd5, wandb::DigestAlgorithm::Md5, 0, "", ""};
        }
        QCOMPARE(wandb::manifestDigest(manifest, wandb::DigestAlgorithm::Md5), std::string("b0b24b0d190186d47e53d8f725f955e5"));
        QCOMPARE(wandb::manifestDigest(manifest, wandb::DigestAlgorithm::Xxh128),
                 std::string("876104b16036b83777f48deddc733f7a"));
        QCOMPARE(wandb::manifestDigest({}, wandb::DigestAlgorithm::Md5), base::md5Hex("wandb-artifact-manifest-v1\n"));
    }

    void paths_thatLeaveTheFolder_areRefused() {
        for (const char* path :
             {"", "/etc/passwd", "../x", "a/../../x", "a//b", ".", "a/.", "C:/x", "a\\\\b", "a\\u0000b", "a\\nb", "x:stream"}) {
            const auto manifest = wandb::parseManifest(manifestText(entryText(path)));
            QVERIFY2(!manifest.hasValue(), path);
            QCOMPARE(manifest.error().code, base::ErrorCode::Corrupt);
        }
        QVERIFY(wandb::parseManifest(manifestText(entryText("a..b/c..d"))).hasValue());
    }

    void otherForms_areRefused_data() {
        QTest::addColumn<QString>("text");
        const auto add = [](const char* name, const std::string& text) { QTest::newRow(name) << QString::fromStdString(text); };
        add("no JSON", "<html>");
        add("empty", "");
        add("a list", "[]");
        add("too deep", std::string(10'000, '['));
        add("other version", manifestText("", jsonText("'version':2,'storagePolicy':'wandb-storage-policy-v1'")));
        add("other policy", manifestText("", jsonText("'version':1,'storagePolicy':'x'")));
        add("contents of another kind", jsonText("{'version':1,'storagePolicy':'wandb-storage-policy-v1','contents':[]}"));
        add("digest in hex", manifestText(jsonText("'a':{'digest':'d41d8cd98f00b204e9800998ecf8427e','size':0}")));
        add("short digest", manifestText(jsonText("'a':{'digest':'AAAA','size':0}")));
        add("no size", manifestText(jsonText("'a':{'digest':'") + kEmptyMd5 + jsonText("'}")));
        add("negative size", manifestText(jsonText("'a':{'digest':'") + kEmptyMd5 + jsonText("','size':-1}")));
        add("size as text", manifestText(jsonText("'a':{'digest':'") + kEmptyMd5 + jsonText("','size':'1'}")));
    }
    void otherForms_areRefused() {
        QFETCH(QString, text);
        QVERIFY(!wandb::parseManifest(text.toStdString()).hasValue());
    }
};

ML_TEST_MAIN(ManifestTest)
#include "tst_Manifest.moc"
