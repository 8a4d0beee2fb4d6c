// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/SampleInputs.h"

#include "backend/base/FileSystem.h"
#include "backend/capture/Safetensors.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>

namespace modulelens::operations {

namespace {

using base::ScalarType;
using nlohmann::json;

constexpr std::int64_t kMostBytes = std::int64_t{16} << 30;

base::Error unreadable(const std::string& text, const std::string& why) {
    return {base::ErrorCode::InvalidArgument, "'" + text + "' is no value for --input: " + why,
            "Write a tensor as float32[1,512] or int64[2,8]:0..999, a number, true, false, none, 'text' or "
            "@FILE.safetensors:KEY, with NAME= before it for a keyword."};
}

template <class Number>
std::optional<Number> parsed(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(number) : std::nullopt;
}

/// The same numbers on every machine: splitmix64. Confined to its thread.
class Generator {
public:
    explicit Generator(std::uint64_t seed) : m_state(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (m_state += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    /// Above 0, at most 1.
    double uniform() { return static_cast<double>((next() >> 11U) + 1) * 0x1.0p-53; }
    double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
    std::int64_t integer(std::int64_t low, std::int64_t high) {
        const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + (span == 0 ? next() : next() % span));
    }

private:
    std::uint64_t m_state;
};

/// The upper 16 bits of a float32, rounded to nearest even.
std::uint16_t toBFloat16(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

/// For values of a magnitude below 65504; what is too small for a normal number becomes 0.
std::uint16_t toFloat16(double value) {
    int exponent = 0;
    const double fraction = std::frexp(std::abs(value), &exponent);
    const auto mantissa = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(fraction, 11)));
    const int biased = exponent + 14;
    if (value == 0 || biased < 1) {
        return 0;
    }
    const std::uint32_t bits = (static_cast<std::uint32_t>(biased) << 10U) + (mantissa - 1024);
    return static_cast<std::uint16_t>(bits | (value < 0 ? 0x8000U : 0U));
}

struct Range {
    std::int64_t low = 0;
    std::int64_t high = 1;
};

template <class Number>
void put(std::vector<std::byte>& bytes, Number number) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof number);
    std::memcpy(bytes.data() + at, &number, sizeof number);
}

/// False: no numbers are made of this type.
bool putElement(std::vector<std::byte>& bytes, ScalarType type, Generator& generator, const Range& range) {
    switch (type) {
        case ScalarType::Float32:
            put(bytes, static_cast<float>(generator.normal()));
            return true;
        case ScalarType::Float64:
            put(bytes, generator.normal());
            return true;
        case ScalarType::Float16:
            put(bytes, toFloat16(generator.normal()));
            return true;
        case ScalarType::BFloat16:
            put(bytes, toBFloat16(static_cast<float>(generator.normal())));
            return true;
        case ScalarType::Complex64:
            put(bytes, static_cast<float>(generator.normal()));
            put(bytes, static_cast<float>(generator.normal()));
            return true;
        case ScalarType::Bool:
            put(bytes, static_cast<std::uint8_t>(generator.next() & 1U));
            return true;
        case ScalarType::UInt8:
        case ScalarType::Int8:
            put(bytes, static_cast<std::int8_t>(generator.integer(range.low, range.high)));
            return true;
        case ScalarType::UInt16:
        case ScalarType::Int16:
            put(bytes, static_cast<std::int16_t>(generator.integer(range.low, range.high)));
            return true;
        case ScalarType::UInt32:
        case ScalarType::Int32:
            put(bytes, static_cast<std::int32_t>(generator.integer(range.low, range.high)));
            return true;
        case ScalarType::UInt64:
        case ScalarType::Int64:
            put(bytes, generator.integer(range.low, range.high));
            return true;
        default:
            return false;
    }
}

base::Result<std::vector<std::int64_t>> parseShape(std::string_view text, const std::string& whole, std::int64_t& elements) {
    std::vector<std::int64_t> shape;
    elements = 1;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::optional<std::int64_t> size = parsed<std::int64_t>(text.substr(0, comma));
        if (!size || *size < 0 || __builtin_mul_overflow(elements, *size, &elements) || elements > kMostBytes) {
            return unreadable(whole, "sizes are integers from 0 on, and at most 16 GB in all");
        }
        shape.push_back(*size);
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    return shape;
}

