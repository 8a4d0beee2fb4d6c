// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Guarded.h"
#include "backend/base/Mutex.h"
#include "backend/base/Result.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace modulelens::registry {

/// Error for a SQLite exception about the database at `path`: a full disk is StorageFull, a read-only or unreadable file
/// PermissionDenied, a damaged one Corrupt, a lock held for too long Timeout.
[[nodiscard]] base::Error errorFromSqlite(const SQLite::Exception& exception, const std::filesystem::path& path);

class Connection;
void foldPending(Connection& connection);   // SearchIndex.h

/// One SQLite connection with its prepared statements. Confined to its thread while it is lent out by the pool.
class Connection {
public:
    Connection(const std::string& uri, int flags);

    [[nodiscard]] SQLite::Database& database() { return m_database; }

    /// The prepared statement of `sql`, reset and without bindings. It stays valid, and in use, until the same text is
    /// asked for again.
    [[nodiscard]] SQLite::Statement& prepare(const std::string& sql);

    /// Resets every statement, so that no read snapshot stays open.
    void resetStatements();

private:
    SQLite::Database m_database;
    std::unordered_map<std::string, std::unique_ptr<SQLite::Statement>> m_statements;
};

/// Connections to one database, one for each thread that needs one at a time. Thread-safe.
class ConnectionPool {
public:
    /// A connection on loan; gives it back when destroyed.
    class Lease {
    public:
        Lease(ConnectionPool* pool, std::unique_ptr<Connection> connection)
            : m_pool(pool), m_connection(std::move(connection)) {}
        ~Lease();
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;

        [[nodiscard]] Connection& operator*() const { return *m_connection; }

    private:
        ConnectionPool* m_pool;
        std::unique_ptr<Connection> m_connection;
    };

    ConnectionPool(std::filesystem::path path, bool readOnly, bool immutable);

    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

    /// Closes the connections that nobody uses.
    void closeIdle();
    /// From now on everything is answered with Unavailable: the registry has gone elsewhere.
    void close();

    /// A free connection, or a new one. Throws SQLite::Exception.
    [[nodiscard]] Lease lend();

    /// Runs `body(Connection&)`, which returns a Result and may throw, on a connection of its own.
    template <class Body>
    [[nodiscard]] auto run(Body&& body) noexcept -> decltype(body(std::declval<Connection&>())) {
        return guardedRun([&] {
            const Lease lease = lend();
            return body(*lease);
        });
    }

    /// As run(), inside a read transaction: everything that `body` reads belongs to one moment.
    template <class Body>
    [[nodiscard]] auto read(Body&& body) noexcept -> decltype(body(std::declval<Connection&>())) {
        return guardedRun([&] {
            const Lease lease = lend();
            const SQLite::Transaction transaction((*lease).database());
            return body(*lease);
        });
    }

    /// As run(), inside a write transaction that commits, the search index up to date, when `body` succeeds and leaves no trace when it
    /// does not.
    template <class Body>
    [[nodiscard]] auto write(Body&& body) noexcept -> decltype(body(std::declval<Connection&>())) {
        return guardedRun([&] {
            const Lease lease = lend();
            SQLite::Transaction transaction((*lease).database(), SQLite::TransactionBehavior::IMMEDIATE);
            auto result = body(*lease);
            if (result) {
                foldPending(*lease);
                (*lease).resetStatements();
                transaction.commit();
            }
            return result;
        });
    }

private:
    template <class Body>
    auto guardedRun(Body&& body) noexcept -> decltype(body()) {
        if (m_isClosed) {
            return base::Error{base::ErrorCode::Unavailable,
                               "The registry was moved away from " + m_path.parent_path().string() + ".",
                               "Open it where it is now."};
        }
        try {
            return body();
        } catch (const SQLite::Exception& exception) {
            return errorFromSqlite(exception, m_path);
        } catch (...) {
            return base::errorFromCurrentException("the registry " + m_path.parent_path().string());
        }
    }

    const std::filesystem::path m_path;
    const bool m_readOnly;
    const bool m_immutable;
    base::Mutex m_mutex;
    std::vector<std::unique_ptr<Connection>> m_free ML_GUARDED_BY(m_mutex);
    std::atomic<bool> m_isClosed = false;
};

/// Binds the 32 bytes of a sha256 given in hex. Requires: 64 hex digits.
void bindDigest(SQLite::Statement& statement, int index, const std::string& hex);
/// The hex of a digest column; empty for NULL.
[[nodiscard]] std::string digestColumn(SQLite::Statement& statement, int index);
/// True when the bound statement gives a row; resets it.
[[nodiscard]] bool hasRow(SQLite::Statement& row);

}  // namespace modulelens::registry
