// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/capture/VersionDocument.h"
#include "backend/graph/Program.h"
#include "backend/protocol/WorkerMessages.h"
#include "backend/registry/Registry.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Inputs of other sizes, made from captured ones.
namespace modulelens::operations {

/// A size that a program leaves open.
struct DynamicSize {
    std::string symbol;                    ///< As exported: "s77".
    std::vector<std::string> places;       ///< Dimensions of inputs that are this size: "/args/0:1".
    bool isBatch = false;                  ///< The first dimension of the first tensor input.
    std::int64_t captured = 0;
    std::optional<std::int64_t> minimum;
    std::optional<std::int64_t> maximum;
};

/// The inputs of a TorchScript program as an exported one would have them: every size of a tensor is open, and first sizes
/// that equal that of the first tensor are one, the batch. Which sizes fit one another is known to its operators alone.
[[nodiscard]] graph::Program openProgram(const capture::CallDocument& call);

/// The sizes of `program` that its captured inputs fix, in the order of the inputs.
[[nodiscard]] std::vector<DynamicSize> dynamicSizes(const graph::Program& program, const capture::CallDocument& call);

/// The size that a person means by `name`: "batch", a symbol, or a place. Null when there is none.
[[nodiscard]] const DynamicSize* findDynamicSize(const std::vector<DynamicSize>& sizes, const std::string& name);

/// Whether the program was exported for this value.
[[nodiscard]] bool isInRange(const DynamicSize& size, std::int64_t value);
/// "2 and up", "2 to 512".
[[nodiscard]] std::string rangeText(const DynamicSize& size);

/// "batch (/args/0:0, 2 and up), s27 (/args/0:1, 2 to 512)", for messages.
[[nodiscard]] std::string dynamicSizesText(const std::vector<DynamicSize>& sizes);

/// Copies a row-major array into one of another shape with the same number of dimensions: along each the first elements, over
/// and over. Requires: `target` has the bytes of `shape`, no size of `sourceShape` is 0 unless that of `shape` is.
void tile(std::span<const std::byte> source, const std::vector<std::int64_t>& sourceShape, std::span<std::byte> target,
          const std::vector<std::int64_t>& shape, std::size_t itemBytes);

/// A call whose inputs have other sizes.
struct ScaledCall {
    nlohmann::json call;
    std::vector<protocol::Extent> tensors;
    std::int64_t inputBytes = 0;           ///< Of the inputs that were made anew.
    std::string how;                       ///< "captured", "cut", "tiled", "cut_and_tiled".
    std::int64_t items = 1;                ///< First dimension of the first tensor input.
};

/// What one call needs when `symbols` have these values; other sizes stay as captured.
struct ScaledInput {
    std::string pointer;
    std::vector<std::int64_t> shape;       ///< Empty for a number.
    std::optional<std::int64_t> number;
};
/// InvalidArgument: a value outside its range, or sizes that follow from it and cannot be computed.
[[nodiscard]] base::Result<std::vector<ScaledInput>> scaledInputs(const graph::Program& program,
                                                                  const capture::CallDocument& call,
                                                                  const std::vector<DynamicSize>& sizes,
                                                                  const std::map<std::string, std::int64_t>& symbols);
/// Bytes of the tensors among `inputs`.
[[nodiscard]] std::int64_t bytesOf(const std::vector<ScaledInput>& inputs, const capture::CallDocument& call);

/// Makes the inputs, in `file` where they differ from the captured ones. `captured` is the call as it is, with its extents.
/// NotFound: an input was not captured. StorageFull, OutOfMemory.
[[nodiscard]] base::Result<ScaledCall> scaleCall(const protocol::CallParams& captured, const capture::CallDocument& call,
                                                 const std::vector<ScaledInput>& inputs, const std::filesystem::path& file);

} // namespace modulelens::operations
