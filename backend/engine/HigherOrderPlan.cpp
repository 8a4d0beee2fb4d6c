// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/HigherOrderPlan.h"

#include <map>

namespace modulelens::engine {

namespace {

constexpr std::string_view kTransformPrefix = "torch._functorch.predispatch.";

constexpr const char* kOtherOrder = "arguments in an order that this engine does not know";
constexpr const char* kCompiled = "a compiled part, which runs as a whole only";
constexpr const char* kForCompiler = "for a compiler to fill in";
constexpr const char* kGenerator = "a generator's state that a compiler's graph puts back, which torch.export does not write";
constexpr const char* kOfDynamo = "a mark that torch.compile leaves for itself, which torch.export does not write";
constexpr const char* kPythonCode = "a derivative that is written in Python";

// Every other higher-order operator of torch 2.13, with the reason why it does not run here. docs/exactness.md lists them.
const std::map<std::string_view, const char*>& refusals() {
    static const std::map<std::string_view, const char*> table{
        {"_export_tracepoint", kOfDynamo},
        {"aoti_call_delegate", kCompiled},
        {"auto_functionalized", kOtherOrder},
        {"auto_functionalized_v2", kOtherOrder},
        {"autograd_function_apply", kPythonCode},
        {"call_torchbind", "a method of a custom object"},
        {"custom_function_call", kPythonCode},
        {"dynamo_bypassing_wrapper", kOfDynamo},
        {"executorch_call_delegate", "a part for another runtime"},
        {"flat_apply", "a Python function that export left whole"},
        {"flex_attention",
         "attention with a function of the scores as one operator, which torch.export cannot save; capture the "
         "module with modulelens, which writes the operators that PyTorch runs for it"},
        {"flex_attention_backward",
         "the derivative of attention with a function of the scores, which torch.export does not write"},
        {"foreach_map", kForCompiler},
        {"graphsafe_run_with_rng_state", kGenerator},
        {"inductor_compiled_code", kCompiled},
        {"inline_asm_elementwise", "assembly code of one device"},
        {"invoke_leaf_function", "a Python function that export left whole"},
        {"invoke_quant_packed", "a quantisation scheme for a compiler to fill in"},
        {"local_map_hop", "a part for a mesh of devices"},
        {"out_dtype", kOtherOrder},
        {"register_hook", "a hook of the derivative that is written in Python"},
        {"run_and_save_rng_state", kGenerator},
        {"run_dtensor_rng_op", kGenerator},
        {"run_with_rng_state", kGenerator},
        {"trace_wrapped", kOfDynamo},
        {"triton_kernel_wrapper_functional", "a Triton kernel, for a compiler to fill in; run it by the Python worker"},
        {"triton_kernel_wrapper_mutation", "a Triton kernel, for a compiler to fill in; run it by the Python worker"},
        {"with_effects", kOtherOrder},
    };
    return table;
}

[[noreturn]] void refuse(const std::string& reason) {
    throw Failure({base::ErrorCode::Unsupported, reason, ""});
}

}  // namespace

StepKind higherOrderKind(std::string_view name) {
    static const std::map<std::string_view, StepKind> table{{"associative_scan", StepKind::AssociativeScan},
                                                            {"cond", StepKind::Cond},
                                                            {"hints_wrapper", StepKind::Wrap},
                                                            {"invoke_quant", StepKind::Wrap},
                                                            {"invoke_subgraph", StepKind::Wrap},
                                                            {"map_impl", StepKind::Map},
                                                            {"run_const_graph", StepKind::Wrap},
                                                            {"scan", StepKind::Scan},
                                                            {"strict_mode", StepKind::Wrap},
                                                            {"tag_activation_checkpoint", StepKind::Wrap},
                                                            {"while_loop", StepKind::WhileLoop},
                                                            {"while_loop_stack_output", StepKind::WhileLoopStackOutput},
                                                            {"wrap", StepKind::Wrap},
                                                            {"wrap_activation_checkpoint", StepKind::Wrap},
                                                            {"wrap_with_autocast", StepKind::Autocast},
                                                            {"wrap_with_set_grad_enabled", StepKind::SetGrad}};
    const auto found = table.find(name);
    if (found != table.end()) {
        return found->second;
    }
    const auto refused = refusals().find(name);
    refuse(refused != refusals().end() ? refused->second : "a higher-order operator that this engine does not know");
}

std::optional<StepKind> functionTransformKind(std::string_view target) {
    static const std::map<std::string_view, StepKind> table{{"_vmap_increment_nesting", StepKind::PushVmap},
                                                            {"_add_batch_dim", StepKind::AddBatchDimension},
                                                            {"_remove_batch_dim", StepKind::RemoveBatchDimension},
                                                            {"_vmap_decrement_nesting", StepKind::PopVmap}};
    if (!target.starts_with(kTransformPrefix)) {
        return std::nullopt;
    }
    const auto found = table.find(target.substr(kTransformPrefix.size()));
    if (found == table.end()) {
        refuse("a derivative inside the program (torch.func), which only PyTorch itself runs");
    }
    return found->second;
}

bool isIgnoredOperand(StepKind kind, const graph::NamedArgument& operand) {
    if (kind == StepKind::WhileLoop) {
        // Which operands its graphs write to: they do.
        return !operand.name.empty();
    }
    if (kind != StepKind::Wrap) {
        return false;
    }
    const auto* dictionary = std::get_if<graph::DictionaryArgument>(&operand.argument);
    const bool isEmptyDictionary = dictionary != nullptr && dictionary->entries && dictionary->entries->empty();
    return !operand.name.empty() || isEmptyDictionary || std::holds_alternative<graph::StringArgument>(operand.argument);
}

void checkHigherOrder(const Step& step) {
    const auto isGraph = [&](std::size_t i) {
        return i < step.arguments.size() && step.arguments[i].kind == SourceKind::SubGraph;
    };
    const std::size_t count = step.arguments.size();
    bool isGood = false;
    switch (step.kind) {
        case StepKind::Cond:
            isGood = isGraph(1) && isGraph(2);
            break;
        case StepKind::SetGrad:
            isGood = isGraph(1);
            break;
        case StepKind::Autocast:
            isGood = isGraph(4) && step.arguments[0].constant.isString();
            break;
        case StepKind::WhileLoop:
        case StepKind::WhileLoopStackOutput:
            isGood = isGraph(0) && isGraph(1) && count >= 3;
            break;
        case StepKind::Map:
        case StepKind::AssociativeScan:
            isGood = isGraph(0) && count >= 2;
            break;
        case StepKind::Scan:
            isGood = isGraph(0) && count >= 3;
            break;
        case StepKind::Wrap:
            isGood = isGraph(0);
            break;
        case StepKind::CloneWithStrides:
            isGood = count == 1;
            break;
        case StepKind::PushVmap:
            isGood = count == 2 && step.arguments[1].constant.isString();
            break;
        case StepKind::AddBatchDimension:
            isGood = count == 3;
            break;
        case StepKind::RemoveBatchDimension:
            isGood = count == 4;
            break;
        case StepKind::PopVmap:
            isGood = true;
            break;
        default:
            break;
    }
    if (!isGood) {
        refuse(kOtherOrder);
    }
}

}  // namespace modulelens::engine
