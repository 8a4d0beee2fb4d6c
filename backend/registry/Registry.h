// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/capture/Bundle.h"
#include "backend/capture/NodeDocument.h"
#include "backend/capture/RunRecord.h"
#include "backend/capture/VersionDocument.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::registry {

using capture::AttributeValue;
using capture::FileExtent;

/// A version as lists show it.
struct VersionSummary {
    std::string id;                     ///< Opaque, unique in the registry.
    std::string model;
    std::string module;
    std::string className;
    int number = 0;                     ///< The N of vN, from 0 in each collection.
    std::vector<std::string> tags;      ///< Sorted.
    std::vector<std::string> aliases;   ///< "latest" included where it applies.
    std::map<std::string, AttributeValue> attributes;
    std::string program;                ///< Digest of the first program, or empty.
    std::string noProgramReason;
    std::string created;                ///< UTC, when captured.
    std::string imported;               ///< UTC.
    std::string device;                 ///< Where it was captured.
    std::string torchVersion;
    std::int64_t parameterBytes = 0;
    int callCount = 0;
    std::string versionDigest;
    std::string stateDigest;
    std::string verdict;                ///< Of the newest validation: "pass", "fail", ..., or empty.
    bool exact = false;                 ///< Of that validation.
    std::optional<std::int64_t> latencyNs;     ///< Of the newest profile, as the metrics below.
    std::optional<std::int64_t> flops;
    std::optional<std::int64_t> bytesMoved;
    std::optional<std::int64_t> activationBytes;
    std::optional<std::int64_t> peakBytes;     ///< Of the newest profile or memory report that measured it.
    std::string deleted;                ///< UTC, when it went to the trash; empty outside of it.
};

/// Newest, Oldest and Name order by time and name; the others put the greatest first, and what is not known last.
enum class SortKey { Newest, Name, Parameters, Latency, Oldest, Flops, BytesMoved, Activation, Peak };

/// The words for sort keys in the command line and in settings: "newest", "name", ...; in the order of SortKey.
[[nodiscard]] std::span<const std::string_view> sortKeyNames();
[[nodiscard]] std::optional<SortKey> sortKeyOf(std::string_view name);

struct SearchRequest {
    std::string query;                  ///< Query language of DESIGN §8; empty finds everything.
    int limit = 50;                     ///< 1 to 1000.
    std::string cursor;                 ///< From SearchPage::nextCursor, or empty for the first page.
    SortKey sort = SortKey::Newest;
};

struct SearchPage {
    std::int64_t total = 0;             ///< Versions that the query finds in all.
    std::string nextCursor;             ///< Empty on the last page.
    std::vector<VersionSummary> versions;
};

/// A model or module in the browser's grouping.
struct GroupSummary {
    std::string name;                   ///< Model name, or module name within a model.
    std::int64_t moduleCount = 0;
    std::int64_t versionCount = 0;
    std::string className;              ///< For modules: class of the newest version.
};

struct FacetValue {
    std::string value;
    std::int64_t count = 0;
};

/// What a facet counts, by the word of the query language that asks for one of its values.
struct Facet {
    std::string field;                  ///< "model", "class", "tag", "device", "dtype".
    std::vector<FacetValue> values;     ///< Most frequent first.
};

/// A search that somebody gave a name.
struct SavedSearch {
    std::string name;
    std::string query;
};

/// How one version came from another. Read as: this version is "derived from", a "candidate of", "merged from" the other.
enum class LinkKind { DerivedFrom, CandidateOf, MergedFrom };

/// "derived_from", "candidate_of", "merged_from".
[[nodiscard]] std::string_view linkKindName(LinkKind kind);
[[nodiscard]] std::optional<LinkKind> linkKindOf(std::string_view name);

struct LineageLink {
    LinkKind kind = LinkKind::DerivedFrom;
    std::string otherId;
    std::string otherAddress;           ///< MODEL::MODULE@vN, encoded.
    bool incoming = false;              ///< The other came from this one.
};

/// A stored measurement.
struct StoredResult {
    std::string id;
    std::string kind;                   ///< "profile", "validation", "benchmark", "memory".
    std::string created;                ///< UTC.
    std::string device;
    std::string engine;                 ///< "program" or "source".
    std::string json;                   ///< The result without bulk data.
    std::filesystem::path file;         ///< Profile or timeline file, or empty.
};

struct RunSummary {
    std::string id;
    std::string model;
    std::string collection;             ///< registered_model_...
    std::int64_t step = 0;
    std::string started;
    std::string digest;
    std::int64_t callCount = 0;
};

