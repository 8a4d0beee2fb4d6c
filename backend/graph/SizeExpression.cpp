// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/SizeExpression.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <limits>
#include <numeric>
#include <vector>

namespace modulelens::graph {

namespace {

constexpr std::size_t kMaximumLength = 64 * 1024;
constexpr int kMaximumDepth = 100;
constexpr std::int64_t kMaximumExponent = 62;

/// Thrown and caught in this file: the expression has no value.
struct NoValue : std::exception {};

/// An exact fraction, denominator above zero, in lowest terms.
struct Fraction {
    std::int64_t numerator = 0;
    std::int64_t denominator = 1;
};

std::int64_t multiply(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) {
        throw NoValue{};
    }
    return result;
}

std::int64_t add(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) {
        throw NoValue{};
    }
    return result;
}

Fraction fraction(std::int64_t numerator, std::int64_t denominator) {
    constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
    if (denominator == 0 || numerator == kLowest || denominator == kLowest) {
        throw NoValue{};
    }
    if (denominator < 0) {
        numerator = -numerator;
        denominator = -denominator;
    }
    const std::int64_t divisor = std::max<std::int64_t>(std::gcd(numerator, denominator), 1);
    return {numerator / divisor, denominator / divisor};
}

Fraction operator+(Fraction a, Fraction b) {
    return fraction(add(multiply(a.numerator, b.denominator), multiply(b.numerator, a.denominator)),
                    multiply(a.denominator, b.denominator));
}

Fraction operator*(Fraction a, Fraction b) {
    return fraction(multiply(a.numerator, b.numerator), multiply(a.denominator, b.denominator));
}

Fraction operator/(Fraction a, Fraction b) {
    return a * fraction(b.denominator, b.numerator);
}

Fraction negated(Fraction a) {
    return fraction(multiply(a.numerator, -1), a.denominator);
}

bool isLess(Fraction a, Fraction b) {
    return multiply(a.numerator, b.denominator) < multiply(b.numerator, a.denominator);
}

Fraction floorOf(Fraction a) {
    const std::int64_t quotient = a.numerator / a.denominator;
    return {a.numerator % a.denominator < 0 ? quotient - 1 : quotient, 1};
}

Fraction ceilingOf(Fraction a) {
    return negated(floorOf(negated(a)));
}

/// Python's remainder: its sign is the divisor's.
Fraction moduloOf(Fraction a, Fraction b) {
    return a + negated(b * floorOf(a / b));
}

Fraction powerOf(Fraction base, Fraction exponent) {
    if (exponent.denominator != 1 || exponent.numerator > kMaximumExponent || exponent.numerator < -kMaximumExponent) {
        throw NoValue{};
    }
    Fraction result{1, 1};
    for (std::int64_t i = 0; i < std::abs(exponent.numerator); ++i) {
        result = result * base;
    }
    return exponent.numerator < 0 ? Fraction{1, 1} / result : result;
}

