// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/Error.h"
#include "backend/engine/Executor.h"

#include <algorithm>
#include <cmath>

namespace modulelens::engine {

namespace {

bool isInteger(const c10::IValue& value) {
    return value.isInt() || value.isBool();
}

std::int64_t integerOf(const c10::IValue& value) {
    return value.isBool() ? static_cast<std::int64_t>(value.toBool()) : value.toInt();
}

double floatOf(const c10::IValue& value) {
    return value.isDouble() ? value.toDouble() : static_cast<double>(integerOf(value));
}

[[noreturn]] void failOverflow() {
    throw Failure({base::ErrorCode::InvalidArgument, "a size does not fit into 64 bits", ""});
}

std::int64_t multiply(std::int64_t left, std::int64_t right) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(left, right, &result)) {
        failOverflow();
    }
    return result;
}

std::int64_t add(std::int64_t left, std::int64_t right) {
    std::int64_t result = 0;
    if (__builtin_add_overflow(left, right, &result)) {
        failOverflow();
    }
    return result;
}

std::int64_t subtract(std::int64_t left, std::int64_t right) {
    std::int64_t result = 0;
    if (__builtin_sub_overflow(left, right, &result)) {
        failOverflow();
    }
    return result;
}

double multiply(double left, double right) {
    return left * right;
}
double add(double left, double right) {
    return left + right;
}
double subtract(double left, double right) {
    return left - right;
}

std::int64_t floorDivide(std::int64_t left, std::int64_t right) {
    if (right == 0) {
        throw Failure({base::ErrorCode::InvalidArgument, "a size is divided by zero", ""});
    }
    if (right == -1) {
        return subtract(0, left);
    }
    const std::int64_t quotient = left / right;
    return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

std::int64_t modulo(std::int64_t left, std::int64_t right) {
    if (right == 0) {
        throw Failure({base::ErrorCode::InvalidArgument, "a size is divided by zero", ""});
    }
    const std::int64_t rest = right == -1 ? 0 : left % right;
    return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

std::int64_t integerPower(std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    while (true) {
        if ((exponent & 1) != 0) {
            result = multiply(result, base);
        }
        exponent >>= 1;
        if (exponent == 0) {
            return result;
        }
        base = multiply(base, base);
    }
}

std::int64_t shifted(std::int64_t value, std::int64_t places, bool isLeft) {
    if (places < 0) {
        throw Failure({base::ErrorCode::InvalidArgument, "a size is shifted by a negative number", ""});
    }
    if (isLeft) {
        return value == 0 ? 0 : places > 62 ? (failOverflow(), 0) : multiply(value, std::int64_t{1} << places);
    }
    return value >> std::min<std::int64_t>(places, 63);
}

// Whole numbers beyond 64 bits, infinities and NaN have no integer.
std::int64_t integerOf(double value) {
    if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) {
        failOverflow();
    }
    return static_cast<std::int64_t>(value);
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
            return add(left, right);
        case PythonOperator::Subtract:
            return subtract(left, right);
        case PythonOperator::Multiply:
            return multiply(left, right);
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
            return isWhole ? c10::IValue(subtract(0, integerOf(operand))) : c10::IValue(-floatOf(operand));
        case PythonOperator::Positive:
            return isWhole ? c10::IValue(integerOf(operand)) : operand;
        case PythonOperator::Absolute:
            return isWhole ? c10::IValue(integerOf(operand) < 0 ? subtract(0, integerOf(operand)) : integerOf(operand))
                           : c10::IValue(std::abs(floatOf(operand)));
        case PythonOperator::Not:
            return floatOf(operand) == 0;
        case PythonOperator::ToFloat:
            return floatOf(operand);
        case PythonOperator::ToInteger:
            return isWhole ? integerOf(operand) : integerOf(std::trunc(floatOf(operand)));
        case PythonOperator::Ceiling:
            return isWhole ? integerOf(operand) : integerOf(std::ceil(floatOf(operand)));
        case PythonOperator::Floor:
            return isWhole ? integerOf(operand) : integerOf(std::floor(floatOf(operand)));
        case PythonOperator::Round:
            return isWhole ? integerOf(operand) : integerOf(std::nearbyint(floatOf(operand)));
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
            return isWhole ? c10::IValue(modulo(integerOf(left), integerOf(right)))
                           : c10::IValue(floatOf(left) - std::floor(floatOf(left) / floatOf(right)) * floatOf(right));
        case PythonOperator::Power:
            return isWhole && integerOf(right) >= 0 ? c10::IValue(integerPower(integerOf(left), integerOf(right)))
                                                    : c10::IValue(std::pow(floatOf(left), floatOf(right)));
        case PythonOperator::LeftShift:
            return shifted(integerOf(left), integerOf(right), true);
        case PythonOperator::RightShift:
            return shifted(integerOf(left), integerOf(right), false);
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
