// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/StaticCost.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens::graph;

namespace {

SymbolicInteger size(std::int64_t value) {
    return {value, {}, {}};
}

SymbolicInteger symbol(const char* expression, std::optional<std::int64_t> hint) {
    return {{}, expression, hint};
}

ValueId addTensor(Graph& graph, std::vector<SymbolicInteger> sizes) {
    TensorMeta meta;
    meta.sizes = std::move(sizes);
    graph.values.push_back({"v" + std::to_string(graph.values.size()), ValueKind::Tensor, meta, {}});
    return static_cast<ValueId>(graph.values.size() - 1);
}

Node mm(ValueId a, ValueId b, ValueId out) {
    Node node;
    node.target = "torch.ops.aten.mm.default";
    node.inputs = {{"self", ValueArgument{a}}, {"mat2", ValueArgument{b}}};
    node.outputs = {ValueArgument{out}};
    return node;
}

/// [rows, 4] @ [4, 5].
Graph product(const SymbolicInteger& rows) {
    Graph graph;
    const ValueId a = addTensor(graph, {rows, size(4)});
    const ValueId b = addTensor(graph, {size(4), size(5)});
    const ValueId c = addTensor(graph, {rows, size(5)});
    graph.nodes.push_back(mm(a, b, c));
    return graph;
}

Argument subGraph(Graph graph) {
    return GraphArgument{"body", std::make_shared<const Graph>(std::move(graph))};
}

Node higherOrder(const char* name, std::vector<Argument> inputs) {
    Node node;
    node.target = std::string("torch.ops.higher_order.") + name;
    for (Argument& input : inputs) {
        node.inputs.push_back({"", std::move(input)});
    }
    return node;
}

Node transform(const char* name, std::vector<Argument> inputs, std::vector<Argument> outputs) {
    Node node = higherOrder("", std::move(inputs));
    node.target = std::string("torch._functorch.predispatch.") + name;
    node.outputs = std::move(outputs);
    return node;
}

/// torch.vmap over `examples` products [3, 4] @ [4, 5], of which only the first operand is mapped over, and in it the same
/// product of one example: nodes 2 and 3.
Graph mappedProduct(const Argument& examples) {
    Graph graph = product(size(3));
    const ValueId mapped = addTensor(graph, {size(3), size(4)});
    const ValueId result = addTensor(graph, {size(3), size(5)});
    const ValueId all = addTensor(graph, {size(6), size(3), size(5)});
    graph.nodes = {
        transform("_vmap_increment_nesting", {examples, StringArgument{"error"}}, {}),
        transform("_add_batch_dim", {ValueArgument{0}, IntegerArgument{0}, IntegerArgument{1}}, {ValueArgument{mapped}}),
        mm(mapped, 1, result),
        mm(0, 1, 2),
        transform("_remove_batch_dim", {ValueArgument{result}, IntegerArgument{1}, examples, IntegerArgument{0}},
                  {ValueArgument{all}}),
        transform("_vmap_decrement_nesting", {}, {})};
    return graph;
}

} // namespace

class StaticCostTest : public QObject {
    Q_OBJECT

private slots:
    void literalSizes_areCounted() {
        Program program;
        program.graph = product(size(3));
        const StaticCosts costs = staticCosts(program, {});
        QCOMPARE(costs.flops, 120);
        QCOMPARE(costs.counted, std::vector<std::string>{"aten::mm"});
        QCOMPARE(costs.nodes[0].cost.bytesMoved.value(), 4 * (12 + 20 + 15));
    }

    void symbol_takesTheHintOfTheSample() {
        Program program;
        program.graph = product(symbol("Mul(Integer(2), Symbol('s7', integer=True))", 6));
        QCOMPARE(staticCosts(program, {}).flops, 240);
    }

    void givenSymbol_overridesTheHint() {
        Program program;
        program.graph = product(symbol("Mul(Integer(2), Symbol('s7', integer=True))", 6));
        QCOMPARE(staticCosts(program, {{"s7", 10}}).flops, 800);
        QCOMPARE(staticCosts(program, {{"s77", 10}}).flops, 240);
    }

    void sizeWithoutValue_isUnknownAndNotZero() {
        Program program;
        program.graph = product(symbol("u0", std::nullopt));
        const StaticCosts costs = staticCosts(program, {});
        QCOMPARE(costs.flops, 0);
        QCOMPARE(costs.unknown, std::vector<std::string>{"aten::mm"});
        QVERIFY(!costs.nodes[0].cost.bytesMoved);
    }

    void hintOfAChangedSymbol_isNotUsed() {
        Program program;
        program.graph = product(symbol("Strange(s7)", 6));
        QCOMPARE(staticCosts(program, {}).flops, 240);
        QCOMPARE(staticCosts(program, {{"s7", 2}}).unknown.size(), std::size_t{1});
    }

    void cond_countsTheCostlierBranchAndSaysSo() {
        Program program;
        program.graph.nodes.push_back(
            higherOrder("cond", {NoneArgument{}, subGraph(product(size(3))), subGraph(product(size(7)))}));
        const StaticCosts costs = staticCosts(program, {});
        QCOMPARE(costs.flops, 280);
        QCOMPARE(costs.unknown, std::vector<std::string>{"higher_order::cond"});
    }

    void condWithEqualBranches_isKnown() {
        Program program;
        program.graph.nodes.push_back(
            higherOrder("cond", {NoneArgument{}, subGraph(product(size(3))), subGraph(product(size(3)))}));
        QCOMPARE(staticCosts(program, {}).flops, 120);
        QVERIFY(staticCosts(program, {}).unknown.empty());
    }

