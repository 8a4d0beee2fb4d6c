// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/ScalarType.h"

#include <array>

namespace modulelens::base {

namespace {

struct Row {
    ScalarType type;
    std::string_view name;
    std::uint32_t sizeBytes;
};

constexpr std::array kRows = {
    Row{ScalarType::UInt8, "uint8", 1},
    Row{ScalarType::Int8, "int8", 1},
    Row{ScalarType::Int16, "int16", 2},
    Row{ScalarType::Int32, "int32", 4},
    Row{ScalarType::Int64, "int64", 8},
    Row{ScalarType::UInt16, "uint16", 2},
    Row{ScalarType::UInt32, "uint32", 4},
    Row{ScalarType::UInt64, "uint64", 8},
    Row{ScalarType::Float16, "float16", 2},
    Row{ScalarType::Float32, "float32", 4},
    Row{ScalarType::Float64, "float64", 8},
    Row{ScalarType::BFloat16, "bfloat16", 2},
    Row{ScalarType::Complex32, "complex32", 4},
    Row{ScalarType::Complex64, "complex64", 8},
    Row{ScalarType::Complex128, "complex128", 16},
    Row{ScalarType::Bool, "bool", 1},
    Row{ScalarType::Float8E4M3FN, "float8_e4m3fn", 1},
    Row{ScalarType::Float8E5M2, "float8_e5m2", 1},
    Row{ScalarType::Float8E4M3FNUZ, "float8_e4m3fnuz", 1},
    Row{ScalarType::Float8E5M2FNUZ, "float8_e5m2fnuz", 1},
    Row{ScalarType::Float8E8M0FNU, "float8_e8m0fnu", 1},
    Row{ScalarType::QInt8, "qint8", 1},
    Row{ScalarType::QUInt8, "quint8", 1},
    Row{ScalarType::QInt32, "qint32", 4},
    Row{ScalarType::Bits8, "bits8", 1},
    Row{ScalarType::Bits16, "bits16", 2},
    Row{ScalarType::Float4E2M1FNx2, "float4_e2m1fn_x2", 1},
    Row{ScalarType::QUInt4x2, "quint4x2", 1},
    Row{ScalarType::QUInt2x4, "quint2x4", 1},
    Row{ScalarType::Bits1x8, "bits1x8", 1},
    Row{ScalarType::Bits2x4, "bits2x4", 1},
    Row{ScalarType::Bits4x2, "bits4x2", 1},
    Row{ScalarType::UInt1, "uint1", 1},
    Row{ScalarType::UInt2, "uint2", 1},
    Row{ScalarType::UInt3, "uint3", 1},
    Row{ScalarType::UInt4, "uint4", 1},
    Row{ScalarType::UInt5, "uint5", 1},
    Row{ScalarType::UInt6, "uint6", 1},
    Row{ScalarType::UInt7, "uint7", 1},
    Row{ScalarType::Int1, "int1", 1},
    Row{ScalarType::Int2, "int2", 1},
    Row{ScalarType::Int3, "int3", 1},
    Row{ScalarType::Int4, "int4", 1},
    Row{ScalarType::Int5, "int5", 1},
    Row{ScalarType::Int6, "int6", 1},
    Row{ScalarType::Int7, "int7", 1},
};

constexpr bool rowsAreInEnumerationOrder() {
    for (std::size_t i = 0; i < kRows.size(); ++i) {
        if (static_cast<std::size_t>(kRows[i].type) != i) {
            return false;
        }
    }
    return kRows.size() == static_cast<std::size_t>(ScalarType::Int7) + 1;
}
static_assert(rowsAreInEnumerationOrder());

}  // namespace

std::string_view scalarTypeName(ScalarType type) {
    return kRows[static_cast<std::size_t>(type)].name;
}

std::optional<ScalarType> scalarTypeFromName(std::string_view name) {
    for (const Row& row : kRows) {
        if (row.name == name) {
            return row.type;
        }
    }
    return std::nullopt;
}

std::uint32_t elementSizeBytes(ScalarType type) {
    return kRows[static_cast<std::size_t>(type)].sizeBytes;
}

}  // namespace modulelens::base
