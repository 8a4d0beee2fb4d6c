// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace modulelens::base {

/// PyTorch element types that captures, programs and profiles name. The order carries no meaning.
enum class ScalarType : std::uint8_t {
    UInt8,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Float64,
    BFloat16,
    Complex32,
    Complex64,
    Complex128,
    Bool,
    Float8E4M3FN,
    Float8E5M2,
    Float8E4M3FNUZ,
    Float8E5M2FNUZ,
    Float8E8M0FNU,
    QInt8,
    QUInt8,
    QInt32,
    Bits8,
    Bits16,
    Float4E2M1FNx2,
    QUInt4x2,
    QUInt2x4,
    Bits1x8,
    Bits2x4,
    Bits4x2,
    UInt1,
    UInt2,
    UInt3,
    UInt4,
    UInt5,
    UInt6,
    UInt7,
    Int1,
    Int2,
    Int3,
    Int4,
    Int5,
    Int6,
    Int7,
};

/// PyTorch's name without "torch.": "float32".
[[nodiscard]] std::string_view scalarTypeName(ScalarType type);
[[nodiscard]] std::optional<ScalarType> scalarTypeFromName(std::string_view name);
/// Bytes of one element.
[[nodiscard]] std::uint32_t elementSizeBytes(ScalarType type);

}  // namespace modulelens::base
