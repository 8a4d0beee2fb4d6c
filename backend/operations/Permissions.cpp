// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/Permissions.h"

#include "backend/base/Digest.h"
#include "backend/base/FileSystem.h"
#include "backend/base/Guarded.h"
#include "backend/base/ZipWriter.h"

#include <QDateTime>

#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

namespace modulelens::operations {

namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestFile = 16 << 20;
constexpr int kNewestSchema = 1;

std::filesystem::path defaultFile() {
    const char* settings = std::getenv("XDG_CONFIG_HOME");
    if (settings != nullptr && *settings == '/') {
        return std::filesystem::path(settings) / "modulelens" / "consent.json";
    }
    const char* home = std::getenv("HOME");
    if (home == nullptr || *home != '/') {
        return {};
    }
    return std::filesystem::path(home) / ".config" / "modulelens" / "consent.json";
}

base::Error damaged(const std::filesystem::path& file) {
    return {base::ErrorCode::Corrupt, "the file of remembered consents '" + file.string() + "' is damaged",
            "Remove it, and consent again where it is needed."};
}

std::string textOf(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// What a file of this kind is, in the message that asks for consent.
std::string kindText(const std::string& kind) {
    if (kind == "torchscript") {
        return "is a TorchScript archive, code and pickled values,";
    }
    if (kind == "aotinductor") {
        return "holds a compiled library";
    }
    if (kind == "source") {
        return "is Python code";
    }
    if (kind == "operator_library") {
        return "is a library of operators";
    }
    return "holds its sample inputs as a pickle";
}

} // namespace

std::string consentQuestion(const GuardedFile& file) {
    return "'" + file.name + "' " + kindText(file.kind) + (file.kind == "source" ? " and is run" : " and is read") +
           " only with your consent (sha256 " + file.sha256.substr(0, 12) + ")";
}

ConsentStore::ConsentStore(std::filesystem::path file) : m_file(file.empty() ? defaultFile() : std::move(file)) {}

base::Result<std::vector<Consent>> ConsentStore::all() const {
    std::vector<Consent> consents;
    const base::Result<std::string> text = base::realFileSystem().read(m_file, kLargestFile);
    if (!text) {
        return text.error().code == base::ErrorCode::NotFound ? base::Result<std::vector<Consent>>(consents) : text.error();
    }
    const json document = json::parse(*text, nullptr, false);
    if (!document.is_object() || textOf(document, "schema") != "modulelens.consent" ||
        document.value("schema_version", json()) != kNewestSchema || !document.value("allowed", json()).is_array()) {
        return damaged(m_file);
    }
    for (const json& entry : document["allowed"]) {
        if (!entry.is_object() || !base::isLowerHex(textOf(entry, "sha256"), 64)) {
            return damaged(m_file);
        }
        consents.push_back({{textOf(entry, "sha256"), textOf(entry, "kind"), textOf(entry, "name")}, textOf(entry, "given")});
    }
    return consents;
}

base::Result<bool> ConsentStore::has(const std::string& sha256, const std::string& kind) const {
    const base::Result<std::vector<Consent>> consents = all();
    if (!consents) {
        return consents.error();
    }
    return std::any_of(consents->begin(), consents->end(),
                       [&](const Consent& consent) { return consent.file.sha256 == sha256 && consent.file.kind == kind; });
}

base::Result<void> ConsentStore::remember(const GuardedFile& file) const {
    if (m_file.empty()) {
        return base::Error{base::ErrorCode::InvalidArgument, "the consent cannot be remembered, since HOME is not set",
                           "Set HOME or XDG_CONFIG_HOME."};
    }
    base::Result<std::vector<Consent>> consents = all();
    if (!consents) {
        return consents.error();
    }
    for (const Consent& known : *consents) {
        if (known.file.sha256 == file.sha256 && known.file.kind == file.kind) {
            return {};
        }
    }
    consents->push_back({file, QDateTime::currentDateTimeUtc().toString(Qt::ISODate).toStdString()});
    return write(*consents);
}

base::Result<int> ConsentStore::forget(const std::string& prefix) const {
    base::Result<std::vector<Consent>> consents = all();
    if (!consents) {
        return consents.error();
    }
    const auto count =
        std::erase_if(*consents, [&](const Consent& consent) { return consent.file.sha256.starts_with(prefix); });
    if (count > 0) {
        if (const base::Result<void> written = write(*consents); !written) {
            return written.error();
        }
    }
    return static_cast<int>(count);
}

base::Result<void> ConsentStore::write(const std::vector<Consent>& consents) const {
    json document = {{"schema", "modulelens.consent"}, {"schema_version", kNewestSchema}, {"allowed", json::array()}};
    for (const Consent& consent : consents) {
        document["allowed"].push_back({{"sha256", consent.file.sha256},
                                       {"kind", consent.file.kind},
                                       {"name", consent.file.name},
                                       {"given", consent.given}});
    }
    base::FileSystem& files = base::realFileSystem();
    const std::filesystem::path part = m_file.string() + "." + std::to_string(::getpid());
    const std::string text = document.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
    base::Result<void> done = files.createDirectories(m_file.parent_path());
    if (done) {
        done = files.remove(part);
    }
    if (!done) {
        return done;
    }
    base::Result<std::unique_ptr<base::WritableFile>> file = files.create(part);
    if (!file) {
        return file.error();
    }
    done = (*file)->append(base::bytesOf(text));
    if (done) {
        done = (*file)->sync();
    }
    if (done) {
        done = (*file)->close();
    }
    if (done) {
        done = files.rename(part, m_file);
    }
    if (!done) {
        static_cast<void>(files.remove(part));
    }
    return done;
}

base::Result<void> Permissions::require(const GuardedFile& file, bool isTrusted) {
    const base::Result<bool> known = m_store.has(file.sha256, file.kind);
    if (known && *known) {
        return {};
    }
    if (isTrusted || m_trustsAll) {
        return m_store.remember(file);
    }
    if (!known) {
        return known.error();
    }
    {
        const std::lock_guard lock(m_mutex);
        m_refused = file;
    }
    return base::Error{base::ErrorCode::ConsentNeeded, consentQuestion(file),
                       "If you trust where it comes from, repeat the command with --trust; that is remembered for this file."};
}

std::optional<GuardedFile> Permissions::takeRefused() {
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_refused, std::nullopt);
}

