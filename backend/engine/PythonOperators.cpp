// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Error.h"
#include "backend/engine/Executor.h"

#include <algorithm>
#include <cmath>

namespace modulelens::engine {

namespace {

std::int64_t floorDivide(std::int64_t left, std::int64_t right) {
    if (right == 0) {
        throw Failure({base::ErrorCode::InvalidArgument, "a size is divided by zero", ""});
    }
    const std::int64_t quotient = left / right;
    return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

bool isInteger(const c10::IValue& value) {
    return value.isInt() || value.isBool();
}

std::int64_t integerOf(const c10::IValue& value) {
    return value.isBool() ? static_cast<std::int64_t>(value.toBool()) : value.toInt();
}

double floatOf(const c10::IValue& value) {
    return value.isDouble() ? value.toDouble() : static_cast<double>(integerOf(value));
}

std::int64_t integerPower(std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0) {
            result *= base;
        }
        base *= base;
    }
    return result;
}

template <class T>
std::optional<c10::IValue> compare(PythonOperator operation, T left, T right) {
    switch (operation) {
        case PythonOperator::Less:
            return left < right;
        case PythonOperator::LessEqual:
            return left <= right;
        case PythonOperator::Greater:
            return left > right;
        case PythonOperator::GreaterEqual:
            return left >= right;
        case PythonOperator::Equal:
            return left == right;
        case PythonOperator::NotEqual:
            return left != right;
        case PythonOperator::Add:
            return left + right;
        case PythonOperator::Subtract:
            return left - right;
        case PythonOperator::Multiply:
            return left * right;
        case PythonOperator::Minimum:
            return std::min(left, right);
        case PythonOperator::Maximum:
            return std::max(left, right);
        default:
            return std::nullopt;
    }
}

c10::IValue evaluateUnary(PythonOperator operation, const c10::IValue& operand) {
    const bool isWhole = isInteger(operand);
    switch (operation) {
        case PythonOperator::Negate:
            return isWhole ? c10::IValue(-integerOf(operand)) : c10::IValue(-floatOf(operand));
        case PythonOperator::Absolute:
            return isWhole ? c10::IValue(std::abs(integerOf(operand))) : c10::IValue(std::abs(floatOf(operand)));
        case PythonOperator::Not:
            return floatOf(operand) == 0;
        case PythonOperator::ToFloat:
            return floatOf(operand);
        case PythonOperator::ToInteger:
            return isWhole ? integerOf(operand) : static_cast<std::int64_t>(std::trunc(floatOf(operand)));
        case PythonOperator::Ceiling:
            return isWhole ? integerOf(operand) : static_cast<std::int64_t>(std::ceil(floatOf(operand)));
        case PythonOperator::Floor:
            return isWhole ? integerOf(operand) : static_cast<std::int64_t>(std::floor(floatOf(operand)));
        case PythonOperator::Round:
            return isWhole ? integerOf(operand) : static_cast<std::int64_t>(std::nearbyint(floatOf(operand)));
        case PythonOperator::SquareRoot:
            return std::sqrt(floatOf(operand));
        default:
            break;
    }
    throw Failure({base::ErrorCode::Unsupported, "an operator on sizes has too few operands", ""});
}

c10::IValue evaluateBinary(PythonOperator operation, const c10::IValue& left, const c10::IValue& right) {
    const bool isWhole = isInteger(left) && isInteger(right);
    const auto compared =
        isWhole ? compare(operation, integerOf(left), integerOf(right)) : compare(operation, floatOf(left), floatOf(right));
    if (compared) {
        return *compared;
    }
    switch (operation) {
        case PythonOperator::FloorDivide:
            return isWhole ? c10::IValue(floorDivide(integerOf(left), integerOf(right)))
                           : c10::IValue(std::floor(floatOf(left) / floatOf(right)));
        case PythonOperator::TrueDivide:
            return floatOf(left) / floatOf(right);
        case PythonOperator::Modulo:
            return isWhole ? c10::IValue(integerOf(left) - floorDivide(integerOf(left), integerOf(right)) * integerOf(right))
                           : c10::IValue(floatOf(left) - std::floor(floatOf(left) / floatOf(right)) * floatOf(right));
        case PythonOperator::Power:
            return isWhole && integerOf(right) >= 0 ? c10::IValue(integerPower(integerOf(left), integerOf(right)))
                                                    : c10::IValue(std::pow(floatOf(left), floatOf(right)));
        case PythonOperator::And:
            return left.isBool() && right.isBool() ? c10::IValue(left.toBool() && right.toBool())
                                                   : c10::IValue(integerOf(left) & integerOf(right));
        case PythonOperator::Or:
            return left.isBool() && right.isBool() ? c10::IValue(left.toBool() || right.toBool())
                                                   : c10::IValue(integerOf(left) | integerOf(right));
        default:
            break;
    }
    throw Failure({base::ErrorCode::Unsupported, "an operator on sizes has too many operands", ""});
}

c10::IValue elementOf(const c10::IValue& container, const c10::IValue& index) {
    const auto elements =
        container.isTuple() ? c10::ArrayRef<c10::IValue>(container.toTupleRef().elements().vec()) : container.toListRef();
    return elements.at(static_cast<std::size_t>(integerOf(index)));
}

}  // namespace

c10::IValue evaluate(PythonOperator operation, const std::vector<c10::IValue>& operands) {
    if (operation == PythonOperator::GetItem && operands.size() == 2) {
        return elementOf(operands[0], operands[1]);
    }
    if (operation == PythonOperator::IfElse && operands.size() == 3) {
        return floatOf(operands[0]) != 0 ? operands[1] : operands[2];
    }
    if (operands.size() == 1) {
        return evaluateUnary(operation, operands[0]);
    }
    if (operands.size() == 2) {
        return evaluateBinary(operation, operands[0], operands[1]);
    }
    throw Failure({base::ErrorCode::Unsupported, "an operator on sizes has an unknown number of operands", ""});
}

}  // namespace modulelens::engine
