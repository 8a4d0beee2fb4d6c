// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <QCryptographicHash>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <fstream>
#include <set>

#include "app/cli/Output.h"
#include "tests/cli/CliRun.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

using nlohmann::json;
using namespace modulelens::test;

namespace {

const json kLoaded = {{"handle", 1}, {"load_ns", 1000}, {"operator_count", 4}};

json leaf(const std::string& verdict) {
    return {{"pointer", "/output"}, {"dtype", "float32"}, {"shape", {3, 4}}, {"verdict", verdict}, {"max_abs_diff", 0.5}};
}

json validating(const std::string& verdict, bool exact) {
    return {{"load", {{{{"reply", kLoaded}}}}},
            {"validate",
             {{{{"reply",
                 {{"verdict", verdict},
                  {"exact", exact},
                  {"max_abs_diff", exact ? 0.0 : 0.5},
                  {"threads", 1},
                  {"leaves", {leaf(exact ? "exact" : "fail")}}}}}}}}};
}

} // namespace

/// The real program on a registry made from the golden bundle.
class Cli : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        m_registry = std::filesystem::path(m_folder.path().toStdString()) / "a registry \u00fc";
        const CliResult imported = run({"import", dataPath("capture/v1").string(), "--json"});
        QCOMPARE(imported.exitCode, 0);
        const json data = ok(imported, "import");
        QCOMPARE(data["versions_new"].get<int>(), 3);
        QCOMPARE(data["versions_known"].get<int>(), 0);
    }

    void importAgain_addsNothing() {
        const json data = ok(run({"import", dataPath("capture/v1").string(), "--json"}), "import");
        QCOMPARE(data["versions_new"].get<int>(), 0);
        QCOMPARE(data["versions_known"].get<int>(), 3);
    }

    void search_hasTheFieldsThatScriptsRelyOn() {
        const json data = ok(run({"search", "--json", "--sort", "name"}), "search");
        QCOMPARE(data["total"].get<int>(), 3);
        QVERIFY(data["next_cursor"].is_null());
        QCOMPARE(data["versions"].size(), 3U);
        for (const json& version : data["versions"]) {
            QCOMPARE(version["model"].get<std::string>(), std::string("golden"));
            QVERIFY(version["id"].is_string() && version["module"].is_string() && version["class"].is_string());
            QCOMPARE(version["version"].get<int>(), 0);
            QVERIFY(version["tags"].is_array() && version["aliases"].is_array());
            QCOMPARE(version["program"].get<std::string>().size(), 64U);
        }
    }

    void search_paging_visitsEveryVersionOnce() {
        std::set<std::string> seen;
        std::string cursor;
        int pages = 0;
        do {
            std::vector<std::string> words = {"search", "--json", "--limit", "1"};
            if (!cursor.empty()) {
                words.insert(words.end(), {"--cursor", cursor});
            }
            const json data = ok(run(words), "search");
            QCOMPARE(data["total"].get<int>(), 3);
            QCOMPARE(data["versions"].size(), 1U);
            seen.insert(data["versions"][0]["id"].get<std::string>());
            cursor = data["next_cursor"].is_null() ? "" : data["next_cursor"].get<std::string>();
            ++pages;
        } while (!cursor.empty() && pages < 10);
        QCOMPARE(pages, 3);
        QCOMPARE(seen.size(), 3U);
    }

    void search_byQueryAndById() {
        QCOMPARE(ok(run({"search", "module:linear", "--json"}), "search")["total"].get<int>(), 1);
        QCOMPARE(ok(run({"search", "class:ReLU", "tag:golden", "--json"}), "search")["total"].get<int>(), 1);
        QCOMPARE(ok(run({"search", "-class:ReLU", "--json"}), "search")["total"].get<int>(), 2);
        QCOMPARE(ok(run({"search", "nothing-like-this", "--json"}), "search")["total"].get<int>(), 0);
        const std::string id = ok(run({"show", "golden::linear", "--json"}), "show")["id"].get<std::string>();
        QCOMPARE(ok(run({"show", id, "--json"}), "show")["module"].get<std::string>(), std::string("linear"));
    }

    void show_saysWhatAVersionHolds() {
        const json data = ok(run({"show", "golden::@v0", "--tensors", "--source", "--json"}), "show");
        QCOMPARE(data["calls"].size(), 2U);
        QCOMPARE(data["calls"][0]["inputs"][0]["pointer"].get<std::string>(), std::string("/args/0"));
        QVERIFY(data["source"].get<std::string>().find("class Golden") != std::string::npos);
        QCOMPARE(data["tensors"].size(), 4U);
        QVERIFY(data["tensors"][0]["mean"].is_number());
    }

    void tree_hasModulesWithNumbers() {
        const json data = ok(run({"tree", "golden::", "--json"}), "tree");
        QCOMPARE(data["nodes"].size(), 6U);
        QCOMPARE(data["nodes"][0]["flops"]["total"].get<int>(), 192);
        QCOMPARE(data["nodes"][0]["parameter_bytes"]["total"].get<int>(), 112);
        QVERIFY(data["nodes"][0]["parent"].is_null());
        QCOMPARE(data["nodes"][1]["path"].get<std::string>(), std::string("linear"));
        QVERIFY(data["coverage"]["unknown"].empty());
        QCOMPARE(ok(run({"tree", "golden::", "--json", "--depth", "0"}), "tree")["nodes"].size(), 1U);
        QVERIFY(ok(run({"tree", "golden::", "--json", "--operators"}), "tree")["nodes"].size() > 6U);
    }

    void humanOutput_isThere_data() {
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<QString>("part");
        QTest::newRow("search") << QStringList{"search"} << "golden::linear@v0";
        QTest::newRow("show") << QStringList{"show", "golden::linear"} << "torch.nn.modules.linear:Linear";
        QTest::newRow("tree") << QStringList{"tree", "golden::"} << "192 FLOPs";
        QTest::newRow("validate") << QStringList{"validate", "golden::linear"} << "Bit-exact: 1 of 1 output.";
        QTest::newRow("help") << QStringList{"--help"} << "Exit codes";
        QTest::newRow("help of a verb") << QStringList{"profile", "--help"} << "--threads N";
        QTest::newRow("version") << QStringList{"--version"} << "modulelens ";
    }
    void humanOutput_isThere() {
        QFETCH(const QStringList, words);
        QFETCH(const QString, part);
        const CliResult result = runWords(words, validating("pass", true));
        QCOMPARE(result.exitCode, 0);
        QVERIFY2(QString::fromStdString(result.output).contains(part), result.output.c_str());
        QCOMPARE(result.errors, std::string());
    }

    void validate_answersWithTheVerdict_data() {
        QTest::addColumn<QString>("verdict");
        QTest::addColumn<bool>("exact");
        QTest::addColumn<int>("exit");
        QTest::newRow("bits equal") << "pass" << true << 0;
        QTest::newRow("close") << "pass" << false << 0;
        QTest::newRow("differs") << "fail" << false << 4;
        QTest::newRow("not comparable") << "not_comparable" << false << 4;
    }
    void validate_answersWithTheVerdict() {
        QFETCH(const QString, verdict);
        QFETCH(const bool, exact);
        QFETCH(const int, exit);
        const CliResult result =
            runWords(QStringList{"validate", "golden::linear", "--json"}, validating(verdict.toStdString(), exact));
        QCOMPARE(result.exitCode, exit);
        const json data = ok(result, "validate", exit);
        QCOMPARE(data["verdict"].get<std::string>(), verdict.toStdString());
        QCOMPARE(data["exact"].get<bool>(), exact);
        QCOMPARE(data["engine"].get<std::string>(), std::string("program"));
        QVERIFY(data["max_abs_diff"].is_number());
        QCOMPARE(data["leaves"].size(), 1U);
    }

    void validateByQuery_isOneAnswer() {
        const CliResult result =
            runWords(QStringList{"validate", "--query", "model:golden", "--json"}, validating("pass", true));
        const json data = ok(result, "validate");
        QCOMPARE(data["verdict"].get<std::string>(), std::string("pass"));
        QVERIFY(data["exact"].get<bool>());
        QCOMPARE(data["results"].size(), 3U);
        QCOMPARE(data["counts"]["pass"].get<int>(), 3);
        const CliResult failed =
            runWords(QStringList{"validate", "golden::", "golden::linear", "--json"}, validating("fail", false));
        QCOMPARE(failed.exitCode, 4);
        QCOMPARE(ok(failed, "validate", 4)["counts"]["fail"].get<int>(), 2);
    }

    void validateAll_namesTheFirstThatDrifts() {
        const CliResult result = runWords(QStringList{"validate", "golden::", "--all", "--json"}, validating("fail", false));
        const json data = ok(result, "validate", 4);
        QCOMPARE(data["results"].size(), 3U);
        // What the top module calls ends before it.
        QCOMPARE(data["results"][2]["address"].get<std::string>(), std::string("golden::@v0"));
        QCOMPARE(data["first_drift"]["address"].get<std::string>(), data["results"][0]["address"].get<std::string>());
        QCOMPARE(data["first_drift"]["pointer"].get<std::string>(), std::string("/output"));
        QCOMPARE(data["first_drift"]["position"].get<int>(), 0);
        // In any order of the arguments.
        const CliResult given =
            runWords(QStringList{"validate", "golden::", "golden::linear", "--json"}, validating("fail", false));
        const json named = ok(given, "validate", 4);
        QCOMPARE(named["results"][0]["address"].get<std::string>(), std::string("golden::@v0"));
        QCOMPARE(named["first_drift"]["address"].get<std::string>(), std::string("golden::linear@v0"));
        const CliResult text = runWords(QStringList{"validate", "golden::", "golden::linear"}, validating("fail", false));
        QVERIFY(text.output.find("Drifts first, in the order of execution: golden::linear@v0") != std::string::npos);
        const json passed =
            ok(runWords(QStringList{"validate", "golden::", "--all", "--json"}, validating("pass", true)), "validate");
        QVERIFY(passed["first_drift"].is_null());
        QVERIFY(passed["first_difference"].is_null());
    }

    void labels_comeAndGo() {
        QCOMPARE(run({"tag", "add", "golden::linear", "na\u00efve tag", "second"}).exitCode, 0);
        QCOMPARE(run({"tag", "alias", "golden::linear", "best"}).exitCode, 0);
        QCOMPARE(run({"tag", "set", "golden::linear", "accuracy=0.5", "note=a=b", "good=true"}).exitCode, 0);
        const json data = ok(run({"show", "golden::linear@best", "--json"}), "show");
        QCOMPARE(data["tags"].dump(), json({"golden", "na\u00efve tag", "second"}).dump());
        QCOMPARE(data["attributes"]["accuracy"].get<double>(), 0.5);
        QCOMPARE(data["attributes"]["note"].get<std::string>(), std::string("a=b"));
        QCOMPARE(data["attributes"]["good"].get<bool>(), true);
        QCOMPARE(ok(run({"search", "tag:second", "--json"}), "search")["total"].get<int>(), 1);
        QCOMPARE(run({"tag", "remove", "golden::linear", "na\u00efve tag", "second"}).exitCode, 0);
        QCOMPARE(run({"tag", "unalias", "golden::linear", "best"}).exitCode, 0);
        QCOMPARE(run({"tag", "unset", "golden::linear", "accuracy", "note", "good"}).exitCode, 0);
        QCOMPARE(run({"show", "golden::linear@best"}).exitCode, 3);
        QCOMPARE(run({"tag", "alias", "golden::linear", "latest"}).exitCode, 2);
        QCOMPARE(run({"tag", "ad", "golden::linear", "x"}).exitCode, 2);
    }

    void dryRun_deletesNothing() {
        const json data = ok(run({"delete", "golden::linear", "--dry-run", "--json"}), "delete");
        QCOMPARE(data["deleted"].size(), 1U);
        QCOMPARE(ok(run({"search", "--json"}), "search")["total"].get<int>(), 3);
    }

    void deletedVersion_isGoneAndComesBackByImport() {
        const std::filesystem::path other = std::filesystem::path(m_folder.path().toStdString()) / "other";
        QCOMPARE(runCli(other, {"import", dataPath("capture/v1").string()}).exitCode, 0);
        // One mistyped name: nothing is deleted.
        QCOMPARE(runCli(other, {"delete", "golden::linear", "golden::nothing"}).exitCode, 3);
        QCOMPARE(ok(runCli(other, {"search", "--json"}), "search")["total"].get<int>(), 3);
        QCOMPARE(runCli(other, {"delete", "golden::linear"}).exitCode, 0);
        QCOMPARE(ok(runCli(other, {"search", "--json"}), "search")["total"].get<int>(), 2);
        QCOMPARE(runCli(other, {"show", "golden::linear"}).exitCode, 3);
    }

    void inbox_isImportedByReading() {
        const std::filesystem::path other = std::filesystem::path(m_folder.path().toStdString()) / "with inbox";
        copyGoldenBundle(other / "inbox");
        QCOMPARE(ok(runCli(other, {"search", "--json"}), "search")["total"].get<int>(), 3);
    }

    void brokenInbox_isAWarning() {
        const std::filesystem::path other = std::filesystem::path(m_folder.path().toStdString()) / "broken inbox";
        const std::filesystem::path bundle = copyGoldenBundle(other / "inbox");
        std::filesystem::resize_file(bundle / "bundle.json", 100);
        const CliResult result = runCli(other, {"search", "--json"});
        QCOMPARE(result.exitCode, 0);
        QCOMPARE(result.json()["warnings"].size(), 1U);
        QCOMPARE(result.json()["data"]["total"].get<int>(), 0);
    }

    void badArguments_haveTheirExitCode_data() {
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<int>("exit");
        QTest::addColumn<QString>("code");
        QTest::newRow("no verb") << QStringList{} << 2 << "invalid_argument";
        QTest::newRow("unknown verb") << QStringList{"nonsense"} << 2 << "invalid_argument";
        QTest::newRow("unknown option") << QStringList{"search", "--nonsense"} << 2 << "invalid_argument";
        QTest::newRow("bad limit") << QStringList{"search", "--limit", "0"} << 2 << "invalid_argument";
        QTest::newRow("bad sort") << QStringList{"search", "--sort", "size"} << 2 << "invalid_argument";
        QTest::newRow("bad query") << QStringList{"search", "params>>"} << 2 << "invalid_argument";
        QTest::newRow("bad cursor") << QStringList{"search", "--cursor", "nonsense"} << 2 << "invalid_argument";
        QTest::newRow("bad timeout") << QStringList{"search", "--timeout", "soon"} << 2 << "invalid_argument";
        QTest::newRow("bad address") << QStringList{"show", "golden::a::b"} << 2 << "invalid_argument";
        QTest::newRow("bad threads") << QStringList{"validate", "golden::", "--threads", "none"} << 2 << "invalid_argument";
        QTest::newRow("no such call") << QStringList{"validate", "golden::", "--call", "7"} << 2 << "invalid_argument";
        QTest::newRow("whole run of two") << QStringList{"validate", "golden::", "golden::linear", "--all"} << 2
                                          << "invalid_argument";
        QTest::newRow("no repeats") << QStringList{"validate", "golden::", "--repeats", "0"} << 2 << "invalid_argument";
        QTest::newRow("versions and query") << QStringList{"validate", "golden::", "--query", "x"} << 2 << "invalid_argument";
        QTest::newRow("no such version") << QStringList{"show", "golden::@v9"} << 3 << "not_found";
        QTest::newRow("no such id") << QStringList{"show", "mv0000000000000000"} << 3 << "not_found";
        QTest::newRow("no such file") << QStringList{"import", "/nowhere/bundle"} << 3 << "not_found";
        QTest::newRow("no such registry") << QStringList{"search", "--registry", "/nowhere"} << 3 << "not_found";
        QTest::newRow("import into a team's registry")
            << QStringList{"import", "/nowhere", "--registry", "wandb:us/models"} << 9 << "unsupported";
        // Even root may not write below /sys; a container need not have it.
        if (QFileInfo::exists(QStringLiteral("/sys/kernel"))) {
            QTest::newRow("registry not writable")
                << QStringList{"import", "/nowhere", "--registry", "/sys/registry"} << 10 << "permission_denied";
        }
    }
    void badArguments_haveTheirExitCode() {
        QFETCH(const QStringList, words);
        QFETCH(const int, exit);
        QFETCH(const QString, code);
        const CliResult asJson = runWords(words + QStringList{"--json"});
        QCOMPARE(asJson.exitCode, exit);
        const json document = asJson.json();
        QVERIFY2(document.is_object(), asJson.output.c_str());
        QCOMPARE(document["status"].get<std::string>(), std::string("error"));
        QVERIFY(document["data"].is_null());
        if (!code.isEmpty()) {
            QCOMPARE(document["error"]["code"].get<std::string>(), code.toStdString());
        }
        QVERIFY(!document["error"]["message"].get<std::string>().empty());
        const CliResult asText = runWords(words);
        QCOMPARE(asText.exitCode, exit);
        QCOMPARE(asText.output, std::string());
        QVERIFY2(QString::fromStdString(asText.errors).startsWith(QStringLiteral("modulelens: ")), asText.errors.c_str());
        // One sentence; a query or an address is shown below it with a mark at the character.
        const auto lines = std::count(asText.errors.begin(), asText.errors.end(), '\n');
        QVERIFY2(lines == 1 || (lines == 4 && asText.errors.find("^\n") != std::string::npos), asText.errors.c_str());
    }

    void manyNames_areTakenAllOrNone() {
        const std::string before = runCli(m_registry, {"show", "golden::linear", "--json"}).output;
        QCOMPARE(runCli(m_registry, {"tag", "add", "golden::linear", "good", "bad\n"}).exitCode, 2);
        QCOMPARE(runCli(m_registry, {"tag", "alias", "golden::linear", "good", "v1"}).exitCode, 2);
        QCOMPARE(runCli(m_registry, {"tag", "set", "golden::linear", "good=1", "bad"}).exitCode, 2);
        QCOMPARE(runCli(m_registry, {"show", "golden::linear", "--json"}).output, before);
    }

    void versionNamedTwice_isDeletedOnce() {
        const std::filesystem::path other = std::filesystem::path(m_folder.path().toStdString()) / "delete twice";
        QCOMPARE(runCli(other, {"import", dataPath("capture/v1").string()}).exitCode, 0);
        const CliResult result = runCli(other, {"delete", "golden::linear", "golden::linear@v0", "--json"});
        QCOMPARE(ok(result, "delete")["deleted"].size(), 1U);
    }

    void show_listsStoredResults() {
        const std::filesystem::path other = std::filesystem::path(m_folder.path().toStdString()) / "results";
        QCOMPARE(runCli(other, {"import", dataPath("capture/v1").string()}).exitCode, 0);
        QVERIFY(ok(runCli(other, {"show", "golden::linear", "--json"}), "show")["results"].empty());
        const json script = validating("pass", true);
        QCOMPARE(runCli(other, {"validate", "golden::linear"}, {{"MODULELENS_WORKER", scriptedWorker(script)}}).exitCode, 0);
        const json results = ok(runCli(other, {"show", "golden::linear", "--json"}), "show")["results"];
        QCOMPARE(results.size(), 1U);
        QCOMPARE(results[0]["kind"].get<std::string>(), std::string("validation"));
        QCOMPARE(results[0]["verdict"].get<std::string>(), std::string("pass"));
        QCOMPARE(results[0]["device"].get<std::string>(), std::string("cpu"));
        QVERIFY(results[0]["latency_ns"].is_null());
        const std::string created = results[0]["created"].get<std::string>();
        const std::string text = runCli(other, {"show", "golden::linear"}).output;
        QVERIFY2(text.find(created + "  validation  cpu") != std::string::npos, text.c_str());
    }

    void damagedPack_isCorrupt_data() {
        QTest::addColumn<bool>("missing");
        QTest::newRow("missing") << true;
        QTest::newRow("cut") << false;
    }
    void damagedPack_isCorrupt() {
        QFETCH(const bool, missing);
        const std::filesystem::path other =
            std::filesystem::path(m_folder.path().toStdString()) / (missing ? "no pack" : "cut pack");
        QCOMPARE(runCli(other, {"import", dataPath("capture/v1").string()}).exitCode, 0);
        for (const auto& entry : std::filesystem::directory_iterator(other / "packs")) {
            std::filesystem::resize_file(entry.path(), 100);
            if (missing) {
                std::filesystem::remove(entry.path());
            }
        }
        for (const std::vector<std::string>& words : {std::vector<std::string>{"show", "golden::linear", "--tensors", "--json"},
                                                      {"validate", "golden::linear", "--json"}}) {
            const CliResult result = runCli(other, words);
            QCOMPARE(result.exitCode, 9);
            const std::string message = result.json()["error"]["message"].get<std::string>();
            QVERIFY2(message.find("packs/") != std::string::npos, message.c_str());
        }
    }

    void withoutAHome_noFolderIsInvented() {
        const CliResult result = runCli({}, {"search", "--json"}, {{"HOME", ""}, {"XDG_DATA_HOME", ""}});
        QCOMPARE(result.exitCode, 2);
        QVERIFY(result.json()["error"]["message"].get<std::string>().find("HOME") != std::string::npos);
    }

    void registryThatIsAFile_isNamed() {
        const std::filesystem::path file = std::filesystem::path(m_folder.path().toStdString()) / "file";
        std::ofstream(file) << "x";
        for (const char* verb : {"search", "import"}) {
            const CliResult result = runCli(file, {verb, "x", "--json"});
            QCOMPARE(result.exitCode, 2);
            QVERIFY(result.json()["error"]["message"].get<std::string>().find("is a file") != std::string::npos);
        }
    }

    void controlCharacters_doNotReachTheTerminal() {
        const CliResult result = runCli(m_registry, {"show", "evil\x1b[31m::"});
        QCOMPARE(result.exitCode, 3);
        QVERIFY2(result.errors.find('\x1b') == std::string::npos, result.errors.c_str());
        QVERIFY2(result.errors.find("evil\\x1B[31m") != std::string::npos, result.errors.c_str());
        const std::string table = modulelens::cli::formatTable({{"a\nb", std::string(5000, 'x')}, {"\u00e9", "c"}}, {});
        QCOMPARE(std::count(table.begin(), table.end(), '\n'), 2);
        QVERIFY2(table.starts_with("a\\x0Ab  xxx"), table.c_str());
        QVERIFY(table.size() < 500);
    }

    void damagedBundle_leavesTheRegistryAsItWas_data() {
        QTest::addColumn<int>("kind");
        QTest::newRow("cut index") << 0;
        QTest::newRow("edited index") << 1;
        QTest::newRow("edited tensor") << 2;
        QTest::newRow("cut tensor") << 3;
        QTest::newRow("newer schema") << 4;
        QTest::newRow("name that leaves the folder") << 5;
        QTest::newRow("file that is not listed") << 6;
        QTest::newRow("safetensors header of 2^60 bytes") << 7;
    }
    void damagedBundle_leavesTheRegistryAsItWas() {
        QFETCH(const int, kind);
        const std::filesystem::path bundle =
            copyGoldenBundle(std::filesystem::path(m_folder.path().toStdString()) / "damaged" / std::to_string(kind));
        damage(bundle, kind);
        const std::filesystem::path registry = bundle.parent_path() / "registry";
        QCOMPARE(runCli(registry, {"import", dataPath("capture/v1").string()}).exitCode, 0);
        const CliResult result = runCli(registry, {"import", bundle.string(), "--json"});
        QVERIFY2(result.exitCode == 9, (result.output + result.errors).c_str());
        QVERIFY(result.json()["error"]["message"].get<std::string>().size() > 20);
        QCOMPARE(ok(runCli(registry, {"search", "--json"}), "search")["total"].get<int>(), 3);
    }

    void badWorker_hasItsExitCode_data() {
        QTest::addColumn<QString>("worker");
        QTest::addColumn<int>("exit");
        QTest::addColumn<QString>("part");
        const auto script = [](const json& steps) {
            return QString::fromStdString(
                scriptedWorker({{"load", {{{{"reply", kLoaded}}}}}, {"validate", json::array({steps})}}));
        };
        QTest::newRow("missing") << "/nowhere/worker" << 7 << "/nowhere/worker";
        QTest::newRow("cannot load its libraries") << "/bin/sh -c \"exit 127\"" << 7 << "127";
        QTest::newRow("killed") << script({{{"crash", SIGKILL}}}) << 11 << "SIGKILL";
        QTest::newRow("segmentation fault") << script({{{"crash", SIGSEGV}}}) << 11 << "SIGSEGV";
        QTest::newRow("garbage") << script({{{"stdout", "hello\n"}}}) << 11 << "garbage";
        QTest::newRow("not a worker") << "/bin/echo hello" << 11 << "garbage";
        QTest::newRow("ends early") << script({{{"exit", 0}}}) << 11 << "exit code 0";
        QTest::newRow("out of memory") << script({{{"error", {{"code", -32009}, {"message", "no memory"}}}}}) << 11
                                       << "no memory";
        QTest::newRow("no such device") << script({{{"error", {{"code", -32012}, {"message", "no device"}}}}}) << 7
                                        << "no device";
        QTest::newRow("unsupported") << script({{{"error", {{"code", -32005}, {"message", "x::y"}}}}}) << 9 << "x::y";
    }
    void badWorker_hasItsExitCode() {
        QFETCH(const QString, worker);
        QFETCH(const int, exit);
        QFETCH(const QString, part);
        const CliResult result =
            runCli(m_registry, {"validate", "golden::linear", "--json"}, {{"MODULELENS_WORKER", worker.toStdString()}});
        QCOMPARE(result.exitCode, exit);
        const std::string message = result.json()["error"]["message"].get<std::string>();
        QVERIFY2(QString::fromStdString(message).contains(part), message.c_str());
    }

    void timeLimit_ends() {
        const CliResult result = runCli(m_registry, {"validate", "golden::linear", "--timeout", "0.05", "--json"},
                                        {{"MODULELENS_WORKER", scriptedWorker({{"load", {{{{"until_cancelled", true}}}}}})}});
        QCOMPARE(result.exitCode, 8);
        QCOMPARE(result.json()["error"]["code"].get<std::string>(), std::string("timeout"));
    }

    void interrupt_cancels() {
        const std::string worker =
            scriptedWorker({{"load", {{{{"stderr", "loading"}}, {{"wait", pipePath()}}, {{"until_cancelled", true}}}}}});
        QCOMPARE(::mkfifo(pipePath().c_str(), 0600), 0);
        QProcess process;
        QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
        variables.insert(QStringLiteral("MODULELENS_REGISTRY"), QString::fromStdString(m_registry.string()));
        variables.insert(QStringLiteral("MODULELENS_WORKER"), QString::fromStdString(worker));
        process.setProcessEnvironment(variables);
        process.start(QString::fromStdString(programPath("modulelens").string()),
                      {QStringLiteral("validate"), QStringLiteral("golden::linear"), QStringLiteral("--json")});
        QVERIFY(process.waitForStarted());
        // Opening the pipe waits for the worker, so the program is in the middle of its work.
        std::ofstream(pipePath()).put('x');
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished());
        QCOMPARE(process.exitCode(), 130);
        const json document = json::parse(process.readAllStandardOutput().toStdString(), nullptr, false);
        QCOMPARE(document["error"]["code"].get<std::string>(), std::string("cancelled"));
    }

    void fullOutput_isAnError() {
        QProcess process;
        process.setStandardOutputFile(QStringLiteral("/dev/full"));
        process.start(QString::fromStdString(programPath("modulelens").string()), {QStringLiteral("--help")});
        QVERIFY(process.waitForFinished());
        QCOMPARE(process.exitCode(), 10);
        QVERIFY(process.readAllStandardError().contains("standard output"));
    }

    void open_needsTheExplorer() {
        const CliResult result = run({"open", "golden::nothing", "--json"});
        QVERIFY(result.exitCode == 3 || result.exitCode == 7);
    }

    void open_withoutAScreen_isSaid() {
        const CliResult result = run({"open", "--json"}, {{"DISPLAY", ""}, {"WAYLAND_DISPLAY", ""}, {"QT_QPA_PLATFORM", ""}});
        QCOMPARE(result.exitCode, 7);
    }

