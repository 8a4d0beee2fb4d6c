// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/BytesAdapter.h"
#include "backend/engine/ForeignProgram.h"
#include "backend/engine/OperatorStop.h"
#include "backend/engine/ScriptError.h"
#include "backend/engine/ScriptFrames.h"
#include "backend/engine/ValueEncoding.h"

#include <ATen/record_function.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/serialization/import.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace modulelens::engine {

namespace {

using nlohmann::json;

/// The executor profiles the first run, optimises at the second, and takes the same steps from then on.
constexpr int kRunsBeforeSteps = 2;
constexpr const char* kOtherOperators = "other operators";

/// "vad.model:Net" of "__torch__.vad.model.___torch_mangle_3.Net".
std::string plainClass(const torch::jit::Module& module) {
    std::string result;
    const auto name = module.type()->name();
    if (!name) {
        return "torch.nn.modules.module:Module";
    }
    const std::vector<std::string>& atoms = name->atoms();
    for (std::size_t i = 0; i + 1 < atoms.size(); ++i) {
        if (atoms[i] != "__torch__" && !atoms[i].starts_with("___torch_mangle_")) {
            result += (result.empty() ? "" : ".") + atoms[i];
        }
    }
    return (result.empty() ? std::string("__main__") : result) + ':' + atoms.back();
}

std::string firstLine(const std::string& text) {
    const std::size_t start = text.find_first_not_of(" \n");
    return start == std::string::npos ? text : text.substr(start, text.find('\n', start) - start);
}

/// What LibTorch threw while it read an archive. Missing operators and classes mean that the file is whole.
base::Error unreadable(const std::string& name, const std::string& what) {
    const std::string line = firstLine(what);
    for (const char* sign : {"Unknown builtin op", "Unknown type name", "unregistered"}) {
        if (what.find(sign) != std::string::npos) {
            return {base::ErrorCode::Unsupported, name + " needs what is not registered here: " + line,
                    "Load the library of its custom operators with --ops-library."};
        }
    }
    return {base::ErrorCode::Corrupt, name + " cannot be read as TorchScript: " + line, "Save it again with torch.jit.save."};
}

torch::jit::Module readModule(const std::shared_ptr<const base::MappedFile>& file, const std::string& name,
                              c10::Device device) {
    try {
        torch::jit::Module module = torch::jit::load(std::make_shared<BytesAdapter>(file), device);
        if (!module.find_method("forward")) {
            throw Failure({base::ErrorCode::Unsupported, name + " has no method forward", ""});
        }
        return module;
    } catch (const Failure&) {
        throw;
    } catch (const c10::OutOfMemoryError&) {
        throw;
    } catch (const std::exception& exception) {
        throw Failure(unreadable(name, exception.what()));
    }
}

/// The form of a result: null at every tensor, pointers to them.
json outputForm(const c10::TypePtr& type, const std::string& pointer, std::vector<std::string>& pointers) {
    if (const auto tuple = type->cast<c10::TupleType>()) {
        json values = json::array();
        for (const c10::TypePtr& element : tuple->elements()) {
            values.push_back(outputForm(element, pointer + "/v/" + std::to_string(values.size()), pointers));
        }
        return {{"$t", "tuple"}, {"v", std::move(values)}};
    }
    pointers.push_back(pointer);
    return nullptr;
}

void flatten(const c10::IValue& value, std::vector<c10::IValue>& leaves) {
    if (value.isTuple()) {
        for (const c10::IValue& element : value.toTupleRef().elements()) {
            flatten(element, leaves);
        }
    } else {
        leaves.push_back(value);
    }
}

ForeignInterface interfaceOf(const torch::jit::Module& module) {
    ForeignInterface result;
    result.call = {{"args", json::array()}, {"kwargs", json::object()}};
    const c10::FunctionSchema& schema = module.get_method("forward").function().getSchema();
    ValueEncoder encoder;
    for (const c10::Argument& argument : schema.arguments()) {
        if (&argument == schema.arguments().data()) {
            continue;   // self
        }
        const std::string pointer = "/args/" + std::to_string(result.arguments.size());
        protocol::InspectedArgument described{argument.name(), pointer, argument.type()->repr_str(), false, nullptr};
        if (argument.default_value()) {
            described.hasDefault = true;
            described.defaultValue = encoder.encode(*argument.default_value());
        }
        result.arguments.push_back(std::move(described));
        result.call["args"].push_back(nullptr);
    }
    if (schema.returns().size() == 1) {
        result.output = outputForm(schema.returns().front().type(), "/output", result.outputPointers);
    }
    for (const auto& entry : module.named_modules()) {
        result.modules.push_back({entry.name, plainClass(entry.value), entry.value.is_training()});
    }
    return result;
}

int operatorCount(const torch::jit::Block& block) {
    int count = 0;
    for (const torch::jit::Node* node : block.nodes()) {
        count += node->kind().is_aten() ? 1 : 0;
        for (const torch::jit::Block* inner : node->blocks()) {
            count += operatorCount(*inner);
        }
    }
    return count;
}

/// Operators in the code of forward and of all that it calls.
int operatorCount(const torch::jit::Module& module) {
    const std::shared_ptr<torch::jit::Graph> graph = module.get_method("forward").graph()->copy();
    torch::jit::Inline(*graph);
    return operatorCount(*graph->block());
}

/// Tells the observer of every operator that the interpreter calls. Only one exists at a time in a thread.
class OperatorWatch {
public:
    using StepOf = std::function<const Step&(const char* name)>;

