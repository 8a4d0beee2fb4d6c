// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/ArgumentBinding.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/jit_type.h>
#include <utility>

namespace modulelens::engine {

namespace {

using Kind = c10::TypeKind;

c10::TypePtr withoutOptional(c10::TypePtr type) {
    while (auto optional = type->cast<c10::OptionalType>()) {
        type = optional->getElementType();
    }
    return type;
}

ArgumentSource constantOf(c10::IValue value) {
    ArgumentSource source;
    source.constant = std::move(value);
    return source;
}

ArgumentSource listOf(const graph::ValueListArgument& list) {
    ArgumentSource source;
    source.kind = list.optional ? SourceKind::OptionalTensors : SourceKind::Tensors;
    source.slots.assign(list.values.begin(), list.values.end());
    return source;
}

c10::IValue literalOf(const graph::MixedListArgument& list, std::size_t index) {
    switch (list.element) {
        case graph::MixedListArgument::Element::Integer:
            return index < list.integerLiterals.size() ? list.integerLiterals[index]
                                                       : static_cast<std::int64_t>(list.literals.at(index));
        case graph::MixedListArgument::Element::Float:
            return list.literals.at(index);
        case graph::MixedListArgument::Element::Boolean:
            return (index < list.literals.size() ? list.literals[index] != 0 : list.integerLiterals.at(index) != 0);
    }
    return {};
}

ArgumentSource listOf(const graph::MixedListArgument& list) {
    using Element = graph::MixedListArgument::Element;
    ArgumentSource source;
    source.kind = list.element == Element::Integer ? SourceKind::Integers
                  : list.element == Element::Float ? SourceKind::Floats
                                                   : SourceKind::Booleans;
    source.slots.assign(list.values.begin(), list.values.end());
    for (std::size_t i = 0; i < list.values.size(); ++i) {
        source.literals.push_back(list.values[i] < 0 ? literalOf(list, i) : c10::IValue());
    }
    return source;
}

template <class T>
c10::List<c10::List<T>> listOfLists(const std::vector<std::vector<T>>& values) {
    c10::List<c10::List<T>> lists;
    for (const std::vector<T>& each : values) {
        lists.push_back(c10::List<T>(c10::ArrayRef<T>(each)));
    }
    return lists;
}

c10::Device deviceOf(const graph::DeviceArgument& device, const DeviceMap& devices) {
    if (device.type == "meta") {
        return c10::Device(c10::DeviceType::Meta);
    }
    return devices(c10::Device(device.type).type());
}

void fitConstant(c10::IValue& value, const c10::TypePtr& type, const c10::Argument& parameter) {
    if (type->kind() == Kind::TensorType) {
        value = wrapNumber(value);
    } else if (type->kind() == Kind::FloatType && value.isInt()) {
        value = static_cast<double>(value.toInt());
    } else if (type->kind() == Kind::FloatType && value.isBool()) {
        value = value.toBool() ? 1.0 : 0.0;
    } else if (type->kind() == Kind::IntType && value.isBool()) {
        value = static_cast<std::int64_t>(value.toBool());
    } else if (type->kind() == Kind::BoolType && value.isInt()) {
        value = value.toInt() != 0;
    }
    const auto list = type->cast<c10::ListType>();
    if (!list) {
        return;
    }
    const Kind element = list->getElementType()->kind();
    const auto count = static_cast<std::size_t>(parameter.N().value_or(1));
    if (value.isInt() && (element == Kind::IntType || element == Kind::SymIntType)) {
        value = c10::IValue(std::vector<std::int64_t>(count, value.toInt()));
    } else if (element == Kind::FloatType && (value.isDouble() || value.isInt())) {
        value = c10::IValue(std::vector<double>(count, value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble()));
    } else if (element == Kind::FloatType && value.isIntList()) {
        const std::vector<std::int64_t> integers = value.toIntVector();
        value = c10::IValue(std::vector<double>(integers.begin(), integers.end()));
    } else if (element == Kind::BoolType && value.isIntList() && value.toIntVector().empty()) {
        value = c10::IValue(c10::List<bool>());
    } else if (element == Kind::NumberType && (value.isIntList() || value.isDoubleList())) {
        c10::impl::GenericList numbers(c10::NumberType::get());
        for (const c10::IValue& each : value.toListRef()) {
            numbers.push_back(each);
        }
        value = numbers;
    } else if (element == Kind::StringType && value.isIntList() && value.toIntVector().empty()) {
        value = c10::IValue(c10::List<std::string>());
    }
}

bool isEmptyIntegerList(const ArgumentSource& source) {
    return source.kind == SourceKind::Constant && source.constant.isIntList() && source.constant.toIntList().empty();
}

}  // namespace

c10::IValue wrapNumber(const c10::IValue& value) {
    if (!value.isScalar()) {
        return value;
    }
    at::Tensor tensor = c10::scalar_to_tensor(value.toScalar());
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return tensor;
}

ArgumentSource sourceOf(const graph::Argument& argument, const DeviceMap& devices) {
    return std::visit(
        [&](const auto& value) -> ArgumentSource {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<T, graph::NoneArgument>) {
                return {};
            } else if constexpr (std::is_same_v<T, graph::ValueArgument>) {
                ArgumentSource source;
                source.kind = value.value < 0 ? SourceKind::Constant : SourceKind::Slot;
                source.slot = value.value;
                return source;
            } else if constexpr (std::is_same_v<T, graph::ValueListArgument> || std::is_same_v<T, graph::MixedListArgument>) {
                return listOf(value);
            } else if constexpr (std::is_same_v<T, graph::ComplexArgument>) {
                return constantOf(c10::complex<double>(value.value));
            } else if constexpr (std::is_same_v<T, graph::IntegerListArgument> || std::is_same_v<T, graph::FloatListArgument> ||
                                 std::is_same_v<T, graph::StringListArgument>) {
                return constantOf(c10::IValue(value.values));
            } else if constexpr (std::is_same_v<T, graph::BooleanListArgument>) {
                c10::List<bool> list;
                for (const bool each : value.values) {
                    list.push_back(each);
                }
                return constantOf(std::move(list));
            } else if constexpr (std::is_same_v<T, graph::ScalarTypeArgument>) {
                return constantOf(static_cast<std::int64_t>(torchType(value.value)));
            } else if constexpr (std::is_same_v<T, graph::LayoutArgument> || std::is_same_v<T, graph::MemoryFormatArgument>) {
                return constantOf(static_cast<std::int64_t>(value.value));
            } else if constexpr (std::is_same_v<T, graph::DeviceArgument>) {
                return constantOf(deviceOf(value, devices));
            } else if constexpr (std::is_same_v<T, graph::GraphArgument>) {
                throw Failure({base::ErrorCode::Unsupported, "a sub-graph outside a higher-order operator", ""});
            } else if constexpr (std::is_same_v<T, graph::IntegerListsArgument>) {
                return constantOf(listOfLists<std::int64_t>(value.values));
            } else if constexpr (std::is_same_v<T, graph::FloatListsArgument>) {
                return constantOf(listOfLists<double>(value.values));
            } else if constexpr (std::is_same_v<T, graph::OperatorArgument>) {
                throw Failure({base::ErrorCode::Unsupported, "an operator as a value", ""});
            } else if constexpr (std::is_same_v<T, graph::TensorListsArgument>) {
                throw Failure({base::ErrorCode::Unsupported, "lists of tensors inside a list", ""});
            } else if constexpr (std::is_same_v<T, graph::DictionaryArgument>) {
                throw Failure({base::ErrorCode::Unsupported, "a dictionary as a value", ""});
            } else if constexpr (std::is_same_v<T, graph::UnsupportedArgument>) {
                throw Failure({base::ErrorCode::Unsupported, "an argument of the kind " + value.kind, ""});
            } else {
                return constantOf(value.value);
            }
        },
        argument);
}

