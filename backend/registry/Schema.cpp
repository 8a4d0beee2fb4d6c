// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Schema.h"

#include "backend/registry/Connection.h"
#include "backend/registry/SearchIndex.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <array>
#include <string>

namespace modulelens::registry {

namespace {

/// Step N brings version N to N + 1. A released step never changes; docs/formats/registry.md explains the tables.
constexpr std::array<const char*, kSchemaVersion> kSteps{{
    R"sql(
CREATE TABLE name (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE,
    folded TEXT NOT NULL,
    sort TEXT NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX name_folded ON name (folded);

CREATE TABLE pack (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL
) STRICT;
CREATE TABLE tensor (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    pack INTEGER NOT NULL REFERENCES pack,
    offset INTEGER NOT NULL,
    size INTEGER NOT NULL
) STRICT;
CREATE INDEX tensor_pack ON tensor (pack, offset);

CREATE TABLE object (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    size INTEGER NOT NULL
) STRICT;
CREATE TABLE object_object (
    parent INTEGER NOT NULL REFERENCES object,
    child INTEGER NOT NULL REFERENCES object,
    PRIMARY KEY (parent, child)
) STRICT, WITHOUT ROWID;
CREATE TABLE object_tensor (
    object INTEGER NOT NULL REFERENCES object,
    tensor INTEGER NOT NULL REFERENCES tensor,
    PRIMARY KEY (object, tensor)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifact (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('state', 'trace')),
    digest BLOB NOT NULL,
    UNIQUE (kind, digest)
) STRICT;
CREATE TABLE artifact_object (
    artifact INTEGER NOT NULL REFERENCES artifact,
    object INTEGER NOT NULL REFERENCES object,
    PRIMARY KEY (artifact, object)
) STRICT, WITHOUT ROWID;

CREATE TABLE bundle (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    created INTEGER NOT NULL,
    imported INTEGER NOT NULL,
    incomplete_reason TEXT
) STRICT;
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL UNIQUE,
    object INTEGER NOT NULL REFERENCES object,
    bundle INTEGER NOT NULL REFERENCES bundle,
    model INTEGER NOT NULL REFERENCES name,
    collection TEXT NOT NULL,
    step INTEGER NOT NULL,
    started INTEGER NOT NULL,
    call_count INTEGER NOT NULL
) STRICT;
CREATE INDEX run_model ON run (model, started);

CREATE TABLE collection (
    id INTEGER PRIMARY KEY,
    md5 TEXT NOT NULL UNIQUE,
    model INTEGER NOT NULL REFERENCES name,
    module INTEGER NOT NULL REFERENCES name,
    next_number INTEGER NOT NULL DEFAULT 0,
    latest INTEGER REFERENCES version,
    UNIQUE (model, module)
) STRICT;
CREATE TABLE version (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    collection INTEGER NOT NULL REFERENCES collection,
    number INTEGER NOT NULL,
    model INTEGER NOT NULL REFERENCES name,
    module INTEGER NOT NULL REFERENCES name,
    class INTEGER NOT NULL REFERENCES name,
    digest BLOB NOT NULL,
    state_digest BLOB NOT NULL,
    state INTEGER NOT NULL REFERENCES artifact,
    trace INTEGER NOT NULL REFERENCES artifact,
    bundle INTEGER NOT NULL REFERENCES bundle,
    run INTEGER REFERENCES run,
    program BLOB,
    no_program_reason TEXT NOT NULL DEFAULT '',
    created INTEGER NOT NULL,
    imported INTEGER NOT NULL,
    device INTEGER NOT NULL REFERENCES name,
    torch INTEGER NOT NULL REFERENCES name,
    parameter_bytes INTEGER NOT NULL,
    parameter_count INTEGER NOT NULL,
    call_count INTEGER NOT NULL,
    verdict TEXT,
    exact INTEGER,
    latency_ns INTEGER,
    deleted INTEGER,
    UNIQUE (collection, number)
) STRICT;
CREATE UNIQUE INDEX version_content ON version (collection, digest) WHERE deleted IS NULL;
CREATE INDEX version_created ON version (created DESC, id) WHERE deleted IS NULL;
CREATE INDEX version_parameters ON version (parameter_bytes DESC, id) WHERE deleted IS NULL;
CREATE INDEX version_latency ON version (latency_ns DESC, id) WHERE deleted IS NULL;
CREATE INDEX version_module ON version (model, module) WHERE deleted IS NULL;
CREATE INDEX version_class ON version (class) WHERE deleted IS NULL;
CREATE INDEX version_device ON version (device) WHERE deleted IS NULL;

CREATE TABLE version_tag (
    name INTEGER NOT NULL REFERENCES name,
    version INTEGER NOT NULL REFERENCES version,
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX version_tag_version ON version_tag (version);
CREATE TABLE version_dtype (
    name INTEGER NOT NULL REFERENCES name,
    version INTEGER NOT NULL REFERENCES version,
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE alias (
    collection INTEGER NOT NULL REFERENCES collection,
    name INTEGER NOT NULL REFERENCES name,
    version INTEGER NOT NULL REFERENCES version,
    PRIMARY KEY (collection, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX alias_version ON alias (version);
CREATE INDEX alias_name ON alias (name);
CREATE TABLE attribute (
    version INTEGER NOT NULL REFERENCES version,
    key INTEGER NOT NULL REFERENCES name,
    kind TEXT NOT NULL CHECK (kind IN ('text', 'number', 'boolean')),
    text TEXT,
    folded TEXT,
    number REAL,
    PRIMARY KEY (version, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX attribute_text ON attribute (key, folded);
CREATE INDEX attribute_number ON attribute (key, number);

CREATE TABLE result (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL REFERENCES version,
    kind TEXT NOT NULL CHECK (kind IN ('profile', 'validation', 'benchmark')),
    created INTEGER NOT NULL,
    device TEXT NOT NULL,
    engine TEXT NOT NULL,
    json TEXT NOT NULL,
    object INTEGER REFERENCES object
) STRICT;
CREATE INDEX result_version ON result (version, kind, created);
)sql",
    R"sql(
CREATE TABLE wider_result (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL REFERENCES version,
    kind TEXT NOT NULL,
    created INTEGER NOT NULL,
    device TEXT NOT NULL,
    engine TEXT NOT NULL,
    json TEXT NOT NULL,
    object INTEGER REFERENCES object
) STRICT;
INSERT INTO wider_result SELECT id, key, version, kind, created, device, engine, json, object FROM result;
DROP TABLE result;
ALTER TABLE wider_result RENAME TO result;
CREATE INDEX result_version ON result (version, kind, created);
)sql",
    R"sql(
ALTER TABLE version ADD COLUMN note TEXT;
ALTER TABLE version ADD COLUMN flops INTEGER;
ALTER TABLE version ADD COLUMN bytes_moved INTEGER;
ALTER TABLE version ADD COLUMN activation_bytes INTEGER;
ALTER TABLE version ADD COLUMN peak_bytes INTEGER;
CREATE INDEX version_deleted ON version (deleted) WHERE deleted IS NOT NULL;
CREATE INDEX version_state ON version (state);
CREATE INDEX version_trace ON version (trace);
CREATE INDEX version_bundle ON version (bundle);
CREATE INDEX version_run ON version (run);
CREATE INDEX run_object ON run (object);
CREATE INDEX run_bundle ON run (bundle);
CREATE INDEX result_object ON result (object);
CREATE INDEX object_object_child ON object_object (child);
CREATE INDEX object_tensor_tensor ON object_tensor (tensor);
CREATE INDEX artifact_object_object ON artifact_object (object);
CREATE INDEX collection_latest ON collection (latest);
DROP INDEX version_created;
DROP INDEX version_parameters;
DROP INDEX version_latency;
DROP INDEX version_class;
DROP INDEX version_device;

CREATE TABLE link (
    version INTEGER NOT NULL REFERENCES version,
    kind TEXT NOT NULL,
    other INTEGER NOT NULL REFERENCES version,
    PRIMARY KEY (version, kind, other)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_other ON link (other);
CREATE TABLE saved_search (
    name TEXT NOT NULL PRIMARY KEY,
    query TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE posting (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    value INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    ids BLOB NOT NULL,
    UNIQUE (kind, value, chunk)
) STRICT;
CREATE TABLE version_block (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    block INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    cells BLOB NOT NULL,
    UNIQUE (kind, block)
) STRICT;
CREATE TABLE index_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    generation INTEGER NOT NULL
) STRICT;
INSERT INTO index_state (id, generation) VALUES (1, 0);
CREATE TABLE pending (
    kind INTEGER NOT NULL,
    value INTEGER NOT NULL,
    version INTEGER NOT NULL
) STRICT;
CREATE TRIGGER name_added AFTER INSERT ON name BEGIN INSERT INTO pending VALUES (1, new.id, 0); END;
CREATE TRIGGER version_added AFTER INSERT ON version BEGIN INSERT INTO pending VALUES (0, 0, new.id); END;
CREATE TRIGGER version_removed AFTER DELETE ON version BEGIN INSERT INTO pending VALUES (0, 0, old.id); END;
CREATE TRIGGER version_changed AFTER UPDATE OF collection, model, module, class, device, created, parameter_bytes, parameter_count,
    program, verdict, exact, latency_ns, flops, bytes_moved, activation_bytes, peak_bytes, deleted ON version
BEGIN INSERT INTO pending VALUES (0, 0, new.id); END;
CREATE TRIGGER latest_changed AFTER UPDATE OF latest ON collection BEGIN
    INSERT INTO pending SELECT 0, 0, old.latest WHERE old.latest IS NOT NULL;
    INSERT INTO pending SELECT 0, 0, new.latest WHERE new.latest IS NOT NULL;
END;
CREATE TRIGGER result_added AFTER INSERT ON result BEGIN INSERT INTO pending VALUES (0, 0, new.version); END;
CREATE TRIGGER result_removed AFTER DELETE ON result BEGIN INSERT INTO pending VALUES (0, 0, old.version); END;
CREATE TRIGGER tag_added AFTER INSERT ON version_tag BEGIN INSERT INTO pending VALUES (2, new.name, new.version); END;
CREATE TRIGGER tag_removed AFTER DELETE ON version_tag BEGIN INSERT INTO pending VALUES (2, old.name, old.version); END;
CREATE TRIGGER dtype_added AFTER INSERT ON version_dtype BEGIN INSERT INTO pending VALUES (3, new.name, new.version); END;
CREATE TRIGGER dtype_removed AFTER DELETE ON version_dtype BEGIN INSERT INTO pending VALUES (3, old.name, old.version); END;
CREATE TRIGGER alias_added AFTER INSERT ON alias BEGIN INSERT INTO pending VALUES (4, new.name, new.version); END;
CREATE TRIGGER alias_removed AFTER DELETE ON alias BEGIN INSERT INTO pending VALUES (4, old.name, old.version); END;
CREATE TRIGGER alias_moved AFTER UPDATE ON alias BEGIN
    INSERT INTO pending VALUES (4, old.name, old.version);
    INSERT INTO pending VALUES (4, new.name, new.version);
END;

UPDATE version SET (flops, bytes_moved, activation_bytes, peak_bytes) = (
    SELECT CASE json_type(r.json, '$.totals.flops') WHEN 'integer' THEN json_extract(r.json, '$.totals.flops') END,
           CASE json_type(r.json, '$.totals.bytes') WHEN 'integer' THEN json_extract(r.json, '$.totals.bytes') END,
           CASE json_type(r.json, '$.totals.activation_bytes') WHEN 'integer' THEN json_extract(r.json, '$.totals.activation_bytes') END,
           CASE json_type(r.json, '$.totals.peak_bytes') WHEN 'integer' THEN json_extract(r.json, '$.totals.peak_bytes') END
    FROM result AS r WHERE r.version = version.id AND r.kind = 'profile' AND json_valid(r.json)
    ORDER BY r.created DESC, r.id DESC LIMIT 1);
)sql",
}};

}  // namespace

void migrate(Connection& connection, int fromVersion) {
    SQLite::Database& database = connection.database();
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    for (int step = fromVersion; step < kSchemaVersion; ++step) {
        database.exec(kSteps[static_cast<std::size_t>(step)]);
    }
    rebuildIndex(connection);
    database.exec("PRAGMA application_id = " + std::to_string(kApplicationId));
    database.exec("PRAGMA user_version = " + std::to_string(kSchemaVersion));
    transaction.commit();
}

}  // namespace modulelens::registry