    OperatorWatch(StepObserver& observer, StepOf stepOf) : m_observer(observer), m_stepOf(std::move(stepOf)) {
        s_current = this;
        m_handle = at::addGlobalCallback(
            at::RecordFunctionCallback(&OperatorWatch::onStart, &OperatorWatch::onStop).scopes({at::RecordScope::FUNCTION}));
    }
    ~OperatorWatch() {
        at::removeCallback(m_handle);
        s_current = nullptr;
        end();
    }
    OperatorWatch(const OperatorWatch&) = delete;
    OperatorWatch& operator=(const OperatorWatch&) = delete;

private:
    struct Context : at::ObserverContext {
        OperatorWatch* watch = nullptr;
    };

    static std::unique_ptr<at::ObserverContext> onStart(const at::RecordFunction& function) {
        OperatorWatch* watch = s_current;
        if (watch == nullptr) {
            return nullptr;
        }
        if (watch->m_depth++ == 0) {
            watch->begin(function.name());
        }
        auto context = std::make_unique<Context>();
        context->watch = watch;
        return context;
    }

    static void onStop(const at::RecordFunction&, at::ObserverContext* context) {
        if (context != nullptr) {
            --static_cast<Context*>(context)->watch->m_depth;
        }
    }

    // An operator counts as ended when the next one begins: other callbacks have their say at its end first.
    void begin(const char* name) {
        end();
        m_open = &m_stepOf(name);
        m_observer.onBegin(*m_open);
    }
    void end() {
        if (m_open != nullptr) {
            m_observer.onEnd(*m_open);
            m_open = nullptr;
        }
    }

    inline static thread_local OperatorWatch* s_current = nullptr;

    StepObserver& m_observer;
    StepOf m_stepOf;
    const Step* m_open = nullptr;
    int m_depth = 0;
    at::CallbackHandle m_handle = 0;
};

class ScriptProgram : public ForeignProgram {
public:
    explicit ScriptProgram(torch::jit::Module module) : m_module(std::move(module)), m_interface(interfaceOf(m_module)) {
        const std::shared_ptr<Plan> plan = makeForeignPlan(m_interface);
        plan->operatorCount = operatorCount(m_module);
        m_plan = plan;
    }

    [[nodiscard]] std::shared_ptr<const Plan> plan() const override { return m_plan; }

    void adopt(const Leaves& state) override {
        std::set<std::pair<const c10::ivalue::Object*, std::size_t>> lent;
        for (const auto& entry : m_module.named_modules()) {
            const c10::ClassTypePtr type = entry.value.type();
            for (std::size_t i = 0; i < type->numAttributes(); ++i) {
                const std::string name = (entry.name.empty() ? "" : entry.name + ".") + type->getAttributeName(i);
                const Leaf* leaf = state.find(name);
                if (leaf != nullptr && (type->is_parameter(i) || type->is_buffer(i))) {
                    entry.value._ivalue()->setSlot(i, leaf->tensor);
                    lent.emplace(entry.value._ivalue().get(), i);
                }
            }
        }
        keepPristine(lent);
    }

