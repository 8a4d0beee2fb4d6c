// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace modulelens::cli {

namespace {

base::Error usageError(std::string message, std::string fix) {
    return {base::ErrorCode::InvalidArgument, std::move(message), std::move(fix)};
}

std::size_t editDistance(std::string_view left, std::string_view right) {
    std::vector<std::size_t> row(right.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < left.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < right.size(); ++j) {
            const std::size_t substituted = diagonal + (left[i] == right[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates, const std::string& prefix,
                       const std::string& otherwise) {
    const std::string near = nearest(word, candidates);
    return near.empty() ? otherwise : "Did you mean '" + prefix + near + "'?";
}

base::Result<const VerbSpec*> findVerb(const std::string& word) {
    // A second word for the same verb, since both are natural.
    const std::string name = word == "remove" ? "delete" : word;
    std::vector<std::string_view> names;
    for (const VerbSpec& verb : verbs()) {
        if (verb.name == name) {
            return &verb;
        }
        names.push_back(verb.name);
    }
    return usageError("there is no verb '" + word + "'", suggestion(word, names, "", "See modulelens --help."));
}

base::Result<const OptionSpec*> findOption(const VerbSpec* verb, const std::string& name) {
    const std::vector<OptionSpec>& options = verb == nullptr ? commonOptions() : verb->options;
    std::vector<std::string_view> names;
    for (const OptionSpec& option : options) {
        if (option.name == name) {
            return &option;
        }
        names.push_back(option.name);
    }
    const std::string where = verb == nullptr ? std::string() : " for '" + std::string(verb->name) + "'";
    return usageError("there is no option '--" + name + "'" + where, suggestion(name, names, "--", "See modulelens --help."));
}

/// Position of the first word that is neither an option nor the value of one. The verb decides which options there are,
/// but the common ones may stand before it.
std::size_t indexOfVerb(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!words[i].starts_with('-')) {
            return i;
        }
        for (const OptionSpec& option : commonOptions()) {
            if (!option.value.empty() && words[i] == "--" + std::string(option.name)) {
                ++i;
                break;
            }
        }
    }
    return words.size();
}

} // namespace

std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
    std::string_view best;
    std::size_t least = std::max<std::size_t>(2, word.size() / 2) + 1;
    for (const std::string_view candidate : candidates) {
        const bool isPrefix = !word.empty() && candidate.starts_with(word);
        const std::size_t distance = isPrefix ? 0 : editDistance(word, candidate);
        if (distance < least) {
            least = distance;
            best = candidate;
        }
    }
    return std::string(best);
}

base::Result<Arguments> Arguments::parse(const std::vector<std::string>& words) {
    Arguments arguments;
    bool onlyPositionals = false;
    const std::size_t verbIndex = indexOfVerb(words);
    if (verbIndex < words.size()) {
        const base::Result<const VerbSpec*> verb = findVerb(words[verbIndex]);
        if (!verb) {
            return verb.error();
        }
        arguments.m_verb = *verb;
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i == verbIndex) {
            continue;
        }
        const std::string& word = words[i];
        if (onlyPositionals || !word.starts_with('-') || word == "-") {
            arguments.m_positionals.push_back(word);
            continue;
        }
        if (word == "--") {
            onlyPositionals = true;
            continue;
        }
        const std::string spelled = word == "-h" ? "--help" : word;
        if (!spelled.starts_with("--")) {
            // A query such as "-tag:old" begins with a minus.
            if (arguments.m_verb != nullptr && arguments.m_verb->name == "search") {
                arguments.m_positionals.push_back(word);
                continue;
            }
            return usageError("there is no option '" + word + "'",
                              "Options begin with two minus signs; write -- before a name that begins with one.");
        }
        const std::size_t equals = spelled.find('=');
        const std::string name = spelled.substr(2, equals == std::string::npos ? equals : equals - 2);
        const base::Result<const OptionSpec*> option = findOption(arguments.m_verb, name);
        if (!option) {
            return option.error();
        }
        std::string value;
        if ((*option)->value.empty()) {
            if (equals != std::string::npos) {
                return usageError("the option '--" + name + "' takes no value", {});
            }
        } else if (equals != std::string::npos) {
            value = spelled.substr(equals + 1);
        } else if (i + 1 < words.size()) {
            value = words[++i];
        } else {
            return usageError("the option '--" + name + "' needs a value",
                              "Write --" + name + ' ' + std::string((*option)->value) + ".");
        }
        arguments.m_options[name].push_back(value);
    }
    if (arguments.m_verb != nullptr && !arguments.has("help") && !arguments.has("version")) {
        const VerbSpec& verb = *arguments.m_verb;
        const std::size_t count = arguments.m_positionals.size();
        if (count < verb.minimum || count > verb.maximum) {
            return usageError("'" + std::string(verb.name) + "' takes " + std::string(verb.positionals) + ", not " +
                                  std::to_string(count) + (count == 1 ? " argument" : " arguments"),
                              "See modulelens " + std::string(verb.name) + " --help.");
        }
    }
    return arguments;
}

std::string Arguments::text(std::string_view option) const {
    const auto found = m_options.find(option);
    return found == m_options.end() ? std::string() : found->second.back();
}

std::vector<std::string> Arguments::texts(std::string_view option) const {
    const auto found = m_options.find(option);
    return found == m_options.end() ? std::vector<std::string>() : found->second;
}

base::Result<std::optional<int>> Arguments::integer(std::string_view option, int minimum, int maximum) const {
    if (!has(option)) {
        return std::optional<int>();
    }
    const std::string value = text(option);
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || value.empty() || number < minimum || number > maximum) {
        const std::string range = maximum == std::numeric_limits<int>::max()
                                      ? " of at least " + std::to_string(minimum)
                                      : " from " + std::to_string(minimum) + " to " + std::to_string(maximum);
        return usageError("'" + value + "' is no value for --" + std::string(option), "Give an integer" + range + ".");
    }
    return std::optional<int>(number);
}

base::Result<std::optional<std::chrono::milliseconds>> Arguments::seconds(std::string_view option) const {
    if (!has(option)) {
        return std::optional<std::chrono::milliseconds>();
    }
    constexpr double kLongestSeconds = 1e9;
    const std::string value = text(option);
    double seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (error != std::errc() || end != value.data() + value.size() || !(seconds > 0) || seconds > kLongestSeconds) {
        return usageError("'" + value + "' is no value for --" + std::string(option), "Give a positive number of seconds.");
    }
    return std::optional(std::chrono::milliseconds(std::max<std::int64_t>(1, std::llround(seconds * 1000))));
}

} // namespace modulelens::cli
