// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/BundleIndex.h"

#include "backend/base/ArchiveSafety.h"
#include "backend/base/Digest.h"
#include "backend/capture/JsonView.h"

#include <limits>
#include <set>

namespace modulelens::capture {

namespace {

constexpr std::int64_t kNewestSchema = 1;

BundleFile readFile(const JsonView& view, std::string_view digestKey) {
    BundleFile file;
    const JsonView name = view.at("file");
    file.name = name.string();
    const auto checked = base::checkRelativeName(file.name, name.where());
    if (!checked) {
        throw DocumentError{checked.error()};
    }
    file.sha256 = view.at(digestKey).digest();
    file.sizeBytes = static_cast<std::uint64_t>(view.at("size").nonNegative());
    return file;
}

std::vector<BundleFile> readFiles(const JsonView& list, std::string_view digestKey) {
    std::vector<BundleFile> files;
    files.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        files.push_back(readFile(list.element(i), digestKey));
    }
    return files;
}

std::vector<BundleVersion> readVersions(const JsonView& list, std::size_t runCount) {
    std::vector<BundleVersion> versions;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const JsonView item = list.element(i);
        BundleVersion version;
        version.file = readFile(item, "digest");
        version.collection = item.at("collection").string();
        version.model = item.at("model").string();
        version.module = item.at("module").string();
        version.className = item.at("class").string();
        if (version.collection != collectionId(version.model, version.module)) {
            item.at("collection").fail("is not the collection of its model and module");
        }
        const JsonView run = item.at("run");
        if (static_cast<std::uint64_t>(run.nonNegative()) >= runCount) {
            run.fail("is no run of this bundle");
        }
        version.run = static_cast<int>(run.integer());
        versions.push_back(std::move(version));
    }
    return versions;
}

std::vector<BundleTensorFile> readTensorFiles(const JsonView& list) {
    std::vector<BundleTensorFile> files;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const JsonView item = list.element(i);
        BundleTensorFile file;
        file.file = readFile(item, "sha256");
        const JsonView keys = item.at("keys");
        for (std::size_t k = 0; k < keys.size(); ++k) {
            file.keys.push_back(keys.element(k).digest());
        }
        files.push_back(std::move(file));
    }
    return files;
}

std::map<std::string, AttributeValue> readAttributes(const JsonView& view) {
    std::map<std::string, AttributeValue> attributes;
    view.forEachMember([&](const std::string& name, const JsonView& value) {
        const nlohmann::json& json = value.json();
        if (json.is_string()) {
            attributes.emplace(name, value.string());
        } else if (json.is_boolean()) {
            attributes.emplace(name, value.boolean());
        } else if (json.is_number()) {
            attributes.emplace(name, json.get<double>());
        } else {
            value.fail("is neither text, number nor boolean");
        }
    });
    return attributes;
}

int readRank(const JsonView& view, int worldSize) {
    const std::int64_t rank = view.integer();
    if (rank < 0 || rank >= worldSize) {
        view.fail("is no rank of the job");
    }
    return static_cast<int>(rank);
}

BundleRanks readRanks(const JsonView& view) {
    BundleRanks ranks;
    ranks.capture = view.at("capture").string();
    const std::int64_t worldSize = view.at("world_size").integer();
    if (worldSize < 1 || worldSize > std::numeric_limits<int>::max()) {
        view.at("world_size").fail("is no number of ranks");
    }
    ranks.worldSize = static_cast<int>(worldSize);
    if (const auto rank = view.find("rank")) {
        ranks.partOf = readRank(*rank, ranks.worldSize);
    }
    const JsonView merged = view.at("merged");
    ranks.merged.reserve(merged.size());
    for (std::size_t i = 0; i < merged.size(); ++i) {
        ranks.merged.push_back(readRank(merged.element(i), ranks.worldSize));
    }
    const JsonView missing = view.at("missing");
    ranks.missing.reserve(missing.size());
    for (std::size_t i = 0; i < missing.size(); ++i) {
        const JsonView item = missing.element(i);
        ranks.missing.push_back({readRank(item.at("rank"), ranks.worldSize), item.at("reason").string()});
    }
    return ranks;
}

void checkNamesOnce(const BundleIndex& index, const JsonView& view) {
    std::set<std::string> names{"bundle.json", "bundle.sha256"};
    for (const BundleFile& file : filesOf(index)) {
        if (!names.insert(file.name).second) {
            view.fail("names the file '" + file.name + "' twice");
        }
    }
}

BundleIndex readIndex(std::string_view text, const std::string& document) {
    const nlohmann::json json = parseJson(text, document);
    const JsonView view(json, document);
    checkSchema(view, "modulelens.bundle", kNewestSchema);
    BundleIndex index;
    index.sha256 = base::sha256Hex(text);
    index.created = view.at("created").string();
    index.model = view.at("model").string();
    index.complete = view.at("complete").boolean();
    index.incompleteReason = view.stringOr("incomplete_reason", "");
    if (const auto partial = view.find("partial")) {
        index.isPartial = partial->boolean();
    }
    index.tags = view.at("tags").strings();
    index.attributes = readAttributes(view.at("attributes"));
    index.runs = readFiles(view.at("runs"), "sha256");
    index.versions = readVersions(view.at("versions"), index.runs.size());
    index.nodes = readFiles(view.at("nodes"), "digest");
    index.programs = readFiles(view.at("programs"), "digest");
    index.sources = readFiles(view.at("sources"), "digest");
    index.tensors = readTensorFiles(view.at("tensors"));
    const JsonView environment = view.at("environment");
    if (!environment.json().is_object()) {
        environment.fail("is no object");
    }
    index.environment = std::make_shared<const nlohmann::json>(environment.json());
    if (const auto ranks = view.find("ranks")) {
        index.ranks = readRanks(*ranks);
    }
    checkNamesOnce(index, view);
    return index;
}

}  // namespace

base::Result<BundleIndex> parseBundleIndex(std::string_view text, const std::string& document) {
    return readDocument(document, [&] { return readIndex(text, document); });
}

std::vector<BundleFile> filesOf(const BundleIndex& index) {
    std::vector<BundleFile> files = index.runs;
    for (const BundleVersion& version : index.versions) {
        files.push_back(version.file);
    }
    for (const auto* list : {&index.nodes, &index.programs, &index.sources}) {
        files.insert(files.end(), list->begin(), list->end());
    }
    for (const BundleTensorFile& tensors : index.tensors) {
        files.push_back(tensors.file);
    }
    return files;
}

}  // namespace modulelens::capture
