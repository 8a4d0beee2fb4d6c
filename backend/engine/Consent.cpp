// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Consent.h"

#include "backend/base/Digest.h"
#include "backend/engine/TorchTypes.h"

#include <dlfcn.h>
#include <algorithm>
#include <set>

namespace modulelens::engine {

namespace {

base::Result<void> loadLibrary(const protocol::OperatorLibrary& library) {
    // Kept for the life of the process: the dispatcher refers to the operators' code.
    return torchGuarded(library.file, [&]() -> base::Result<void> {
        try {
            if (::dlopen(library.file.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) {
                return {};
            }
            const char* reason = ::dlerror();
            return base::Error{base::ErrorCode::Unsupported,
                               "the operator library cannot be loaded: " + std::string(reason == nullptr ? "" : reason),
                               "Build it against the worker's version of torch."};
        } catch (const std::exception& exception) {
            const std::string text = exception.what();
            return base::Error{
                base::ErrorCode::Unsupported,
                "the operator library " + library.file + " fails as it loads: " + text.substr(0, text.find('\n')),
                "Build it against the worker's version of torch."};
        }
    });
}

}  // namespace

base::Result<std::shared_ptr<const base::MappedFile>> openWithConsent(const std::string& file, std::uint64_t offset,
                                                                      std::uint64_t length, const std::string& sha256,
                                                                      const std::vector<std::string>& consent,
                                                                      const std::string& name) {
    if (std::find(consent.begin(), consent.end(), sha256) == consent.end()) {
        return base::Error{base::ErrorCode::ConsentNeeded,
                           name + " holds code or pickled values, which are read only with the user's consent",
                           "Consent to the file if you trust where it comes from."};
    }
    auto mapped = base::realFileSystem().map(file);
    if (!mapped) {
        return mapped.error();
    }
    auto slice = base::sliceOf(std::move(mapped).value(), offset, length);
    if (!slice) {
        return slice.error().within(name);
    }
    if (base::sha256Hex(slice.value()->bytes()) != sha256) {
        return base::Error{base::ErrorCode::Corrupt, name + " is not the file that the user consented to",
                           "Look at the file again, then consent anew."};
    }
    return slice;
}

base::Result<void> loadOperatorLibraries(const std::vector<protocol::OperatorLibrary>& libraries,
                                         const std::vector<std::string>& consent) {
    static std::set<std::string> loaded;
    for (const protocol::OperatorLibrary& library : libraries) {
        if (loaded.count(library.sha256) != 0) {
            continue;
        }
        const auto size = base::realFileSystem().sizeBytes(library.file);
        if (!size) {
            return size.error();
        }
        const auto bytes =
            openWithConsent(library.file, 0, size.value(), library.sha256, consent, "the operator library " + library.file);
        if (!bytes) {
            return bytes.error();
        }
        if (auto done = loadLibrary(library); !done) {
            return done.error();
        }
        loaded.insert(library.sha256);
    }
    return {};
}

}  // namespace modulelens::engine
