// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/capture/Safetensors.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace modulelens::engine {

/// Writes values of LibTorch down as docs/formats/bundle.md says, and keeps their tensors until they are stored.
/// Confined to its thread. Every function throws what LibTorch throws, and Failure.
class ValueEncoder {
public:
    /// A value with its tensors by reference. What has no encoding becomes a gap.
    [[nodiscard]] nlohmann::json encode(const c10::IValue& value);
    /// A tensor reference with "$t".
    [[nodiscard]] nlohmann::json encodeTensor(const at::Tensor& tensor);
    /// An entry of "state.tensors". Views that are the same count as one object.
    [[nodiscard]] nlohmann::json encodeState(const at::Tensor& tensor, bool isParameter);

    [[nodiscard]] bool isEmpty() const { return m_inputs.empty(); }
    /// Writes all tensors into the new file `path`, by their digests.
    [[nodiscard]] base::Result<void> write(const std::filesystem::path& path) const;

private:
    [[nodiscard]] nlohmann::json reference(const at::Tensor& tensor);

    std::map<std::string, std::int64_t> m_objects;
    std::map<const void*, std::int64_t> m_storages;
    std::vector<at::Tensor> m_kept;               ///< The bytes of m_inputs, and what keeps addresses in use.
    std::map<std::string, capture::SafetensorsInput> m_inputs;
};

}  // namespace modulelens::engine
