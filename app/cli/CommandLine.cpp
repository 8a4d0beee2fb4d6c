// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Commands.h"
#include "backend/base/Guarded.h"
#include "backend/operations/Operations.h"
#include "backend/protocol/ErrorTable.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace modulelens::cli {

namespace {

const std::map<std::string_view, Command>& commands() {
    static const std::map<std::string_view, Command> table = {
        {"import", importFiles},
        {"search", search},
        {"show", show},
        {"tree", tree},
        {"rebuild", rebuild},
        {"validate", validate},
        {"profile", profileVersion},
        {"benchmark", benchmark},
        {"calibrate", calibrate},
        {"sweep", sweep},
        {"verify", verify},
        {"memory", memoryOfVersion},
        {"tag", tag},
        {"delete", deleteVersions},
        {"open", openExplorer},
        {"consent", consent},
        {"registry", registryNoun},
        {"export", exportVersions},
        {"note", note},
        {"link", link},
    };
    return table;
}

/// Where to print and how. Everything but the answer goes to standard error.
struct Printer {
    std::string command;
    bool asJson = false;

    [[nodiscard]] int answer(const Answer& answer) const {
        if (asJson) {
            print(envelope(command, answer) + '\n');
        } else {
            print(answer.text);
            warn(answer.warnings);
        }
        return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? answer.exitCode : failedToPrint();
    }

    [[nodiscard]] int fail(const base::Error& error, const std::vector<std::string>& warnings) const {
        if (asJson) {
            print(envelope(command, error, warnings) + '\n');
            std::fflush(stdout);
        } else {
            warn(warnings);
            std::fprintf(stderr, "modulelens: %s\n", printable(operations::errorSentence(error), true).c_str());
        }
        return protocol::exitCode(error.code);
    }

private:
    static void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

    static void warn(const std::vector<std::string>& warnings) {
        for (const std::string& warning : warnings) {
            std::fprintf(stderr, "modulelens: warning: %s\n", printable(warning, false).c_str());
        }
    }

    static int failedToPrint() {
        std::fputs("modulelens: The answer could not be written to standard output.\n", stderr);
        return protocol::exitCode(base::ErrorCode::StorageFull);
    }
};

Answer textAnswer(const char* key, const std::string& text) {
    Answer answer;
    answer.data = {{key, text}};
    answer.text = text;
    return answer;
}

} // namespace

int runCommandLine(const std::vector<std::string>& words) {
    Printer printer;
    // Also when the arguments cannot be read, whoever asked for JSON gets JSON.
    printer.asJson = std::find(words.begin(), words.end(), "--json") != words.end();
    const base::Result<Arguments> arguments = Arguments::parse(words);
    if (!arguments) {
        return printer.fail(arguments.error(), {});
    }
    const VerbSpec* verb = arguments->verb();
    printer.command = verb == nullptr ? "" : std::string(verb->name);
    if (arguments->has("help")) {
        return printer.answer(textAnswer("help", helpText(verb)));
    }
    if (arguments->has("version")) {
        return printer.answer(textAnswer("version", "modulelens " MODULELENS_VERSION "\n"));
    }
    if (verb == nullptr) {
        return printer.fail({base::ErrorCode::InvalidArgument, "no verb was given", "See modulelens --help."}, {});
    }
    const base::Result<std::optional<std::chrono::milliseconds>> timeout = arguments->timeout();
    if (!timeout) {
        return printer.fail(timeout.error(), {});
    }
    const Interruption interruption(*timeout);
    CommandContext context(*arguments, interruption);
    context.onPublish([&](const base::Result<Answer>& published) {
        if (!published) {
            static_cast<void>(printer.fail(published.error(), context.warnings()));
            return;
        }
        Answer shown = *published;
        shown.warnings = context.warnings();
        static_cast<void>(printer.answer(shown));
    });
    base::Result<Answer> answer = base::guarded(verb->name, [&] { return commands().at(verb->name)(context); });
    context.warnOfAge();
    if (!answer) {
        return printer.fail(interruption.explained(answer.error()), context.warnings());
    }
    answer->warnings = context.warnings();
    return printer.answer(*answer);
}

} // namespace modulelens::cli
