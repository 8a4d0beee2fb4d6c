// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Postings.h"

#include "backend/registry/Connection.h"

#include <roaring/containers/containers.h>
#include <roaring/roaring.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>

namespace modulelens::registry {

namespace {

constexpr std::int64_t kChunkIds = 65'536;
constexpr int kSqliteCorrupt = 11;

struct FreeBitmap {
    void operator()(roaring_bitmap_t* bitmap) const { roaring_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<roaring_bitmap_t, FreeBitmap>;

Bitmap bitmapOf(const SQLite::Column& column) {
    const auto* bytes = static_cast<const char*>(column.getBlob());
    Bitmap bitmap(bytes == nullptr
                      ? nullptr
                      : roaring_bitmap_portable_deserialize_safe(bytes, static_cast<std::size_t>(column.getBytes())));
    if (!bitmap) {
        throw SQLite::Exception("a bitmap of the search index is damaged", kSqliteCorrupt);
    }
    return bitmap;
}

/// Calls `visit(first, word)` for 64 ids at a time. By way of the containers, since a dense bitmap is read a hundred times as fast so.
template <class Visit>
void forEachWord(const Bitmap& bitmap, std::int64_t firstOfChunk, Visit visit) {
    constexpr std::uint32_t kWordBits = IdSet::kWordBits;
    const roaring_array_t& parts = bitmap->high_low_container;
    for (std::int32_t part = 0; part < parts.size; ++part) {
        const auto first = static_cast<std::size_t>(firstOfChunk) + (std::size_t{parts.keys[part]} << 16);
        const auto visitBit = [&](std::uint32_t id) {
            visit(first + id / kWordBits * kWordBits, std::uint64_t{1} << (id % kWordBits));
        };
        if (parts.typecodes[part] == BITSET_CONTAINER_TYPE_CODE) {
            const auto* bits = static_cast<const bitset_container_t*>(parts.containers[part]);
            for (std::uint32_t word = 0; word < BITSET_CONTAINER_SIZE_IN_WORDS; ++word) {
                visit(first + std::size_t{word} * kWordBits, bits->array[word]);
            }
        } else if (parts.typecodes[part] == ARRAY_CONTAINER_TYPE_CODE) {
            const auto* ids = static_cast<const array_container_t*>(parts.containers[part]);
            for (std::int32_t i = 0; i < ids->cardinality; ++i) {
                visitBit(ids->array[i]);
            }
        } else if (parts.typecodes[part] == RUN_CONTAINER_TYPE_CODE) {
            const auto* runs = static_cast<const run_container_t*>(parts.containers[part]);
            for (std::int32_t i = 0; i < runs->n_runs; ++i) {
                const std::uint32_t end =
                    std::min<std::uint32_t>(std::uint32_t{runs->runs[i].value} + runs->runs[i].length + 1, 65'536);
                for (std::uint32_t id = runs->runs[i].value; id < end;) {
                    const bool isWhole = id % kWordBits == 0 && end - id >= kWordBits;
                    if (isWhole) {
                        visit(first + id, ~std::uint64_t{0});
                    } else {
                        visitBit(id);
                    }
                    id += isWhole ? kWordBits : 1;
                }
            }
        }
    }
}

/// Calls `visit(first id, bitmap)` for the chunks of a posting.
template <class Visit>
void forEachChunk(Connection& connection, PostingKind kind, std::int64_t value, Visit visit) {
    SQLite::Statement& row = connection.prepare("SELECT chunk, ids FROM posting WHERE kind = ?1 AND value = ?2 ORDER BY chunk");
    row.bind(1, static_cast<int>(kind));
    row.bind(2, value);
    while (row.executeStep()) {
        visit(row.getColumn(0).getInt64() * kChunkIds, bitmapOf(row.getColumn(1)));
    }
    row.tryReset();
}

Bitmap readChunk(Connection& connection, PostingKind kind, std::int64_t value, std::int64_t chunk) {
    SQLite::Statement& row = connection.prepare("SELECT ids FROM posting WHERE kind = ?1 AND value = ?2 AND chunk = ?3");
    row.bind(1, static_cast<int>(kind));
    row.bind(2, value);
    row.bind(3, chunk);
    Bitmap bitmap = row.executeStep() ? bitmapOf(row.getColumn(0)) : Bitmap(roaring_bitmap_create());
    row.tryReset();
    return bitmap;
}

void writeChunk(Connection& connection, PostingKind kind, std::int64_t value, std::int64_t chunk, const Bitmap& bitmap) {
    const bool isEmpty = roaring_bitmap_is_empty(bitmap.get());
    SQLite::Statement& row =
        connection.prepare(isEmpty ? "DELETE FROM posting WHERE kind = ?1 AND value = ?2 AND chunk = ?3"
                                   : "INSERT INTO posting (kind, value, chunk, ids) VALUES (?1, ?2, ?3, ?4) "
                                     "ON CONFLICT (kind, value, chunk) DO UPDATE SET ids = excluded.ids");
    row.bind(1, static_cast<int>(kind));
    row.bind(2, value);
    row.bind(3, chunk);
    if (!isEmpty) {
        roaring_bitmap_run_optimize(bitmap.get());
        std::string bytes(roaring_bitmap_portable_size_in_bytes(bitmap.get()), '\0');
        roaring_bitmap_portable_serialize(bitmap.get(), bytes.data());
        row.bind(4, bytes.data(), static_cast<int>(bytes.size()));
    }
    row.exec();
}

}  // namespace

void addPosting(Connection& connection, PostingKind kind, std::int64_t value, IdSet& into) {
    forEachChunk(connection, kind, value, [&](std::int64_t first, const Bitmap& bitmap) {
        forEachWord(bitmap, first, [&](std::size_t id, std::uint64_t word) { into.addWord(id, word); });
    });
}

std::int64_t countPosting(Connection& connection, PostingKind kind, std::int64_t value, const IdSet& among) {
    std::int64_t count = 0;
    forEachChunk(connection, kind, value, [&](std::int64_t first, const Bitmap& bitmap) {
        forEachWord(bitmap, first,
                    [&](std::size_t id, std::uint64_t word) { count += std::popcount(word & among.wordAt(id)); });
    });
    return count;
}

std::vector<std::int64_t> postingValues(Connection& connection, PostingKind kind) {
    SQLite::Statement& row = connection.prepare("SELECT DISTINCT value FROM posting WHERE kind = ?1 ORDER BY value");
    row.bind(1, static_cast<int>(kind));
    std::vector<std::int64_t> values;
    while (row.executeStep()) {
        values.push_back(row.getColumn(0).getInt64());
    }
    return values;
}

void changePosting(Connection& connection, PostingKind kind, std::int64_t value, const PostingChanges& changes) {
    for (auto change = changes.begin(); change != changes.end();) {
        const std::int64_t chunk = change->first / kChunkIds;
        const Bitmap bitmap = readChunk(connection, kind, value, chunk);
        for (; change != changes.end() && change->first / kChunkIds == chunk; ++change) {
            const auto id = static_cast<std::uint32_t>(change->first % kChunkIds);
            if (change->second) {
                roaring_bitmap_add(bitmap.get(), id);
            } else {
                roaring_bitmap_remove(bitmap.get(), id);
            }
        }
        writeChunk(connection, kind, value, chunk, bitmap);
    }
}

}  // namespace modulelens::registry
