// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/capture/VersionDocument.h"
#include "backend/engine/Leaves.h"
#include "backend/engine/Plan.h"
#include "backend/engine/TensorStore.h"
#include "backend/protocol/WorkerMessages.h"

#include <atomic>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace modulelens::graph {
struct ArchivedTensor;
}

namespace modulelens::engine {

class ForeignProgram;

/// A tensor that the program archive itself holds.
struct ConstantTensor {
    at::Tensor tensor;
    std::span<const std::byte> pristine;   ///< Its whole storage, in the mapped archive.
};

/// A program with its weights, ready for calls. Confined to its thread.
class LoadedProgram {
public:
    ~LoadedProgram();
    /// Reads the archive, plans it and makes its weights. Blocks on disk. Corrupt, Unsupported, NotFound,
    /// EnvironmentMissing (no such device), OutOfMemory, ConsentNeeded.
    [[nodiscard]] static base::Result<std::unique_ptr<LoadedProgram>> load(const protocol::LoadParams& params,
                                                                           const std::stop_token& stop = {});

    [[nodiscard]] const std::string& name() const { return m_name; }
    [[nodiscard]] const std::string& digest() const { return m_digest; }
    [[nodiscard]] const Plan& plan() const { return *m_plan; }
    [[nodiscard]] const graph::Program& program() const { return *m_plan->program; }
    [[nodiscard]] const DeviceMap& devices() const { return m_devices; }
    [[nodiscard]] const TensorStore& store() const { return m_store; }
    [[nodiscard]] Leaves& state() { return m_state; }
    [[nodiscard]] const std::map<std::string, capture::StateTensor>& stateTensors() const { return m_stateTensors; }
    /// What the program's parameter, buffer or constant inputs read; undefined when nothing holds that name.
    [[nodiscard]] at::Tensor inputTensor(const graph::InputSpec& spec) const;
    /// Whether it ran since it was loaded: a first run may do work that later ones do not.
    [[nodiscard]] bool hasRun() const { return m_hasRun; }
    void noteRun() { m_hasRun = true; }
    /// Gives the archive's constants, and what a foreign program holds, their pristine content.
    void restoreConstants();

    /// The program when it is no exported one, else null.
    [[nodiscard]] ForeignProgram* foreign() const { return m_foreign.get(); }
    /// Finds the steps of a foreign program for these inputs; nothing to do for others.
    void prepare(const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop);

private:
    LoadedProgram();
    [[nodiscard]] static base::Result<std::unique_ptr<LoadedProgram>> loadForeign(const protocol::LoadParams& params,
                                                                                  std::unique_ptr<LoadedProgram> loaded,
                                                                                  const std::stop_token& stop);
    [[nodiscard]] base::Result<void> makeState(const protocol::LoadParams& params, const std::stop_token& stop);
    void addConstant(const std::string& name, const graph::ArchivedTensor& constant);

    bool m_hasRun = false;
    std::string m_name;
    std::string m_digest;
    DeviceMap m_devices;
    std::shared_ptr<const base::MappedFile> m_archive;
    std::shared_ptr<const Plan> m_plan;
    TensorStore m_store;
    Leaves m_state;
    std::map<std::string, capture::StateTensor> m_stateTensors;
    std::map<std::string, ConstantTensor> m_constants;
    std::unique_ptr<ForeignProgram> m_foreign;
};

/// The device that `name` means here. EnvironmentMissing: there is none such.
[[nodiscard]] base::Result<c10::Device> findDevice(const std::string& name);

}  // namespace modulelens::engine
