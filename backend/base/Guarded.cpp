// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Guarded.h"

#include "backend/base/FileSystem.h"

#include <exception>
#include <filesystem>
#include <new>
#include <string>

namespace modulelens::base {

namespace {

Error translate(std::string_view where) {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return {ErrorCode::OutOfMemory, std::string(where) + ": the host has no memory left",
                "Close other programs or work on a smaller module."};
    } catch (const std::filesystem::filesystem_error& error) {
        return errorFromErrno(error.code().value(), "access", error.path1()).within(where);
    } catch (const std::exception& error) {
        return {ErrorCode::Internal, std::string(where) + ": " + error.what(), ""};
    } catch (...) {
        return {ErrorCode::Internal, std::string(where) + ": an exception of unknown type", ""};
    }
}

}  // namespace

Error errorFromCurrentException(std::string_view where) noexcept {
    try {
        return translate(where);
    } catch (...) {
        // Not even the message could be allocated; short strings need no memory.
        return {ErrorCode::OutOfMemory, "out of memory", ""};
    }
}

}  // namespace modulelens::base