base::Result<SampleInput> makeTensor(std::string_view text, const std::string& whole, std::uint64_t seed) {
    const std::size_t open = text.find('[');
    const std::size_t close = text.find(']');
    const std::optional<ScalarType> type = base::scalarTypeFromName(text.substr(0, open));
    if (close == std::string_view::npos) {
        return unreadable(whole, "its sizes end without a ']'");
    }
    if (!type) {
        return unreadable(whole, "there is no such element type");
    }
    SampleInput input;
    input.dtype = *type;
    std::int64_t elements = 1;
    base::Result<std::vector<std::int64_t>> shape = parseShape(text.substr(open + 1, close - open - 1), whole, elements);
    if (!shape) {
        return shape.error();
    }
    if (elements > kMostBytes / base::elementSizeBytes(*type)) {
        return unreadable(whole, "it would have more than 16 GB");
    }
    input.shape = *std::move(shape);
    Range range;
    if (std::string_view rest = text.substr(close + 1); !rest.empty()) {
        const std::size_t dots = rest.find("..");
        const auto low = dots == std::string_view::npos ? std::nullopt : parsed<std::int64_t>(rest.substr(1, dots - 1));
        const auto high = dots == std::string_view::npos ? std::nullopt : parsed<std::int64_t>(rest.substr(dots + 2));
        if (rest.front() != ':' || !low || !high || *low > *high) {
            return unreadable(whole, "a range of integers is written :LOW..HIGH");
        }
        range = {*low, *high};
    }
    Generator generator(seed);
    input.bytes.reserve(static_cast<std::size_t>(elements) * static_cast<std::size_t>(base::elementSizeBytes(*type)));
    for (std::int64_t i = 0; i < elements; ++i) {
        if (!putElement(input.bytes, *type, generator, range)) {
            return unreadable(whole, "numbers of this type are not made; give them as a safetensors file");
        }
    }
    return input;
}

base::Result<SampleInput> readTensor(std::string_view place, const std::string& whole) {
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) {
        return unreadable(whole, "the key of the tensor is missing");
    }
    const std::filesystem::path path(std::string(place.substr(0, colon)));
    const std::string key(place.substr(colon + 1));
    const auto file = base::realFileSystem().map(path);
    if (!file) {
        return file.error().within("--input");
    }
    const auto header = capture::readSafetensorsHeader((*file)->bytes(), path.filename().string());
    if (!header) {
        return header.error();
    }
    const auto found = header->entries.find(key);
    if (found == header->entries.end()) {
        return base::Error{base::ErrorCode::NotFound, "'" + path.string() + "' has no tensor '" + key + "'",
                           "Write one of its keys after the colon."};
    }
    SampleInput input;
    input.shape = found->second.shape;
    for (int i = 0; i <= static_cast<int>(ScalarType::Bits16); ++i) {
        const auto type = static_cast<ScalarType>(i);
        const std::string name(base::scalarTypeName(type));
        if (capture::safetensorsDtype(name) == found->second.dtype && (found->second.dtype != "U8" || name == "uint8")) {
            input.dtype = type;
            break;
        }
    }
    const auto bytes = (*file)->bytes().subspan(found->second.offset, found->second.sizeBytes);
    input.bytes.assign(bytes.begin(), bytes.end());
    return input;
}

std::optional<json> plainValue(std::string_view text) {
    if (text == "true" || text == "false") {
        return text == "true";
    }
    if (text == "none") {
        return json();
    }
    if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front()) {
        return std::string(text.substr(1, text.size() - 2));
    }
    if (const auto integer = parsed<std::int64_t>(text)) {
        return *integer;
    }
    if (const auto number = parsed<double>(text); number && std::isfinite(*number)) {
        return *number;
    }
    return std::nullopt;
}

/// Length of "NAME=" at the beginning, or 0.
std::size_t nameLength(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_' || text[i] == '.')) {
        ++i;
    }
    return i > 0 && i < text.size() && text[i] == '=' ? i + 1 : 0;
}

} // namespace

base::Result<SampleInput> parseSampleInput(const std::string& text, std::uint64_t seed) {
    const std::size_t skipped = nameLength(text);
    const std::string_view value = std::string_view(text).substr(skipped);
    base::Result<SampleInput> input = SampleInput();
    if (std::optional<json> plain = plainValue(value)) {
        input->value = std::move(plain);
    } else if (value.starts_with('@')) {
        input = readTensor(value.substr(1), text);
    } else if (value.find('[') != std::string_view::npos) {
        input = makeTensor(value, text, seed);
    } else {
        return unreadable(text, "it is neither a tensor nor a plain value");
    }
    if (input && skipped > 0) {
        input->name = text.substr(0, skipped - 1);
    }
    return input;
}

} // namespace modulelens::operations