    void prepare(const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop) override {
        for (int i = 0; i < kRunsBeforeSteps; ++i) {
            restore();
            (void)run(inputs, stop, nullptr);
        }
        restore();
        findSteps(inputs, stop);
        restore();
    }

    [[nodiscard]] std::vector<c10::IValue> run(const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop,
                                               StepObserver* observer) override {
        std::vector<c10::IValue> outputs;
        if (observer == nullptr) {
            flatten(forward(inputs, stop), outputs);
        } else {
            m_next = 0;
            const OperatorWatch watch(*observer, [this](const char* name) -> const Step& { return stepOf(name); });
            flatten(forward(inputs, stop), outputs);
        }
        outputs.resize(m_plan->program->outputs.size());
        return outputs;
    }

    void restore() override {
        for (Attribute& attribute : m_pristine) {
            if (attribute.copy.isTensor()) {
                restoreTensor(attribute);
            } else {
                attribute.owner->setSlot(attribute.slot, attribute.copy.deepcopy());
            }
        }
    }

private:
    [[nodiscard]] c10::IValue forward(const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop) {
        const base::Error cancelled{base::ErrorCode::Cancelled, "the run was cancelled", ""};
        if (stop.load(std::memory_order_relaxed)) {
            throw Failure(cancelled);
        }
        const OperatorStop operatorStop(stop);
        try {
            return m_module.forward(inputs);
        } catch (const c10::OutOfMemoryError&) {
            throw;
        } catch (const std::exception& exception) {
            // The interpreter wraps what an operator throws in its own exception.
            if (stop.load(std::memory_order_relaxed)) {
                throw Failure(cancelled);
            }
            const auto* error = dynamic_cast<const c10::Error*>(&exception);
            throw Failure(scriptError(error == nullptr ? exception.what() : error->what_without_backtrace()));
        }
    }

    /// What an attribute held before any run.
    struct Attribute {
        c10::intrusive_ptr<c10::ivalue::Object> owner;
        std::size_t slot = 0;
        c10::IValue value;
        c10::IValue copy;                     ///< Of its own memory; of what the state lends the value itself.
        std::uint32_t version = 0;
    };

    void keepPristine(const std::set<std::pair<const c10::ivalue::Object*, std::size_t>>& lent) {
        m_pristine.clear();
        for (const auto& entry : m_module.named_modules()) {
            const c10::ClassTypePtr type = entry.value.type();
            for (std::size_t i = 0; i < type->numAttributes(); ++i) {
                const c10::IValue value = entry.value._ivalue()->getSlot(i);
                if (!type->getAttribute(i)->is_module() && !value.isCustomClass()) {
                    const auto& owner = entry.value._ivalue();
                    m_pristine.push_back(pristineOf(owner, i, value, lent.count({owner.get(), i}) != 0));
                }
            }
        }
    }

    static Attribute pristineOf(c10::intrusive_ptr<c10::ivalue::Object> owner, std::size_t slot, const c10::IValue& value,
                                bool isLent) {
        Attribute attribute{std::move(owner), slot, value, value, 0};
        if (!value.isTensor()) {
            attribute.copy = value.deepcopy();
        } else if (value.toTensor().defined()) {
            attribute.version = static_cast<std::uint32_t>(value.toTensor()._version());
            if (!isLent) {
                const at::NoGradGuard noGrad;
                attribute.copy = value.toTensor().clone();
            }
        }
        return attribute;
    }

    /// Puts the tensor back, and its content when it was written to. State is written back by who lends it.
    static void restoreTensor(Attribute& attribute) {
        attribute.owner->setSlot(attribute.slot, attribute.value);
        const at::Tensor& tensor = attribute.value.toTensor();
        if (!tensor.defined() || attribute.copy.is(attribute.value) ||
            static_cast<std::uint32_t>(tensor._version()) == attribute.version) {
            return;
        }
        const at::NoGradGuard noGrad;
        tensor.detach().copy_(attribute.copy.toTensor());
        attribute.version = static_cast<std::uint32_t>(tensor._version());
    }

