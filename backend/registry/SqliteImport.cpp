// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Importing of SqliteRegistry: verify, stage, publish and commit, a bundle at a time.
#include "backend/base/Digest.h"
#include "backend/registry/BundleRows.h"
#include "backend/registry/SqliteRegistry.h"
#include "backend/registry/Timestamp.h"

#include <algorithm>
#include <chrono>
#include <compare>

namespace modulelens::registry {

namespace {

constexpr std::chrono::hours kImportPatience{24};

base::Error cancelled() {
    return {base::ErrorCode::Cancelled, "The import was cancelled.", ""};
}

/// A bundle and when it was captured, as its index says; empty when that cannot be read. Their order is the order of import:
/// a folder's name tells only the second.
struct CapturedBundle {
    std::string created;
    std::filesystem::path path;

    auto operator<=>(const CapturedBundle&) const = default;
};

}  // namespace

bool isTemporaryName(const std::string& name) {
    return name.starts_with('.') || name.ends_with(".tmp") || name.ends_with(".part") || name.ends_with(".partial");
}

/// Bytes done over all bundles of one import; verifying a byte and storing it count once each. Confined to its thread.
class SqliteRegistry::ImportProgress {
public:
    explicit ImportProgress(const ByteProgress& report) : m_report(report) {}

    void addBundle(const capture::BundleIndex& index) { m_total += 2 * sizeOf(index); }
    void advanceTo(std::uint64_t doneInBundle) {
        m_current = doneInBundle;
        if (m_report) {
            m_report(std::min(m_finished + m_current, m_total), m_total);
        }
    }
    void advance(std::uint64_t bytes) { advanceTo(m_current + bytes); }
    void finishBundle(const capture::BundleIndex& index) {
        m_finished += 2 * sizeOf(index);
        advanceTo(0);
    }

