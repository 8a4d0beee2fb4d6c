// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/ForeignProgram.h"

#include "backend/engine/BytesAdapter.h"
#include "backend/engine/ValueEncoding.h"
#include "backend/graph/TreeSpec.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/serialization/import_read.h>
#include <nlohmann/json.hpp>

namespace modulelens::engine {

namespace {

using nlohmann::json;
using Loader = torch::inductor::AOTIModelPackageLoader;

constexpr const char* kModelName = "model";

std::string firstLine(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

graph::Value valueNamed(const std::string& name) {
    graph::Value value;
    value.name = name;
    return value;
}

ForeignInterface interfaceOf(Loader& loader, const std::string& name) {
    const std::vector<std::string> spec = loader.get_call_spec();
    if (spec.size() != 2) {
        throw Failure({base::ErrorCode::Unsupported, name + " does not say which inputs it takes",
                       "Compile it with torch._inductor.aoti_compile_and_package."});
    }
    ForeignInterface result;
    const auto inputs = graph::readArgumentTree(spec[0], result.call);
    const auto outputs = inputs ? graph::readOutputTree(spec[1], result.output) : inputs;
    if (!outputs) {
        throw Failure(outputs.error().within(name));
    }
    for (const std::string& pointer : inputs.value()) {
        result.arguments.push_back({pointer.substr(pointer.rfind('/') + 1), pointer, "Tensor", false, nullptr});
    }
    result.outputPointers = outputs.value();
    result.modules.push_back({"", "torch._inductor:CompiledModel", false});
    return result;
}

/// A compiled model: one step, since nobody sees into it.
class PackagedProgram : public ForeignProgram {
public:
    PackagedProgram(std::unique_ptr<Loader> loader, const std::string& name)
        : m_loader(std::move(loader)), m_interface(interfaceOf(*m_loader, name)) {
        const std::shared_ptr<Plan> plan = makeForeignPlan(m_interface);
        auto program = std::make_shared<graph::Program>(*plan->program);
        program->graph.nodes.resize(1);
        program->graph.nodes.front().target = "aotinductor::model";
        plan->root.steps.resize(1);
        plan->root.steps.front().node = &program->graph.nodes.front();
        plan->root.steps.front().name = "aotinductor::model";
        plan->steps.push_back(&plan->root.steps.front());
        plan->operatorCount = 1;
        plan->program = std::move(program);
        m_plan = plan;
    }

    [[nodiscard]] std::shared_ptr<const Plan> plan() const override { return m_plan; }
    void adopt(const Leaves&) override {}
    void prepare(const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop) override {
        (void)run(inputs, stop, nullptr);
    }
    void restore() override {}

    [[nodiscard]] std::vector<c10::IValue> run(const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop,
                                               StepObserver* observer) override {
        if (stop.load(std::memory_order_relaxed)) {
            throw Failure({base::ErrorCode::Cancelled, "the run was cancelled", ""});
        }
        const Step& step = m_plan->root.steps.front();
        std::vector<at::Tensor> tensors;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (!inputs[i].isTensor()) {
                throw Failure({base::ErrorCode::Unsupported,
                               "the input at " + m_interface.arguments[i].pointer +
                                   " is no tensor, and a compiled model takes "
                                   "nothing else",
                               ""});
            }
            tensors.push_back(inputs[i].toTensor());
        }
        if (observer != nullptr) {
            observer->onBegin(step);
        }
        const std::vector<at::Tensor> results = m_loader->run(tensors);
        if (observer != nullptr) {
            // Whatever operators it called are not all that it did: the watcher starts afresh and finds none.
            observer->onBegin(step);
            observer->onEnd(step);
        }
        std::vector<c10::IValue> outputs(results.begin(), results.end());
        outputs.resize(m_plan->program->outputs.size());
        return outputs;
    }

private:
    std::unique_ptr<Loader> m_loader;
    ForeignInterface m_interface;
    std::shared_ptr<const Plan> m_plan;
};

std::unique_ptr<Loader> openPackage(const std::string& path, const std::string& name, c10::Device device) {
    try {
        const c10::DeviceIndex index = device.is_cpu() ? c10::DeviceIndex(-1) : device.index();
        return std::make_unique<Loader>(path, kModelName, false, 1, index);
    } catch (const c10::OutOfMemoryError&) {
        throw;
    } catch (const std::exception& exception) {
        throw Failure({base::ErrorCode::Unsupported, name + " cannot be loaded: " + firstLine(exception.what()),
                       "Compile it anew with the worker's version of torch and on a machine of its kind."});
    }
}

}  // namespace

std::shared_ptr<Plan> makeForeignPlan(const ForeignInterface& interface) {
    auto program = std::make_shared<graph::Program>();
    auto plan = std::make_shared<Plan>();
    graph::Graph& graph = program->graph;
    for (const protocol::InspectedArgument& argument : interface.arguments) {
        // What fits is known to LibTorch alone.
        graph.inputs.push_back(graph::ValueArgument{-1});
        program->inputs.push_back({});
        program->inputPointers.push_back(argument.pointer);
        plan->root.inputs.push_back(-1);
    }
    for (const std::string& pointer : interface.outputPointers) {
        const int value = static_cast<int>(graph.values.size());
        graph.values.push_back(valueNamed(pointer));
        graph.outputs.push_back(graph::ValueArgument{value});
        program->outputs.push_back({});
        program->outputPointers.push_back(pointer);
        ArgumentSource source;
        source.kind = SourceKind::Slot;
        source.slot = value;
        plan->root.outputs.push_back(std::move(source));
    }
    plan->root.slotCount = static_cast<int>(graph.values.size());
    graph::Scope top;
    for (const protocol::InspectedModule& module : interface.modules) {
        program->moduleClasses.emplace(module.path, module.className);
        if (module.path.empty()) {
            top.className = module.className;
        }
    }
    program->scopes.push_back(std::move(top));
    plan->program = std::move(program);
    return plan;
}

base::Result<std::unique_ptr<ForeignProgram>> loadPackage(const std::string& path, const std::string& name,
                                                          c10::Device device) {
    return torchGuarded(name, [&]() -> base::Result<std::unique_ptr<ForeignProgram>> {
        return std::unique_ptr<ForeignProgram>(std::make_unique<PackagedProgram>(openPackage(path, name, device), name));
    });
}

base::Result<protocol::InspectResult> inspectPackage(const std::string& path, const std::string& name) {
    return torchGuarded(name, [&]() -> base::Result<protocol::InspectResult> {
        const std::unique_ptr<Loader> loader = openPackage(path, name, c10::Device(c10::DeviceType::CPU));
        ForeignInterface interface = interfaceOf(*loader, name);
        protocol::InspectResult result;
        result.call = std::move(interface.call);
        result.output = std::move(interface.output);
        result.arguments = std::move(interface.arguments);
        result.modules = std::move(interface.modules);
        return result;
    });
}

base::Result<protocol::InspectResult> inspectSampleInputs(const std::shared_ptr<const base::MappedFile>& file,
                                                          const std::string& name, const std::string& scratchFile) {
    return torchGuarded(name, [&]() -> base::Result<protocol::InspectResult> {
        c10::IValue value;
        try {
            caffe2::serialize::PyTorchStreamReader reader(std::make_shared<BytesAdapter>(file));
            // No resolver of types: whatever is no plain value is refused.
            value = torch::jit::readArchiveAndTensors("data", "", "", std::nullopt, std::nullopt, at::kCPU, reader);
        } catch (const c10::OutOfMemoryError&) {
            throw;
        } catch (const std::exception& exception) {
            return base::Error{base::ErrorCode::Unsupported,
                               name + " cannot be read without Python: " + firstLine(exception.what()),
                               "Import the file without consent, and give inputs with --input."};
        }
        protocol::InspectResult result;
        if (!value.isTuple() || value.toTupleRef().elements().size() != 2) {
            return base::Error{base::ErrorCode::Unsupported, name + " are no pair of arguments and keyword arguments",
                               "Import the file without consent, and give inputs with --input."};
        }
        ValueEncoder encoder;
        const json args = encoder.encode(value.toTupleRef().elements()[0]);
        const json kwargs = encoder.encode(value.toTupleRef().elements()[1]);
        result.call = {{"args", args.is_object() && args.contains("v") ? args["v"] : args}, {"kwargs", kwargs}};
        if (!encoder.isEmpty()) {
            if (auto written = encoder.write(scratchFile); !written) {
                return written.error();
            }
            result.file = scratchFile;
        }
        return result;
    });
}

}  // namespace modulelens::engine
