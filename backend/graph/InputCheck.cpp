// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/InputCheck.h"

#include "backend/graph/SizeExpression.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace modulelens::graph {

namespace {

constexpr const char* kAdvice =
    "Use inputs like those that the program was exported with, or capture the module with such inputs.";
// Bounds beyond this are torch.export's way to write "any size".
constexpr std::int64_t kUnbounded = std::int64_t{1} << 62;

/// Thrown and caught in this file.
class Misfit : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

std::string rangeText(const SymbolRange& range) {
    const bool hasMaximum = range.maximum && *range.maximum < kUnbounded;
    const std::int64_t minimum = std::max<std::int64_t>(range.minimum.value_or(0), 0);
    return hasMaximum ? "from " + std::to_string(minimum) + " to " + std::to_string(*range.maximum)
                      : "of " + std::to_string(minimum) + " or more";
}

/// Gathers the values of symbols. Confined to its thread.
class Matcher {
public:
    explicit Matcher(const Program& program) : m_program(program) {
        m_names.reserve(program.ranges.size());
        for (const auto& [name, range] : program.ranges) {
            m_names.push_back(name);
        }
    }

    void addTensor(const GivenInput& given, const TensorMeta& meta) {
        const std::string& input = given.name;
        if (given.dtype != meta.dtype) {
            throw Misfit{input + " is " + std::string(base::scalarTypeName(given.dtype)) + ", and the program takes " +
                         std::string(base::scalarTypeName(meta.dtype))};
        }
        if (given.sizes.size() != meta.sizes.size()) {
            throw Misfit{input + " has " + std::to_string(given.sizes.size()) + " dimensions, and the program takes " +
                         std::to_string(meta.sizes.size())};
        }
        const std::string type = meta.device.substr(0, meta.device.find(':'));
        if (!given.deviceType.empty() && type != "meta" && given.deviceType != type) {
            throw Misfit{input + " was captured on " + given.deviceType + ", and the program takes it on " + type};
        }
        for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
            addSize("dimension " + std::to_string(i) + " of " + input, given.sizes[i], meta.sizes[i]);
        }
    }

    void addSize(const std::string& where, std::int64_t value, const SymbolicInteger& size) {
        if (size.literal) {
            if (*size.literal != value) {
                throw Misfit{where + " is " + std::to_string(value) + ", and the program was exported for " +
                             std::to_string(*size.literal) + " alone"};
            }
        } else if (const auto symbol = soleSymbol(size.expression)) {
            bindSymbol(where, value, *symbol);
        } else {
            m_derived.push_back({where, value, size.expression});
        }
    }

    /// Dimensions that are computed from symbols: checked, or solved for the one symbol that is still unknown.
    std::map<std::string, std::int64_t> finish() {
        bool isProgress = true;
        while (isProgress) {
            isProgress = false;
            std::erase_if(m_derived, [&](const Derived& derived) {
                const bool isDone = settle(derived);
                isProgress = isProgress || isDone;
                return isDone;
            });
        }
        return std::move(m_symbols);
    }

private:
    struct Derived {
        std::string where;
        std::int64_t value = 0;
        std::string expression;
    };

    void bindSymbol(const std::string& where, std::int64_t value, const std::string& symbol) {
        const auto known = m_symbols.find(symbol);
        if (known != m_symbols.end()) {
            if (known->second != value) {
                throw Misfit{where + " is " + std::to_string(value) + ", and the program takes it equal to " +
                             m_origins[symbol] + ", which is " + std::to_string(known->second)};
            }
            return;
        }
        const auto range = m_program.ranges.find(symbol);
        if (range != m_program.ranges.end()) {
            const bool isBelow = range->second.minimum && value < *range->second.minimum;
            const bool isAbove = range->second.maximum && value > *range->second.maximum;
            if (isBelow || isAbove) {
                throw Misfit{where + " is " + std::to_string(value) + ", and the program takes sizes " +
                             rangeText(range->second)};
            }
        }
        m_symbols.emplace(symbol, value);
        m_origins.emplace(symbol, where);
    }