    static std::uint64_t sizeOf(const capture::BundleIndex& index) {
        std::uint64_t size = 0;
        for (const auto* files : {&index.runs, &index.nodes, &index.programs, &index.sources}) {
            for (const capture::BundleFile& file : *files) {
                size += file.sizeBytes;
            }
        }
        for (const capture::BundleVersion& version : index.versions) {
            size += version.file.sizeBytes;
        }
        for (const capture::BundleTensorFile& tensors : index.tensors) {
            size += tensors.file.sizeBytes;
        }
        return size;
    }

private:
    const ByteProgress& m_report;
    std::uint64_t m_total = 0;
    std::uint64_t m_finished = 0;
    std::uint64_t m_current = 0;
};

base::Result<void> SqliteRegistry::importOne(const std::filesystem::path& path, std::stop_token stop, ImportProgress& progress,
                                             ImportReport& report) {
    const base::Result<std::unique_ptr<capture::Bundle>> opened = capture::Bundle::open(m_files, path);
    if (!opened) {
        return opened.error();
    }
    capture::Bundle& bundle = **opened;
    base::Result<void> done = bundle.verify(stop, [&](std::uint64_t bytes, std::uint64_t) { progress.advanceTo(bytes); });
    if (!done) {
        return done;
    }
    const base::Result<ImportPlan> plan = planImport(bundle);
    if (!plan) {
        return plan.error();
    }
    const base::Result<MissingContent> missing =
        m_pool->read([&](Connection& connection) { return findMissing(connection, *plan); });
    if (!missing) {
        return missing.error();
    }
    StagedFiles staged(m_files, m_layout, "import");
    const std::uint64_t sizeBytes = ImportProgress::sizeOf(bundle.index());
    progress.advanceTo(sizeBytes);
    ImportReport added;
    for (const std::string& digest : missing->objects) {
        if (stop.stop_requested()) {
            return cancelled();
        }
        const base::Result<std::span<const std::byte>> bytes = bundle.verifiedBytes(plan->objects.at(digest).file);
        if (!bytes) {
            return bytes.error();
        }
        if (done = staged.addObject(digest, *bytes); !done) {
            return done;
        }
        added.bytesStored += bytes->size();
        progress.advance(bytes->size());
    }
    std::optional<StagedPack> pack;
    if (!missing->tensors.empty()) {
        std::vector<capture::SafetensorsInput> inputs;
        for (const std::string& digest : missing->tensors) {
            inputs.push_back(plan->tensors.at(digest));
        }
        base::Result<StagedPack> written = staged.addPack(inputs, stop, [&](std::uint64_t bytes) { progress.advance(bytes); });
        if (!written) {
            return written.error();
        }
        added.bytesStored += written->sizeBytes;
        pack = std::move(*written);
    }
    if (stop.stop_requested()) {
        return cancelled();
    }
    const base::Result<FileLock> lock = lockForCommit(stop);
    if (!lock) {
        return lock.error();
    }
    done = m_pool->write([&](Connection& connection) -> base::Result<void> {
        const BundleRowsReport rows = insertBundle(connection, *plan, pack);
        for (const std::string& digest : rows.objectsKnown) {
            staged.drop(digest);
        }
        added.versionsNew = static_cast<int>(rows.newVersions.size());
        added.versionsKnown = rows.versionsKnown;
        added.runsNew = rows.runsNew;
        added.versions = rows.newVersions;
        return staged.publish();
    });
    if (!done) {
        return done;
    }
    staged.keep();
    progress.finishBundle(bundle.index());
    report.bundles.push_back(path);
    report.versionsNew += added.versionsNew;
    report.versionsKnown += added.versionsKnown;
    report.runsNew += added.runsNew;
    report.bytesRead += sizeBytes;
    report.bytesStored += added.bytesStored;
    std::move(added.versions.begin(), added.versions.end(), std::back_inserter(report.versions));
    for (const std::string& warning : plan->warnings) {
        report.warnings.push_back(path.filename().string() + ": " + warning);
    }
    if (!bundle.index().complete) {
        report.warnings.push_back(path.filename().string() + ": the capture is incomplete: " + plan->incompleteReason);
    }
    return {};
}

base::Result<ImportReport> SqliteRegistry::import(const std::filesystem::path& path, std::stop_token stop,
                                                  const ByteProgress& progress) {
    if (base::Result<void> writable = requireWritable(); !writable) {
        return writable.error();
    }
    return base::guarded("importing " + path.string(), [&]() -> base::Result<ImportReport> {
        const base::Result<std::vector<std::filesystem::path>> bundles = capture::findBundles(m_files, path);
        if (!bundles) {
            return bundles.error();
        }
        ImportProgress bytes(progress);
        std::vector<CapturedBundle> captured;
        captured.reserve(bundles->size());
        for (const std::filesystem::path& bundle : *bundles) {
            const base::Result<std::unique_ptr<capture::Bundle>> opened = capture::Bundle::open(m_files, bundle);
            if (!opened) {
                return opened.error().within("importing " + bundle.string());
            }
            bytes.addBundle((*opened)->index());
            captured.push_back({(*opened)->index().created, bundle});
        }
        std::sort(captured.begin(), captured.end());
        const base::Result<FileLock> lock = FileLock::acquire(m_layout.importLock(), stop, kImportPatience);
        if (!lock) {
            return lock.error();
        }
        ImportReport report;
        for (const auto& [created, bundle] : captured) {
            if (const base::Result<void> done = importOne(bundle, stop, bytes, report); !done) {
                base::Error error = done.error().within("importing " + bundle.string());
                if (!report.bundles.empty()) {
                    error.message += "; of " + std::to_string(bundles->size()) + " bundles, the " +
                                     std::to_string(report.bundles.size()) + " before it stay imported";
                }
                return error;
            }
        }
        return report;
    });
}

base::Result<ImportReport> SqliteRegistry::importInbox(std::stop_token stop, const ByteProgress& progress) {
    if (base::Result<void> writable = requireWritable(); !writable) {
        return writable.error();
    }
    return base::guarded("importing the inbox of " + displayName(), [&]() -> base::Result<ImportReport> {
        ImportReport report;
        const auto waiting = [&] {
            std::vector<std::filesystem::path> paths;
            std::error_code ignored;
            for (const auto& entry : std::filesystem::directory_iterator(m_layout.inbox(), ignored)) {
                if (!isTemporaryName(entry.path().filename().string())) {
                    paths.push_back(entry.path());
                }
            }
            return paths;
        };
        if (waiting().empty()) {
            return report;
        }
        const base::Result<std::optional<FileLock>> lock = FileLock::tryAcquire(m_layout.importLock());
        if (!lock) {
            return lock.error();
        }
        if (!*lock) {
            report.warnings.push_back("Another program is importing; what is in the inbox waits until it is done.");
            return report;
        }
        // Listed again under the lock: another process may have imported them in the meantime.
        const std::vector<std::filesystem::path> paths = waiting();
        ImportProgress bytes(progress);
        std::vector<CapturedBundle> captured;
        captured.reserve(paths.size());
        for (const std::filesystem::path& path : paths) {
            const base::Result<std::unique_ptr<capture::Bundle>> opened = capture::Bundle::open(m_files, path);
            if (opened) {
                bytes.addBundle((*opened)->index());
            }
            captured.push_back({opened ? (*opened)->index().created : std::string(), path});
        }
        std::sort(captured.begin(), captured.end());
        for (const auto& [created, path] : captured) {
            const base::Result<void> done = importOne(path, stop, bytes, report);
            if (!done && done.error().code == base::ErrorCode::Cancelled) {
                return done.error();
            }
            const std::string name = "inbox/" + path.filename().string();
            if (!done) {
                report.warnings.push_back(name + " was not imported and stays there: " + done.error().text());
            } else if (const base::Result<void> removed = m_files.remove(path); !removed) {
                report.warnings.push_back(name + " was imported but could not be removed: " + removed.error().text());
            }
        }
        return report;
    });
}

}  // namespace modulelens::registry
