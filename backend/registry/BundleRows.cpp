// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/BundleRows.h"

#include "backend/base/Digest.h"
#include "backend/registry/Names.h"
#include "backend/registry/Summaries.h"
#include "backend/registry/Timestamp.h"

#include <map>
#include <unordered_map>

namespace modulelens::registry {

namespace {

std::optional<std::int64_t> idOf(Connection& connection, const char* sql, const std::string& digest) {
    SQLite::Statement& row = connection.prepare(sql);
    bindDigest(row, 1, digest);
    std::optional<std::int64_t> id;
    if (row.executeStep()) {
        id = row.getColumn(0).getInt64();
    }
    row.tryReset();
    return id;
}

constexpr const char* kFindObject = "SELECT id FROM object WHERE digest = ?1";
constexpr const char* kFindTensor = "SELECT id FROM tensor WHERE digest = ?1";

void insertPair(Connection& connection, const char* sql, std::int64_t first, std::int64_t second) {
    SQLite::Statement& insert = connection.prepare(sql);
    insert.bind(1, first);
    insert.bind(2, second);
    insert.exec();
}

/// First 16 hex digits of a digest over what makes a row unique.
std::string shortKey(const std::string& prefix, const std::string& content) {
    return prefix + base::sha256Hex(content).substr(0, 16);
}

/// Writes the rows of one bundle. Confined to its thread.
class BundleInserter {
public:
    BundleInserter(Connection& connection, const ImportPlan& plan) : m_connection(connection), m_plan(plan) {}

    BundleRowsReport insert(const std::optional<StagedPack>& pack);

private:
    void insertPack(const StagedPack& pack);
    void insertObjects();
    void insertEdges(const PlannedObject& object);
    void insertBundleRow();
    void insertRuns();
    void insertVersion(const PlannedVersion& version);
    std::int64_t insertArtifact(const char* kind, const std::string& digest, const std::vector<std::string>& objects);
    std::int64_t insertCollection(const PlannedVersion& version);
    std::int64_t insertVersionRow(const PlannedVersion& version, std::int64_t collection);
    void applyLabels(std::int64_t version);
    std::int64_t name(const std::string& text, int use);