    /// Notes the operators of one run with the module calls they are in, and makes a step of each pair.
    void findSteps(const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop) {
        struct Ignore : StepObserver {
        } ignore;
        std::map<std::string, std::string> classes;
        for (const protocol::InspectedModule& module : m_interface.modules) {
            classes[module.path] = module.className;
        }
        ScriptScopes scopes(std::move(classes));
        ScriptFrames frames(*m_module._ivalue()->compilation_unit());
        m_sequence.clear();
        std::vector<std::pair<int, std::string>> found;
        std::map<std::pair<int, std::string>, int> known;
        {
            static const Step kNone;
            const OperatorWatch watch(ignore, [&](const char* name) -> const Step& {
                const std::pair<int, std::string> key(scopes.scopeOf(frames.current(), name), name);
                const auto [place, isNew] = known.emplace(key, static_cast<int>(found.size()));
                if (isNew) {
                    found.push_back(key);
                }
                m_sequence.push_back({name, place->second});
                return kNone;
            });
            (void)forward(inputs, stop);
        }
        makePlan(scopes.scopes(), found);
    }

    void makePlan(const std::vector<graph::Scope>& scopes, std::vector<std::pair<int, std::string>> found) {
        found.emplace_back(0, kOtherOperators);
        const std::shared_ptr<Plan> plan = makeForeignPlan(m_interface);
        auto program = std::make_shared<graph::Program>(*plan->program);
        program->scopes = scopes;
        program->graph.nodes.resize(found.size());
        plan->root.steps.resize(found.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            graph::Node& node = program->graph.nodes[i];
            node.name = found[i].second;
            node.target = found[i].second;
            node.scope = found[i].first;
            Step& step = plan->root.steps[i];
            step.id = static_cast<int>(i);
            step.node = &node;
            step.name = found[i].second;
            plan->steps.push_back(&step);
        }
        plan->operatorCount = m_plan->operatorCount;
        plan->program = std::move(program);
        m_plan = plan;
    }

    /// The step of the operator that is running. Where a run leaves the known sequence, the nearest place ahead counts.
    const Step& stepOf(const char* name) {
        constexpr std::size_t kLookAhead = 64;
        const std::size_t end = std::min(m_sequence.size(), m_next + kLookAhead);
        for (std::size_t i = m_next; i < end; ++i) {
            if (m_sequence[i].name == name) {
                m_next = i + 1;
                return m_plan->root.steps[static_cast<std::size_t>(m_sequence[i].step)];
            }
        }
        return m_plan->root.steps.back();
    }

    struct Executed {
        std::string name;
        int step = 0;
    };

    torch::jit::Module m_module;
    ForeignInterface m_interface;
    std::shared_ptr<const Plan> m_plan;
    std::vector<Attribute> m_pristine;
    std::vector<Executed> m_sequence;
    std::size_t m_next = 0;
};

}  // namespace

base::Result<std::unique_ptr<ForeignProgram>> loadScript(const std::shared_ptr<const base::MappedFile>& file,
                                                         const std::string& name, c10::Device device) {
    return torchGuarded(name, [&]() -> base::Result<std::unique_ptr<ForeignProgram>> {
        return std::unique_ptr<ForeignProgram>(std::make_unique<ScriptProgram>(readModule(file, name, device)));
    });
}

base::Result<protocol::InspectResult> inspectScript(const std::shared_ptr<const base::MappedFile>& file,
                                                    const std::string& name, const std::string& scratchFile) {
    return torchGuarded(name, [&]() -> base::Result<protocol::InspectResult> {
        const torch::jit::Module module = readModule(file, name, c10::Device(c10::DeviceType::CPU));
        ForeignInterface interface = interfaceOf(module);
        protocol::InspectResult result;
        ValueEncoder encoder;
        result.state = json::object();
        const auto add = [&](const std::string& tensorName, const at::Tensor& tensor, bool isParameter) {
            try {
                result.state[tensorName] = encoder.encodeState(tensor, isParameter);
            } catch (const Failure& failure) {
                result.warnings.push_back("'" + tensorName + "' is not shown: " + failure.error().message);
            }
        };
        for (const auto& entry : module.named_parameters()) {
            add(entry.name, entry.value, true);
        }
        for (const auto& entry : module.named_buffers()) {
            add(entry.name, entry.value, false);
        }
        if (!encoder.isEmpty()) {
            if (auto written = encoder.write(scratchFile); !written) {
                return written.error();
            }
            result.file = scratchFile;
        }
        result.call = std::move(interface.call);
        result.output = std::move(interface.output);
        result.arguments = std::move(interface.arguments);
        result.modules = std::move(interface.modules);
        return result;
    });
}

}  // namespace modulelens::engine
