// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "backend/operations/ResultDocuments.h"
#include "backend/operations/Sentences.h"
#include "backend/operations/WorkerCommand.h"
#include "backend/registry/VersionAddress.h"

#include <QProcess>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

namespace modulelens::cli {

namespace {

using nlohmann::ordered_json;

/// KEY=VALUE; a value that reads as a number or as true or false is one.
base::Result<std::pair<std::string, registry::AttributeValue>> parseAttribute(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
        return base::Error{base::ErrorCode::InvalidArgument, "'" + text + "' is not KEY=VALUE", {}};
    }
    const std::string key = text.substr(0, equals);
    const std::string value = text.substr(equals + 1);
    if (value == "true" || value == "false") {
        return std::pair(key, registry::AttributeValue(value == "true"));
    }
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && !value.empty() && number - number == 0) {
        return std::pair(key, registry::AttributeValue(number));
    }
    return std::pair(key, registry::AttributeValue(value));
}

using Edit = std::function<base::Result<void>(registry::Registry&, const std::string& id, const std::string& name)>;

const std::map<std::string, Edit>& edits() {
    static const std::map<std::string, Edit> table = {
        {"add", &registry::Registry::addTag},
        {"remove", &registry::Registry::removeTag},
        {"alias", &registry::Registry::setAlias},
        {"unalias", &registry::Registry::removeAlias},
        {"unset", &registry::Registry::removeAttribute},
        {"set",
         [](registry::Registry& registry, const std::string& id, const std::string& text) -> base::Result<void> {
             const auto attribute = parseAttribute(text);
             if (!attribute) {
                 return attribute.error();
             }
             return registry.setAttribute(id, attribute->first, attribute->second);
         }},
    };
    return table;
}

/// Whether `action` takes `name`. Removing takes any, since what cannot be there is not there.
base::Result<void> checkName(const std::string& action, const std::string& name) {
    if (action == "add") {
        return registry::checkLabelName(registry::LabelKind::Tag, name);
    }
    if (action == "alias" || action == "unalias") {
        return registry::checkLabelName(registry::LabelKind::Alias, name);
    }
    if (action == "set") {
        const auto attribute = parseAttribute(name);
        return attribute ? registry::checkLabelName(registry::LabelKind::Attribute, attribute->first)
                         : base::Result<void>(attribute.error());
    }
    return {};
}

} // namespace

base::Result<Answer> tag(CommandContext& context) {
    const std::vector<std::string>& words = context.arguments().positionals();
    const auto edit = edits().find(words[0]);
    if (edit == edits().end()) {
        std::vector<std::string_view> actions;
        for (const auto& [action, function] : edits()) {
            actions.push_back(action);
        }
        const std::string near = nearest(words[0], actions);
        return base::Error{base::ErrorCode::InvalidArgument, "'tag' has no action '" + words[0] + "'",
                           near.empty() ? "Give add, remove, alias, unalias, set or unset." : "Did you mean '" + near + "'?"};
    }
    // All names are checked before the first is used, so that a bad one changes nothing.
    for (std::size_t i = 2; i < words.size(); ++i) {
        if (const base::Result<void> fit = checkName(words[0], words[i]); !fit) {
            return fit.error();
        }
    }
    const auto registry = context.openAnyRegistry(Access::Writing);
    if (!registry) {
        return registry.error();
    }
    const base::Result<registry::VersionSummary> version = (*registry)->resolve(words[1]);
    if (!version) {
        return version.error();
    }
    for (std::size_t i = 2; i < words.size(); ++i) {
        if (const base::Result<void> done = edit->second(**registry, version->id, words[i]); !done) {
            return done.error();
        }
    }
    const base::Result<registry::VersionSummary> changed = (*registry)->resolve(version->id);
    if (!changed) {
        return changed.error();
    }
    Answer answer;
    answer.data = operations::versionDocument(*changed);
    const auto list = [](const std::vector<std::string>& names) {
        std::string text;
        for (const std::string& name : names) {
            text += (text.empty() ? "" : ", ") + name;
        }
        return text.empty() ? "-" : text;
    };
    answer.text = operations::versionAddress(*changed) + '\n' +
                  formatTable({{"Tags", list(changed->tags)},
                               {"Aliases", list(changed->aliases)},
                               {"Attributes", operations::attributesText(changed->attributes)}},
                              {});
    return answer;
}

base::Result<Answer> deleteVersions(CommandContext& context) {
    const bool isDryRun = context.arguments().has("dry-run");
    const auto registry = context.openAnyRegistry(isDryRun ? Access::Reading : Access::Writing);
    if (!registry) {
        return registry.error();
    }
    // All of them are found before the first is deleted, so that a mistyped one changes nothing.
    std::vector<registry::VersionSummary> versions;
    for (const std::string& address : context.arguments().positionals()) {
        base::Result<registry::VersionSummary> version = (*registry)->resolve(address);
        if (!version) {
            return version.error();
        }
        const auto isSame = [&](const registry::VersionSummary& other) { return other.id == version->id; };
        if (std::none_of(versions.begin(), versions.end(), isSame)) {
            versions.push_back(*std::move(version));
        }
    }
    Answer answer;
    ordered_json list = ordered_json::array();
    for (const registry::VersionSummary& version : versions) {
        if (!isDryRun) {
            if (const base::Result<void> done = (*registry)->remove(version.id); !done) {
                return done.error();
            }
        }
        list.push_back({{"id", version.id}, {"address", operations::versionAddress(version)}});
        answer.text += (isDryRun ? "Would delete " : "Deleted ") + operations::versionAddress(version) + '\n';
    }
    answer.data = {{"dry_run", isDryRun}, {"deleted", std::move(list)}};
    return answer;
}

base::Result<Answer> openExplorer(CommandContext& context) {
    const std::string program = operations::findCompanionProgram("modulelens-explorer");
    if (program.empty()) {
        return base::Error{base::ErrorCode::EnvironmentMissing,
                           "the explorer 'modulelens-explorer' is neither beside this program nor on PATH",
                           "Build it with ./dev build, or add its folder to PATH."};
    }
    const bool hasScreen = !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") ||
                           !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
    if (!hasScreen) {
        return base::Error{
            base::ErrorCode::EnvironmentMissing, "the explorer needs a screen, and this session has none",
            "Run it where DISPLAY or WAYLAND_DISPLAY is set; `show`, `tree` and `profile` say the same as text."};
    }
    std::vector<std::string> words = {"--registry", context.registryFolder().string()};
    ordered_json address;
    if (!context.arguments().positionals().empty()) {
        const auto registry = context.openRegistry(Access::Reading);
        if (!registry) {
            return registry.error();
        }
        const base::Result<registry::VersionSummary> version = (*registry)->resolve(context.arguments().positionals().front());
        if (!version) {
            return version.error();
        }
        address = operations::versionAddress(*version);
        words.push_back(registry::formatDeepLink(address.get<std::string>(), "hierarchy"));
    }
    QStringList arguments;
    for (const std::string& word : words) {
        arguments.append(QString::fromStdString(word));
    }
    qint64 processId = 0;
    if (!QProcess::startDetached(QString::fromStdString(program), arguments, QString(), &processId)) {
        return base::Error{base::ErrorCode::EnvironmentMissing, "the explorer '" + program + "' cannot be started",
                           "Check that the file may be executed."};
    }
    Answer answer;
    answer.data = {{"program", program}, {"pid", processId}, {"address", address}, {"arguments", words}};
    answer.text = "Started " + program + '\n';
    return answer;
}

} // namespace modulelens::cli
