// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/ProgramArchive.h"
#include "backend/graph/StaticCost.h"
#include "tests/support/MemoryFile.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

using namespace modulelens;

/// Real archives of torch.export (tests/support/make_programs.py) against what torch says about them.
class ExportedProgramsTest : public QObject {
    Q_OBJECT

    std::filesystem::path m_folder;
    nlohmann::json m_expected;

    [[nodiscard]] graph::ProgramArchive read(const std::string& name) const {
        const auto file = base::realFileSystem().map(m_folder / (name + ".pt2"));
        auto archive = file ? graph::readProgramArchive(*file, name) : base::Result<graph::ProgramArchive>(file.error());
        if (!archive) {
            qFatal("%s", archive.error().text().c_str());
        }
        return std::move(*archive);
    }

    [[nodiscard]] std::string bytes(const std::string& name) const {
        return *base::realFileSystem().read(m_folder / (name + ".pt2"), 1 << 24);
    }

    void addNames() const {
        QTest::addColumn<QString>("name");
        for (auto entry = m_expected.begin(); entry != m_expected.end(); ++entry) {
            QTest::newRow(entry.key().c_str()) << QString::fromStdString(entry.key());
        }
    }

private slots:
    void initTestCase() {
        const char* folder = std::getenv("MODULELENS_TEST_PROGRAMS");
        if (folder == nullptr) {
            QSKIP("no torch in this build, or not started by ctest");
        }
        m_folder = folder;
        std::ifstream(m_folder / "expected.json") >> m_expected;
        QVERIFY(m_expected.size() > 30);
    }

    void staticFlops_equalTorchsOwnCount_data() { addNames(); }
    void staticFlops_equalTorchsOwnCount() {
        QFETCH(QString, name);
        const auto archive = read(name.toStdString());
        const auto costs = graph::staticCosts(*archive.program, {});
        for (const std::string& unknown : costs.unknown) {
            qInfo("unknown: %s", unknown.c_str());
        }
        QCOMPARE(costs.flops, m_expected[name.toStdString()]["flops"].get<std::int64_t>());
        QVERIFY(costs.unknown.empty());
    }

    void goldenFlops_areThoseByHand_data() {
        QTest::addColumn<qint64>("flops");
        QTest::newRow("linear") << qint64{8192};
        QTest::newRow("linear_vector") << qint64{1024};
        QTest::newRow("bmm") << qint64{240};
        QTest::newRow("matmul_broadcast") << qint64{1920};
        QTest::newRow("einsum_bmm") << qint64{240};
        QTest::newRow("matmul_vectors") << qint64{1024 + 64};
        QTest::newRow("conv2d") << qint64{442368};
        QTest::newRow("conv2d_groups") << qint64{110592};
        QTest::newRow("conv2d_depthwise") << qint64{36864};
        QTest::newRow("conv_transpose2d") << qint64{442368};
        QTest::newRow("conv_transpose2d_groups") << qint64{110592};
        QTest::newRow("sdpa") << qint64{12582912};
        QTest::newRow("sdpa_grouped") << qint64{12582912};
        QTest::newRow("encoder_layer") << qint64{1361920};
        QTest::newRow("lstm") << qint64{245760};
        QTest::newRow("gru") << qint64{184320};
        QTest::newRow("rnn") << qint64{61440};
        QTest::newRow("shared_twice") << qint64{32768};
        QTest::newRow("called_three_times") << qint64{49152};
    }
    void goldenFlops_areThoseByHand() {
        QFETCH(qint64, flops);
        QCOMPARE(graph::staticCosts(*read(QTest::currentDataTag()).program, {}).flops, flops);
    }

    void callsOfOneModule_countByCall() {
        const auto archive = read("called_three_times");
        std::map<int, std::int64_t> byCall;
        for (const graph::NodeCost& node : graph::staticCosts(*archive.program, {}).nodes) {
            byCall[archive.program->scopes[static_cast<std::size_t>(node.scope)].call] += node.cost.flops;
        }
        QCOMPARE(byCall, (std::map<int, std::int64_t>{{0, 16384}, {1, 16384}, {2, 16384}}));
    }

