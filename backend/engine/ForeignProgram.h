// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"
#include "backend/engine/Executor.h"
#include "backend/engine/Leaves.h"
#include "backend/engine/Plan.h"
#include "backend/protocol/ForeignMessages.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace modulelens::engine {

/// A program that LibTorch runs as a whole, in the shape of a plan, so that every pass can watch it: a step is an operator of
/// one call of a module, however often it runs there. Confined to its thread. Throws what LibTorch throws, and Failure;
/// Cancelled when `stop` becomes true.
class ForeignProgram {
public:
    virtual ~ForeignProgram() = default;

    /// One input for each argument, one output for each tensor of the result. Changes only in prepare().
    [[nodiscard]] virtual std::shared_ptr<const Plan> plan() const = 0;
    /// Makes the program read the tensors of `state` where it has parameters and buffers of their names. Called once, first.
    virtual void adopt(const Leaves& state) = 0;
    /// Finds the steps that a run on `inputs` takes. Runs it a few times.
    virtual void prepare(const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop) = 0;
    [[nodiscard]] virtual std::vector<c10::IValue> run(const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop,
                                                       StepObserver* observer) = 0;
    /// Gives back what runs changed and state() does not hold.
    virtual void restore() = 0;
};

/// What a file says of itself.
struct ForeignInterface {
    std::vector<protocol::InspectedArgument> arguments;
    nlohmann::json call;                  ///< "args" and "kwargs" with null at every input.
    std::vector<std::string> outputPointers;
    nlohmann::json output;                ///< Null at every output that is a tensor.
    std::vector<protocol::InspectedModule> modules;
};

/// A plan without steps that has these inputs and outputs.
[[nodiscard]] std::shared_ptr<Plan> makeForeignPlan(const ForeignInterface& interface);

/// A TorchScript archive. Corrupt: LibTorch cannot read it. Unsupported: it has no forward, or needs operators that are not
/// registered here.
[[nodiscard]] base::Result<std::unique_ptr<ForeignProgram>> loadScript(const std::shared_ptr<const base::MappedFile>& file,
                                                                       const std::string& name, c10::Device device);

/// An AOTInductor package; loads and so runs its library. `path` must be a file of its own.
[[nodiscard]] base::Result<std::unique_ptr<ForeignProgram>> loadPackage(const std::string& path, const std::string& name,
                                                                        c10::Device device);

/// What the two loaders above read, for the client that imports the file. `scratchFile` is written when there are tensors.
[[nodiscard]] base::Result<protocol::InspectResult> inspectScript(const std::shared_ptr<const base::MappedFile>& file,
                                                                  const std::string& name, const std::string& scratchFile);
[[nodiscard]] base::Result<protocol::InspectResult> inspectPackage(const std::string& path, const std::string& name);
/// Reads torch.save((args, kwargs)) with LibTorch's restricted reader. Unsupported: it holds other than plain values.
[[nodiscard]] base::Result<protocol::InspectResult> inspectSampleInputs(const std::shared_ptr<const base::MappedFile>& file,
                                                                        const std::string& name,
                                                                        const std::string& scratchFile);

}  // namespace modulelens::engine