/// A place that keeps captured module versions. Every function blocks on disk or network, so none is called on the GUI
/// thread. Thread-safe.
/// Errors that every function may give: Corrupt (the store is damaged), PermissionDenied, StorageFull, Unavailable.
class Registry {
public:
    virtual ~Registry() = default;

    /// Where it is, for a person: a folder or "wandb:ENTITY/REGISTRY".
    [[nodiscard]] virtual std::string displayName() const = 0;

    /// InvalidArgument: the query has an error; the message points at the character.
    [[nodiscard]] virtual base::Result<SearchPage> search(const SearchRequest& request) = 0;
    /// Models with a version that the query finds, by name.
    [[nodiscard]] virtual base::Result<std::vector<GroupSummary>> models(const std::string& query) = 0;
    /// Modules of one model with a version that the query finds, in the model's own order (first captured first).
    [[nodiscard]] virtual base::Result<std::vector<GroupSummary>> modules(const std::string& model,
                                                                          const std::string& query) = 0;
    /// `field`: "model", "tag", "class", "device". Most frequent first.
    [[nodiscard]] virtual base::Result<std::vector<FacetValue>> facet(const std::string& field, const std::string& query) = 0;

    /// Finds a version by address (DESIGN §4) or id. NotFound names the nearest that exists.
    [[nodiscard]] virtual base::Result<VersionSummary> resolve(const std::string& addressOrId) = 0;
    [[nodiscard]] virtual base::Result<capture::VersionDocument> versionDocument(const std::string& id) = 0;
    [[nodiscard]] virtual base::Result<capture::NodeDocument> node(const std::string& digest) = 0;
    /// The node's file as it was written: JSON with everything that `node` reads of it.
    [[nodiscard]] virtual base::Result<std::string> nodeText(const std::string& digest) = 0;
    /// Text of a class source.
    [[nodiscard]] virtual base::Result<std::string> source(const std::string& digest) = 0;
    /// Where tensor data lies in local files; fetches first where the registry is remote. NotFound names the first missing.
    [[nodiscard]] virtual base::Result<std::map<std::string, FileExtent>> tensors(const std::vector<std::string>& digests) = 0;
    /// Where a program lies in a local file.
    [[nodiscard]] virtual base::Result<FileExtent> program(const std::string& digest) = 0;
    [[nodiscard]] virtual base::Result<std::vector<RunSummary>> runs(const std::string& model) = 0;
    [[nodiscard]] virtual base::Result<capture::RunRecord> runRecord(const std::string& digest) = 0;
    /// The run that a version was captured in, when it is known.
    [[nodiscard]] virtual base::Result<std::optional<RunSummary>> runOf(const std::string& id) = 0;

    /// Not an error when the tag is there already. InvalidArgument: empty, control characters, over 128 characters.
    [[nodiscard]] virtual base::Result<void> addTag(const std::string& id, const std::string& tag) = 0;
    /// Not an error when absent.
    [[nodiscard]] virtual base::Result<void> removeTag(const std::string& id, const std::string& tag) = 0;
    /// Points `alias` of the version's collection at it, moving it if it was elsewhere. InvalidArgument: "latest", "v<N>".
    [[nodiscard]] virtual base::Result<void> setAlias(const std::string& id, const std::string& alias) = 0;
    [[nodiscard]] virtual base::Result<void> removeAlias(const std::string& id, const std::string& alias) = 0;
    [[nodiscard]] virtual base::Result<void> setAttribute(const std::string& id, const std::string& key,
                                                          const AttributeValue& value) = 0;
    [[nodiscard]] virtual base::Result<void> removeAttribute(const std::string& id, const std::string& key) = 0;
    /// Moves the version to the trash; its number is never given again.
    [[nodiscard]] virtual base::Result<void> remove(const std::string& id) = 0;

    /// Stores a measurement of a version; `file` (may be empty) is copied into the registry.
    [[nodiscard]] virtual base::Result<StoredResult> storeResult(const std::string& id, const StoredResult& result) = 0;
    /// Newest first. `kind` empty: all.
    [[nodiscard]] virtual base::Result<std::vector<StoredResult>> results(const std::string& id, const std::string& kind) = 0;

    // What follows is Unsupported in a registry that does not offer it.

