// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/TeamRegistry.h"
#include "backend/base/FileSystem.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/wandb/Exchange.h"

#include <cstdlib>

namespace modulelens::cli {

namespace {

using nlohmann::ordered_json;

/// --team, else MODULELENS_TEAM_REGISTRY.
base::Result<std::string> teamAddress(const CommandContext& context) {
    const char* set = std::getenv("MODULELENS_TEAM_REGISTRY");
    const std::string address =
        context.arguments().has("team") ? context.arguments().text("team") : std::string(set == nullptr ? "" : set);
    if (address.empty()) {
        return base::Error{base::ErrorCode::InvalidArgument, "no registry of a team is named",
                           "Name one with --team wandb:ENTITY/REGISTRY or MODULELENS_TEAM_REGISTRY."};
    }
    return address;
}

/// The versions named after the action, and those that --query finds. NotFound: the query finds none.
base::Result<std::vector<std::string>> chosenVersions(const CommandContext& context, registry::Registry& from) {
    const std::vector<std::string>& words = context.arguments().positionals();
    std::vector<std::string> versions(words.begin() + 1, words.end());
    if (!context.arguments().has("query")) {
        return versions;
    }
    registry::SearchRequest request;
    request.query = context.arguments().text("query");
    request.limit = 1000;
    do {
        const auto page = from.search(request);
        if (!page) {
            return page.error();
        }
        for (const registry::VersionSummary& version : page->versions) {
            versions.push_back(version.id);
        }
        request.cursor = page->nextCursor;
    } while (!request.cursor.empty());
    if (versions.empty()) {
        return base::Error{base::ErrorCode::NotFound, "the query finds no version", "See modulelens search."};
    }
    return versions;
}

void addReport(const wandb::PublishReport& report, Answer& answer) {
    for (const wandb::PublishedVersion& version : report.versions) {
        registry::VersionSummary there = version.from;
        there.number = version.number;
        const std::string address = operations::versionAddress(there);
        answer.data["versions"].push_back({{"id", version.id},
                                           {"address", address},
                                           {"from", operations::versionAddress(version.from)},
                                           {"new", !version.wasThere}});
        answer.text += (version.wasThere ? "Already there: " : "Published ") + address + ".\n";
    }
    answer.data["runs_new"] = answer.data.value("runs_new", 0) + report.runs;
    answer.data["bytes_sent"] = answer.data.value("bytes_sent", std::uint64_t{0}) + report.bytesSent;
    answer.data["bytes_known"] = answer.data.value("bytes_known", std::uint64_t{0}) + report.bytesKnown;
}

/// Publishes what waits, each from its own local registry and to its own team's.
base::Result<Answer> publishQueued(CommandContext& context, const std::vector<wandb::QueuedPublication>& waiting) {
    Answer answer;
    answer.data["versions"] = ordered_json::array();
    for (const wandb::QueuedPublication& publication : waiting) {
        auto team = openTeamRegistry(context, publication.address);
        if (!team) {
            return team.error();
        }
        auto local = registry::LocalRegistry::open(base::realFileSystem(), publication.registryFolder,
                                                   registry::LocalRegistry::Mode::ReadOnly);
        if (!local) {
            return local.error();
        }
        const auto report = wandb::publishVersions(**local, base::realFileSystem(), publication.versions, **team,
                                                   publication.seed, context.stop(), context.byteProgress("upload"));
        if (!report) {
            base::Error error = report.error();
            error.fix += std::string(error.fix.empty() ? "" : " ") +
                         "It waits in the queue: modulelens registry publish goes on with it.";
            return error;
        }
        if (auto removed = wandb::PublishQueue((*team)->cache()).remove(publication.seed); !removed) {
            return removed.error();
        }
        context.warnAll(report->warnings);
        addReport(*report, answer);
    }
    return answer;
}

} // namespace

base::Result<Answer> publishToTeam(CommandContext& context) {
    wandb::Cache cache(base::realFileSystem(), wandb::defaultCacheFolder(), wandb::defaultCacheLimit());
    wandb::PublishQueue queue(cache);
    if (context.arguments().positionals().size() == 1 && !context.arguments().has("query")) {
        const auto waiting = queue.all();
        if (waiting.empty()) {
            return base::Error{base::ErrorCode::InvalidArgument, "no version is named, and no publication waits in the queue",
                               "Name versions, or choose them with --query."};
        }
        return publishQueued(context, waiting);
    }
    const auto address = teamAddress(context);
    if (!address) {
        return address.error();
    }
    if (const auto parsed = wandb::parseRegistryAddress(*address); !parsed) {
        return parsed.error();
    }
    const auto local = context.openRegistry(Access::Reading);
    if (!local) {
        return local.error();
    }
    const auto versions = chosenVersions(context, **local);
    if (!versions) {
        return versions.error();
    }
    std::vector<std::string> ids;
    for (const std::string& version : *versions) {
        const auto summary = (*local)->resolve(version);
        if (!summary) {
            return summary.error();
        }
        ids.push_back(summary->id);
    }
    const auto publication = queue.add({"", *address, std::filesystem::absolute((*local)->folder()).string(), ids, ""});
    if (!publication) {
        return publication.error();
    }
    return publishQueued(context, {*publication});
}

base::Result<Answer> fetchFromTeam(CommandContext& context) {
    const auto address = teamAddress(context);
    if (!address) {
        return address.error();
    }
    const auto team = openTeamRegistry(context, *address);
    if (!team) {
        return team.error();
    }
    const auto versions = chosenVersions(context, **team);
    if (!versions) {
        return versions.error();
    }
    if (versions->empty()) {
        return base::Error{base::ErrorCode::InvalidArgument, "'registry fetch' takes versions of the team's registry",
                           "Name them, or choose them with --query."};
    }
    const auto local = context.openRegistry(Access::Writing);
    if (!local) {
        return local.error();
    }
    const auto report = wandb::fetchVersions(**team, *versions, **local, base::realFileSystem(), context.stop(),
                                             context.byteProgress("import"));
    if (!report) {
        return report.error();
    }
    context.warnAll(report->warnings);
    Answer answer;
    answer.data = operations::importDocument(*report);
    answer.data["registry"] = context.registryFolder().string();
    answer.text = operations::importSentence(*report) + '\n';
    return answer;
}

base::Result<Answer> showQueue(CommandContext& context) {
    wandb::Cache cache(base::realFileSystem(), wandb::defaultCacheFolder(), wandb::defaultCacheLimit());
    wandb::PublishQueue queue(cache);
    const std::vector<std::string>& words = context.arguments().positionals();
    const auto waiting = queue.all();
    Answer answer;
    answer.data["publications"] = ordered_json::array();
    std::vector<std::vector<std::string>> rows = {{"ID", "TO", "VERSIONS", "ASKED FOR"}};
    for (const wandb::QueuedPublication& publication : waiting) {
        if (words.size() == 3 && words[1] == "remove" && publication.seed == words[2]) {
            if (auto removed = queue.remove(publication.seed); !removed) {
                return removed.error();
            }
            answer.text = "Removed " + publication.seed + " from the queue.\n";
            return answer;
        }
        answer.data["publications"].push_back({{"id", publication.seed},
                                               {"team", publication.address},
                                               {"registry", publication.registryFolder},
                                               {"versions", publication.versions},
                                               {"created", publication.created}});
        rows.push_back(
            {publication.seed, publication.address, std::to_string(publication.versions.size()), publication.created});
    }
    if (words.size() > 1) {
        return base::Error{base::ErrorCode::NotFound, "no such publication waits in the queue",
                           "List them with modulelens registry queue; take one out with registry queue remove ID."};
    }
    answer.text = waiting.empty() ? "Nothing waits to be published.\n" : formatTable(rows, {2});
    return answer;
}

base::Result<Answer> showCache(CommandContext& context) {
    wandb::Cache cache(base::realFileSystem(), wandb::defaultCacheFolder(), wandb::defaultCacheLimit());
    const std::vector<std::string>& words = context.arguments().positionals();
    if (words.size() > 2 || (words.size() == 2 && words[1] != "clear")) {
        return base::Error{base::ErrorCode::InvalidArgument, "'registry cache' takes nothing, or clear", ""};
    }
    if (words.size() == 2) {
        if (auto cleared = cache.clear(); !cleared) {
            return cleared.error();
        }
    }
    const wandb::CacheReport report = cache.report();
    Answer answer;
    answer.data = {{"folder", report.folder.string()},
                   {"files", report.files},
                   {"bytes", report.sizeBytes},
                   {"limit_bytes", report.limitBytes}};
    answer.text = report.folder.string() + ": " + operations::countText(report.files, "file", "files") + ", " +
                  operations::bytesText(static_cast<std::int64_t>(report.sizeBytes)) + " of " +
                  operations::bytesText(static_cast<std::int64_t>(report.limitBytes)) + ".\n";
    return answer;
}

} // namespace modulelens::cli
