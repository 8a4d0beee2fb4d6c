// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// How fast bundles come in, compared with a plain copy, and how fast a registry of 100,000 versions answers.
#include "backend/base/Digest.h"
#include "backend/registry/QuerySql.h"
#include "backend/registry/Registry.h"
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
constexpr int kModels = 20;
constexpr int kModules = 500;
constexpr int kVersions = 10;

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

/// Rows of many versions, as imports would have left them; there are no files behind them.
void fillWithVersions(const fs::path& folder) {
    registry::Connection connection((folder / "registry.sqlite").string(), SQLite::OPEN_READWRITE);
    SQLite::Transaction transaction(connection.database());
    connection.database().exec("INSERT INTO bundle (id, digest, created, imported) VALUES (1, zeroblob(32), 0, 0)");
    connection.database().exec(
        "INSERT INTO artifact (id, kind, digest) VALUES (1, 'state', zeroblob(32)), (2, 'trace', zeroblob(32))");
    const std::int64_t device = registry::internName(connection, "cpu", registry::kDeviceName);
    const std::int64_t torch = registry::internName(connection, "2.13.0", registry::kTorchName);
    std::int64_t id = 0;
    for (int model = 0; model < kModels; ++model) {
        const std::int64_t modelName =
            registry::internName(connection, "recommender-" + std::to_string(model), registry::kModelName);
        for (int module = 0; module < kModules; ++module) {
            const std::string path = "tower." + std::to_string(module % 7) + ".layers." + std::to_string(module) + ".attention";
            const std::int64_t moduleName = registry::internName(connection, path, registry::kModuleName);
            const std::int64_t className =
                registry::internName(connection, "blocks:Block" + std::to_string(module % 40), registry::kClassName);
            const std::int64_t collection = model * kModules + module + 1;
            SQLite::Statement& row =
                connection.prepare("INSERT INTO collection (id, md5, model, module) VALUES (?1, ?2, ?3, ?4)");
            row.bind(1, collection);
            row.bind(2, std::to_string(collection));
            row.bind(3, modelName);
            row.bind(4, moduleName);
            row.exec();
            for (int number = 0; number < kVersions; ++number) {
                ++id;
                SQLite::Statement& version = connection.prepare(
                    "INSERT INTO version (id, key, collection, number, model, module, class, digest, state_digest, state, "
                    "trace, bundle, "
                    "created, imported, device, torch, parameter_bytes, parameter_count, call_count) VALUES "
                    "(?1, 'mv' || ?1, ?2, ?3, ?4, ?5, ?6, randomblob(32), zeroblob(32), 1, 2, 1, ?7, 0, ?8, ?9, ?10, ?10, 1)");
                version.bind(1, id);
                version.bind(2, collection);
                version.bind(3, number);
                version.bind(4, modelName);
                version.bind(5, moduleName);
                version.bind(6, className);
                version.bind(7, static_cast<std::int64_t>(number) * 86'400'000'000 + module);
                version.bind(8, device);
                version.bind(9, torch);
                version.bind(10, (id * 7919) % 1'000'003);
                version.exec();
                if (id % 10 == 0) {
                    registry::insertTag(connection, id, id % 100 == 0 ? "baseline" : "nightly");
                }
            }
            connection.database().exec("UPDATE collection SET next_number = 10, latest = " + std::to_string(id) +
                                       " WHERE id = " + std::to_string(collection));
        }
    }
    transaction.commit();
    connection.database().exec("ANALYZE");
}

void measureSearch(const fs::path& folder, ordered_json& results) {
    const fs::path store = folder / "many";
    checked(registry::LocalRegistry::open(base::realFileSystem(), store, registry::LocalRegistry::Mode::ReadWrite));
    fillWithVersions(store);
    const auto registry =
        checked(registry::LocalRegistry::open(base::realFileSystem(), store, registry::LocalRegistry::Mode::ReadOnly));
    for (const char* query :
         {"", "attention", "recommender-7 layers.12", "tag:baseline", "class:Block7 params>100K", "-tag:nightly is:latest"}) {
        std::vector<double> times;
        times.reserve(kRounds);
        std::int64_t total = 0;
        for (int round = 0; round < kRounds; ++round) {
            times.push_back(
                1e3 * secondsOf([&] { total = checked(registry->search({query, 50, {}, registry::SortKey::Newest})).total; }));
        }
        results.push_back(entry(std::string("registry.search \"") + query + "\"", median(times), "ms", "", true,
                                "first page and exact count, " + std::to_string(total) + " of 100000 versions"));
    }
    for (const char* field : {"model", "class", "tag"}) {
        std::vector<double> times;
        times.reserve(kRounds);
        for (int round = 0; round < kRounds; ++round) {
            times.push_back(1e3 * secondsOf([&] { checked(registry->facet(field, "attention")); }));
        }
        results.push_back(entry(std::string("registry.facet ") + field, median(times), "ms", "", true, "of 100000 versions"));
    }
}

} // namespace

} // namespace modulelens

int main() {
    using namespace modulelens;
    const fs::path folder = fs::temp_directory_path() / ("bench-registry-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    ordered_json results = ordered_json::array();
    results.push_back(measureImport(folder));
    measureSearch(folder, results);
    fs::remove_all(folder);
    std::printf("%s\n", ordered_json{{"results", results}}.dump(1).c_str());
    return 0;
}