    /// Several facets of one moment in one call, in the order of `fields`.
    [[nodiscard]] virtual base::Result<std::vector<Facet>> facets(const std::vector<std::string>& fields,
                                                                  const std::string& query);
    /// Names that `field` ("model", "module", "class", "tag", "alias", "device", "dtype", "attr") may ask for and that hold `text`, those
    /// that begin with it first, at most `limit`. For completion.
    [[nodiscard]] virtual base::Result<std::vector<std::string>> namesLike(const std::string& field, const std::string& text,
                                                                           int limit);
    /// The version's document and a run record as they were written, verified against their digests.
    [[nodiscard]] virtual base::Result<std::string> versionText(const std::string& id);
    [[nodiscard]] virtual base::Result<std::string> runText(const std::string& digest);

    /// What lies in the trash, the latest first.
    [[nodiscard]] virtual base::Result<std::vector<VersionSummary>> trash();
    /// Takes a version out of the trash. NotFound: it is not there. AlreadyExists: the same content was imported again.
    [[nodiscard]] virtual base::Result<void> restore(const std::string& id);

    /// The version's note: text (Markdown) for people; empty when it has none.
    [[nodiscard]] virtual base::Result<std::string> note(const std::string& id);
    /// InvalidArgument: over 64 KiB, broken UTF-8, a NUL. An empty text takes the note away.
    [[nodiscard]] virtual base::Result<void> setNote(const std::string& id, const std::string& text);

    /// Links of both directions, those of this version first.
    [[nodiscard]] virtual base::Result<std::vector<LineageLink>> links(const std::string& id);
    /// Not an error when the link is there already. InvalidArgument: a version linked to itself, or a circle.
    [[nodiscard]] virtual base::Result<void> addLink(const std::string& id, LinkKind kind, const std::string& otherId);
    /// Not an error when absent.
    [[nodiscard]] virtual base::Result<void> removeLink(const std::string& id, LinkKind kind, const std::string& otherId);

    /// By name.
    [[nodiscard]] virtual base::Result<std::vector<SavedSearch>> savedSearches();
    /// Replaces one of that name. InvalidArgument: a name that no tag could have, or a query with an error.
    [[nodiscard]] virtual base::Result<void> saveSearch(const SavedSearch& search);
    /// NotFound: there is none of that name.
    [[nodiscard]] virtual base::Result<void> removeSavedSearch(const std::string& name);

protected:
    /// Unsupported: the registry does not offer `what`.
    [[nodiscard]] base::Error notOffered(const std::string& what) const;
};

/// What an import did.
struct ImportReport {
    std::vector<std::filesystem::path> bundles;
    int versionsNew = 0;
    int versionsKnown = 0;                 ///< The same content was there already.
    int runsNew = 0;
    std::uint64_t bytesRead = 0;
    std::uint64_t bytesStored = 0;
    std::vector<VersionSummary> versions;  ///< New ones, in bundle order.
    std::vector<std::string> warnings;
    bool needsConsent = false;             ///< A part of the file waits for the user's consent; the last warning says which.
};

/// What a self-check of a registry found.
struct CheckReport {
    std::int64_t objects = 0;              ///< Objects whose bytes were hashed.
    std::int64_t packs = 0;
    std::int64_t tensors = 0;              ///< Tensors whose place was compared with their pack's header.
    std::uint64_t bytesRead = 0;
    std::vector<std::string> problems;     ///< One sentence each; empty when nothing is wrong.
};

/// What a registry holds, in numbers. Bytes are those of files.
struct RegistryStatistics {
    std::int64_t models = 0;
    std::int64_t collections = 0;
    std::int64_t versions = 0;             ///< Without those in the trash.
    std::int64_t trashed = 0;
    std::int64_t runs = 0;
    std::int64_t results = 0;
    std::int64_t objects = 0;
    std::uint64_t objectBytes = 0;
    std::int64_t packs = 0;
    std::uint64_t packBytes = 0;
    std::int64_t tensors = 0;
    std::uint64_t tensorBytes = 0;
    std::uint64_t deadBytes = 0;           ///< Objects and tensors that no version and no run outside the trash needs.
    std::uint64_t databaseBytes = 0;
    int schemaVersion = 0;
    int waiting = 0;                       ///< Entries of the inbox.
};

struct GarbageSettings {
    bool isDryRun = false;
    /// Versions that were deleted at least this long ago are taken from the trash for good.
    std::chrono::seconds trashAge{0};
};

