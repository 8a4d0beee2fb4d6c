// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// einsum as ATen runs it: operands are contracted pair by pair, from the left or along `path`. A pair whose product is
// summed over some index is one batched matrix product; without such an index it is an elementwise product, which counts 0.
#include "backend/graph/operators/Formula.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

namespace modulelens::graph {

namespace {

/// Index name to size. Positions behind an ellipsis are named "0", "1", ... counted from the right.
using Indices = std::map<std::string, std::int64_t>;

/// Names of the indices of one operand, or nothing when the term does not fit its rank.
std::optional<std::vector<std::string>> namesOf(std::string_view term, std::size_t rank) {
    std::vector<std::string> names;
    const std::size_t dots = term.find("...");
    const std::size_t letters = dots == std::string_view::npos ? term.size() : term.size() - 3;
    if (letters > rank || (dots == std::string_view::npos && letters != rank)) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < term.size(); ++i) {
        if (i == dots) {
            for (std::size_t left = rank - letters; left > 0; --left) {
                names.push_back(std::to_string(left - 1));
            }
            i += 2;
        } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
            names.emplace_back(1, term[i]);
        } else {
            return std::nullopt;
        }
    }
    return names;
}

struct Problem {
    std::vector<Indices> operands;
    std::set<std::string> kept;             ///< Indices of the output.
};

std::vector<std::string> splitTerms(const std::string& text) {
    std::vector<std::string> terms{""};
    for (const char c : text) {
        if (c == ',') {
            terms.emplace_back();
        } else {
            terms.back().push_back(c);
        }
    }
    return terms;
}

std::optional<Problem> parse(std::string equation, const std::vector<CostTensor>& tensors) {
    std::erase(equation, ' ');
    const std::size_t arrow = equation.find("->");
    const std::vector<std::string> terms = splitTerms(equation.substr(0, arrow));
    if (terms.size() != tensors.size()) {
        return std::nullopt;
    }
    Problem problem;
    std::map<std::string, int> occurrences;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        const auto names = namesOf(terms[i], tensors[i].shape.size());
        if (!names) {
            return std::nullopt;
        }
        Indices indices;
        for (std::size_t d = 0; d < names->size(); ++d) {
            indices.emplace((*names)[d], tensors[i].shape[d]);
            ++occurrences[(*names)[d]];
        }
        problem.operands.push_back(std::move(indices));
    }
    const bool isExplicit = arrow != std::string::npos;
    const std::string output = isExplicit ? equation.substr(arrow + 2) : std::string();
    for (const auto& [name, count] : occurrences) {
        const bool isEllipsis = std::isdigit(static_cast<unsigned char>(name[0])) != 0;
        const bool isNamed = isEllipsis ? output.find("...") != std::string::npos : output.find(name) != std::string::npos;
        if (isExplicit ? isNamed : (isEllipsis || count == 1)) {
            problem.kept.insert(name);
        }
    }
    return problem;
}

/// Contracts two operands; indices that no other operand and not the output needs are summed away.
std::optional<std::int64_t> contract(const Indices& a, const Indices& b, const std::set<std::string>& needed, Indices& result) {
    Count count(2);
    bool isProduct = false;
    Indices all = a;
    for (const auto& [name, size] : b) {
        const auto [known, isNew] = all.emplace(name, size);
        if (!isNew && known->second != size && known->second != 1 && size != 1) {
            return std::nullopt;
        }
        known->second = std::max(known->second, size);
    }
    for (const auto& [name, size] : all) {
        if (needed.contains(name)) {
            result.emplace(name, size);
            count *= size;
            continue;
        }
        const auto inA = a.find(name);
        const auto inB = b.find(name);
        // An index of one operand alone is summed before the product, and so is one of size 1 in the other.
        if (inA != a.end() && inB != b.end() && inA->second != 1 && inB->second != 1) {
            isProduct = true;
            count *= size;
        }
    }
    return isProduct ? count.value() : std::optional<std::int64_t>(0);
}

std::optional<std::int64_t> einsum(const OperatorCall& call) {
    const auto* equation = call.inputs.empty() ? nullptr : std::get_if<std::string>(&call.inputs[0]);
    const auto* tensors = tensorsAt(call, 1);
    if (equation == nullptr || tensors == nullptr || tensors->empty()) {
        return std::nullopt;
    }
    auto problem = parse(*equation, *tensors);
    if (!problem) {
        return std::nullopt;
    }
    const auto path = integersAt(call, 2);
    std::vector<Indices>& operands = problem->operands;
    Count total(1);
    total *= 0;
    for (std::size_t step = 0; operands.size() > 1; ++step) {
        std::size_t first = 0;
        std::size_t second = 1;
        if (path && !path->empty()) {
            if (path->size() < 2 * step + 2) {
                return std::nullopt;
            }
            const auto [low, high] = std::minmax((*path)[2 * step], (*path)[2 * step + 1]);
            if (low < 0 || low == high || high >= static_cast<std::int64_t>(operands.size())) {
                return std::nullopt;
            }
            first = static_cast<std::size_t>(low);
            second = static_cast<std::size_t>(high);
        }
        const Indices a = operands[first];
        const Indices b = operands[second];
        operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(second));
        operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(first));
        std::set<std::string> needed = problem->kept;
        for (const Indices& other : operands) {
            for (const auto& [name, size] : other) {
                needed.insert(name);
            }
        }
        Indices joined;
        const auto flops = contract(a, b, needed, joined);
        if (!flops) {
            return std::nullopt;
        }
        total += Count(*flops);
        operands.insert(path && !path->empty() ? operands.end() : operands.begin(), std::move(joined));
    }
    return total.value();
}

constexpr std::array kRows = {
    FormulaRow{"aten::einsum", "equation tensors path", einsum},
};

}  // namespace

std::span<const FormulaRow> einsumFormulas() {
    return kRows;
}

}  // namespace modulelens::graph