    void map_countsEveryStep() {
        Program program;
        const ValueId xs = addTensor(program.graph, {size(9), size(3), size(4)});
        ValueListArgument list;
        list.values = {xs};
        program.graph.nodes.push_back(higherOrder("map_impl", {subGraph(product(size(3))), list}));
        const StaticCosts costs = staticCosts(program, {});
        QCOMPARE(costs.flops, 9 * 120);
        QVERIFY(costs.unknown.empty());
        QCOMPARE(costs.nodes[1].repeats, 9);
    }

    void whileLoop_isALowerBound() {
        Program program;
        program.graph.nodes.push_back(higherOrder("while_loop", {subGraph(Graph{}), subGraph(product(size(3)))}));
        QCOMPARE(staticCosts(program, {}).flops, 120);
        QCOMPARE(staticCosts(program, {}).unknown, std::vector<std::string>{"higher_order::while_loop"});
    }

    void wrappedRegion_countsOnce() {
        Program program;
        program.graph.nodes.push_back(
            higherOrder("wrap_with_set_grad_enabled", {BooleanArgument{false}, subGraph(product(size(3)))}));
        QCOMPARE(staticCosts(program, {}).flops, 120);
        QVERIFY(staticCosts(program, {}).unknown.empty());
    }

    void operatorsThatCallAnother_countAsThat() {
        for (const char* name : {"with_effects", "out_dtype"}) {
            Program program;
            program.graph = product(size(3));
            Node call = program.graph.nodes[0];
            const OperatorArgument called{call.target};
            const bool isTyped = std::string(name) == "out_dtype";
            call.target = std::string("torch.ops.higher_order.") + name;
            if (isTyped) {
                call.inputs[0].name = call.inputs[1].name = "";
                call.inputs.insert(call.inputs.begin(), {{"", called}, {"", ScalarTypeArgument{}}});
            } else {
                call.inputs.insert(call.inputs.begin(), {{"", NoneArgument{}}, {"", called}});
            }
            program.graph.nodes = {call};
            QCOMPARE(staticCosts(program, {}).flops, 120);
        }
    }

    void vmap_countsEveryExampleAndReadsOnceWhatItIsNotMappedOver() {
        Program program;
        program.graph = mappedProduct(IntegerArgument{6});
        const StaticCosts costs = staticCosts(program, {});
        QCOMPARE(costs.nodes[2].cost.flops, 6 * 120);
        // Six [3, 4] are read and six [3, 5] written, with the one [4, 5] that all share.
        QCOMPARE(costs.nodes[2].cost.bytesMoved.value(), 4 * (6 * 12 + 20 + 6 * 15));
        QCOMPARE(costs.nodes[3].cost.flops, 120);
        QCOMPARE(costs.nodes[3].cost.bytesMoved.value(), 4 * (12 + 20 + 15));
        QCOMPARE(costs.flops, 7 * 120);
        QVERIFY(costs.unknown.empty());
        QCOMPARE(costs.ledger.rows().at("aten::mm").calls, 2);
    }

    void vmapOverAnUnknownNumber_isUnknownWithItsReason() {
        Program program;
        program.graph = mappedProduct(NoneArgument{});
        const StaticCosts costs = staticCosts(program, {});
        QCOMPARE(costs.flops, 120);
        QCOMPARE(costs.unknown, std::vector<std::string>{"aten::mm"});
        QCOMPARE(costs.nodes[2].cost.coverage, Coverage::Unknown);
        QVERIFY(!costs.nodes[2].cost.bytesMoved);
        QVERIFY(QByteArray::fromStdString(costs.reasons.at("aten::mm")).contains("how many examples torch.vmap"));
        QCOMPARE(costs.nodes[3].cost.coverage, Coverage::Counted);
    }

    void vmapOverAnOperatorThatTakesGraphs_isALowerBound() {
        Program program;
        program.graph = mappedProduct(IntegerArgument{6});
        Node region = higherOrder("wrap_with_set_grad_enabled", {BooleanArgument{false}, subGraph(product(size(3)))});
        region.inputs.push_back(program.graph.nodes[2].inputs[0]);
        program.graph.nodes[2] = region;
        const StaticCosts costs = staticCosts(program, {});
        QCOMPARE(costs.flops, 240);
        QCOMPARE(costs.unknown, std::vector<std::string>{"higher_order::wrap_with_set_grad_enabled"});
    }

    void everyUnknownOperator_hasAReason() {
        Program program;
        program.graph = product(symbol("u0", std::nullopt));
        program.graph.nodes.push_back(program.graph.nodes[0]);
        program.graph.nodes[1].target = "torch.ops.mylib.product.default";
        program.graph.nodes.push_back(higherOrder("while_loop", {subGraph(Graph{}), subGraph(Graph{})}));
        const StaticCosts costs = staticCosts(program, {});
        QCOMPARE(costs.unknown.size(), std::size_t{3});
        QCOMPARE(costs.reasons.size(), std::size_t{3});
        QVERIFY(QByteArray::fromStdString(costs.reasons.at("aten::mm")).contains("known in a run only"));
    }

    void overflowingTotal_doesNotWrap() {
        Program program;
        const SymbolicInteger huge = size(std::int64_t{1} << 20);
        for (int i = 0; i < 8; ++i) {
            const ValueId a = addTensor(program.graph, {huge, huge});
            program.graph.nodes.push_back(mm(a, a, a));
        }
        QVERIFY(staticCosts(program, {}).flops > 0);
    }
};

ML_TEST_MAIN(StaticCostTest)
#include "tst_StaticCost.moc"
