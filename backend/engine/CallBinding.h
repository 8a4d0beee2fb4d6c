// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/Executor.h"
#include "backend/engine/LoadedProgram.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace modulelens::engine {

/// One captured call bound to a loaded program: its inputs, the state that it began with, the modes it ran under. Several
/// runs of one binding all start from the captured state. The program must outlive it; it has one binding at a time.
/// Confined to its thread.
class CallBinding {
public:
    /// `tensors` is data beyond what load named. InvalidArgument: the call belongs to another program, or differs from what
    /// the program was exported with. NotFound: an input was not captured. Corrupt, Unsupported. A foreign program runs a few
    /// times: Cancelled.
    [[nodiscard]] static base::Result<std::unique_ptr<CallBinding>> bind(LoadedProgram& program, const nlohmann::json& call,
                                                                         const std::vector<protocol::Extent>& tensors,
                                                                         const std::atomic<bool>& stop);
    /// Gives the program its own state back.
    ~CallBinding();
    CallBinding(const CallBinding&) = delete;
    CallBinding& operator=(const CallBinding&) = delete;

    struct RunOptions {
        StepObserver* observer = nullptr;
        /// Autograd on, whatever the capture says.
        bool forceGrad = false;
        /// Called around the run alone, after everything was put in place.
        std::function<void()> beforeRun;
        std::function<void()> afterRun;
        /// Called when all work was given to the device, before it is waited for.
        std::function<void()> afterLaunch;
        /// Called instead of the run itself with what computes it, to be called once or several times: for whoever records it.
        std::function<void(const std::function<void()>&)> around;
        /// Called last with the run's outputs, still in the call's modes, before mutated inputs are written back.
        std::function<void(std::vector<c10::IValue>&)> withOutputs;
    };
    struct Outcome {
        std::vector<c10::IValue> outputs;     ///< One for each output of the program's signature.
        std::int64_t hostNs = 0;
    };

    /// Restores what earlier runs changed, sets generator and modes, runs. Throws Failure.
    [[nodiscard]] Outcome run(const std::atomic<bool>& stop, const RunOptions& options);

    /// Calls `work`, which computes `outputs` anew, in place of a run: everything is put as the call began, on the memory of the
    /// run before. Host time, the device waited for. Requires: run() was called. Throws Failure or what `work` throws.
    [[nodiscard]] std::int64_t replay(const std::function<void()>& work, const std::vector<c10::IValue>& outputs,
                                      const RunOptions& options);
    /// Whether runs compute the same without anything being put back between them, as far as the runs so far showed.
    [[nodiscard]] bool canRepeat();

    [[nodiscard]] const capture::CallDocument& call() const { return m_call; }
    [[nodiscard]] LoadedProgram& program() { return m_program; }
    [[nodiscard]] const TensorStore& store() const { return m_store; }
    [[nodiscard]] Leaves& inputLeaves() { return m_inputLeaves; }
    /// The tensor that the graph's input `index` reads, undefined when it is none.
    [[nodiscard]] at::Tensor inputTensor(std::size_t index) const {
        return m_inputs[index].isTensor() ? m_inputs[index].toTensor() : at::Tensor();
    }
    /// The tensor that the program read at `pointer` in the last run, undefined when there is none.
    [[nodiscard]] at::Tensor inputAt(const std::string& pointer) const;
    /// Puts everything as the call began and returns the program's inputs, one for each of its signature. Throws Failure.
    [[nodiscard]] const std::vector<c10::IValue>& pristineInputs();

private:
    CallBinding(LoadedProgram& program) : m_program(program), m_store(&program.store()) {}

    void bindInputs();
    void checkInputs() const;
    void bindUserInput(std::size_t index, const std::string& pointer);
    void checkConstantInput(const graph::InputSpec& spec, const std::string& pointer) const;
    void applyStateBefore();
    void prepareForeign(const std::atomic<bool>& stop);
    void settle();
    void putInPlace();
    void writeBack(const std::vector<c10::IValue>& outputs);
    [[nodiscard]] const std::vector<c10::IValue>& inferenceInputs();

    struct Replaced {
        Leaf* leaf = nullptr;
        capture::TensorReference reference;
        StoredData data;
    };
    /// An input that requires grad and is written to: autograd allows that on copies only.
    struct CopiedInput {
        std::size_t index = 0;
        at::Tensor source;
    };

    LoadedProgram& m_program;
    capture::CallDocument m_call;
    TensorStore m_store;
    Leaves m_inputLeaves;
    std::vector<c10::IValue> m_inputs;
    std::vector<c10::IValue> m_inferenceInputs;  ///< The same for runs in inference mode; empty before the first.
    std::map<std::string, std::size_t> m_indexByPointer;
    std::vector<CopiedInput> m_copied;
    std::vector<Replaced> m_replaced;
    at::Tensor m_generatorState;
    Executor m_executor;
    bool m_hasRun = false;
    bool m_isSettled = true;
    bool m_mustCompare = false;
};

}  // namespace modulelens::engine