    bool settle(const Derived& derived) {
        if (const auto expected = evaluateSize(derived.expression, m_symbols)) {
            if (*expected != derived.value) {
                throw Misfit{derived.where + " is " + std::to_string(derived.value) +
                             ", and with the other sizes the program takes " + std::to_string(*expected)};
            }
            return true;
        }
        const std::string* unknown = nullptr;
        for (const std::string& name : m_names) {
            if (m_symbols.count(name) == 0 && mentionsSymbol(derived.expression, name)) {
                if (unknown != nullptr) {
                    return false;
                }
                unknown = &name;
            }
        }
        return unknown != nullptr && solve(derived, *unknown);
    }

    // Sizes that export derives are linear in their symbol: two points give the line.
    bool solve(const Derived& derived, const std::string& symbol) {
        const auto at = [&](std::int64_t value) {
            std::map<std::string, std::int64_t> symbols = m_symbols;
            symbols[symbol] = value;
            return evaluateSize(derived.expression, symbols);
        };
        const auto first = at(0);
        const auto second = at(1);
        std::int64_t slope = 0;
        std::int64_t rise = 0;
        if (!first || !second || __builtin_sub_overflow(*second, *first, &slope) || slope == 0 ||
            __builtin_sub_overflow(derived.value, *first, &rise)) {
            return false;
        }
        const bool isMinimum = slope == -1 && rise == std::numeric_limits<std::int64_t>::min();
        const std::int64_t value = isMinimum ? 0 : rise / slope;
        if (isMinimum || rise % slope != 0 || at(value) != derived.value) {
            throw Misfit{derived.where + " is " + std::to_string(derived.value) + ", and the program takes sizes of the form " +
                         readable(derived.expression, symbol)};
        }
        bindSymbol(derived.where + " is " + std::to_string(derived.value) + ", so that " + symbol, value, symbol);
        return true;
    }

    // The sympy form is for machines; what it comes to at 1, 2, 3 says as much.
    [[nodiscard]] std::string readable(const std::string& expression, const std::string& symbol) const {
        std::string text;
        for (std::int64_t i = 1; i <= 3; ++i) {
            std::map<std::string, std::int64_t> symbols = m_symbols;
            symbols[symbol] = i;
            const auto value = evaluateSize(expression, symbols);
            text += (value ? std::to_string(*value) : std::string("?")) + ", ";
        }
        return text + "…";
    }

    const Program& m_program;
    std::vector<std::string> m_names;
    std::map<std::string, std::int64_t> m_symbols;
    std::map<std::string, std::string> m_origins;
    std::vector<Derived> m_derived;
};

void add(Matcher& matcher, const Program& program, const GivenInput& given) {
    const auto* argument = std::get_if<ValueArgument>(&program.graph.inputs.at(given.index));
    if (argument == nullptr || argument->value < 0) {
        return;
    }
    const Value& value = program.graph.values.at(static_cast<std::size_t>(argument->value));
    if (value.kind == ValueKind::Tensor) {
        if (!given.isTensor) {
            throw Misfit{given.name + " is no tensor, and the program takes one"};
        }
        if (value.tensor) {
            matcher.addTensor(given, *value.tensor);
        }
    } else if (given.isTensor) {
        throw Misfit{given.name + " is a tensor, and the program takes a number"};
    } else if (value.kind == ValueKind::SymbolicInteger && value.integer) {
        if (!given.integer) {
            throw Misfit{given.name + " is no integer, and the program takes one"};
        }
        matcher.addSize(given.name, *given.integer, *value.integer);
    }
}

}  // namespace

base::Result<std::map<std::string, std::int64_t>> checkInputs(const Program& program, const std::vector<GivenInput>& given) {
    try {
        Matcher matcher(program);
        for (const GivenInput& input : given) {
            add(matcher, program, input);
        }
        return matcher.finish();
    } catch (const Misfit& misfit) {
        return base::Error{base::ErrorCode::InvalidArgument, misfit.what(), kAdvice};
    }
}

}  // namespace modulelens::graph
