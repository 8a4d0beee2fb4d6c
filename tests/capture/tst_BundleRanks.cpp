// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/Bundle.h"
#include "tests/capture/TinyBundle.h"
#include "tests/support/MemoryFileSystem.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <nlohmann/json.hpp>

using namespace modulelens;
using nlohmann::json;

namespace {

const std::filesystem::path kFolder = "/bundle";

} // namespace

class BundleRanksTest : public QObject {
    Q_OBJECT

private slots:
    void ranks_areRead_withTheMissingOnes() {
        test::TinyBundle tiny;
        tiny.editIndex = [](json& index) {
            index["complete"] = false;
            index["incomplete_reason"] = "rank 2 is missing: it ended";
            index["ranks"] = {{"capture", "ab-0"},
                              {"world_size", 3},
                              {"sharded", "full"},
                              {"rank", nullptr},
                              {"merged", json::array({0, 1})},
                              {"missing", json::array({{{"rank", 2}, {"reason", "it ended"}}})}};
        };
        test::MemoryFileSystem files(kFolder);
        files.files = tiny.files();
        auto opened = capture::Bundle::open(files, kFolder);
        QVERIFY2(opened, opened ? "" : opened.error().text().c_str());
        const auto& ranks = (*opened)->index().ranks;
        QVERIFY(ranks.has_value());
        QCOMPARE(ranks->capture, std::string("ab-0"));
        QCOMPARE(ranks->worldSize, 3);
        QVERIFY(!ranks->partOf);
        QCOMPARE(ranks->merged, (std::vector<int>{0, 1}));
        QCOMPARE(ranks->missing.size(), std::size_t(1));
        QCOMPARE(ranks->missing.front().rank, 2);
        QCOMPARE(ranks->missing.front().reason, std::string("it ended"));
    }

    void partOfOneRank_isRead_withItsShards() {
        test::TinyBundle tiny;
        tiny.editIndex = [](json& index) {
            index["ranks"] = {
                {"capture", "ab-0"}, {"world_size", 2}, {"rank", 1}, {"merged", json::array()}, {"missing", json::array()}};
        };
        tiny.editVersion = [](json& version) {
            json& weight = version["state"]["tensors"].begin().value();
            json part = weight;
            part["begin"] = json::array({0, 0});
            part.erase("offset");
            for (const char* key : {"kind", "persistent", "requires_grad", "obj", "storage"}) {
                part.erase(key);
            }
            weight = {{"$t", "shard"},
                      {"how", "dtensor"},
                      {"dtype", weight["dtype"]},
                      {"shape", weight["shape"]},
                      {"kind", "parameter"},
                      {"local", json::array({part})}};
        };
        test::MemoryFileSystem files(kFolder);
        files.files = tiny.files();
        auto opened = capture::Bundle::open(files, kFolder);
        QVERIFY2(opened, opened ? "" : opened.error().text().c_str());
        QCOMPARE((*opened)->index().ranks.value().partOf, std::optional<int>(1));
        const auto verified = (*opened)->verify({}, {});
        QVERIFY2(verified, verified ? "" : verified.error().text().c_str());
        const auto version = (*opened)->version((*opened)->index().versions[0]);
        QVERIFY2(version, version ? "" : version.error().text().c_str());
        QCOMPARE(version->stateTensors.begin()->second.tensor.gap, std::string("shard tensor"));
    }

    void rankOutsideTheJob_isRefused() {
        test::TinyBundle tiny;
        tiny.editIndex = [](json& index) {
            index["ranks"] = {
                {"capture", "ab-0"}, {"world_size", 2}, {"rank", 2}, {"merged", json::array()}, {"missing", json::array()}};
        };
        test::MemoryFileSystem files(kFolder);
        files.files = tiny.files();
        const auto opened = capture::Bundle::open(files, kFolder);
        QVERIFY(!opened);
        QCOMPARE(opened.error().code, base::ErrorCode::Corrupt);
        QVERIFY2(opened.error().message.find("is no rank of the job") != std::string::npos, opened.error().text().c_str());
    }
};

ML_TEST_MAIN(BundleRanksTest)
#include "tst_BundleRanks.moc"
