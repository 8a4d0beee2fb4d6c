// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Connection.h"

#include "backend/base/Digest.h"
#include "backend/base/PercentEncoding.h"

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace modulelens::registry {

namespace {

constexpr int kBusyTimeoutMs = 30'000;
/// SQLite's shared memory file beside a database grows in steps of this size.
constexpr std::uintmax_t kLeastFreeBytes = 32'768;

/// The path as a URI, so that options can follow it.
std::string databaseUri(const std::filesystem::path& path, bool immutable) {
    const std::string uri = "file:" + base::percentEncoded(std::filesystem::absolute(path).string(), "/");
    return immutable ? uri + "?immutable=1" : uri;
}

int hexDigit(char c) {
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

}  // namespace

base::Error errorFromSqlite(const SQLite::Exception& exception, const std::filesystem::path& path) {
    const std::string folder = path.parent_path().string();
    // SQLite says "I/O error" where it cannot make or enlarge the files beside the database.
    std::error_code unknown;
    const bool isFull = (exception.getErrorCode() & 0xFF) == SQLITE_IOERR &&
                        std::filesystem::space(path.parent_path(), unknown).available < kLeastFreeBytes && !unknown;
    if (isFull) {
        return {base::ErrorCode::StorageFull, "No space is left for the registry " + folder + ".",
                "Free some space on that disk and try again; the registry is unchanged."};
    }
    switch (exception.getErrorCode() & 0xFF) {
        case SQLITE_FULL:
            return {base::ErrorCode::StorageFull, "No space is left for the registry " + folder + ".",
                    "Free some space on that disk and try again; the registry is unchanged."};
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_CANTOPEN:
        case SQLITE_AUTH:
            return {base::ErrorCode::PermissionDenied, "The registry " + folder + " cannot be opened or written.",
                    "Check the permissions of the folder and of registry.sqlite in it, or choose another registry."};
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return {base::ErrorCode::Corrupt, "The database " + path.string() + " is damaged or is no registry.",
                    "Run `modulelens registry recover`, which makes a new one from the objects and packs beside it."};
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {base::ErrorCode::Timeout,
                    "Another program has been writing to the registry " + folder + " for over 30 seconds.",
                    "Wait until it is done and try again."};
        case SQLITE_NOMEM:
            return {base::ErrorCode::OutOfMemory, "Memory ran out while reading the registry " + folder + ".",
                    "Close other programs."};
        default:
            break;
    }
    return {base::ErrorCode::Internal, "The registry " + folder + " failed: " + exception.what() + ".",
            "Check the disk that it lies on."};
}

Connection::Connection(const std::string& uri, int flags) : m_database(uri, flags, kBusyTimeoutMs) {
    m_database.exec("PRAGMA foreign_keys = ON");
    m_database.exec("PRAGMA synchronous = FULL");
    m_database.exec("PRAGMA temp_store = MEMORY");
    m_database.exec("PRAGMA trusted_schema = OFF");
}

SQLite::Statement& Connection::prepare(const std::string& sql) {
    std::unique_ptr<SQLite::Statement>& statement = m_statements[sql];
    if (!statement) {
        statement = std::make_unique<SQLite::Statement>(m_database, sql);
    } else {
        statement->tryReset();
        statement->clearBindings();
    }
    return *statement;
}

void Connection::resetStatements() {
    constexpr std::size_t kMaxStatements = 200;
    if (m_statements.size() > kMaxStatements) {
        m_statements.clear();
    }
    for (const auto& [sql, statement] : m_statements) {
        if (statement) {
            statement->tryReset();
        }
    }
}

ConnectionPool::Lease::~Lease() {
    try {
        m_connection->resetStatements();
        const base::MutexLock lock(m_pool->m_mutex);
        m_pool->m_free.push_back(std::move(m_connection));
    } catch (...) {
        m_connection.reset();
    }
}

ConnectionPool::ConnectionPool(std::filesystem::path path, bool readOnly, bool immutable)
    : m_path(std::move(path)), m_readOnly(readOnly), m_immutable(immutable) {}

ConnectionPool::Lease ConnectionPool::lend() {
    {
        const base::MutexLock lock(m_mutex);
        if (!m_free.empty()) {
            std::unique_ptr<Connection> connection = std::move(m_free.back());
            m_free.pop_back();
            return {this, std::move(connection)};
        }
    }
    const int access = m_readOnly ? SQLite::OPEN_READONLY : SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE;
    const int flags = access | SQLite::OPEN_URI | SQLite::OPEN_NOMUTEX;
    return {this, std::make_unique<Connection>(databaseUri(m_path, m_immutable), flags)};
}

void ConnectionPool::closeIdle() {
    std::vector<std::unique_ptr<Connection>> idle;
    const base::MutexLock lock(m_mutex);
    idle.swap(m_free);
}

void ConnectionPool::close() {
    m_isClosed = true;
    closeIdle();
}

void bindDigest(SQLite::Statement& statement, int index, const std::string& hex) {
    std::array<std::uint8_t, 32> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::uint8_t>(hexDigit(hex[2 * i]) * 16 + hexDigit(hex[2 * i + 1]));
    }
    statement.bind(index, bytes.data(), static_cast<int>(bytes.size()));
}

std::string digestColumn(SQLite::Statement& statement, int index) {
    const SQLite::Column column = statement.getColumn(index);
    const auto* bytes = static_cast<const char*>(column.getBlob());
    return bytes == nullptr ? std::string() : base::hexOf({bytes, static_cast<std::size_t>(column.getBytes())});
}

bool hasRow(SQLite::Statement& row) {
    const bool found = row.executeStep();
    row.tryReset();
    return found;
}

}  // namespace modulelens::registry
