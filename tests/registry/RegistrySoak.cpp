// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/registry/RegistrySoak.h"

#include "backend/base/FileSystem.h"
#include "tests/registry/KillingFileSystem.h"
#include "tests/support/BundleBuilder.h"
#include "tests/support/FaultyFileSystem.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <sstream>

namespace modulelens::test {

namespace {

namespace fs = std::filesystem;
using registry::LocalRegistry;
using registry::VersionSummary;

constexpr int kBundles = 12;
constexpr int kRoundsOfOneRegistry = 40;
constexpr std::size_t kMostFindings = 20;

/// Writes lines that the parent reads as "what was begun" and "what was acknowledged". Confined to its thread.
class Reporter {
public:
    explicit Reporter(int pipe) : m_pipe(pipe) {}
    void begin(const std::string& operation) { write("begin " + operation); }
    void acknowledge(const std::string& operation) { write("done " + operation); }
    void fail() { write("failed"); }

private:
    void write(const std::string& line) {
        if (m_pipe >= 0) {
            const std::string text = line + "\n";
            static_cast<void>(::write(m_pipe, text.data(), text.size()));
        }
    }
    int m_pipe;
};

/// One random change of a registry. False: it failed.
class Change {
public:
    Change(LocalRegistry& registry, const std::vector<fs::path>& bundles, std::mt19937& random, Reporter& reporter)
        : m_registry(registry), m_bundles(bundles), m_random(random), m_reporter(reporter) {}

    bool run() {
        const auto versions = m_registry.search({"", 200, {}, registry::SortKey::Oldest});
        if (!versions) {
            return false;
        }
        const int kind = number(10);
        if (versions->versions.empty() || kind < 4) {
            return import();
        }
        const std::string id =
            versions->versions[static_cast<std::size_t>(number(static_cast<int>(versions->versions.size())))].id;
        const std::string tag = "t" + std::to_string(number(5));
        switch (kind) {
            case 4:
            case 5:
                return act("tag " + id + " " + tag, [&] { return m_registry.addTag(id, tag); });
            case 6:
                return act("untag " + id + " " + tag, [&] { return m_registry.removeTag(id, tag); });
            case 7:
                return act("remove " + id, [&] { return m_registry.remove(id); });
            case 8:
                return number(2) == 0 ? restore() : store(id);
            default:
                return act("gc", [&]() -> base::Result<void> {
                    const auto report = m_registry.collectGarbage({}, {}, {});
                    return report ? base::Result<void>() : report.error();
                });
        }
    }

private:
    int number(int bound) { return static_cast<int>(m_random() % static_cast<unsigned>(bound)); }

    template <class Body>
    bool act(const std::string& operation, Body body) {
        m_reporter.begin(operation);
        if (!body()) {
            m_reporter.fail();
            return false;
        }
        m_reporter.acknowledge(operation);
        return true;
    }

    bool import() {
        m_reporter.begin("import");
        const auto report =
            m_registry.import(m_bundles[static_cast<std::size_t>(number(static_cast<int>(m_bundles.size())))], {}, {});
        if (!report) {
            m_reporter.fail();
            return false;
        }
        std::string ids;
        for (const VersionSummary& version : report->versions) {
            ids += " " + version.id;
        }
        m_reporter.acknowledge("import" + ids);
        return true;
    }

    bool restore() {
        const auto trash = m_registry.trash();
        if (!trash || trash->empty()) {
            return trash.hasValue();
        }
        const std::string id = trash->front().id;
        m_reporter.begin("restore " + id);
        const base::Result<void> restored = m_registry.restore(id);
        if (!restored) {
            m_reporter.fail();
            return restored.error().code == base::ErrorCode::AlreadyExists;
        }
        m_reporter.acknowledge("restore " + id);
        return true;
    }

    bool store(const std::string& id) {
        const fs::path file = m_bundles.front() / "bundle.json";
        return act("store " + id, [&]() -> base::Result<void> {
            const auto stored = m_registry.storeResult(id, {"", "profile", "2026-01-01", "cpu", "program", "{}", file});
            return stored ? base::Result<void>() : stored.error();
        });
    }

