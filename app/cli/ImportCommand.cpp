// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "backend/operations/Permissions.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"

namespace modulelens::cli {

using nlohmann::ordered_json;

base::Result<Answer> importFiles(CommandContext& context) {
    const base::Result<operations::OperationContext> operation = context.operationContext();
    if (!operation) {
        return operation.error();
    }
    const auto registry = context.openRegistry(Access::Writing);
    if (!registry) {
        return registry.error();
    }
    operations::Operations operations(*registry, {});
    if (const base::Result<void> allowed = context.allow(operations); !allowed) {
        return allowed.error();
    }
    const operations::ImportSettings settings{context.arguments().text("model"), context.arguments().texts("input"), false};
    registry::ImportReport all;
    for (const std::string& path : context.arguments().positionals()) {
        base::Result<registry::ImportReport> report = operations.import(path, settings, *operation);
        if (!report) {
            base::Error error = report.error();
            if (!all.bundles.empty()) {
                error.message += "; the paths before it stay imported";
            }
            return error;
        }
        all.bundles.insert(all.bundles.end(), report->bundles.begin(), report->bundles.end());
        all.versions.insert(all.versions.end(), report->versions.begin(), report->versions.end());
        all.versionsNew += report->versionsNew;
        all.versionsKnown += report->versionsKnown;
        all.runsNew += report->runsNew;
        all.bytesRead += report->bytesRead;
        all.bytesStored += report->bytesStored;
        context.warnAll(report->warnings);
    }
    Answer answer;
    answer.data = operations::importDocument(all);
    answer.data["registry"] = context.registryFolder().string();
    answer.text = operations::importSentence(all) + '\n';
    return answer;
}

base::Result<Answer> consent(CommandContext& context) {
    const std::vector<std::string>& words = context.arguments().positionals();
    const operations::ConsentStore store;
    const std::string action = words.empty() ? "list" : words.front();
    if ((action != "list" || words.size() > 1) && (action != "forget" || words.size() != 2)) {
        return base::Error{base::ErrorCode::InvalidArgument, "'consent' takes list, or forget and the beginning of a sha256",
                           "See modulelens consent --help."};
    }
    Answer answer;
    if (action == "forget") {
        const base::Result<int> count = store.forget(words[1]);
        if (!count) {
            return count.error();
        }
        if (*count == 0) {
            return base::Error{base::ErrorCode::NotFound, "no remembered consent begins with '" + words[1] + "'",
                               "See modulelens consent list."};
        }
        answer.data = {{"forgotten", *count}};
        answer.text = "Took back " + operations::countText(*count, "consent", "consents") + ".\n";
        return answer;
    }
    const auto all = store.all();
    if (!all) {
        return all.error();
    }
    ordered_json list = ordered_json::array();
    std::vector<std::vector<std::string>> rows = {{"SHA256", "KIND", "FILE", "GIVEN"}};
    for (const operations::Consent& each : *all) {
        list.push_back(
            {{"sha256", each.file.sha256}, {"kind", each.file.kind}, {"name", each.file.name}, {"given", each.given}});
        rows.push_back({each.file.sha256.substr(0, 12), each.file.kind, each.file.name, each.given});
    }
    answer.data = {{"file", store.path().string()}, {"consents", std::move(list)}};
    answer.text = all->empty() ? "Nothing was consented to.\n" : formatTable(rows, {});
    return answer;
}

} // namespace modulelens::cli
