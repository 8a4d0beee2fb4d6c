// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Notes and lineage of versions.
#include "app/cli/Commands.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/registry/Registry.h"

#include <algorithm>

namespace modulelens::cli {

namespace {

using nlohmann::ordered_json;

/// "candidate_of" as people write and read it: "candidate-of".
std::string dashed(std::string_view name) {
    std::string text(name);
    std::replace(text.begin(), text.end(), '_', '-');
    return text;
}

std::optional<registry::LinkKind> kindOf(std::string text) {
    std::replace(text.begin(), text.end(), '-', '_');
    return registry::linkKindOf(text);
}

base::Result<Answer> linksAnswer(registry::Registry& registry, const registry::VersionSummary& version) {
    const base::Result<std::vector<registry::LineageLink>> links = registry.links(version.id);
    if (!links) {
        return links.error();
    }
    Answer answer;
    ordered_json list = ordered_json::array();
    for (const registry::LineageLink& link : *links) {
        list.push_back({{"kind", registry::linkKindName(link.kind)},
                        {"incoming", link.incoming},
                        {"id", link.otherId},
                        {"address", link.otherAddress}});
        answer.text += link.incoming ? link.otherAddress + ' ' + dashed(registry::linkKindName(link.kind)) + " this\n"
                                     : "this " + dashed(registry::linkKindName(link.kind)) + ' ' + link.otherAddress + '\n';
    }
    if (links->empty()) {
        answer.text = "No links.\n";
    }
    answer.data = {{"id", version.id}, {"address", operations::versionAddress(version)}, {"links", std::move(list)}};
    return answer;
}

} // namespace

base::Result<Answer> note(CommandContext& context) {
    const std::vector<std::string>& words = context.arguments().positionals();
    const bool isSetting = words.size() > 1;
    const auto registry = context.openRegistry(isSetting ? Access::Writing : Access::Reading);
    if (!registry) {
        return registry.error();
    }
    const base::Result<registry::VersionSummary> version = (*registry)->resolve(words[0]);
    if (!version) {
        return version.error();
    }
    if (isSetting) {
        std::string text = words[1];
        for (std::size_t i = 2; i < words.size(); ++i) {
            text += ' ' + words[i];
        }
        if (const base::Result<void> done = (*registry)->setNote(version->id, text); !done) {
            return done.error();
        }
    }
    const base::Result<std::string> text = (*registry)->note(version->id);
    if (!text) {
        return text.error();
    }
    Answer answer;
    answer.data = {{"id", version->id}, {"address", operations::versionAddress(*version)}, {"note", *text}};
    answer.text = text->empty() ? "" : *text + '\n';
    return answer;
}

base::Result<Answer> link(CommandContext& context) {
    const std::vector<std::string>& words = context.arguments().positionals();
    const bool isChanging = words.size() == 3;
    if (words.size() == 2) {
        return base::Error{base::ErrorCode::InvalidArgument, "'link' takes VERSION alone, or VERSION KIND OTHER", {}};
    }
    registry::LinkKind kind = registry::LinkKind::DerivedFrom;
    if (const std::optional<registry::LinkKind> named = isChanging ? kindOf(words[1]) : kind) {
        kind = *named;
    } else {
        return base::Error{base::ErrorCode::InvalidArgument, "There is no kind of link '" + words[1] + "'",
                           "Give derived-from, candidate-of or merged-from."};
    }
    const auto registry = context.openRegistry(isChanging ? Access::Writing : Access::Reading);
    if (!registry) {
        return registry.error();
    }
    const base::Result<registry::VersionSummary> version = (*registry)->resolve(words[0]);
    if (!version) {
        return version.error();
    }
    if (isChanging) {
        const base::Result<registry::VersionSummary> other = (*registry)->resolve(words[2]);
        if (!other) {
            return other.error();
        }
        const base::Result<void> done = context.arguments().has("remove")
                                            ? (*registry)->removeLink(version->id, kind, other->id)
                                            : (*registry)->addLink(version->id, kind, other->id);
        if (!done) {
            return done.error();
        }
    }
    return linksAnswer(**registry, *version);
}

} // namespace modulelens::cli