    void causalAttention_tellsTheExactCount() {
        // 4 heads of width 8 on 10 positions in 2 samples: 55 of 100 pairs.
        const graph::CostTotal total = graph::staticCosts(*read("block").program, {}).ledger.totals();
        QCOMPARE(total.maskedFlops, 45 * 2 * 4 * 2 * (8 + 8));
    }

    void anotherBatch_countsByItsOwnSizes() {
        int seen = 0;
        for (auto entry = m_expected.begin(); entry != m_expected.end(); ++entry) {
            if (!entry->contains("symbol")) {
                continue;
            }
            ++seen;
            const auto archive = read(entry.key());
            const std::map<std::string, std::int64_t> symbols{{entry->at("symbol"), entry->at("other")}};
            const auto costs = graph::staticCosts(*archive.program, symbols);
            QCOMPARE(costs.flops, entry->at("other_flops").get<std::int64_t>());
            QVERIFY(costs.unknown.empty());
        }
        QCOMPARE(seen, 4);
    }

    void nodes_belongToTheModuleThatTorchNames_data() { addNames(); }
    void nodes_belongToTheModuleThatTorchNames() {
        QFETCH(QString, name);
        const auto archive = read(name.toStdString());
        const graph::Program& program = *archive.program;
        std::map<std::string, const graph::Scope*> scopes;
        for (const graph::Node& node : program.graph.nodes) {
            scopes[node.name] = &program.scopes[static_cast<std::size_t>(node.scope)];
        }
        int seen = 0;
        for (const auto& node : m_expected[name.toStdString()]["nodes"]) {
            const auto scope = scopes.find(node["name"]);
            if (scope == scopes.end()) {
                continue; // getitem nodes are folded away when a program is saved.
            }
            ++seen;
            QCOMPARE(scope->second->path, node["path"].get<std::string>());
            QCOMPARE(scope->second->call, node["call"].get<int>());
        }
        QVERIFY(seen > 0);
    }

    void weights_areListedWithTheirShapes() {
        const auto archive = read("mlp");
        QCOMPARE(archive.weights.size(), std::size_t{4});
        const graph::TensorMeta& weight = archive.weights.at("0.weight");
        QCOMPARE(weight.sizes.size(), std::size_t{2});
        QCOMPARE(weight.sizes[0].literal.value(), 40);
        QVERIFY(weight.requiresGrad);
        QCOMPARE(archive.program->inputs[0].target, std::string("0.weight"));
        QVERIFY(archive.program->inputs[0].kind == graph::InputKind::Parameter);
        QVERIFY(archive.program->inputs.back().kind == graph::InputKind::UserInput);
    }

    void cutArchive_isRefusedAtEveryLength() {
        const std::string whole = bytes("linear");
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const auto archive = graph::readProgramArchive(test::memoryFile(std::string_view(whole).substr(0, size)), "cut");
            QVERIFY(!archive);
            QVERIFY(archive.error().code == base::ErrorCode::Corrupt);
        }
    }

    void damagedArchive_neverCrashes() {
        std::mt19937 random(20261130);
        for (const char* name : {"block_dynamic", "norms", "recommender"}) {
            const std::string whole = bytes(name);
            for (int round = 0; round < 400; ++round) {
                std::string damaged = whole;
                const int edits = 1 + static_cast<int>(random() % 8);
                for (int i = 0; i < edits; ++i) {
                    damaged[random() % damaged.size()] = static_cast<char>(random());
                }
                const auto archive = graph::readProgramArchive(test::memoryFile(damaged), "damaged");
                if (archive) {
                    (void)graph::staticCosts(*archive->program, {{"s0", 3}});
                } else {
                    QVERIFY(archive.error().code != base::ErrorCode::Internal);
                }
            }
        }
    }
};

ML_TEST_MAIN(ExportedProgramsTest)
#include "tst_ExportedPrograms.moc"