/// What collecting garbage did, or would do.
struct GarbageReport {
    int versions = 0;                      ///< Taken from the trash for good.
    std::int64_t objects = 0;              ///< Removed.
    std::int64_t packs = 0;                ///< Removed, those that were rewritten included.
    std::int64_t packsRewritten = 0;
    std::int64_t tensors = 0;              ///< Removed.
    std::uint64_t bytesFreed = 0;          ///< Net of what rewriting added.
    std::uint64_t bytesKeptDead = 0;       ///< Dead bytes in packs that are at least half alive.
};

/// What recovering a registry found.
struct RecoveryReport {
    int versions = 0;
    int runs = 0;
    std::filesystem::path damagedDatabase;   ///< Where the damaged one is kept; empty when there was none.
    std::vector<std::string> problems;       ///< What could not be recovered, one sentence each.
};

using ByteProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// The embedded registry: one folder with registry.sqlite, packs/, objects/, inbox/, trash (docs/formats/registry.md).
class LocalRegistry : public Registry {
public:
    enum class Mode { ReadWrite, ReadOnly };

    /// Opens `folder`, creating an empty registry in ReadWrite mode when there is none (its parent must exist or be
    /// creatable), and sweeps leftovers of processes that died. PermissionDenied: the folder cannot be written.
    /// Unsupported: written by a newer version. NotFound: ReadOnly and nothing is there. `files` must outlive the registry.
    [[nodiscard]] static base::Result<std::unique_ptr<LocalRegistry>> open(base::FileSystem& files,
                                                                           const std::filesystem::path& folder, Mode mode);

    /// Makes a new database for a folder whose own is damaged or gone, from its objects and packs: every version whose files are
    /// whole, numbered anew in the order of capture. Tags, aliases, attributes, notes, links and results are lost with the old
    /// database, which is kept beside. InvalidArgument: the database is sound. Timeout: somebody uses it. Until the new database is made, every
    /// error leaves the folder as it was.
    [[nodiscard]] static base::Result<RecoveryReport> recover(base::FileSystem& files, const std::filesystem::path& folder,
                                                              std::stop_token stop, const ByteProgress& progress);

    /// Imports a bundle, a .mlens, or a folder of bundles: verifies everything first, stores what is new, commits once a
    /// bundle, the earliest capture first. On any error the registry is as it was before the failing bundle.
    [[nodiscard]] virtual base::Result<ImportReport> import(const std::filesystem::path& path, std::stop_token stop,
                                                            const ByteProgress& progress) = 0;
    /// Imports every bundle in inbox/ and removes those imported; a bundle that fails stays, named in warnings.
    /// While another process imports, nothing is done, with a warning.
    [[nodiscard]] virtual base::Result<ImportReport> importInbox(std::stop_token stop, const ByteProgress& progress) = 0;
    /// Reads everything: the sha256 of every object and pack, every tensor's place in its pack, files that the database does
    /// not know, and the database itself. Problems are findings, not errors. Cancelled when `stop` is asked.
    [[nodiscard]] virtual base::Result<CheckReport> check(std::stop_token stop, const ByteProgress& progress) = 0;
    /// Empties the trash and gives back the space of what nothing needs any more: objects, packs without a needed tensor; packs less
    /// than half of whose bytes are needed are rewritten. Nothing that a version outside the trash needs is touched. Cancelled: what was done stays.
    [[nodiscard]] virtual base::Result<GarbageReport> collectGarbage(const GarbageSettings& settings, std::stop_token stop,
                                                                     const ByteProgress& progress) = 0;
    [[nodiscard]] virtual base::Result<RegistryStatistics> statistics() = 0;
    /// Moves the registry to `target`, which must be absent or an empty folder: renamed on one disk, else copied, checked and only then removed here.
    /// Afterwards this object answers Unavailable; open the new folder. AlreadyExists: something is there. Timeout: somebody
    /// else uses the registry. Cancelled and every error: the registry is where it was.
    [[nodiscard]] virtual base::Result<void> moveTo(const std::filesystem::path& target, std::stop_token stop,
                                                    const ByteProgress& progress) = 0;
    [[nodiscard]] virtual std::filesystem::path folder() const = 0;
};

enum class LabelKind { Tag, Alias, Attribute };

/// InvalidArgument when no version can get a label of that name; what addTag, setAlias and setAttribute refuse.
[[nodiscard]] base::Result<void> checkLabelName(LabelKind kind, const std::string& name);

/// MODULELENS_REGISTRY, else "modulelens/registry" under the user's data folder (XDG_DATA_HOME, else ~/.local/share).
/// Empty when none of these is set.
[[nodiscard]] std::filesystem::path defaultRegistryFolder();

}  // namespace modulelens::registry
