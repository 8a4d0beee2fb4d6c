// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/DeviceLock.h"

#include <sys/wait.h>
#include <unistd.h>
#include <QTemporaryDir>
#include <QTest>

#include <array>
#include <csignal>

#include "tests/support/TestMain.h"

using modulelens::base::ErrorCode;
using namespace modulelens;
using namespace modulelens::operations;

namespace {

/// Another process that holds the lock until it is killed.
class Holder {
public:
    Holder(const std::filesystem::path& folder, const std::string& device) {
        std::array<int, 2> pipe{};
        if (::pipe(pipe.data()) != 0) {
            qFatal("no pipe");
        }
        m_process = ::fork();
        if (m_process == 0) {
            const auto lock = DeviceLock::acquireIn(folder, device, {});
            const char answer = lock ? '+' : '-';
            static_cast<void>(::write(pipe[1], &answer, 1));
            while (true) {
                ::pause();
            }
        }
        ::close(pipe[1]);
        char answer = '-';
        static_cast<void>(::read(pipe[0], &answer, 1));
        ::close(pipe[0]);
        m_holds = answer == '+';
    }
    ~Holder() { kill(); }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

    void kill() {
        if (m_process > 0) {
            ::kill(m_process, SIGKILL);
            ::waitpid(m_process, nullptr, 0);
            m_process = 0;
        }
    }
    [[nodiscard]] bool holds() const { return m_holds; }
    [[nodiscard]] pid_t process() const { return m_process; }

private:
    pid_t m_process = 0;
    bool m_holds = false;
};

OperationContext impatient() {
    OperationContext context;
    context.timeout = std::chrono::milliseconds(1);
    return context;
}

} // namespace

class TestDeviceLock : public QObject {
    Q_OBJECT

private slots:
    void init() {
        m_folder = std::make_unique<QTemporaryDir>();
        m_path = std::filesystem::path(m_folder->path().toStdString()) / "locks";
    }

    void secondProcess_isToldWhoMeasures() {
        const Holder holder(m_path, "cuda:0");
        QVERIFY(holder.holds());
        const auto lock = DeviceLock::acquireIn(m_path, "cuda:0", impatient());
        QVERIFY(!lock.hasValue());
        QCOMPARE(lock.error().code, ErrorCode::Timeout);
        QVERIFY(lock.error().message.find("process " + std::to_string(holder.process())) != std::string::npos);
        QVERIFY(lock.error().message.find("cuda:0") != std::string::npos);
        // Another device is another matter.
        QVERIFY(DeviceLock::acquireIn(m_path, "cuda:1", impatient()).hasValue());
    }

    void killedHolder_letsGo() {
        Holder holder(m_path, "cpu");
        QVERIFY(!DeviceLock::acquireIn(m_path, "cpu", impatient()).hasValue());
        holder.kill();
        QVERIFY(DeviceLock::acquireIn(m_path, "cpu", impatient()).hasValue());
    }

    void waiting_isShownAndGoesOnWhenTheHolderEnds() {
        Holder holder(m_path, "cpu");
        std::string stage;
        OperationContext context;
        context.progress = [&](const protocol::Progress& progress) {
            stage = progress.stage;
            holder.kill();
        };
        QVERIFY(DeviceLock::acquireIn(m_path, "cpu", context).hasValue());
        QCOMPARE(stage, std::string("waiting for the device"));
    }

    void waiting_canBeCancelled() {
        const Holder holder(m_path, "cpu");
        std::stop_source stop;
        OperationContext context;
        context.stop = stop.get_token();
        context.progress = [&](const protocol::Progress&) { stop.request_stop(); };
        QCOMPARE(DeviceLock::acquireIn(m_path, "cpu", context).error().code, ErrorCode::Cancelled);
    }

    void lock_isGivenBack() {
        {
            const auto lock = DeviceLock::acquireIn(m_path, "cpu", impatient());
            QVERIFY(lock.hasValue());
            QVERIFY(!DeviceLock::acquireIn(m_path, "cpu", impatient()).hasValue());
        }
        QVERIFY(DeviceLock::acquireIn(m_path, "cpu", impatient()).hasValue());
    }

    void foreignFolder_isRefused() {
        std::filesystem::create_directory_symlink("/", m_path);
        QCOMPARE(DeviceLock::acquireIn(m_path, "cpu", impatient()).error().code, ErrorCode::PermissionDenied);
    }

private:
    std::unique_ptr<QTemporaryDir> m_folder;
    std::filesystem::path m_path;
};

ML_TEST_MAIN(TestDeviceLock)
#include "tst_DeviceLock.moc"
