// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace modulelens::cli {

/// An option that a verb takes. `value` names its value in the help text; a flag has none.
struct OptionSpec {
    std::string_view name; ///< Without "--".
    std::string_view value;
    std::string_view help;
};

/// A verb of the command line.
struct VerbSpec {
    std::string_view name;
    std::string_view positionals; ///< For the help text: "VERSION", "[QUERY...]".
    std::size_t minimum = 0;      ///< Positional arguments.
    std::size_t maximum = 0;
    std::string_view help;
    std::vector<OptionSpec> options;
};

/// What was typed, checked against the table of verbs. Immutable after construction.
class Arguments {
public:
    /// Reads the arguments after the program's name. InvalidArgument: unknown verb or option (the message names the
    /// nearest), a missing or superfluous value.
    [[nodiscard]] static base::Result<Arguments> parse(const std::vector<std::string>& words);

    /// Null when only --help or --version was asked for.
    [[nodiscard]] const VerbSpec* verb() const { return m_verb; }
    [[nodiscard]] const std::vector<std::string>& positionals() const { return m_positionals; }
    [[nodiscard]] bool has(std::string_view option) const { return m_options.find(option) != m_options.end(); }
    /// The last value; empty when the option was not given.
    [[nodiscard]] std::string text(std::string_view option) const;
    /// Every value of an option that was given several times, in order; text() is the last one.
    [[nodiscard]] std::vector<std::string> texts(std::string_view option) const;
    /// InvalidArgument: not an integer from `minimum` to `maximum`.
    [[nodiscard]] base::Result<std::optional<int>> integer(std::string_view option, int minimum,
                                                           int maximum = std::numeric_limits<int>::max()) const;
    /// An option in seconds with a fraction. InvalidArgument: not a positive number.
    [[nodiscard]] base::Result<std::optional<std::chrono::milliseconds>> seconds(std::string_view option) const;
    [[nodiscard]] base::Result<std::optional<std::chrono::milliseconds>> timeout() const { return seconds("timeout"); }

private:
    const VerbSpec* m_verb = nullptr;
    std::vector<std::string> m_positionals;
    std::map<std::string, std::vector<std::string>, std::less<>> m_options;
};

/// Every verb, in the order of the help text.
[[nodiscard]] const std::vector<VerbSpec>& verbs();

/// The options that every verb takes.
[[nodiscard]] const std::vector<OptionSpec>& commonOptions();

/// Help for one verb, or for all when it is null.
[[nodiscard]] std::string helpText(const VerbSpec* verb);

/// The candidate with the fewest edits from `word`; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates);

} // namespace modulelens::cli
