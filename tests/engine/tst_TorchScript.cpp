// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Digest.h"
#include "backend/base/FileSystem.h"
#include "backend/engine/Engine.h"
#include "backend/protocol/BenchmarkMessages.h"
#include "backend/protocol/ForeignMessages.h"
#include "backend/protocol/MemoryMessages.h"
#include "tests/support/TestMain.h"
#include "tests/support/ValueOf.h"

#include <QTemporaryDir>
#include <QTest>
#include <array>
#include <fstream>
#include <thread>

using namespace modulelens;
using base::ErrorCode;
using test::valueOf;

/// TorchScript archives in the engine: a run that would last for ever ends between two operators, and damaged archives are
/// refused. Made by tests/operations/make_foreign.py.
class TorchScriptTest : public QObject {
    Q_OBJECT

    /// Of a loop that outlasts any test.
    static constexpr std::int64_t kEndless = 1'000'000'000'000;

private Q_SLOTS:
    void initTestCase() {
        m_file = std::filesystem::path(qEnvironmentVariable("MODULELENS_TEST_FOREIGN").toStdString()) / "steps.pt";
        if (!std::filesystem::exists(m_file)) {
            QSKIP("no files: ctest makes them in operations.foreign_files");
        }
        protocol::InitializeParams params;
        params.scratchFolder = m_scratch.path().toStdString();
        params.threads = 1;
        QVERIFY(m_engine.initialize(params));
        m_handle = valueOf(m_engine.load(loadParams(m_file), {})).handle;
    }

    void anyJob_endsAtItsTimeLimit_data() {
        QTest::addColumn<int>("job");
        for (int job = 0; job < static_cast<int>(kJobs.size()); ++job) {
            QTest::addRow("%s", kJobs[static_cast<std::size_t>(job)]) << job;
        }
    }
    void anyJob_endsAtItsTimeLimit() {
        QFETCH(const int, job);
        protocol::CallParams params = call(kEndless);
        params.timeoutMs = 200;
        const base::Error error = errorOf(job, params, {});
        QCOMPARE(error.code, ErrorCode::Timeout);
        runsAsBefore();
    }

    void running_isCancelledBetweenOperators() {
        std::stop_source source;
        engine::JobContext job;
        job.stop = source.get_token();
        std::jthread canceller([&source] { source.request_stop(); });
        const auto cancelled = m_engine.run(call(kEndless), job);
        QVERIFY(!cancelled.hasValue());
        QCOMPARE(cancelled.error().code, ErrorCode::Cancelled);
        runsAsBefore();
    }

    void cancelledInATimedRun_leavesTheNextAlone() {
        // The watched pass: its profile begins with short runs only when the loop is short, so the limit meets any stage.
        for (const std::int64_t limit : {1, 5, 20, 60}) {
            protocol::CallParams params = call(2000);
            params.timeoutMs = limit;
            protocol::ProfileParams profile;
            profile.call = params;
            const auto result = m_engine.profile(profile, {});
            QVERIFY(result.hasValue() || result.error().code == ErrorCode::Timeout);
            runsAsBefore();
        }
    }

    void cutAndFlippedArchives_areRefusedOrRunAsTheyAre() {
        const std::string whole = contentOf(m_file);
        for (std::size_t i = 0; i < 64; ++i) {
            const std::size_t position = i * whole.size() / 64;
            std::string flipped = whole;
            flipped[position] = static_cast<char>(flipped[position] ^ (1 << (i % 8)));
            tryToLoad(flipped, "flipped");
            tryToLoad(whole.substr(0, position), "cut");
        }
        runsAsBefore();
    }

private:
    static constexpr std::array kJobs = {"run", "benchmark", "profile", "memory", "validate"};

    base::Error errorOf(int job, const protocol::CallParams& params, const engine::JobContext& context) {
        const auto take = [](const auto& result) {
            return result.hasValue() ? base::Error{ErrorCode::Internal, "it ended", ""} : result.error();
        };
        switch (job) {
            case 0:
                return take(m_engine.run(params, context));
            case 1: {
                protocol::BenchmarkParams benchmark;
                benchmark.call = params;
                return take(m_engine.benchmark(benchmark, context));
            }
            case 2: {
                protocol::ProfileParams profile;
                profile.call = params;
                return take(m_engine.profile(profile, context));
            }
            case 3: {
                protocol::MemoryParams memory;
                memory.call = params;
                return take(m_engine.memory(memory, context));
            }
            default:
                return take(m_engine.validate(params, context));
        }
    }

    void runsAsBefore() {
        // The buffer starts from the file's value, whatever the runs before did to it.
        const auto first = valueOf(m_engine.run(call(3), {}));
        const auto second = valueOf(m_engine.run(call(3), {}));
        QCOMPARE(contentOf(first.file), contentOf(second.file));
        QVERIFY(m_expected.empty() || m_expected == contentOf(first.file));
        m_expected = contentOf(first.file);
    }

    void tryToLoad(const std::string& bytes, const std::string& what) {
        const std::filesystem::path path = std::filesystem::path(m_scratch.path().toStdString()) / (what + ".pt");
        std::ofstream(path, std::ios::binary) << bytes;
        if (bytes.empty()) {
            return;
        }
        const auto loaded = m_engine.load(loadParams(path), {});
        if (loaded) {
            QVERIFY(m_engine.unload({loaded->handle}));
            return;
        }
        QVERIFY2(loaded.error().code == ErrorCode::Corrupt || loaded.error().code == ErrorCode::Unsupported,
                 loaded.error().message.c_str());
        QVERIFY2(loaded.error().message.find('\n') == std::string::npos, loaded.error().message.c_str());
    }

    static std::string contentOf(const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    static protocol::LoadParams loadParams(const std::filesystem::path& path) {
        const std::string bytes = contentOf(path);
        protocol::LoadParams params;
        params.name = path.filename().string();
        params.program = {base::sha256Hex(bytes), path.string(), 0, bytes.size()};
        params.state = nlohmann::json::object();
        params.format = protocol::program_format::kTorchScript;
        params.consent = {params.program.digest};
        return params;
    }

    protocol::CallParams call(std::int64_t count) const {
        protocol::CallParams params;
        params.handle = m_handle;
        params.call = {{"args", {count}}, {"kwargs", nlohmann::json::object()}, {"output", nullptr}, {"training", false}};
        return params;
    }

    QTemporaryDir m_scratch;
    engine::Engine m_engine;
    std::filesystem::path m_file;
    std::string m_expected;
    int m_handle = 0;
};

ML_TEST_MAIN(TorchScriptTest)
#include "tst_TorchScript.moc"
