// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// The noun `registry`: what keeps a registry in order.
#include "app/cli/Commands.h"
#include "app/cli/TeamRegistry.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/protocol/ErrorTable.h"

#include <map>
#include <system_error>

namespace modulelens::cli {

namespace {

using nlohmann::ordered_json;

std::string bytesText(std::uint64_t bytes) {
    return operations::bytesText(static_cast<std::int64_t>(bytes));
}

base::Result<Answer> verifyRegistry(CommandContext& context) {
    const auto registry = context.openRegistry(Access::Reading);
    if (!registry) {
        return registry.error();
    }
    const base::Result<registry::CheckReport> report = (*registry)->check(context.stop(), context.byteProgress("verify"));
    if (!report) {
        return report.error();
    }
    Answer answer;
    const bool isClean = report->problems.empty();
    answer.data = {{"verdict", isClean ? "pass" : "fail"},
                   {"objects", report->objects},
                   {"packs", report->packs},
                   {"tensors", report->tensors},
                   {"bytes_read", report->bytesRead},
                   {"problems", report->problems},
                   {"registry", (*registry)->displayName()}};
    for (const std::string& problem : report->problems) {
        answer.text += problem + '\n';
    }
    answer.text += std::string(isClean ? "Nothing is wrong: " : "Something is wrong, of ") +
                   operations::countText(report->objects, "object", "objects") + ", " +
                   operations::countText(report->packs, "pack", "packs") + " and " +
                   operations::countText(report->tensors, "tensor", "tensors") + " (" + bytesText(report->bytesRead) + ").\n";
    answer.exitCode = isClean ? 0 : protocol::exitCode(base::ErrorCode::Corrupt);
    return answer;
}

base::Result<Answer> collectGarbage(CommandContext& context) {
    constexpr int kMostDays = 100'000;
    registry::GarbageSettings settings;
    settings.isDryRun = context.arguments().has("dry-run");
    const base::Result<std::optional<int>> days = context.arguments().integer("older-than", 0, kMostDays);
    if (!days) {
        return days.error();
    }
    settings.trashAge = std::chrono::hours(24) * days->value_or(0);
    const auto registry = context.openRegistry(Access::Writing);
    if (!registry) {
        return registry.error();
    }
    const base::Result<registry::GarbageReport> report =
        (*registry)->collectGarbage(settings, context.stop(), context.byteProgress("gc"));
    if (!report) {
        return report.error();
    }
    Answer answer;
    answer.data = {{"dry_run", settings.isDryRun},
                   {"versions", report->versions},
                   {"objects", report->objects},
                   {"packs", report->packs},
                   {"packs_rewritten", report->packsRewritten},
                   {"tensors", report->tensors},
                   {"bytes_freed", report->bytesFreed},
                   {"bytes_kept_dead", report->bytesKeptDead}};
    answer.text = std::string(settings.isDryRun ? "Would free " : "Freed ") + bytesText(report->bytesFreed) + ": " +
                  operations::countText(report->versions, "version", "versions") + " from the trash, " +
                  operations::countText(report->objects, "object", "objects") + ", " +
                  operations::countText(report->packs, "pack", "packs") + " (" + std::to_string(report->packsRewritten) +
                  " rewritten); " + bytesText(report->bytesKeptDead) + " stay in packs that are mostly in use.\n";
    return answer;
}

base::Result<Answer> showStatistics(CommandContext& context) {
    const auto registry = context.openRegistry(Access::Reading);
    if (!registry) {
        return registry.error();
    }
    const base::Result<registry::RegistryStatistics> numbers = (*registry)->statistics();
    if (!numbers) {
        return numbers.error();
    }
    Answer answer;
    answer.data = {{"registry", (*registry)->displayName()},
                   {"schema", numbers->schemaVersion},
                   {"models", numbers->models},
                   {"modules", numbers->collections},
                   {"versions", numbers->versions},
                   {"trashed", numbers->trashed},
                   {"runs", numbers->runs},
                   {"results", numbers->results},
                   {"objects", numbers->objects},
                   {"object_bytes", numbers->objectBytes},
                   {"packs", numbers->packs},
                   {"pack_bytes", numbers->packBytes},
                   {"tensors", numbers->tensors},
                   {"tensor_bytes", numbers->tensorBytes},
                   {"dead_bytes", numbers->deadBytes},
                   {"database_bytes", numbers->databaseBytes},
                   {"waiting", numbers->waiting}};
    answer.text = formatTable({{"WHAT", "COUNT", "BYTES"},
                               {"models", std::to_string(numbers->models), ""},
                               {"modules", std::to_string(numbers->collections), ""},
                               {"versions", std::to_string(numbers->versions), ""},
                               {"versions in the trash", std::to_string(numbers->trashed), ""},
                               {"runs", std::to_string(numbers->runs), ""},
                               {"stored results", std::to_string(numbers->results), ""},
                               {"objects", std::to_string(numbers->objects), bytesText(numbers->objectBytes)},
                               {"packs", std::to_string(numbers->packs), bytesText(numbers->packBytes)},
                               {"tensors", std::to_string(numbers->tensors), bytesText(numbers->tensorBytes)},
                               {"not needed any more", "", bytesText(numbers->deadBytes)},
                               {"database", "", bytesText(numbers->databaseBytes)},
                               {"waiting in the inbox", std::to_string(numbers->waiting), ""}},
                              {1, 2});
    return answer;
}

base::Result<Answer> moveRegistry(CommandContext& context) {
    const std::vector<std::string>& words = context.arguments().positionals();
    if (words.size() != 2) {
        return base::Error{base::ErrorCode::InvalidArgument, "'registry move' takes one folder", "Name where it is to go."};
    }
    const auto registry = context.openRegistry(Access::Writing);
    if (!registry) {
        return registry.error();
    }
    const std::string from = (*registry)->displayName();
    if (const base::Result<void> moved = (*registry)->moveTo(words[1], context.stop(), context.byteProgress("move")); !moved) {
        return moved.error();
    }
    Answer answer;
    answer.data = {{"from", from}, {"to", words[1]}};
    answer.text = "Moved " + from + " to " + words[1] + "; name it with --registry or MODULELENS_REGISTRY from now on.\n";
    return answer;
}

base::Result<Answer> showTrash(CommandContext& context) {
    const auto registry = context.openRegistry(Access::Reading);
    if (!registry) {
        return registry.error();
    }
    const base::Result<std::vector<registry::VersionSummary>> versions = (*registry)->trash();
    if (!versions) {
        return versions.error();
    }
    Answer answer;
    ordered_json list = ordered_json::array();
    std::vector<std::vector<std::string>> rows = {{"VERSION", "ID", "DELETED"}};
    for (const registry::VersionSummary& version : *versions) {
        list.push_back({{"id", version.id}, {"address", operations::versionAddress(version)}, {"deleted", version.deleted}});
        rows.push_back({operations::versionAddress(version), version.id, version.deleted});
    }
    answer.data = {{"versions", std::move(list)}};
    answer.text = versions->empty() ? "The trash is empty.\n" : formatTable(rows, {});
    return answer;
}

base::Result<Answer> restoreVersions(CommandContext& context) {
    const std::vector<std::string>& words = context.arguments().positionals();
    if (words.size() < 2) {
        return base::Error{base::ErrorCode::InvalidArgument, "'registry restore' takes ids of versions",
                           "List them with `modulelens registry trash`."};
    }
    const auto registry = context.openRegistry(Access::Writing);
    if (!registry) {
        return registry.error();
    }
    Answer answer;
    answer.data["versions"] = ordered_json::array();
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (const base::Result<void> restored = (*registry)->restore(words[i]); !restored) {
            return restored.error();
        }
        const base::Result<registry::VersionSummary> version = (*registry)->resolve(words[i]);
        if (!version) {
            return version.error();
        }
        answer.data["versions"].push_back({{"id", version->id}, {"address", operations::versionAddress(*version)}});
        answer.text += "Restored " + operations::versionAddress(*version) + ".\n";
    }
    return answer;
}

base::Result<Answer> recoverRegistry(CommandContext& context) {
    const std::filesystem::path folder = context.registryFolder();
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder / "objects", ignored)) {
        return base::Error{base::ErrorCode::NotFound, "there is no registry in '" + folder.string() + "'",
                           "Name a folder with --registry."};
    }
    const base::Result<registry::RecoveryReport> report =
        registry::LocalRegistry::recover(base::realFileSystem(), folder, context.stop(), context.byteProgress("recover"));
    if (!report) {
        return report.error();
    }
    Answer answer;
    const std::string kept = report->damagedDatabase.string();
    answer.data = {{"versions", report->versions},
                   {"runs", report->runs},
                   {"problems", report->problems},
                   {"damaged_database", kept.empty() ? ordered_json() : ordered_json(kept)}};
    for (const std::string& problem : report->problems) {
        answer.text += problem + '\n';
    }
    answer.text += "Recovered " + operations::countText(report->versions, "version", "versions") +
                   ", without labels, notes and results." + (kept.empty() ? "" : " The damaged database is " + kept + ".") +
                   '\n';
    return answer;
}

} // namespace

base::Result<Answer> registryNoun(CommandContext& context) {
    static const std::map<std::string, Command, std::less<>> kActions = {
        {"verify", verifyRegistry}, {"gc", collectGarbage},       {"stats", showStatistics},    {"move", moveRegistry},
        {"trash", showTrash},       {"restore", restoreVersions}, {"recover", recoverRegistry}, {"publish", publishToTeam},
        {"fetch", fetchFromTeam},   {"queue", showQueue},         {"cache", showCache}};
    const std::string action = context.arguments().positionals().front();
    const auto known = kActions.find(action);
    if (known == kActions.end()) {
        std::vector<std::string_view> names;
        names.reserve(kActions.size());
        for (const auto& [name, function] : kActions) {
            names.push_back(name);
        }
        const std::string near = nearest(action, names);
        return base::Error{base::ErrorCode::InvalidArgument, "'registry' has no action '" + action + "'",
                           near.empty()
                               ? "Give verify, gc, stats, move, trash, restore, recover, publish, fetch, queue or cache."
                               : "Did you mean '" + near + "'?"};
    }
    return known->second(context);
}

} // namespace modulelens::cli