private:
    [[nodiscard]] CliResult run(const std::vector<std::string>& words,
                                const std::map<std::string, std::string>& environment = {}) const {
        return runCli(m_registry, words, environment);
    }

    [[nodiscard]] CliResult runWords(const QStringList& words, const json& script = json::object()) const {
        std::vector<std::string> converted;
        for (const QString& word : words) {
            converted.push_back(word.toStdString());
        }
        return runCli(m_registry, converted, {{"MODULELENS_WORKER", scriptedWorker(script)}});
    }

    /// The data of a good answer; the envelope is checked on the way.
    static json ok(const CliResult& result, const std::string& command, int exitCode = 0) {
        const json document = result.json();
        const bool isGood = result.exitCode == exitCode && document.is_object() && document.size() == 6 &&
                            document["schema_version"] == 1 && document["command"] == command && document["status"] == "ok" &&
                            document["warnings"].is_array() && document["error"].is_null();
        if (!isGood) {
            QTest::qFail((result.output + result.errors).c_str(), __FILE__, __LINE__);
            return json::object();
        }
        return document["data"];
    }

    [[nodiscard]] std::string pipePath() const { return m_folder.filePath(QStringLiteral("go")).toStdString(); }

    static void flipByte(const std::filesystem::path& file, std::streamoff offset) {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekg(offset);
        const char byte = static_cast<char>(stream.get());
        stream.seekp(offset);
        stream.put(static_cast<char>(byte ^ 1));
    }

    /// Changes bundle.json and its digest, so that only the change itself can be found.
    template <class Change>
    static void editIndex(const std::filesystem::path& bundle, Change change) {
        json index = json::parse(std::ifstream(bundle / "bundle.json"));
        change(index);
        const std::string text = index.dump();
        std::ofstream(bundle / "bundle.json") << text;
        std::ofstream(bundle / "bundle.sha256")
            << QCryptographicHash::hash(QByteArray::fromStdString(text), QCryptographicHash::Sha256).toHex().toStdString()
            << "  bundle.json\n";
    }

    static void damage(const std::filesystem::path& bundle, int kind) {
        const std::filesystem::path tensors = bundle / "tensors" / "0000.safetensors";
        switch (kind) {
            case 0:
                std::filesystem::resize_file(bundle / "bundle.json", std::filesystem::file_size(bundle / "bundle.json") / 2);
                break;
            case 1:
                flipByte(bundle / "bundle.json", 200);
                break;
            case 2:
                flipByte(tensors, static_cast<std::streamoff>(std::filesystem::file_size(tensors)) - 1);
                break;
            case 3:
                std::filesystem::resize_file(tensors, std::filesystem::file_size(tensors) - 1);
                break;
            case 4:
                editIndex(bundle, [](json& index) { index["schema_version"] = 99; });
                break;
            case 5:
                editIndex(bundle, [](json& index) { index["sources"][0]["file"] = "../escaped.py"; });
                break;
            case 6:
                std::ofstream(bundle / "nodes" / "extra.json") << "{}";
                break;
            default: {
                std::fstream stream(tensors, std::ios::in | std::ios::out | std::ios::binary);
                const std::uint64_t length = std::uint64_t{1} << 60U;
                stream.write(reinterpret_cast<const char*>(&length), sizeof length);
                break;
            }
        }
    }

    QTemporaryDir m_folder;
    std::filesystem::path m_registry;
};

ML_TEST_MAIN(Cli)
#include "tst_Cli.moc"
