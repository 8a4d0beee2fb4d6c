// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/base/Result.h"
#include "backend/capture/Safetensors.h"
#include "backend/graph/ForeignArchive.h"
#include "backend/operations/SampleInputs.h"

#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace modulelens::operations {

/// The tensors of a bundle that is being made, each once, with what keeps their bytes alive. Confined to its thread.
class ForeignTensors {
public:
    /// A weight of `file` as an entry of "state.tensors". Corrupt: it reaches beyond its storage.
    [[nodiscard]] base::Result<nlohmann::json> addWeight(const std::string& name, const graph::ForeignWeight& weight,
                                                         const std::shared_ptr<const base::MappedFile>& file);
    /// A tensor reference with "$t" for the tensor that a person gave. `number` tells the inputs of a call apart.
    [[nodiscard]] nlohmann::json addInput(SampleInput input, std::int64_t number);
    /// What a worker wrote: a safetensors file whose keys are digests. Corrupt: it is none.
    [[nodiscard]] base::Result<void> addFile(const std::filesystem::path& path);

    /// By digest. The bytes live as long as this object.
    [[nodiscard]] std::map<std::string, capture::SafetensorsInput> take() { return std::move(m_tensors); }

private:
    nlohmann::json add(base::ScalarType dtype, const std::vector<std::int64_t>& shape, std::span<const std::byte> bytes);

    std::map<std::string, capture::SafetensorsInput> m_tensors;
    std::deque<std::vector<std::byte>> m_owned;
    std::vector<std::shared_ptr<const base::MappedFile>> m_files;
    std::map<std::string, std::int64_t> m_storages;
    std::map<std::string, std::int64_t> m_objects;
};

} // namespace modulelens::operations
