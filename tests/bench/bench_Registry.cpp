// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// How fast bundles come in, compared with a plain copy, how fast they are verified, and how fast a registry of 1,000,000 versions answers.
#include "backend/base/Digest.h"
#include "backend/registry/Names.h"
#include "backend/registry/Registry.h"
#include "backend/registry/SearchIndex.h"
#include "backend/registry/Summaries.h"
#include "tests/support/BundleBuilder.h"

#include <nlohmann/json.hpp>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace modulelens {

namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int kRounds = 5;
constexpr int kModels = 500;
constexpr int kModules = 200;
constexpr int kVersions = 10;  ///< Of each module: 1,000,000 in all.
constexpr int kNameFamilies = 100;

template <class T>
T checked(base::Result<T> result) {
    if (!result) {
        std::fprintf(stderr, "bench_registry: %s\n", result.error().text().c_str());
        std::exit(1);
    }
    return std::move(*result);
}

double secondsOf(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

ordered_json entry(const std::string& name, double value, const std::string& unit, const std::string& target, bool ok,
                   const std::string& detail) {
    return {{"name", name}, {"value", value}, {"unit", unit}, {"target", target}, {"ok", ok}, {"detail", detail}};
}

/// The least that keeps a bundle safely: every file read, hashed, written and synced.
void copyPlainly(const fs::path& from, const fs::path& to) {
    base::FileSystem& files = base::realFileSystem();
    for (const std::string& name : checked(files.listFiles(from))) {
        const auto source = checked(files.map(from / name));
        if (base::sha256Hex(source->bytes()).empty()) {
            std::exit(1);
        }
        fs::create_directories((to / name).parent_path());
        const auto target = checked(files.create(to / name));
        if (!target->append(source->bytes()) || !target->sync() || !target->close()) {
            std::exit(1);
        }
    }
}

ordered_json measureImport(const fs::path& folder) {
    test::BundleBuilder builder("bench");
    for (int i = 0; i < 40; ++i) {
        test::BuiltModule module = test::namedModule("layers." + std::to_string(i));
        module.weight.assign(500'000, 0.25F * static_cast<float>(i));
        module.input.assign(50'000, static_cast<float>(i));
        builder.modules.push_back(module);
    }
    const fs::path bundle = builder.write(folder);
    std::vector<double> ratios;
    double megabytes = 0;
    double importSeconds = 0;
    for (int round = 0; round < kRounds; ++round) {
        const fs::path copy = folder / "copy";
        const fs::path store = folder / "imported";
        fs::remove_all(copy);
        fs::remove_all(store);
        const double plain = secondsOf([&] { copyPlainly(bundle, copy); });
        const auto registry =
            checked(registry::LocalRegistry::open(base::realFileSystem(), store, registry::LocalRegistry::Mode::ReadWrite));
        importSeconds =
            secondsOf([&] { megabytes = static_cast<double>(checked(registry->import(bundle, {}, {})).bytesRead) / 1e6; });
        ratios.push_back(plain / importSeconds);
    }
    const double ratio = median(ratios);
    char detail[160];
    std::snprintf(detail, sizeof(detail), "%.0f MB in %.2f s; 1.0 is a copy with sha256 and fsync of every file", megabytes,
                  importSeconds);
    return entry("registry.import", ratio, "of a plain copy", ">= 0.5", ratio >= 0.5, detail);
}

/// Rows of many versions, as imports would have left them, one captured run of a model after the other; there are no files behind them.
class ManyVersions {
public:
    explicit ManyVersions(const fs::path& folder)
        : m_connection((folder / "registry.sqlite").string(), SQLite::OPEN_READWRITE) {}

    void fill() {
        SQLite::Transaction transaction(m_connection.database(), SQLite::TransactionBehavior::IMMEDIATE);
        m_connection.database().exec("INSERT INTO bundle (id, digest, created, imported) VALUES (1, zeroblob(32), 0, 0)");
        m_connection.database().exec(
            "INSERT INTO artifact (id, kind, digest) VALUES (1, 'state', zeroblob(32)), (2, 'trace', zeroblob(32))");
        m_torch = registry::internName(m_connection, "2.13.0", registry::kTorchName);
        for (const char* device : {"cuda:0", "cuda:1", "cpu"}) {
            m_devices.push_back(registry::internName(m_connection, device, registry::kDeviceName));
        }
        for (const char* dtype : {"bfloat16", "float32", "int64"}) {
            m_dtypes.push_back(registry::internName(m_connection, dtype, registry::kDtypeName));
        }
        for (int model = 0; model < kModels; ++model) {
            addCollections(model);
        }
        for (int number = 0; number < kVersions; ++number) {
            for (int model = 0; model < kModels; ++model) {
                for (int module = 0; module < kModules; ++module) {
                    addVersion(model, module, number);
                }
            }
        }
        m_connection.database().exec(
            "UPDATE collection SET next_number = 10, latest = (SELECT id FROM version WHERE collection = "
            "collection.id ORDER BY number DESC LIMIT 1)");
        registry::foldPending(m_connection);
        m_connection.resetStatements();
        transaction.commit();
    }

private:
    void addCollections(int model) {
        m_models.push_back(registry::internName(m_connection, "recommender-" + std::to_string(model), registry::kModelName));
        for (int module = 0; module < kModules; ++module) {
            const std::string path = "tower." + std::to_string(model % kNameFamilies) + ".layers." + std::to_string(module) +
                                     (module % 5 == 0 ? ".attention" : ".feed_forward");
            const std::int64_t collection = model * kModules + module + 1;
            m_modules.push_back(registry::internName(m_connection, path, registry::kModuleName));
            SQLite::Statement& row =
                m_connection.prepare("INSERT INTO collection (id, md5, model, module) VALUES (?1, ?2, ?3, ?4)");
            row.bind(1, collection);
            row.bind(2, std::to_string(collection));
            row.bind(3, m_models.back());
            row.bind(4, m_modules.back());
            row.exec();
        }
        if (m_classes.size() < kModules) {
            for (int module = 0; module < kModules; ++module) {
                m_classes.push_back(
                    registry::internName(m_connection, "blocks:Block" + std::to_string(module), registry::kClassName));
            }
        }
    }

    void addVersion(int model, int module, int number) {
        const std::int64_t id = ++m_id;
        const std::int64_t collection = model * kModules + module + 1;
        SQLite::Statement& row = m_connection.prepare(
            "INSERT INTO version (id, key, collection, number, model, module, class, digest, state_digest, state, trace, "
            "bundle, "
            "created, imported, device, torch, parameter_bytes, parameter_count, call_count, verdict, exact, latency_ns, "
            "flops) VALUES "
            "(?1, 'mv' || ?1, ?2, ?3, ?4, ?5, ?6, randomblob(32), zeroblob(32), 1, 2, 1, ?7, 0, ?8, ?9, ?10, ?10, 1, ?11, 0, "
            "?12, ?13)");
        row.bind(1, id);
        row.bind(2, collection);
        row.bind(3, number);
        row.bind(4, m_models[static_cast<std::size_t>(model)]);
        row.bind(5, m_modules[static_cast<std::size_t>(collection) - 1]);
        row.bind(6, m_classes[static_cast<std::size_t>(module)]);
        row.bind(7, 1'700'000'000'000'000 + id * 1'000'000);
        row.bind(8, m_devices[static_cast<std::size_t>(model) % m_devices.size()]);
        row.bind(9, m_torch);
        row.bind(10, (id * 7919) % 100'000'003);
        if (id % 3 == 0) {
            row.bind(11, id % 9 == 0 ? "fail" : "pass");
        }
        if (id % 2 == 0) {
            row.bind(12, (id * 104'729) % 9'999'991);
            row.bind(13, (id * 15'485'863) % 99'999'989);
        }
        row.exec();
        SQLite::Statement& dtype = m_connection.prepare("INSERT INTO version_dtype (name, version) VALUES (?1, ?2)");
        dtype.bind(1, m_dtypes[static_cast<std::size_t>(module) % m_dtypes.size()]);
        dtype.bind(2, id);
        dtype.exec();
        if (id % 10 == 0) {
            registry::insertTag(m_connection, id, id % 100 == 0 ? "baseline" : "nightly-" + std::to_string(id % 300));
        }
        if (id % 50 == 0) {
            registry::insertAttribute(m_connection, id, "team", std::string(id % 100 == 0 ? "ranking" : "ads"));
        }
    }

    registry::Connection m_connection;
    std::int64_t m_id = 0;
    std::int64_t m_torch = 0;
    std::vector<std::int64_t> m_devices;
    std::vector<std::int64_t> m_dtypes;
    std::vector<std::int64_t> m_models;
    std::vector<std::int64_t> m_modules;
    std::vector<std::int64_t> m_classes;
};

double medianMs(const std::function<void()>& work) {
    std::vector<double> times;
    times.reserve(kRounds);
    for (int round = 0; round < kRounds; ++round) {
        times.push_back(1e3 * secondsOf(work));
    }
    return median(times);
}

std::unique_ptr<registry::LocalRegistry> openRegistry(const fs::path& store, registry::LocalRegistry::Mode mode) {
    return checked(registry::LocalRegistry::open(base::realFileSystem(), store, mode));
}

void measurePages(registry::Registry& registry, ordered_json& results) {
    constexpr double kTargetMs = 10;
    double worst = 0;
    std::string worstQuery;
    for (const char* query : {"", "attention", "at", "recommender-7 layers.12", "tag:baseline", "class:Block7 params>100K",
                              "-tag:baseline is:latest", "created>2023-11-16 latency<2ms",
                              "dtype:bfloat16 device:cuda is:validated", "attr.team=ranking", "nothing-has-this"}) {
        std::int64_t total = 0;
        for (std::size_t sort = 0; sort < registry::sortKeyNames().size(); ++sort) {
            const double ms = medianMs(
                [&] { total = checked(registry.search({query, 50, {}, static_cast<registry::SortKey>(sort)})).total; });
            const std::string name = std::string("\"") + query + "\" by " + std::string(registry::sortKeyNames()[sort]);
            if (ms > worst) {
                worst = ms;
                worstQuery = name;
            }
            if (sort == 0) {
                results.push_back(entry(std::string("registry.search \"") + query + "\"", ms, "ms", "<= 10", ms <= kTargetMs,
                                        "first page and exact count, " + std::to_string(total) + " of 1000000 versions"));
            }
        }
    }
    results.push_back(entry("registry.search worst", worst, "ms", "<= 10", worst <= kTargetMs,
                            worstQuery + ": the slowest of 11 queries and 9 sorts, its exact count included"));
}

void measureSearch(const fs::path& folder, ordered_json& results) {
    const fs::path store = folder / "many";
    openRegistry(store, registry::LocalRegistry::Mode::ReadWrite).reset();
    const double fill = secondsOf([&] { ManyVersions(store).fill(); });
    const double megabytes = static_cast<double>(fs::file_size(store / "registry.sqlite")) / 1e6;
    const double open = medianMs([&] { openRegistry(store, registry::LocalRegistry::Mode::ReadWrite).reset(); });
    char detail[160];
    std::snprintf(detail, sizeof(detail), "%.0f MB, filled in %.0f s", megabytes, fill);
    results.push_back(entry("registry.open", open, "ms", "<= 100", open <= 100, detail));
    const double cold = medianMs([&] {
        const auto registry = openRegistry(store, registry::LocalRegistry::Mode::ReadOnly);
        checked(registry->search({"attention", 50, {}, registry::SortKey::Newest}));
    });
    results.push_back(entry("registry.first search", cold, "ms", "<= 60", cold <= 60, "opened for it, nothing kept in memory"));
    const auto registry = openRegistry(store, registry::LocalRegistry::Mode::ReadWrite);
    measurePages(*registry, results);
    for (const char* query : {"", "attention"}) {
        const double ms = medianMs([&] { checked(registry->facets({"model", "class", "tag", "device", "dtype"}, query)); });
        results.push_back(entry(std::string("registry.facets \"") + query + "\"", ms, "ms", "<= 100", ms <= 100,
                                "five, of 1000000 versions"));
    }
    const double models = medianMs([&] { checked(registry->models("attention")); });
    results.push_back(entry("registry.models \"attention\"", models, "ms", "", true, "for the tree of the explorer"));
    const std::string id = checked(registry->search({})).versions.front().id;
    int round = 0;
    const double tag = medianMs([&] {
        if (!registry->addTag(id, "tag" + std::to_string(++round))) {
            std::exit(1);
        }
    });
    results.push_back(entry("registry.tag", tag, "ms", "", true, "one tag, durable"));
    const double afterWrite = medianMs([&] {
        if (!registry->addTag(id, "again" + std::to_string(++round))) {
            std::exit(1);
        }
        checked(registry->search({"attention", 50, {}, registry::SortKey::Newest}));
    });
    results.push_back(
        entry("registry.tag and search", afterWrite, "ms", "", true, "what a change makes the next search read anew"));
}

ordered_json measureVerify(const fs::path& folder) {
    const auto registry = openRegistry(folder / "imported", registry::LocalRegistry::Mode::ReadWrite);
    std::vector<double> ratios;
    double megabytes = 0;
    for (int round = 0; round < kRounds; ++round) {
        const double plain = secondsOf([&] {
            for (const char* part : {"objects", "packs"}) {
                for (const std::string& name : checked(base::realFileSystem().listFiles(folder / "imported" / part))) {
                    if (base::sha256Hex(checked(base::realFileSystem().map(folder / "imported" / part / name))->bytes())
                            .empty()) {
                        std::exit(1);
                    }
                }
            }
        });
        const double verify =
            secondsOf([&] { megabytes = static_cast<double>(checked(registry->check({}, {})).bytesRead) / 1e6; });
        ratios.push_back(plain / verify);
    }
    const double ratio = median(ratios);
    char detail[160];
    std::snprintf(detail, sizeof(detail), "%.0f MB; 1.0 is sha256 of every file and nothing else", megabytes);
    return entry("registry.verify", ratio, "of sha256", ">= 0.8", ratio >= 0.8, detail);
}

}  // namespace

}  // namespace modulelens

int main() {
    using namespace modulelens;
    const fs::path folder = fs::temp_directory_path() / ("bench-registry-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    ordered_json results = ordered_json::array();
    results.push_back(measureImport(folder));
    results.push_back(measureVerify(folder));
    measureSearch(folder, results);
    fs::remove_all(folder);
    std::printf("%s\n", ordered_json{{"results", results}}.dump(1).c_str());
    return 0;
}
