// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include <QElapsedTimer>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cli/CliRun.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

using nlohmann::json;
using namespace modulelens::test;

namespace {

constexpr int kLimit = 60'000;
constexpr int kExitCancelled = 130;

constexpr const char* kShop = R"(import torch
from torch import nn

FACTOR = 3.0


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(self.linear(x)) * FACTOR


class Shop(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block(8)

    def forward(self, x):
        return self.block(x)
)";

constexpr const char* kCapture = R"(import sys
import torch
from shop.model import Shop
from modulelens import ModuleTracer

torch.manual_seed(0)
model = Shop()
with ModuleTracer(model, store=sys.argv[1], model_name="shop"):
    model(torch.randn(4, 8))
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

/// The text or the JSON at a pointer; empty when there is none.
std::string at(const json& document, const char* pointer) {
    const json::json_pointer place(pointer);
    if (!document.is_object() || !document.contains(place)) {
        return {};
    }
    return document[place].is_string() ? document[place].get<std::string>() : document[place].dump();
}

void write(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
}

/// As most editors save: the new text in a file of its own, which takes the place of the old one.
void renameInto(const std::filesystem::path& file, const std::string& text) {
    write(file.string() + ".swap", text);
    std::filesystem::rename(file.string() + ".swap", file);
}

} // namespace

/// `verify` that goes on watching, and with a changed checkout, on a package that was captured by a real tracer.
class CliWatch : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (std::getenv("MODULELENS_PYTHON") == nullptr || !std::filesystem::exists(programPath("modulelens-worker"))) {
            QSKIP("there is no Python with torch");
        }
        m_base = m_folder.path().toStdString();
        write(m_base / "installed/shop/__init__.py", "");
        write(m_base / "installed/shop/model.py", kShop);
        write(m_base / "capture.py", kCapture);
        QProcess tracer;
        tracer.setProcessEnvironment(environment());
        tracer.start(QString::fromLocal8Bit(std::getenv("MODULELENS_PYTHON")), {path("capture.py"), path("captures")});
        QVERIFY(tracer.waitForFinished(kLimit));
        QVERIFY2(tracer.exitCode() == 0, tracer.readAllStandardError().constData());
        QCOMPARE(run({"import", (m_base / "captures").string()}).exitCode, 0);
    }

    void cleanup() {
        if (m_watch && m_watch->state() != QProcess::NotRunning) {
            m_watch->kill();
            m_watch->waitForFinished(kLimit);
        }
        m_watch.reset();
    }

    void editedFile_isVerifiedAtEverySaveUntilInterrupted() {
        const std::filesystem::path file = m_base / "watched/block.py";
        write(file, kShop);
        watch(
            {"verify", "shop::block", "--source", file.string() + ":Block", "--trust", "--no-benchmark", "--watch", "--json"});
        QCOMPARE(at(next(), "/data/exact"), std::string("true"));
        // In place.
        write(file, replaced(kShop, "* FACTOR", "* (FACTOR + 1)"));
        const json changed = next();
        QCOMPARE(at(changed, "/data/verdict"), std::string("fail"));
        QVERIFY(at(changed, "/data/differences/0/difference").find("+        return torch.relu") != std::string::npos);
        // A syntax error is an answer, not the end.
        renameInto(file, replaced(kShop, "return torch.relu(", "return torch.relu(("));
        const json broken = next();
        QCOMPARE(at(broken, "/status"), std::string("error"));
        QVERIFY2(at(broken, "/error/message").find("block.py:13: SyntaxError") != std::string::npos, broken.dump().c_str());
        // So is an exception of the edited code, with its line.
        renameInto(file, replaced(kShop, "torch.relu(self.linear(x))", "self.linear(x[:, :3])"));
        const std::string raised = at(next(), "/error/message");
        QVERIFY2(raised.find("block.py:13") != std::string::npos, raised.c_str());
        // By renaming another file into place.
        renameInto(file, replaced(kShop, "torch.relu(self.linear(x))", "self.linear(x).clamp(min=0)"));
        QCOMPARE(at(next(), "/data/verdict"), std::string("pass"));
        // Removed for a moment, as some editors do; then the same text again.
        std::filesystem::remove(file);
        write(file, kShop);
        QCOMPARE(at(next(), "/data/exact"), std::string("true"));
        interrupt();
        QCOMPARE(m_watch->exitCode(), kExitCancelled);
    }

    void interruptedWhileItRuns_endsWithTheExitCodeOfCancelling() {
        const std::filesystem::path file = m_base / "watched/slow.py";
        const std::filesystem::path reached = m_base / "reached";
        write(file, replaced(kShop, "        return torch.relu",
                             "        open('" + reached.string() + "', 'w').close()\n" +
                                 "        while True:\n            pass\n        return torch.relu"));
        watch({"verify", "shop::block", "--source", file.string(), "--trust", "--no-benchmark", "--watch"});
        QTRY_VERIFY_WITH_TIMEOUT(std::filesystem::exists(reached), kLimit);
        interrupt();
        QCOMPARE(m_watch->exitCode(), kExitCancelled);
    }

    void changedCheckout_takesThePlaceOfTheInstalledPackage() {
        const std::filesystem::path checkout = m_base / "checkout";
        write(checkout / "shop/__init__.py", "");
        write(checkout / "shop/model.py", std::string("# Changed, if only here.\n") + kShop);
        const std::vector<std::string> words{"verify", "shop::block", "--python-path", checkout.string(), "--json"};
        QCOMPARE(run(words).exitCode, 12);
        CliResult same = run(words, {"--trust", "--repetitions", "5"});
        QVERIFY2(same.exitCode == 0, (same.output + same.errors).c_str());
        QVERIFY(same.json()["data"]["exact"].get<bool>());
        QCOMPARE(same.json()["data"]["benchmark"]["sides"].size(), std::size_t{2});
        QVERIFY2(same.json()["data"]["benchmark"]["ratio"].is_number(), same.output.c_str());
        // Consented to, until a file of the checkout is another one.
        QCOMPARE(run(words, {"--no-benchmark"}).exitCode, 0);
        write(checkout / "shop/model.py", replaced(kShop, "FACTOR = 3.0", "FACTOR = 2.0"));
        QCOMPARE(run(words, {"--no-benchmark"}).exitCode, 12);
        const CliResult other = run(words, {"--trust", "--no-benchmark"});
        QVERIFY2(other.exitCode == 4, (other.output + other.errors).c_str());
        QCOMPARE(at(other.json(), "/data/verdict"), std::string("fail"));
    }

    void changedCheckout_isWatchedToo() {
        const std::filesystem::path checkout = m_base / "watched-checkout";
        write(checkout / "shop/__init__.py", "");
        write(checkout / "shop/model.py", kShop);
        watch({"verify", "shop::block", "--python-path", checkout.string(), "--trust", "--no-benchmark", "--watch", "--json"});
        QCOMPARE(at(next(), "/data/exact"), std::string("true"));
        renameInto(checkout / "shop/model.py", replaced(kShop, "torch.relu(self.linear(x))", "self.linear(x)"));
        const json changed = next();
        QCOMPARE(at(changed, "/data/verdict"), std::string("fail"));
        QCOMPARE(at(changed, "/data/differences/0/class"), std::string("shop.model:Block"));
        renameInto(checkout / "shop/model.py", "import shop.nothing\n");
        QCOMPARE(at(next(), "/status"), std::string("error"));
        renameInto(checkout / "shop/model.py", kShop);
        QCOMPARE(at(next(), "/data/exact"), std::string("true"));
        interrupt();
        QCOMPARE(m_watch->exitCode(), kExitCancelled);
    }

    void workingCopy_isWrittenOnceAndKept() {
        const std::vector<std::string> words{"verify", "shop::block", "--edit", "--trust", "--no-benchmark", "--json"};
        const CliResult first = run(words);
        QVERIFY2(first.exitCode == 0, (first.output + first.errors).c_str());
        QVERIFY(first.json()["data"]["exact"].get<bool>());
        // The names of its own module are known: nothing but the class stands in the file.
        const std::filesystem::path file = at(first.json(), "/data/file");
        QVERIFY(file.string().starts_with((m_base / "data/modulelens/edited").string()));
        std::ifstream stream(file);
        std::string text((std::istreambuf_iterator<char>(stream)), {});
        QVERIFY2(text.find("class Block(nn.Module):") != std::string::npos, text.c_str());
        QVERIFY2(text.find("\nimport ") == std::string::npos, text.c_str());
        write(file, replaced(text, "torch.relu(self.linear(x))", "self.linear(x)"));
        QCOMPARE(run(words).exitCode, 4);
        QCOMPARE(run(words, {"--source", file.string()}).exitCode, 2);
    }

