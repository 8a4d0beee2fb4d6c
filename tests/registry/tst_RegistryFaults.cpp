// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Registry.h"
#include "tests/registry/KillingFileSystem.h"
#include "tests/registry/RegistryFixture.h"
#include "tests/support/BundleBuilder.h"
#include "tests/support/FaultyFileSystem.h"
#include "tests/support/TestMain.h"

#include <QElapsedTimer>
#include <QTest>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

using namespace modulelens;
using namespace modulelens::registry;
using modulelens::test::encoderBundle;
using modulelens::test::FaultyFileSystem;
using modulelens::test::FileOperation;
using modulelens::test::KillingFileSystem;
using modulelens::test::RegistryFixture;

namespace {

using Change = std::function<base::Result<void>(LocalRegistry&)>;

template <class T>
base::Result<void> withoutValue(const base::Result<T>& result) {
    return result ? base::Result<void>() : base::Result<void>(result.error());
}

/// Starts `body` in a child process; its return value becomes the exit status.
pid_t startChild(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(body());
    }
    return child;
}

int waitFor(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

bool isClean(int status) {
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace

class RegistryFaultsTest : public QObject {
    Q_OBJECT

private slots:
    void init();
    void failedStep_leavesRegistryAsBefore_data();
    void failedStep_leavesRegistryAsBefore();
    void failingOperation_isTakenBackAtOnce_data();
    void failingOperation_isTakenBackAtOnce();
    void fullDisk_isStorageFull();
    void fullDiskUnderTheDatabase_leavesNothing();
    void killedAtEveryStep_isSweptAtOpening_data();
    void killedAtEveryStep_isSweptAtOpening();
    void killedAtRandomMoments_losesNothing();
    void killedWhileCreating_canBeOpened();
    void processesAtOnce_importEachVersionOnce();
    void readingAndTagging_workDuringAnImport();
    void threads_shareOneRegistry();
    void folderWithoutWritePermission_isPermissionDenied();

private:
    /// The two changes that add files, with what they need.
    static std::map<QString, Change> changesThatAddFiles(const RegistryFixture& fixture);
};

/// The thread sanitizer cannot follow threads that a child made by fork() starts.
void RegistryFaultsTest::init() {
#if defined(__SANITIZE_THREAD__)
    for (const char* forking : {"killed", "processesAtOnce", "folderWithout", "fullDiskUnder"}) {
        if (QByteArray(QTest::currentTestFunction()).startsWith(forking)) {
            QSKIP("makes child processes, which the thread sanitizer cannot follow");
        }
    }
#endif
}

std::map<QString, Change> RegistryFaultsTest::changesThatAddFiles(const RegistryFixture& fixture) {
    const auto bundle = encoderBundle(2.0F).write(fixture.store());
    const auto file = fixture.store() / "profile.bin";
    std::ofstream(file) << "measured";
    return {
        {QStringLiteral("import"), [bundle](LocalRegistry& registry) { return withoutValue(registry.import(bundle, {}, {})); }},
        {QStringLiteral("storeResult"), [file](LocalRegistry& registry) {
             const auto version = registry.resolve("mini lm::");
             if (!version) {
                 return base::Result<void>(version.error());
             }
             return withoutValue(
                 registry.storeResult(version->id, {"", "profile", "2026-01-01", "cpu", "program", "{}", file}));
         }}};
}

void RegistryFaultsTest::failedStep_leavesRegistryAsBefore_data() {
    QTest::addColumn<QString>("change");
    QTest::addColumn<int>("errorNumber");
    for (const char* change : {"import", "storeResult"}) {
        QTest::newRow(qPrintable(QLatin1String(change) + QStringLiteral(", disk full"))) << change << ENOSPC;
        QTest::newRow(qPrintable(QLatin1String(change) + QStringLiteral(", broken disk"))) << change << EIO;
    }
}

/// From one change of the disk on, all fail: what had been published cannot even be taken back, and is swept later.
void RegistryFaultsTest::failedStep_leavesRegistryAsBefore() {
    QFETCH(QString, change);
    QFETCH(int, errorNumber);
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    const Change run = changesThatAddFiles(fixture).at(change);
    const QStringList before = fixture.dump();
    fixture.close();
    int failures = 0;
    for (bool done = false; !done; ++failures) {
        FaultyFileSystem files;
        files.loseSyncs();
        {
            const auto registry = LocalRegistry::open(files, fixture.folder(), LocalRegistry::Mode::ReadWrite);
            QVERIFY2(registry, fixture.message(registry));
            files.heal();
            files.loseSyncs();
            files.failChangesFrom(failures, errorNumber);
            const base::Result<void> result = run(**registry);
            done = result.hasValue();
            if (!done) {
                QCOMPARE(result.error().code, errorNumber == ENOSPC ? base::ErrorCode::StorageFull : base::ErrorCode::Internal);
                QVERIFY(!result.error().message.empty());
                QCOMPARE((*registry)->search({})->total, 3);
            }
        }
        if (!done) {
            fixture.reopen();
            QCOMPARE(fixture.dump(), before);
            QCOMPARE(fixture.problems(), QStringList());
            fixture.close();
        }
    }
    QVERIFY2(failures > (change == QStringLiteral("import") ? 50 : 10), qPrintable(QString::number(failures)));
    fixture.reopen();
    QVERIFY(fixture.dump() != before);
    QCOMPARE(fixture.problems(), QStringList());
}

void RegistryFaultsTest::failingOperation_isTakenBackAtOnce_data() {
    QTest::addColumn<int>("operation");
    QTest::newRow("create") << static_cast<int>(FileOperation::Create);
    QTest::newRow("append") << static_cast<int>(FileOperation::Append);
    QTest::newRow("sync") << static_cast<int>(FileOperation::Sync);
    QTest::newRow("close") << static_cast<int>(FileOperation::Close);
    QTest::newRow("rename") << static_cast<int>(FileOperation::Rename);
    QTest::newRow("create folder") << static_cast<int>(FileOperation::CreateDirectories);
    QTest::newRow("sync folder") << static_cast<int>(FileOperation::SyncDirectory);
}

/// While files can still be removed, nothing is left even before the next opening.
void RegistryFaultsTest::failingOperation_isTakenBackAtOnce() {
    QFETCH(int, operation);
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    const Change run = changesThatAddFiles(fixture).at(QStringLiteral("import"));
    const QStringList before = fixture.dump();
    fixture.close();
    FaultyFileSystem files;
    const auto registry = LocalRegistry::open(files, fixture.folder(), LocalRegistry::Mode::ReadWrite);
    QVERIFY2(registry, fixture.message(registry));
    int skipped = 0;
    for (;; ++skipped) {
        files.heal();
        files.loseSyncs();
        files.failFrom(static_cast<FileOperation>(operation), skipped, EIO);
        if (run(**registry)) {
            break;
        }
        QCOMPARE(fixture.dump(), before);
    }
    QVERIFY(skipped > 0);
    files.heal();
    QVERIFY((*registry)->check({}, {})->problems.empty());
    QCOMPARE((*registry)->search({})->total, 5);
}

void RegistryFaultsTest::fullDisk_isStorageFull() {
    RegistryFixture fixture;
    const Change run = changesThatAddFiles(fixture).at(QStringLiteral("import"));
    const QStringList before = fixture.dump();
    fixture.close();
    FaultyFileSystem files;
    const auto registry = LocalRegistry::open(files, fixture.folder(), LocalRegistry::Mode::ReadWrite);
    QVERIFY2(registry, fixture.message(registry));
    std::uint64_t capacity = 0;
    for (;; capacity += 777) {
        files.heal();
        files.loseSyncs();
        files.limitCapacity(capacity);
        const base::Result<void> result = run(**registry);
        if (result) {
            break;
        }
        QCOMPARE(result.error().code, base::ErrorCode::StorageFull);
        QCOMPARE(fixture.dump(), before);
    }
    QVERIFY(capacity > 5000);
}

/// The objects fit, the write-ahead log does not.
void RegistryFaultsTest::fullDiskUnderTheDatabase_leavesNothing() {
    RegistryFixture fixture;
    const Change run = changesThatAddFiles(fixture).at(QStringLiteral("import"));
    const QStringList before = fixture.dump();
    fixture.close();
    const int status = waitFor(startChild([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        auto registry = LocalRegistry::open(base::realFileSystem(), fixture.folder(), LocalRegistry::Mode::ReadWrite);
        const rlimit limit{65536, 65536};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const base::Result<void> result = registry ? run(**registry) : base::Result<void>();
        return result ? 1 : (*registry)->search({})->total == 0 ? 0 : 2;
    }));
    QVERIFY2(isClean(status), qPrintable(QString::number(status)));
    fixture.reopen();
    QCOMPARE(fixture.dump(), before);
    QCOMPARE(fixture.problems(), QStringList());
}

void RegistryFaultsTest::killedAtEveryStep_isSweptAtOpening_data() {
    QTest::addColumn<QString>("change");
    QTest::newRow("import") << QStringLiteral("import");
    QTest::newRow("storeResult") << QStringLiteral("storeResult");
}

void RegistryFaultsTest::killedAtEveryStep_isSweptAtOpening() {
    QFETCH(QString, change);
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    const Change run = changesThatAddFiles(fixture).at(change);
    const QStringList before = fixture.dump();
    fixture.close();
    int survived = 0;
    bool committed = false;
    for (bool done = false; !done; ++survived) {
        const int status = waitFor(startChild([&] {
            KillingFileSystem files(survived);
            auto registry = LocalRegistry::open(files, fixture.folder(), LocalRegistry::Mode::ReadWrite);
            return registry && run(**registry) ? 0 : 1;
        }));
        done = isClean(status);
        QVERIFY2(done || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL), qPrintable(QString::number(status)));
        fixture.reopen();
        QCOMPARE(fixture.problems(), QStringList());
        // Once committed, later rounds find the same content there.
        const bool changed = fixture.dump() != before;
        QVERIFY(changed || !committed);
        committed = changed;
        QCOMPARE(fixture.count("version"), committed && change == QStringLiteral("import") ? 5 : 3);
        const auto left = std::filesystem::directory_iterator(fixture.folder() / "tmp");
        QVERIFY2(left == std::filesystem::directory_iterator(), "tmp/ is not empty");
        fixture.close();
        if (committed && change == QStringLiteral("storeResult")) {
            break;
        }
    }
    QVERIFY(committed);
    QVERIFY2(survived > (change == QStringLiteral("import") ? 50 : 10), qPrintable(QString::number(survived)));
}

/// A timer ends the child at moments spread over the whole import, the database's own writes included.
void RegistryFaultsTest::killedAtRandomMoments_losesNothing() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    QElapsedTimer timer;
    timer.start();
    fixture.importBundle(encoderBundle(2.0F));
    const auto importMicroseconds = static_cast<unsigned>(timer.nsecsElapsed() / 1000);
    fixture.close();
    std::mt19937 random(11);
    int killed = 0;
    int versions = 5;
    for (int round = 0; round < 60; ++round) {
        const auto bundle = encoderBundle(10.0F + static_cast<float>(round)).write(fixture.store());
        const unsigned moment = 1 + random() % (importMicroseconds * 3 / 2);
        const int status = waitFor(startChild([&] {
            auto registry = LocalRegistry::open(base::realFileSystem(), fixture.folder(), LocalRegistry::Mode::ReadWrite);
            const itimerval alarm{{0, 0}, {moment / 1'000'000, static_cast<suseconds_t>(moment % 1'000'000)}};
            ::setitimer(ITIMER_REAL, &alarm, nullptr);
            return registry && (*registry)->import(bundle, {}, {}) ? 0 : 1;
        }));
        QVERIFY2(isClean(status) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM), qPrintable(QString::number(status)));
        killed += isClean(status) ? 0 : 1;
        fixture.reopen();
        QCOMPARE(fixture.problems(), QStringList());
        const int now = fixture.count("version");
        QVERIFY(now == versions || now == versions + 2);
        QVERIFY2(!isClean(status) || now == versions + 2, "an acknowledged import is lost");
        versions = now;
        fixture.close();
    }
    QVERIFY2(killed > 5, qPrintable(QString::number(killed)));
}