    Connection& m_connection;
    const ImportPlan& m_plan;
    BundleRowsReport m_report;
    std::unordered_map<std::string, std::int64_t> m_objects;
    std::map<std::pair<std::string, int>, std::int64_t> m_names;
    std::vector<std::int64_t> m_runs;
    std::int64_t m_bundle = 0;
    const std::int64_t m_now = currentUtcMicroseconds();
};

BundleRowsReport BundleInserter::insert(const std::optional<StagedPack>& pack) {
    if (pack) {
        insertPack(*pack);
    }
    insertObjects();
    insertBundleRow();
    insertRuns();
    for (const PlannedVersion& version : m_plan.versions) {
        insertVersion(version);
    }
    return std::move(m_report);
}

std::int64_t BundleInserter::name(const std::string& text, int use) {
    const auto known = m_names.find({text, use});
    if (known != m_names.end()) {
        return known->second;
    }
    const std::int64_t id = internName(m_connection, text, use);
    m_names.emplace(std::pair(text, use), id);
    return id;
}

void BundleInserter::insertPack(const StagedPack& pack) {
    SQLite::Statement& row = m_connection.prepare("INSERT INTO pack (digest, size) VALUES (?1, ?2) RETURNING id");
    bindDigest(row, 1, pack.digest);
    row.bind(2, static_cast<std::int64_t>(pack.sizeBytes));
    row.executeStep();
    const std::int64_t packId = row.getColumn(0).getInt64();
    row.tryReset();
    for (const auto& [digest, entry] : pack.entries) {
        SQLite::Statement& tensor =
            m_connection.prepare("INSERT INTO tensor (digest, pack, offset, size) VALUES (?1, ?2, ?3, ?4)");
        bindDigest(tensor, 1, digest);
        tensor.bind(2, packId);
        tensor.bind(3, static_cast<std::int64_t>(entry.offset));
        tensor.bind(4, static_cast<std::int64_t>(entry.sizeBytes));
        tensor.exec();
    }
}

void BundleInserter::insertObjects() {
    std::vector<const PlannedObject*> added;
    for (const auto& [digest, object] : m_plan.objects) {
        if (const std::optional<std::int64_t> known = idOf(m_connection, kFindObject, digest)) {
            m_objects.emplace(digest, *known);
            m_report.objectsKnown.push_back(digest);
            continue;
        }
        SQLite::Statement& row =
            m_connection.prepare("INSERT INTO object (digest, kind, size) VALUES (?1, ?2, ?3) RETURNING id");
        bindDigest(row, 1, digest);
        row.bind(2, object.kind);
        row.bind(3, static_cast<std::int64_t>(object.file.sizeBytes));
        row.executeStep();
        m_objects.emplace(digest, row.getColumn(0).getInt64());
        row.tryReset();
        added.push_back(&object);
    }
    for (const PlannedObject* object : added) {
        insertEdges(*object);
    }
}

void BundleInserter::insertEdges(const PlannedObject& object) {
    const std::int64_t id = m_objects.at(object.digest);
    for (const std::string& child : object.children) {
        insertPair(m_connection, "INSERT INTO object_object (parent, child) VALUES (?1, ?2)", id, m_objects.at(child));
    }
    for (const std::string& tensor : object.tensors) {
        if (const std::optional<std::int64_t> tensorId = idOf(m_connection, kFindTensor, tensor)) {
            insertPair(m_connection, "INSERT INTO object_tensor (object, tensor) VALUES (?1, ?2)", id, *tensorId);
        }
    }
}

void BundleInserter::insertBundleRow() {
    SQLite::Statement& row = m_connection.prepare(
        "INSERT INTO bundle (digest, created, imported, incomplete_reason) VALUES (?1, ?2, ?3, ?4) "
        "ON CONFLICT (digest) DO UPDATE SET digest = digest RETURNING id");
    bindDigest(row, 1, m_plan.bundleDigest);
    row.bind(2, m_plan.created);
    row.bind(3, m_now);
    if (!m_plan.incompleteReason.empty()) {
        row.bind(4, m_plan.incompleteReason);
    }
    row.executeStep();
    m_bundle = row.getColumn(0).getInt64();
    row.tryReset();
}

void BundleInserter::insertRuns() {
    for (const PlannedRun& run : m_plan.runs) {
        if (const std::optional<std::int64_t> known = idOf(m_connection, "SELECT id FROM run WHERE digest = ?1", run.digest)) {
            m_runs.push_back(*known);
            continue;
        }
        const std::int64_t model = name(run.model, kModelName);
        SQLite::Statement& row = m_connection.prepare(
            "INSERT INTO run (key, digest, object, bundle, model, collection, step, started, call_count) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING id");
        row.bind(1, shortKey("mr", run.digest));
        bindDigest(row, 2, run.digest);
        row.bind(3, m_objects.at(run.digest));
        row.bind(4, m_bundle);
        row.bind(5, model);
        row.bind(6, run.collection);
        row.bind(7, run.step);
        row.bind(8, run.started);
        row.bind(9, run.callCount);
        row.executeStep();
        m_runs.push_back(row.getColumn(0).getInt64());
        row.tryReset();
        ++m_report.runsNew;
    }
}

std::int64_t BundleInserter::insertArtifact(const char* kind, const std::string& digest,
                                            const std::vector<std::string>& objects) {
    SQLite::Statement& find = m_connection.prepare("SELECT id FROM artifact WHERE kind = ?1 AND digest = ?2");
    find.bind(1, kind);
    bindDigest(find, 2, digest);
    if (find.executeStep()) {
        const std::int64_t known = find.getColumn(0).getInt64();
        find.tryReset();
        return known;
    }
    SQLite::Statement& row = m_connection.prepare("INSERT INTO artifact (kind, digest) VALUES (?1, ?2) RETURNING id");
    row.bind(1, kind);
    bindDigest(row, 2, digest);
    row.executeStep();
    const std::int64_t id = row.getColumn(0).getInt64();
    row.tryReset();
    for (const std::string& object : objects) {
        insertPair(m_connection, "INSERT OR IGNORE INTO artifact_object (artifact, object) VALUES (?1, ?2)", id,
                   m_objects.at(object));
    }
    return id;
}

std::int64_t BundleInserter::insertCollection(const PlannedVersion& version) {
    SQLite::Statement& find = m_connection.prepare("SELECT id FROM collection WHERE md5 = ?1");
    find.bind(1, version.collection);
    if (find.executeStep()) {
        const std::int64_t known = find.getColumn(0).getInt64();
        find.tryReset();
        return known;
    }
    const std::int64_t model = name(version.model, kModelName);
    const std::int64_t module = name(version.module, kModuleName);
    SQLite::Statement& row =
        m_connection.prepare("INSERT INTO collection (md5, model, module) VALUES (?1, ?2, ?3) RETURNING id");
    row.bind(1, version.collection);
    row.bind(2, model);
    row.bind(3, module);
    row.executeStep();
    const std::int64_t id = row.getColumn(0).getInt64();
    row.tryReset();
    return id;
}

void BundleInserter::insertVersion(const PlannedVersion& version) {
    const std::int64_t collection = insertCollection(version);
    SQLite::Statement& find =
        m_connection.prepare("SELECT id FROM version WHERE collection = ?1 AND digest = ?2 AND deleted IS NULL");
    find.bind(1, collection);
    bindDigest(find, 2, version.digest);
    if (find.executeStep()) {
        const std::int64_t known = find.getColumn(0).getInt64();
        find.tryReset();
        ++m_report.versionsKnown;
        applyLabels(known);
        return;
    }
    const std::int64_t id = insertVersionRow(version, collection);
    for (const std::string& dtype : version.dtypes) {
        insertPair(m_connection, "INSERT INTO version_dtype (name, version) VALUES (?1, ?2)", name(dtype, kDtypeName), id);
    }
    insertPair(m_connection, "UPDATE collection SET latest = ?1, next_number = next_number + 1 WHERE id = ?2", id, collection);
    applyLabels(id);
    m_report.newVersions.push_back(readVersion(m_connection, id));
}

std::int64_t BundleInserter::insertVersionRow(const PlannedVersion& version, std::int64_t collection) {
    std::vector<std::string> stateObjects = version.programs;
    stateObjects.push_back(version.stateDigest);
    const std::int64_t state = insertArtifact("state", version.stateArtifact, stateObjects);
    const std::int64_t trace = insertArtifact("trace", version.digest, {version.digest});
    const std::int64_t className = name(version.className, kClassName);
    const std::int64_t device = name(version.device, kDeviceName);
    const std::int64_t torch = name(version.torchVersion, kTorchName);
    SQLite::Statement& next = m_connection.prepare("SELECT next_number, model, module FROM collection WHERE id = ?1");
    next.bind(1, collection);
    next.executeStep();
    const std::int64_t number = next.getColumn(0).getInt64();
    const std::int64_t model = next.getColumn(1).getInt64();
    const std::int64_t module = next.getColumn(2).getInt64();
    next.tryReset();
    SQLite::Statement& row = m_connection.prepare(
        "INSERT INTO version (key, collection, number, model, module, class, digest, state_digest, state, trace, bundle, run, "
        "program, "
        "no_program_reason, created, imported, device, torch, parameter_bytes, parameter_count, call_count) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21) RETURNING id");
    row.bind(1, shortKey("mv", version.collection + "\n" + std::to_string(number) + "\n" + version.digest));
    row.bind(2, collection);
    row.bind(3, number);
    row.bind(4, model);
    row.bind(5, module);
    row.bind(6, className);
    bindDigest(row, 7, version.digest);
    bindDigest(row, 8, version.stateDigest);
    row.bind(9, state);
    row.bind(10, trace);
    row.bind(11, m_bundle);
    if (version.run < m_runs.size()) {
        row.bind(12, m_runs[version.run]);
    }
    if (!version.programs.empty()) {
        bindDigest(row, 13, version.programs.front());
    }
    row.bind(14, version.noProgramReason);
    row.bind(15, m_plan.created);
    row.bind(16, m_now);
    row.bind(17, device);
    row.bind(18, torch);
    row.bind(19, version.parameterBytes);
    row.bind(20, version.parameterCount);
    row.bind(21, version.callCount);
    row.executeStep();
    const std::int64_t id = row.getColumn(0).getInt64();
    row.tryReset();
    return id;
}

void BundleInserter::applyLabels(std::int64_t version) {
    for (const std::string& tag : m_plan.tags) {
        insertTag(m_connection, version, tag);
    }
    for (const auto& [key, value] : m_plan.attributes) {
        insertAttribute(m_connection, version, key, value);
    }
}

}  // namespace

base::Result<MissingContent> findMissing(Connection& connection, const ImportPlan& plan) {
    MissingContent missing;
    for (const auto& [digest, object] : plan.objects) {
        if (!idOf(connection, kFindObject, digest)) {
            missing.objects.push_back(digest);
        }
    }
    for (const auto& [digest, tensor] : plan.tensors) {
        if (!idOf(connection, kFindTensor, digest)) {
            missing.tensors.push_back(digest);
        }
    }
    return missing;
}

BundleRowsReport insertBundle(Connection& connection, const ImportPlan& plan, const std::optional<StagedPack>& pack) {
    return BundleInserter(connection, plan).insert(pack);
}

}  // namespace modulelens::registry