bool isNameStart(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

/// Recursive descent, with a limit on depth. Confined to its thread.
class Evaluator {
public:
    Evaluator(std::string_view text, const std::map<std::string, std::int64_t>& symbols) : m_text(text), m_symbols(symbols) {}

    Fraction run() {
        const Fraction value = sum();
        if (peek() != '\0') {
            throw NoValue{};
        }
        return value;
    }

private:
    char peek() {
        while (m_position < m_text.size() && m_text[m_position] == ' ') {
            ++m_position;
        }
        return m_position < m_text.size() ? m_text[m_position] : '\0';
    }

    bool accept(std::string_view token) {
        peek();
        if (!m_text.substr(m_position).starts_with(token)) {
            return false;
        }
        m_position += token.size();
        return true;
    }

    void expect(std::string_view token) {
        if (!accept(token)) {
            throw NoValue{};
        }
    }

    Fraction sum() {
        Fraction value = term();
        while (true) {
            if (accept("+")) {
                value = value + term();
            } else if (accept("-")) {
                value = value + negated(term());
            } else {
                return value;
            }
        }
    }

    Fraction term() {
        Fraction value = unary();
        while (true) {
            if (peek() == '*' && !m_text.substr(m_position).starts_with("**")) {
                ++m_position;
                value = value * unary();
            } else if (accept("//")) {
                value = floorOf(value / unary());
            } else if (accept("/")) {
                value = value / unary();
            } else if (accept("%")) {
                value = moduloOf(value, unary());
            } else {
                return value;
            }
        }
    }

    Fraction unary() {
        const DepthGuard guard(m_depth);
        if (accept("-")) {
            return negated(unary());
        }
        const Fraction base = atom();
        return accept("**") ? powerOf(base, unary()) : base;
    }

    Fraction atom() {
        const char first = peek();
        if (accept("(")) {
            const Fraction value = sum();
            expect(")");
            return value;
        }
        if (isDigit(first)) {
            return {literal(), 1};
        }
        const std::string name = identifier();
        if (!accept("(")) {
            return symbol(name);
        }
        if (name == "Symbol" || name == "Dummy") {
            return symbolCall();
        }
        std::vector<Fraction> arguments;
        while (!accept(")")) {
            arguments.push_back(sum());
            if (!accept(",") && peek() != ')') {
                throw NoValue{};
            }
        }
        return call(name, arguments);
    }

    std::int64_t literal() {
        std::int64_t value = 0;
        const char* const end = m_text.data() + m_text.size();
        const auto [stop, code] = std::from_chars(m_text.data() + m_position, end, value);
        if (code != std::errc() || (stop != end && (*stop == '.' || isNameStart(*stop)))) {
            throw NoValue{};
        }
        m_position = static_cast<std::size_t>(stop - m_text.data());
        return value;
    }

    std::string identifier() {
        const std::size_t start = m_position;
        while (m_position < m_text.size() && (isNameStart(m_text[m_position]) || isDigit(m_text[m_position]))) {
            ++m_position;
        }
        if (start == m_position) {
            throw NoValue{};
        }
        return std::string(m_text.substr(start, m_position - start));
    }

    /// The rest of "Symbol('s77', positive=True, integer=True)": only the name matters.
    Fraction symbolCall() {
        const char quote = peek();
        if (quote != '\'' && quote != '"') {
            throw NoValue{};
        }
        const std::size_t close = m_text.find(quote, m_position + 1);
        const std::size_t end = m_text.find(')', m_position + 1);
        if (close == std::string_view::npos || end == std::string_view::npos || end < close) {
            throw NoValue{};
        }
        const std::string name(m_text.substr(m_position + 1, close - m_position - 1));
        m_position = end + 1;
        return symbol(name);
    }

    Fraction symbol(const std::string& name) const {
        const auto found = m_symbols.find(name);
        if (found == m_symbols.end()) {
            throw NoValue{};
        }
        return {found->second, 1};
    }

    static Fraction call(const std::string& name, const std::vector<Fraction>& arguments) {
        if (arguments.empty()) {
            throw NoValue{};
        }
        if (name == "Add" || name == "Mul" || name == "Max" || name == "Min") {
            return fold(name, arguments);
        }
        if (arguments.size() == 1) {
            return callOfOne(name, arguments[0]);
        }
        if (arguments.size() == 2) {
            return callOfTwo(name, arguments[0], arguments[1]);
        }
        if (name == "ModularIndexing" && arguments.size() == 3) {
            return moduloOf(floorOf(arguments[0] / arguments[1]), arguments[2]);
        }
        throw NoValue{};
    }

    static Fraction fold(const std::string& name, const std::vector<Fraction>& arguments) {
        Fraction result = arguments[0];
        for (std::size_t i = 1; i < arguments.size(); ++i) {
            if (name == "Add") {
                result = result + arguments[i];
            } else if (name == "Mul") {
                result = result * arguments[i];
            } else if (isLess(result, arguments[i]) == (name == "Max")) {
                result = arguments[i];
            }
        }
        return result;
    }

    static Fraction callOfOne(const std::string& name, Fraction value) {
        if (name == "Integer" || name == "ToInt" || name == "Identity") {
            return value;
        }
        if (name == "floor" || name == "FloorToInt") {
            return floorOf(value);
        }
        if (name == "ceiling" || name == "ceil" || name == "CeilToInt") {
            return ceilingOf(value);
        }
        if (name == "TruncToInt" || name == "trunc") {
            return isLess(value, {0, 1}) ? ceilingOf(value) : floorOf(value);
        }
        if (name == "Abs" || name == "abs") {
            return isLess(value, {0, 1}) ? negated(value) : value;
        }
        throw NoValue{};
    }

    static Fraction callOfTwo(const std::string& name, Fraction a, Fraction b) {
        if (name == "Rational" || name == "IntTrueDiv" || name == "CleanDiv") {
            return a / b;
        }
        if (name == "FloorDiv") {
            return floorOf(a / b);
        }
        if (name == "CeilDiv") {
            return ceilingOf(a / b);
        }
        if (name == "Mod" || name == "PythonMod") {
            return moduloOf(a, b);
        }
        if (name == "Pow" || name == "PowByNatural") {
            return powerOf(a, b);
        }
        throw NoValue{};
    }

    class DepthGuard {
    public:
        explicit DepthGuard(int& depth) : m_level(depth) {
            if (m_level >= kMaximumDepth) {
                throw NoValue{};
            }
            ++m_level;
        }
        ~DepthGuard() { --m_level; }
        DepthGuard(const DepthGuard&) = delete;
        DepthGuard& operator=(const DepthGuard&) = delete;

    private:
        int& m_level;
    };

    std::string_view m_text;
    const std::map<std::string, std::int64_t>& m_symbols;
    std::size_t m_position = 0;
    int m_depth = 0;
};

}  // namespace

std::optional<std::int64_t> evaluateSize(std::string_view expression, const std::map<std::string, std::int64_t>& symbols) {
    if (expression.size() > kMaximumLength) {
        return std::nullopt;
    }
    try {
        const Fraction value = Evaluator(expression, symbols).run();
        return value.denominator == 1 ? std::optional(value.numerator) : std::nullopt;
    } catch (const NoValue&) {
        return std::nullopt;
    }
}

std::optional<std::string> soleSymbol(std::string_view expression) {
    if (expression.starts_with("Symbol(") && expression.size() > 8) {
        const std::size_t close = expression.find(expression[7], 8);
        if (close != std::string_view::npos && expression.find('(', 7) == std::string_view::npos) {
            return std::string(expression.substr(8, close - 8));
        }
        return std::nullopt;
    }
    const bool isName = !expression.empty() && isNameStart(expression[0]) &&
                        std::all_of(expression.begin(), expression.end(), [](char c) { return isNameStart(c) || isDigit(c); });
    return isName ? std::optional(std::string(expression)) : std::nullopt;
}

bool mentionsSymbol(std::string_view expression, std::string_view symbol) {
    const auto isWord = [](char c) { return isNameStart(c) || isDigit(c); };
    for (std::size_t at = expression.find(symbol); at != std::string_view::npos; at = expression.find(symbol, at + 1)) {
        const std::size_t end = at + symbol.size();
        const bool startsWord = at == 0 || !isWord(expression[at - 1]);
        const bool endsWord = end == expression.size() || !isWord(expression[end]);
        if (startsWord && endsWord) {
            return true;
        }
    }
    return false;
}

}  // namespace modulelens::graph