void Permissions::clearLibraries() {
    const std::lock_guard lock(m_mutex);
    m_libraries.clear();
}

base::Result<void> Permissions::addLibrary(const std::filesystem::path& file) {
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(file, failed);
    const auto mapped = base::realFileSystem().map(failed ? file : absolute);
    if (!mapped) {
        return mapped.error().within("the operator library");
    }
    const protocol::OperatorLibrary library{absolute.string(), base::sha256Hex((*mapped)->bytes())};
    if (const base::Result<void> allowed = require({library.sha256, "operator_library", absolute.filename().string()});
        !allowed) {
        return allowed;
    }
    const std::lock_guard lock(m_mutex);
    const auto isSame = [&](const protocol::OperatorLibrary& known) { return known.sha256 == library.sha256; };
    if (std::none_of(m_libraries.begin(), m_libraries.end(), isSame)) {
        m_libraries.push_back(library);
    }
    return {};
}

std::vector<protocol::OperatorLibrary> Permissions::libraries() const {
    const std::lock_guard lock(m_mutex);
    return m_libraries;
}

std::vector<std::string> Permissions::consent(const std::string& sha256) const {
    std::vector<std::string> digests;
    if (!sha256.empty()) {
        digests.push_back(sha256);
    }
    for (const protocol::OperatorLibrary& library : libraries()) {
        digests.push_back(library.sha256);
    }
    return digests;
}

} // namespace modulelens::operations