void RegistryFaultsTest::killedWhileCreating_canBeOpened() {
    const RegistryFixture fixture;
    std::mt19937 random(5);
    for (int round = 0; round < 20; ++round) {
        const auto folder = fixture.store() / ("new" + std::to_string(round));
        const unsigned moment = 1 + random() % 20000;
        waitFor(startChild([&] {
            const itimerval alarm{{0, 0}, {0, static_cast<suseconds_t>(moment)}};
            ::setitimer(ITIMER_REAL, &alarm, nullptr);
            return LocalRegistry::open(base::realFileSystem(), folder, LocalRegistry::Mode::ReadWrite) ? 0 : 1;
        }));
        const auto opened = LocalRegistry::open(base::realFileSystem(), folder, LocalRegistry::Mode::ReadWrite);
        QVERIFY2(opened, fixture.message(opened));
        QVERIFY((*opened)->check({}, {})->problems.empty());
    }
}

void RegistryFaultsTest::processesAtOnce_importEachVersionOnce() {
    RegistryFixture fixture;
    std::vector<std::filesystem::path> bundles;
    bundles.reserve(6);
    for (int i = 0; i < 6; ++i) {
        bundles.push_back(encoderBundle(static_cast<float>(i)).write(fixture.store()));
    }
    fixture.importBundle(encoderBundle(100.0F));
    const std::string id = fixture.registry().resolve("mini lm::")->id;
    fixture.close();
    const auto importer = [&](bool backwards) {
        auto registry = LocalRegistry::open(base::realFileSystem(), fixture.folder(), LocalRegistry::Mode::ReadWrite);
        for (std::size_t i = 0; registry && i < bundles.size(); ++i) {
            const auto report = (*registry)->import(bundles[backwards ? bundles.size() - 1 - i : i], {}, {});
            if (!report) {
                std::fprintf(stderr, "%s\n", report.error().text().c_str());
                return 1;
            }
        }
        return registry ? 0 : 1;
    };
    const auto tagger = [&] {
        auto registry = LocalRegistry::open(base::realFileSystem(), fixture.folder(), LocalRegistry::Mode::ReadWrite);
        for (int i = 0; registry && i < 40; ++i) {
            if (!(*registry)->addTag(id, "tag" + std::to_string(i)) || !(*registry)->search({})) {
                return 1;
            }
        }
        return registry ? 0 : 1;
    };
    const std::vector<pid_t> children{startChild([&] { return importer(false); }), startChild([&] { return importer(true); }),
                                      startChild(tagger)};
    for (const pid_t child : children) {
        QVERIFY(isClean(waitFor(child)));
    }
    fixture.reopen();
    QCOMPARE(fixture.problems(), QStringList());
    // Two of the three modules differ from bundle to bundle; the third is the same in all.
    QCOMPARE(fixture.count("version"), 3 + 6 * 2);
    QCOMPARE(fixture.registry().resolve("mini lm::")->number, 6);
    QCOMPARE(fixture.registry().resolve(id)->tags.size(), std::size_t{40});
}

