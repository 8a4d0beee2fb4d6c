// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/HigherOrderPlan.h"

#include <map>

namespace modulelens::engine {

namespace {

constexpr std::string_view kTransformPrefix = "torch._functorch.predispatch.";

// Every higher-order operator of torch 2.13 that export can write and that does not run here, with the reason.
const std::map<std::string_view, const char*>& refusals() {
    static const std::map<std::string_view, const char*> table{
        {"aoti_call_delegate", "a compiled part, which runs as a whole only"},
        {"associative_scan", "a scan in an order that its device chooses; export it with combine_mode='generic'"},
        {"auto_functionalized",
         "an operator that changes its inputs, rewritten by a decomposition; save the program before it"},
        {"auto_functionalized_v2",
         "an operator that changes its inputs, rewritten by a decomposition; save the program before it"},
        {"autograd_function_apply", "a derivative that is written in Python"},
        {"call_torchbind", "a method of a custom object"},
        {"custom_function_call", "a derivative that is written in Python"},
        {"executorch_call_delegate", "a part for another runtime"},
        {"flex_attention", "attention with a score function, which torch.export cannot save for now"},
        {"inline_asm_elementwise", "assembly code"},
        {"invoke_leaf_function", "a Python function that export left whole"},
        {"invoke_quant_packed", "a quantisation scheme that a compiler must fill in"},
        {"local_map_hop", "a part for a mesh of devices"},
        {"out_dtype", "a product with another result type, which a compiler must fill in"},
        {"triton_kernel_wrapper_functional", "a Triton kernel, which a compiler must fill in"},
        {"triton_kernel_wrapper_mutation", "a Triton kernel, which a compiler must fill in"},
        {"while_loop_stack_output", "a loop that keeps every iteration for its derivative"},
    };
    return table;
}

[[noreturn]] void refuse(const std::string& reason) {
    throw Failure({base::ErrorCode::Unsupported, reason, ""});
}

}  // namespace

StepKind higherOrderKind(std::string_view name) {
    static const std::map<std::string_view, StepKind> table{{"cond", StepKind::Cond},
                                                            {"hints_wrapper", StepKind::Wrap},
                                                            {"invoke_quant", StepKind::Wrap},
                                                            {"invoke_subgraph", StepKind::Wrap},
                                                            {"map_impl", StepKind::Map},
                                                            {"run_const_graph", StepKind::Wrap},
                                                            {"scan", StepKind::Scan},
                                                            {"strict_mode", StepKind::Wrap},
                                                            {"tag_activation_checkpoint", StepKind::Wrap},
                                                            {"while_loop", StepKind::WhileLoop},
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
    if (kind != StepKind::Wrap) {
        return false;
    }
    const auto* dictionary = std::get_if<graph::DictionaryArgument>(&operand.argument);
    const bool isEmptyDictionary = dictionary != nullptr && dictionary->entries && dictionary->entries->empty();
    return !operand.name.empty() || isEmptyDictionary || std::holds_alternative<graph::StringArgument>(operand.argument);
}

graph::Node withoutToken(const graph::Node& node) {
    const auto* called = node.inputs.size() < 2 ? nullptr : std::get_if<graph::OperatorArgument>(&node.inputs[1].argument);
    if (called == nullptr || node.outputs.empty()) {
        refuse("arguments in an order that this engine does not know");
    }
    graph::Node inner;
    inner.name = node.name;
    inner.target = called->value;
    inner.inputs.assign(node.inputs.begin() + 2, node.inputs.end());
    inner.outputs.assign(node.outputs.begin() + 1, node.outputs.end());
    while (!inner.outputs.empty() && std::holds_alternative<graph::NoneArgument>(inner.outputs.back())) {
        inner.outputs.pop_back();
    }
    return inner;
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
            isGood = isGraph(0) && isGraph(1) && count >= 3;
            break;
        case StepKind::Map:
            isGood = isGraph(0) && count >= 2;
            break;
        case StepKind::Scan:
            isGood = isGraph(0) && count >= 3;
            break;
        case StepKind::Wrap:
            isGood = isGraph(0);
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
        refuse("arguments in an order that this engine does not know");
    }
}

}  // namespace modulelens::engine
