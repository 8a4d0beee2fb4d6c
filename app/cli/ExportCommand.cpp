// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "backend/operations/Sentences.h"
#include "backend/registry/BundleExport.h"

namespace modulelens::cli {

using nlohmann::ordered_json;

base::Result<Answer> exportVersions(CommandContext& context) {
    std::vector<std::string> addresses = context.arguments().positionals();
    const std::filesystem::path folder = addresses.back();
    addresses.pop_back();
    const auto registry = context.openAnyRegistry(Access::Reading);
    if (!registry) {
        return registry.error();
    }
    const base::Result<registry::ExportReport> report = registry::exportBundles(
        **registry, base::realFileSystem(), addresses, folder, context.stop(), context.byteProgress("export"));
    if (!report) {
        return report.error();
    }
    Answer answer;
    ordered_json bundles = ordered_json::array();
    for (const std::filesystem::path& bundle : report->bundles) {
        bundles.push_back(bundle.string());
        answer.text += bundle.string() + '\n';
    }
    answer.data = {{"versions", report->versions},
                   {"bundles", std::move(bundles)},
                   {"files", report->files},
                   {"bytes_written", report->bytesWritten}};
    answer.text += operations::countText(report->versions, "version", "versions") + " in " +
                   operations::bytesText(static_cast<std::int64_t>(report->bytesWritten)) + ".\n";
    return answer;
}

} // namespace modulelens::cli
