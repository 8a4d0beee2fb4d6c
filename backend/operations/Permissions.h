// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/protocol/WorkerMessages.h"

#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace modulelens::operations {

/// A file that is read or loaded only after the user said so.
struct GuardedFile {
    std::string sha256;
    std::string kind;        ///< "sample_inputs", "torchscript", "aotinductor", "operator_library".
    std::string name;        ///< File name, for people.
};

/// "'net.pt' is a TorchScript archive, code and pickled values, and is read only with your consent (sha256 0123456789ab)".
[[nodiscard]] std::string consentQuestion(const GuardedFile& file);

/// One remembered consent.
struct Consent {
    GuardedFile file;
    std::string given;       ///< UTC.
};

/// The consents of one user, by the sha256 of the file: docs/formats/consent.md. They stand in the user's own settings and
/// never in a registry, which may come from someone else. Every function blocks on disk. Thread-safe within a process.
class ConsentStore {
public:
    /// `file` empty: consent.json in "modulelens" below the user's folder for settings (XDG_CONFIG_HOME, else ~/.config).
    explicit ConsentStore(std::filesystem::path file = {});

    /// Corrupt: the file is damaged; no consent is taken from it then.
    [[nodiscard]] base::Result<std::vector<Consent>> all() const;
    [[nodiscard]] base::Result<bool> has(const std::string& sha256, const std::string& kind) const;
    /// InvalidArgument: the user has no folder for settings. PermissionDenied, StorageFull.
    [[nodiscard]] base::Result<void> remember(const GuardedFile& file) const;
    /// Takes back those whose digest begins with `prefix`, and says how many there were.
    [[nodiscard]] base::Result<int> forget(const std::string& prefix) const;
    [[nodiscard]] const std::filesystem::path& path() const { return m_file; }

private:
    [[nodiscard]] base::Result<void> write(const std::vector<Consent>& consents) const;

    std::filesystem::path m_file;
};

/// What the user allows the operations of one process to do. Thread-safe.
class Permissions {
public:
    explicit Permissions(ConsentStore store = ConsentStore()) : m_store(std::move(store)) {}

    /// The user consents to whatever file is asked for from now on; each is remembered.
    void trustAll() { m_trustsAll = true; }
    /// Nothing when the user consented, before or now by `isTrusted`. ConsentNeeded: not so.
    [[nodiscard]] base::Result<void> require(const GuardedFile& file, bool isTrusted = false);
    /// The file of the newest ConsentNeeded, so that a person can be asked, once; absent when there was none.
    [[nodiscard]] std::optional<GuardedFile> takeRefused();

    /// Every program is loaded after this library. Hashes the file. NotFound, InvalidArgument (no file), ConsentNeeded.
    [[nodiscard]] base::Result<void> addLibrary(const std::filesystem::path& file);
    [[nodiscard]] std::vector<protocol::OperatorLibrary> libraries() const;
    /// Workers that start from now on load no library.
    void clearLibraries();
    /// The digests that a worker must be told: of all libraries, and of `sha256` when it is not empty.
    [[nodiscard]] std::vector<std::string> consent(const std::string& sha256) const;

    [[nodiscard]] const ConsentStore& store() const { return m_store; }

private:
    ConsentStore m_store;
    std::atomic<bool> m_trustsAll = false;
    mutable std::mutex m_mutex;
    std::vector<protocol::OperatorLibrary> m_libraries;
    std::optional<GuardedFile> m_refused;
};

} // namespace modulelens::operations