    LocalRegistry& m_registry;
    const std::vector<fs::path>& m_bundles;
    std::mt19937& m_random;
    Reporter& m_reporter;
};

/// What an acknowledged operation changes.
void carryOut(const std::string& operation, SoakState& state) {
    std::istringstream words(operation);
    std::string verb;
    std::string id;
    std::string tag;
    words >> verb;
    if (verb == "import") {
        while (words >> id) {
            state.live[id];
        }
    } else if (verb == "gc") {
        state.trashed.clear();
    } else if (words >> id; verb == "remove") {
        state.trashed[id] = state.live[id];
        state.live.erase(id);
    } else if (verb == "restore") {
        state.live[id] = state.trashed[id];
        state.trashed.erase(id);
    } else if (words >> tag; verb == "tag") {
        state.live[id].insert(tag);
    } else if (verb == "untag") {
        state.live[id].erase(tag);
    }
}

int waitFor(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

} // namespace

RegistrySoak::RegistrySoak(fs::path folder, unsigned seed) : m_folder(std::move(folder)), m_random(seed) {
    fs::create_directories(m_folder / "store");
    for (int i = 0; i < kBundles; ++i) {
        const int weight = i / 2;   // Two bundles each share their state.
        m_bundles.push_back(encoderBundle(static_cast<float>(weight), static_cast<float>(i)).write(m_folder / "store"));
    }
    startAnew();
}

void RegistrySoak::startAnew() {
    m_registry = m_folder / ("registry-" + std::to_string(m_counts.kills + m_counts.faults + m_rounds));
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(m_folder, ignored)) {
        if (entry.path().filename().string().starts_with("registry-")) {
            fs::remove_all(entry.path(), ignored);
        }
    }
    m_state = {};
    m_rounds = 0;
}

void RegistrySoak::find(const std::string& finding, int& counter) {
    ++counter;
    if (m_counts.findings.size() < kMostFindings) {
        m_counts.findings.push_back(finding);
    }
    // Later rounds must not find the same again.
    startAnew();
}

std::string RegistrySoak::followChild(int pipe, SoakState& state, std::set<std::string>& uncertain) {
    std::string text;
    std::array<char, 4096> buffer{};
    ssize_t got = 0;
    while ((got = ::read(pipe, buffer.data(), buffer.size())) > 0 || (got < 0 && errno == EINTR)) {
        if (got > 0) {
            text.append(buffer.data(), static_cast<std::size_t>(got));
        }
    }
    std::string unfinished;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("begin ")) {
            unfinished = line.substr(6);
        } else if (line.starts_with("done ")) {
            carryOut(line.substr(5), state);
            ++m_counts.acknowledged;
            unfinished.clear();
        } else if (line == "failed") {
            for (const auto& [id, tags] : state.trashed) {
                if (unfinished == "gc") {
                    uncertain.insert(id);
                }
            }
            unfinished.clear();
        }
    }
    return unfinished;
}

std::optional<SoakState> RegistrySoak::stateOf(LocalRegistry& registry) {
    SoakState state;
    registry::SearchRequest request{"", 1000, {}, registry::SortKey::Name};
    do {
        const auto page = registry.search(request);
        const auto trash = registry.trash();
        if (!page || !trash) {
            return std::nullopt;
        }
        for (const VersionSummary& version : page->versions) {
            state.live[version.id] = {version.tags.begin(), version.tags.end()};
        }
        for (const VersionSummary& version : *trash) {
            state.trashed[version.id] = {version.tags.begin(), version.tags.end()};
        }
        request.cursor = page->nextCursor;
    } while (!request.cursor.empty());
    return state;
}

/// The registry holds exactly what was acknowledged, or that and the whole of what was unfinished.
void RegistrySoak::checkAgainst(SoakState expected, const std::string& unfinished, const std::set<std::string>& uncertain) {
    const auto opened = LocalRegistry::open(base::realFileSystem(), m_registry, LocalRegistry::Mode::ReadWrite);
    if (!opened) {
        find("cannot be opened: " + opened.error().text(), m_counts.corrupt);
        return;
    }
    const auto report = (*opened)->check({}, {});
    if (!report || !report->problems.empty()) {
        find("after '" + unfinished + "': " + (report ? report->problems.front() : report.error().text()), m_counts.corrupt);
        return;
    }
    std::optional<SoakState> found = stateOf(**opened);
    if (!found) {
        find("cannot be searched after '" + unfinished + "'", m_counts.corrupt);
        return;
    }
    std::erase_if(expected.trashed, [&](const auto& version) {
        return uncertain.contains(version.first) && !found->trashed.contains(version.first);
    });
    SoakState whole = expected;
    if (unfinished == "import") {
        // Its versions have ids that nobody was told.
        for (const auto& [id, tags] : found->live) {
            if (!expected.live.contains(id) && tags.empty()) {
                whole.live[id];
            }
        }
        const std::size_t added = whole.live.size() - expected.live.size();
        if (added > 3) {
            find("an import left " + std::to_string(added) + " versions", m_counts.corrupt);
            return;
        }
    } else if (!unfinished.empty()) {
        carryOut(unfinished, whole);
    }
    if (*found != expected && *found != whole) {
        find("after '" + unfinished + "' the registry holds " + std::to_string(found->live.size()) + " versions and " +
                 std::to_string(found->trashed.size()) + " in the trash instead of " + std::to_string(expected.live.size()) +
                 " and " + std::to_string(expected.trashed.size()),
             m_counts.lost);
        return;
    }
    m_state = std::move(*found);
    if (++m_rounds >= kRoundsOfOneRegistry) {
        startAnew();
    }
}

