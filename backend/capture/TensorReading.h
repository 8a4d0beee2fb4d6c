// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/JsonView.h"
#include "backend/capture/VersionDocument.h"

#include <string>
#include <string_view>
#include <vector>

namespace modulelens::capture {

// What the parsers of this layer share about tensors in JSON. Everything throws DocumentError on malformed input.

[[nodiscard]] TensorReference readTensorReference(const JsonView& view);

/// A parameter or buffer: like a tensor reference, but one that is not a plain tensor (sparse, quantized, a wrapper, a
/// gap) becomes a reference without data whose `gap` names the kind.
[[nodiscard]] TensorReference readStateTensor(const JsonView& view);

/// "/" and the key with "~" and "/" escaped (RFC 6901).
[[nodiscard]] std::string pointerToken(std::string_view key);

/// Appends every plain tensor of a value tree. `pointer` is where the tree stands. Object keys come in sorted order.
void collectTensors(const JsonView& view, const std::string& pointer, std::vector<LocatedTensor>& found);

/// Appends every tensor reference below `view`, also the parts of sparse, quantized and numpy values.
void collectAllReferences(const JsonView& view, std::vector<TensorReference>& found);

}  // namespace modulelens::capture
