// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include <QTemporaryDir>
#include <QTest>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cli/CliRun.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

using nlohmann::json;
using namespace modulelens::test;

namespace {

/// The golden module as it was written, with a factor.
constexpr const char* kEdited = R"(import torch
from torch import nn


class Golden(nn.Module):
    def __init__(self, width, rate=0.5):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.again = self.linear
        self.activation = nn.ReLU(inplace=True)
        self.norm = nn.BatchNorm1d(width)
        self.dropout = nn.Dropout(rate)
        self.factor = FACTOR

    def forward(self, x, options):
        hidden = self.activation(self.linear(x))
        hidden = self.dropout(self.norm(self.again(hidden + options["bias"]))) * self.factor
        return {"y": hidden, "pair": (hidden.sum(dim=1), None)}
)";

} // namespace

/// The source engine and `verify` with a real Python worker, on the golden bundle.
class CliSource : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (std::getenv("MODULELENS_PYTHON") == nullptr || !std::filesystem::exists(programPath("modulelens-worker"))) {
            QSKIP("there is no Python with torch");
        }
        m_base = m_folder.path().toStdString();
        m_registry = m_base / "registry";
        QCOMPARE(runCli(m_registry, {"import", dataPath("capture/v1").string()}).exitCode, 0);
    }

    void torchModule_rebuildsFromItsClass() {
        const CliResult result = run({"rebuild", "golden::linear", "--engine", "source", "--json"});
        QVERIFY2(result.exitCode == 0, result.output.c_str());
        const json data = result.json()["data"];
        QCOMPARE(data["engine"].get<std::string>(), std::string("source"));
        QCOMPARE(data["how"].get<std::string>(), std::string("structure"));
        QCOMPARE(data["outputs"].size(), std::size_t{1});
    }

    void torchModule_isBitExactInBothEngines() {
        for (const char* engine : {"program", "source"}) {
            const CliResult result = run({"validate", "golden::linear", "--engine", engine, "--json"});
            QVERIFY2(result.exitCode == 0, result.output.c_str());
            QVERIFY(result.json()["data"]["exact"].get<bool>());
        }
    }

    void codeOfOthers_needsConsent() {
        const CliResult result = run({"validate", "golden::", "--engine", "source", "--json"});
        QVERIFY2(result.exitCode == 12, result.output.c_str());
        QVERIFY(result.json()["error"]["message"].get<std::string>().find("__main__:Golden") != std::string::npos);
    }

    void classOfTheTrainingScript_fallsBackToItsProgram() {
        const CliResult result = run({"rebuild", "golden::", "--engine", "source", "--trust", "--json"});
        QVERIFY2(result.exitCode == 0, result.output.c_str());
        const json data = result.json()["data"];
        QCOMPARE(data["how"].get<std::string>(), std::string("program"));
        QVERIFY(data["reasons"][0].get<std::string>().find("in the training script itself") != std::string::npos);
    }

    void unknownEngine_isUsage() {
        QCOMPARE(run({"validate", "golden::", "--engine", "steam"}).exitCode, 2);
        QCOMPARE(run({"validate", "golden::", "--python", "python3"}).exitCode, 2);
    }

    void missingInterpreter_isNamed() {
        const CliResult result =
            run({"rebuild", "golden::linear", "--engine", "source", "--python", "/no/such/python", "--json"});
        QCOMPARE(result.exitCode, 7);
        QVERIFY(result.json()["error"]["message"].get<std::string>().find("/no/such/python") != std::string::npos);
    }

    void verify_givesTheEditStateAndInputs() {
        const CliResult same = run({"verify", "golden::", "--source", edited("1"), "--trust", "--no-benchmark", "--json"});
        QVERIFY2(same.exitCode == 0, (same.output + same.errors).c_str());
        const json data = same.json()["data"];
        QVERIFY(data["exact"].get<bool>());
        QCOMPARE(data["differences"][0]["class"].get<std::string>(), std::string("__main__:Golden"));
        QVERIFY(data["differences"][0]["difference"].get<std::string>().find("+        self.factor = 1") != std::string::npos);
        QVERIFY(data["benchmark"].is_null());
        const CliResult other =
            run({"verify", "golden::", "--source", edited("2") + ":Golden", "--trust", "--no-benchmark", "--json"});
        QCOMPARE(other.exitCode, 4);
        QCOMPARE(other.json()["data"]["verdict"].get<std::string>(), std::string("fail"));
    }

    void verify_timesPairs() {
        const std::filesystem::path file = m_base / "linear.py";
        std::ofstream(file) << "import torch\n\n\nclass Linear(torch.nn.Linear):\n    def forward(self, input):\n"
                               "        return torch.addmm(self.bias, input, self.weight.t())\n";
        const CliResult result =
            run({"verify", "golden::linear", "--source", file.string(), "--trust", "--repetitions", "5", "--json"});
        QVERIFY2(result.exitCode == 0, (result.output + result.errors).c_str());
        const json benchmark = result.json()["data"]["benchmark"];
        QCOMPARE(benchmark["sides"].size(), std::size_t{2});
        QCOMPARE(benchmark["sides"][1]["samples_ns"].size(), std::size_t{5});
        QVERIFY(benchmark["ratio"].is_number());
    }

    void verify_withoutConsentOrEdit_isRefused() {
        QCOMPARE(run({"verify", "golden::linear", "--source", edited("3"), "--no-benchmark"}).exitCode, 12);
        QCOMPARE(run({"verify", "golden::linear"}).exitCode, 2);
        QCOMPARE(run({"verify", "golden::linear", "--source", "/no/such.py", "--trust"}).exitCode, 3);
    }

    void killedPythonWorker_isSaid() {
        CliResult result = run({"validate", "golden::linear", "--engine", "source", "--json"}, "crash-in:validate");
        QCOMPARE(result.exitCode, 11);
        result = run({"validate", "golden::linear", "--engine", "source", "--json"}, "hang-in:validate", {"--timeout", "20"});
        QVERIFY2(result.exitCode == 11 || result.exitCode == 8, result.output.c_str());
    }

private:
    CliResult run(std::vector<std::string> words, const std::string& fault = {}, const std::vector<std::string>& more = {}) {
        words.insert(words.end(), more.begin(), more.end());
        const char* source = std::getenv("MODULELENS_SOURCE_DIR");
        return runCli(m_registry, words,
                      {{"PYTHONPATH", std::string(source) + "/backend/python"},
                       {"XDG_CONFIG_HOME", (m_base / "config").string()},
                       {"MODULELENS_WORKER_FAULT", fault}});
    }

    std::string edited(const std::string& factor) {
        const std::filesystem::path file = m_base / ("edited" + factor + ".py");
        std::string text = kEdited;
        text.replace(text.find("FACTOR"), 6, factor);
        std::ofstream(file) << text;
        return file.string();
    }

    QTemporaryDir m_folder;
    std::filesystem::path m_base;
    std::filesystem::path m_registry;
};

ML_TEST_MAIN(CliSource)
#include "tst_CliSource.moc"