void RegistrySoak::kill() {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) {
        find("no pipe", m_counts.corrupt);
        return;
    }
    const bool isByCount = number(2) == 0;
    const int steps = number(60);
    const long delayNs = 200'000L + number(25'000) * 1'000L;
    const unsigned seed = static_cast<unsigned>(m_random());
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(pipe[0]);
        std::mt19937 random(seed);
        KillingFileSystem killing(isByCount ? steps : 1'000'000);
        Reporter reporter(pipe[1]);
        const auto registry = LocalRegistry::open(killing, m_registry, LocalRegistry::Mode::ReadWrite);
        for (int i = 0; registry && i < 40; ++i) {
            Change(**registry, m_bundles, random, reporter).run();
        }
        ::_exit(registry ? 0 : 1);
    }
    ::close(pipe[1]);
    if (!isByCount) {
        const timespec delay{0, delayNs};
        ::nanosleep(&delay, nullptr);
        ::kill(child, SIGKILL);
    }
    SoakState expected = m_state;
    std::set<std::string> uncertain;
    const std::string unfinished = followChild(pipe[0], expected, uncertain);
    ::close(pipe[0]);
    const int status = waitFor(child);
    if (WIFSIGNALED(status)) {
        ++m_counts.kills;
    } else {
        ++m_counts.survived;
    }
    checkAgainst(std::move(expected), unfinished, uncertain);
}

void RegistrySoak::fault() {
    enum Kind { FullAtStep, BrokenAtStep, CutShort, FullUnderDatabase, PowerCut };
    const auto kind = static_cast<Kind>(number(5));
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) {
        find("no pipe", m_counts.corrupt);
        return;
    }
    const int step = number(40);
    const unsigned seed = static_cast<unsigned>(m_random());
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(pipe[0]);
        std::mt19937 random(seed);
        FaultyFileSystem files;
        Reporter reporter(pipe[1]);
        bool isMet = false;
        {
            const auto registry = LocalRegistry::open(files, m_registry, LocalRegistry::Mode::ReadWrite);
            if (!registry) {
                ::_exit(2);
            }
            files.heal();
            if (kind == FullAtStep || kind == BrokenAtStep) {
                files.failChangesFrom(step, kind == FullAtStep ? ENOSPC : EIO);
            } else if (kind == CutShort) {
                files.limitCapacity(static_cast<std::uint64_t>(step) * 200);
            } else if (kind == FullUnderDatabase) {
                ::signal(SIGXFSZ, SIG_IGN);
                const rlimit limit{static_cast<rlim_t>(step) * 20'000, RLIM_INFINITY};
                ::setrlimit(RLIMIT_FSIZE, &limit);
            }
            for (int i = 0; i < 4; ++i) {
                isMet = !Change(**registry, m_bundles, random, reporter).run() || isMet;
            }
            if (kind == PowerCut) {
                // Between two operations: what the last ones left unsynced is gone, and the process with it.
                files.loseUnsyncedBytes();
                ::_exit(3);
            }
        }
        ::_exit(isMet ? 3 : 0);
    }
    ::close(pipe[1]);
    SoakState expected = m_state;
    std::set<std::string> uncertain;
    const std::string unfinished = followChild(pipe[0], expected, uncertain);
    ::close(pipe[0]);
    const int status = waitFor(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
        ++m_counts.faults;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        ++m_counts.unaffected;
    } else {
        find("a process with a fault died or could not open the registry", m_counts.corrupt);
        return;
    }
    checkAgainst(std::move(expected), unfinished, uncertain);
}

} // namespace modulelens::test