void RegistryFaultsTest::readingAndTagging_workDuringAnImport() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    LocalRegistry& registry = fixture.registry();
    const std::string id = registry.resolve("mini lm::")->id;
    int calls = 0;
    std::string problem;
    const auto report =
        registry.import(encoderBundle(2.0F).write(fixture.store()), {}, [&](std::uint64_t done, std::uint64_t total) {
            const auto page = registry.search({});
            const auto tagged = registry.addTag(id, "during" + std::to_string(calls++));
            if (!page || !tagged || (done < total && page->total != 3)) {
                problem = !page     ? page.error().text()
                          : !tagged ? tagged.error().text()
                                    : "the import is seen before it is done";
            }
        });
    QVERIFY2(report, fixture.message(report));
    QVERIFY2(problem.empty(), problem.c_str());
    QVERIFY(calls > 5);
    QCOMPARE(registry.search({})->total, 5);
}

void RegistryFaultsTest::threads_shareOneRegistry() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    LocalRegistry& registry = fixture.registry();
    const std::string id = registry.resolve("mini lm::")->id;
    const auto bundle = encoderBundle(2.0F).write(fixture.store());
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    threads.reserve(5);
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < 25; ++i) {
                const bool good = registry.search({"mini", 10, {}, SortKey::Name}).hasValue() &&
                                  registry.resolve(id).hasValue() &&
                                  registry.setAttribute(id, "t" + std::to_string(thread), double(i)).hasValue();
                failures += good ? 0 : 1;
            }
        });
    }
    threads.emplace_back([&] { failures += registry.import(bundle, {}, {}).hasValue() ? 0 : 1; });
    for (std::thread& thread : threads) {
        thread.join();
    }
    QCOMPARE(failures.load(), 0);
    QCOMPARE(registry.resolve(id)->attributes.size(), std::size_t{4});
    QCOMPARE(fixture.problems(), QStringList());
}