void fitToSchema(ArgumentSource& source, const c10::Argument& parameter, bool isSymbolicScalar) {
    const c10::TypePtr type = withoutOptional(parameter.type());
    const auto list = type->cast<c10::ListType>();
    if (list) {
        const Kind element = list->getElementType()->kind();
        const bool wantsTensors = element == Kind::TensorType || element == Kind::OptionalType;
        if (wantsTensors && isEmptyIntegerList(source)) {
            source = ArgumentSource{SourceKind::Tensors, -1, {}, {}, {}, nullptr};
        }
        if (source.kind == SourceKind::Tensors && element == Kind::OptionalType) {
            source.kind = SourceKind::OptionalTensors;
        }
        if (source.kind == SourceKind::Integers && element == Kind::FloatType) {
            source.kind = SourceKind::Floats;
        }
    }
    if (isSymbolicScalar && source.kind == SourceKind::Slot && type->kind() == Kind::TensorType) {
        source.kind = SourceKind::WrappedSlot;
    }
    if (isSymbolicScalar && source.kind == SourceKind::Slot && type->kind() == Kind::FloatType) {
        source.kind = SourceKind::FloatSlot;
    }
    if (source.kind == SourceKind::Constant) {
        fitConstant(source.constant, type, parameter);
    }
}

}  // namespace modulelens::engine