private:
    QString path(const char* name) const { return QString::fromStdString((m_base / name).string()); }

    QProcessEnvironment environment() const {
        QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
        for (const auto& [name, value] : settings()) {
            variables.insert(QString::fromStdString(name), QString::fromStdString(value));
        }
        variables.insert(QStringLiteral("MODULELENS_REGISTRY"), path("registry"));
        variables.remove(QStringLiteral("MODULELENS_WORKER"));
        return variables;
    }

    std::map<std::string, std::string> settings() const {
        return {{"PYTHONPATH",
                 std::string(std::getenv("MODULELENS_SOURCE_DIR")) + "/backend/python:" + (m_base / "installed").string()},
                {"PYTHONDONTWRITEBYTECODE", "1"},
                {"XDG_DATA_HOME", (m_base / "data").string()},
                {"XDG_CONFIG_HOME", (m_base / "config").string()}};
    }

    CliResult run(std::vector<std::string> words, const std::vector<std::string>& more = {}) {
        words.insert(words.end(), more.begin(), more.end());
        return runCli(m_base / "registry", words, settings());
    }

    void watch(const std::vector<std::string>& words) {
        m_watch = std::make_unique<QProcess>();
        m_watch->setProcessEnvironment(environment());
        QStringList arguments;
        for (const std::string& word : words) {
            arguments.append(QString::fromStdString(word));
        }
        m_watch->start(QString::fromStdString(programPath("modulelens").string()), arguments);
        QVERIFY(m_watch->waitForStarted(kLimit));
    }

    /// The next document that `verify --watch` prints; null when none comes.
    json next() {
        QElapsedTimer clock;
        clock.start();
        while (clock.elapsed() < kLimit) {
            m_output += m_watch->readAllStandardOutput().toStdString();
            if (const std::size_t end = m_output.find('\n'); end != std::string::npos) {
                const std::string line = m_output.substr(0, end);
                m_output.erase(0, end + 1);
                return json::parse(line, nullptr, false);
            }
            m_watch->waitForReadyRead(100);
        }
        return {};
    }

    void interrupt() {
        QCOMPARE(::kill(static_cast<pid_t>(m_watch->processId()), SIGINT), 0);
        QVERIFY(m_watch->waitForFinished(kLimit));
        QCOMPARE(m_watch->exitStatus(), QProcess::NormalExit);
        m_output.clear();
    }

    QTemporaryDir m_folder;
    std::filesystem::path m_base;
    std::unique_ptr<QProcess> m_watch;
    std::string m_output;
};

ML_TEST_MAIN(CliWatch)
#include "tst_CliWatch.moc"