void RegistryFaultsTest::folderWithoutWritePermission_isPermissionDenied() {
    RegistryFixture fixture;
    fixture.importBundle(encoderBundle(1.0F));
    fixture.close();
    const auto fresh = fixture.store() / "fresh";
    ::chmod(fixture.store().parent_path().c_str(), 0755);
    ::chmod(fixture.store().c_str(), 0555);
    ::chmod(fixture.folder().c_str(), 0555);
    for (const auto& entry : std::filesystem::directory_iterator(fixture.folder())) {
        ::chmod(entry.path().c_str(), entry.is_directory() ? 0555 : 0444);
    }
    // The superuser may write everything: the child becomes somebody else.
    const int status = waitFor(startChild([&] {
        if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) {
            return 9;
        }
        const auto writable = LocalRegistry::open(base::realFileSystem(), fixture.folder(), LocalRegistry::Mode::ReadWrite);
        if (writable || writable.error().code != base::ErrorCode::PermissionDenied ||
            writable.error().message.find(fixture.folder().string()) == std::string::npos) {
            return 1;
        }
        const auto missing = LocalRegistry::open(base::realFileSystem(), fresh, LocalRegistry::Mode::ReadWrite);
        if (missing || missing.error().code != base::ErrorCode::PermissionDenied) {
            return 2;
        }
        const auto readable = LocalRegistry::open(base::realFileSystem(), fixture.folder(), LocalRegistry::Mode::ReadOnly);
        if (!readable) {
            std::fprintf(stderr, "%s\n", readable.error().text().c_str());
            return 3;
        }
        const auto page = (*readable)->search({"encoder", 10, {}, SortKey::Name});
        return page && page->total == 3 && (*readable)->versionDocument(page->versions[0].id) ? 0 : 4;
    }));
    ::chmod(fixture.store().c_str(), 0755);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(fixture.folder())) {
        ::chmod(entry.path().c_str(), 0755);
    }
    ::chmod(fixture.folder().c_str(), 0755);
    QVERIFY2(isClean(status), qPrintable(QString::number(WEXITSTATUS(status))));
}

ML_TEST_MAIN(RegistryFaultsTest)
#include "tst_RegistryFaults.moc"
