// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/HigherOrder.h"

#include "backend/engine/Executor.h"
#include "backend/engine/FunctionTransforms.h"
#include "backend/engine/Interruption.h"
#include "tests/support/TestMain.h"

#include <ATen/Functions.h>
#include <QTest>

using namespace modulelens;
using base::ErrorCode;
using engine::PythonOperator;
using graph::ValueArgument;

namespace {

/// A graph of one input, value 0, that returns value `output`.
graph::Graph graphOf(std::vector<graph::Node> nodes, int valueCount, graph::ValueId output) {
    graph::Graph result;
    for (int i = 0; i < valueCount; ++i) {
        result.values.push_back({"v" + std::to_string(i), graph::ValueKind::Tensor, {}, {}});
    }
    result.inputs = {ValueArgument{0}};
    result.outputs = {ValueArgument{output}};
    result.nodes = std::move(nodes);
    return result;
}

graph::Node node(const std::string& target, std::vector<graph::NamedArgument> inputs, std::vector<graph::Argument> outputs) {
    graph::Node result;
    result.name = "node";
    result.target = target;
    result.inputs = std::move(inputs);
    result.outputs = std::move(outputs);
    return result;
}

graph::NamedArgument plain(graph::Argument argument) {
    return {"", std::move(argument)};
}

/// x -> exp(x), as an operand.
graph::NamedArgument exponential() {
    auto graph = std::make_shared<graph::Graph>(
        graphOf({node("torch.ops.aten.exp.default", {{"self", ValueArgument{0}}}, {ValueArgument{1}})}, 2, 1));
    return plain(graph::GraphArgument{"body", std::move(graph)});
}

base::Result<std::shared_ptr<const engine::Plan>> planOf(graph::Graph graph) {
    auto program = std::make_shared<graph::Program>();
    program->graph = std::move(graph);
    program->inputs = {{graph::InputKind::UserInput, "", true, {}}};
    program->outputs = {{graph::OutputKind::UserOutput, ""}};
    return engine::makePlan(std::move(program), {});
}

at::Tensor runOn(graph::Graph graph, const at::Tensor& input) {
    const auto plan = planOf(std::move(graph));
    if (!plan) {
        throw std::runtime_error(plan.error().text());
    }
    const engine::TransformScope scope;
    const std::atomic<bool> stop{false};
    return engine::Executor().run(*plan.value(), {input}, stop, nullptr).at(0).toTensor();
}

/// x -> x, a graph without a step.
graph::NamedArgument nothing(int values = 1) {
    graph::Graph graph = graphOf({}, values, 0);
    graph.inputs.clear();
    for (int i = 0; i < values; ++i) {
        graph.inputs.emplace_back(ValueArgument{i});
    }
    return plain(graph::GraphArgument{"nothing", std::make_shared<graph::Graph>(std::move(graph))});
}

/// What stops `graph` on `input` after 5 ms.
base::Error stoppedOn(graph::Graph graph, const at::Tensor& input) {
    const auto plan = planOf(std::move(graph));
    if (!plan) {
        return plan.error();
    }
    const engine::Interruption limit({}, 5);
    try {
        (void)engine::Executor().run(*plan.value(), {input}, limit.flag(), nullptr);
    } catch (const engine::Failure& failure) {
        return limit.explain(failure.error());
    }
    return {};
}

graph::NamedArgument operands(std::vector<graph::ValueId> values) {
    return plain(graph::ValueListArgument{std::move(values), false});
}

/// associative_scan of a product over the one input.
graph::Graph productScan() {
    auto product = std::make_shared<graph::Graph>(graphOf(
        {node("torch.ops.aten.mul.Tensor", {{"self", ValueArgument{0}}, {"other", ValueArgument{1}}}, {ValueArgument{2}})}, 3,
        2));
    product->inputs.emplace_back(ValueArgument{1});
    return graphOf(
        {node("torch.ops.higher_order.associative_scan",
              {plain(graph::GraphArgument{"product", std::move(product)}), operands({0}), operands({})}, {ValueArgument{1}})},
        2, 1);
}

std::string refusalOf(const std::string& target) {
    const auto plan = planOf(graphOf({node(target, {}, {ValueArgument{1}})}, 2, 1));
    return plan ? std::string() : plan.error().message;
}

const std::string kVmap = "torch._functorch.predispatch.";

/// sum over each row, as torch.vmap(torch.sum) is exported, with the level and dimension that the arguments say.
graph::Graph vectorised(std::int64_t dimension, std::int64_t level) {
    const auto number = [](std::int64_t value) { return plain(graph::IntegerArgument{value}); };
    return graphOf(
        {node(kVmap + "lazy_load_decompositions", {}, {graph::NoneArgument{}}),
         node(kVmap + "_vmap_increment_nesting", {number(2), plain(graph::StringArgument{"error"})}, {graph::NoneArgument{}}),
         node(kVmap + "_add_batch_dim", {plain(ValueArgument{0}), number(dimension), number(level)}, {ValueArgument{1}}),
         node("torch.ops.aten.sum.default", {{"self", ValueArgument{1}}}, {ValueArgument{2}}),
         node(kVmap + "_remove_batch_dim", {plain(ValueArgument{2}), number(level), number(2), number(0)}, {ValueArgument{3}}),
         node(kVmap + "_vmap_decrement_nesting", {}, {graph::NoneArgument{}})},
        4, 3);
}

}  // namespace

class HigherOrderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void wrappers_runTheirGraph_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"wrap", "tag_activation_checkpoint", "wrap_activation_checkpoint", "strict_mode",
                                 "run_const_graph", "hints_wrapper", "invoke_subgraph", "invoke_quant"}) {
            QTest::newRow(name) << QString(name);
        }
    }
    void wrappers_runTheirGraph() {
        QFETCH(QString, name);
        std::vector<graph::NamedArgument> inputs{exponential()};
        if (name == "invoke_subgraph") {
            inputs.push_back(plain(graph::StringArgument{"identifier"}));
        }
        inputs.push_back(plain(graph::ValueListArgument{{0}, false}));
        inputs.push_back({"use_reentrant", graph::BooleanArgument{false}});
        inputs.push_back(plain(graph::DictionaryArgument{std::make_shared<std::vector<graph::NamedArgument>>()}));
        auto graph = graphOf({node("torch.ops.higher_order." + name.toStdString(), inputs, {ValueArgument{1}})}, 2, 1);
        const at::Tensor input = at::arange(3, at::kFloat);
        QVERIFY(runOn(std::move(graph), input).equal(input.exp()));
    }

    void printing_isLeftOut() {
        auto graph =
            graphOf({node("torch.ops.higher_order.print", {plain(graph::StringArgument{"x"})}, {graph::NoneArgument{}})}, 1, 0);
        QVERIFY(runOn(std::move(graph), at::ones({2})).equal(at::ones({2})));
    }

    void effects_callTheirOperator() {
        // As run_decompositions writes linalg.inv, with the value 0 standing for the token too.
        const auto checked = [](const char* name) {
            return node("torch.ops.higher_order.with_effects",
                        {plain(ValueArgument{0}),
                         plain(graph::OperatorArgument{name}),
                         plain(ValueArgument{0}),
                         plain(graph::StringArgument{"linalg.inv"}),
                         {"is_matrix", graph::BooleanArgument{true}}},
                        {ValueArgument{1}, graph::NoneArgument{}});
        };
        const char* name = "torch.ops.aten._linalg_check_errors.default";
        const at::Tensor fine = at::zeros({}, at::kInt);
        QVERIFY(runOn(graphOf({checked(name)}, 2, 0), fine).equal(fine));
        QVERIFY_THROWS_EXCEPTION(engine::Failure, (void)runOn(graphOf({checked(name)}, 2, 0), at::ones({}, at::kInt)));
        QVERIFY(runOn(graphOf({checked("torch.ops.higher_order.print")}, 2, 0), fine).equal(fine));
        QVERIFY(!planOf(graphOf({checked("torch.ops.higher_order.with_effects")}, 2, 0)));
    }

    void endlessLoopWithoutSteps_canBeStopped() {
        for (const char* name : {"while_loop", "while_loop_stack_output"}) {
            const std::string target = std::string("torch.ops.higher_order.") + name;
            const base::Error error = stoppedOn(
                graphOf({node(target, {nothing(), nothing(), operands({0}), operands({})}, {ValueArgument{1}})}, 2, 1),
                at::ones({}, at::kBool));
            QCOMPARE(error.code, ErrorCode::Timeout);
            QCOMPARE(error.message, std::string("the run was stopped at its limit of 5 ms"));
        }
    }

    void longMapWithoutSteps_canBeStopped() {
        const at::Tensor endless = at::zeros({1}).expand({std::int64_t{1} << 40});
        const auto map = graphOf(
            {node("torch.ops.higher_order.map_impl", {nothing(), operands({0}), operands({})}, {ValueArgument{1}})}, 2, 1);
        QCOMPARE(stoppedOn(map, endless).code, ErrorCode::Timeout);
        const auto scan = graphOf({node("torch.ops.higher_order.scan",
                                        {nothing(2), operands({}), operands({0, 0}), operands({})}, {ValueArgument{1}})},
                                  2, 1);
        QCOMPARE(stoppedOn(scan, endless).code, ErrorCode::Timeout);
    }

    void loopWithoutIteration_returnsACopy() {
        const auto loop = [](const char* name) {
            return graphOf({node(std::string("torch.ops.higher_order.") + name,
                                 {nothing(), nothing(), operands({0}), operands({})}, {ValueArgument{1}})},
                           2, 1);
        };
        const at::Tensor no = at::zeros({}, at::kBool);
        const at::Tensor copy = runOn(loop("while_loop"), no);
        QVERIFY(copy.equal(no) && copy.data_ptr() != no.data_ptr());
        QCOMPARE(runOn(loop("while_loop_stack_output"), no).dim(), 1);
    }

    void associativeScan_givesRunningProducts() {
        for (const int count : {1, 2, 3, 7, 8}) {
            const at::Tensor input = at::arange(1, count + 1, at::kDouble);
            QVERIFY(runOn(productScan(), input).equal(input.cumprod(0)));
        }
    }

    void goingOverNothing_isNamed() {
        try {
            (void)runOn(productScan(), at::ones({0, 3}));
            QFAIL("must fail");
        } catch (const engine::Failure& failure) {
            QCOMPARE(failure.error().code, ErrorCode::InvalidArgument);
            QCOMPARE(failure.error().message, std::string("higher_order::associative_scan goes over a dimension of size 0"));
        }
        QVERIFY_THROWS_EXCEPTION(engine::Failure, (void)runOn(productScan(), at::ones({})));
    }

    void outDtype_computesInTheCommonType() {
        const auto graphWith = [](std::optional<graph::TensorMeta> meta) {
            auto graph = graphOf({node("torch.ops.higher_order.out_dtype",
                                       {plain(graph::OperatorArgument{"torch.ops.aten.mul.Tensor"}),
                                        plain(graph::ScalarTypeArgument{base::ScalarType::Int32}), plain(ValueArgument{0}),
                                        plain(ValueArgument{0})},
                                       {ValueArgument{1}})},
                                 2, 1);
            graph.values[0].tensor = std::move(meta);
            return graph;
        };
        graph::TensorMeta meta;
        meta.dtype = base::ScalarType::Int8;
        meta.sizes = {{3, {}, {}}};
        const at::Tensor input = at::full({3}, 100, at::kChar);
        QVERIFY(runOn(graphWith(meta), input).equal(at::full({3}, 10000, at::kInt)));
        const auto plan = planOf(graphWith({}));
        QVERIFY(!plan && plan.error().message.find("out_dtype (arguments in an order") != std::string::npos);
    }

    void functionalisedOperator_changesCopies() {
        // mul_ stands for a library's operator; its copy is what the graph reads.
        const auto graphWith = [](std::vector<graph::NamedArgument> inputs, std::vector<graph::Argument> outputs) {
            inputs.insert(inputs.begin(), plain(graph::OperatorArgument{"torch.ops.aten.mul_.Tensor"}));
            inputs.push_back({"other", graph::FloatArgument{2}});
            return graphOf({node("torch.ops.higher_order.auto_functionalized_v2", std::move(inputs), std::move(outputs))}, 3,
                           2);
        };
        const auto number = [](std::int64_t value) { return graph::IntegerArgument{value}; };
        const graph::NamedArgument bases{"_all_bases", graph::ValueListArgument{{0}, false}};
        const std::vector<graph::Argument> outputs{ValueArgument{1}, ValueArgument{2}};
        const at::Tensor input = at::arange(12, at::kFloat).reshape({3, 4}).t();
        const at::Tensor before = input.clone();
        const at::Tensor whole = runOn(graphWith({{"_self_base_index", number(0)}, bases}, outputs), input);
        QVERIFY(whole.equal(before.mul(2)) && input.equal(before) && whole.strides() == input.strides());
        const at::Tensor slice = runOn(graphWith({{"_self_base_index", number(0)},
                                                  {"_self_slice_dim", number(0)},
                                                  {"_self_slice_start", number(1)},
                                                  {"_self_slice_end", number(2)},
                                                  bases},
                                                 outputs),
                                       input);
        QVERIFY(slice[1].equal(before[1].mul(2)) && slice[0].equal(before[0]));
        for (const auto& inputs : std::vector<std::vector<graph::NamedArgument>>{{bases},
                                                                                 {{"_self_base_index", number(1)}, bases},
                                                                                 {{"_self_base_index", number(-1)}, bases},
                                                                                 {{"_self_base_index", number(0)}},
                                                                                 {{"_self_length", number(1 << 30)}, bases}}) {
            const auto plan = planOf(graphWith(inputs, outputs));
            QVERIFY(!plan && plan.error().message.find("arguments in an order") != std::string::npos);
        }
        QVERIFY(!planOf(graphWith({{"_self_base_index", number(0)}, bases}, {ValueArgument{1}})));
    }

    void functionalisedOperatorThatIsMissing_isNamedItself() {
        const auto plan = planOf(graphOf(
            {node("torch.ops.higher_order.auto_functionalized",
                  {plain(graph::OperatorArgument{"torch.ops.mine.write.default"})}, {graph::NoneArgument{}, ValueArgument{1}})},
            2, 1));
        QVERIFY(plan.error().message.find("torch.ops.mine.write.default (no such operator is registered here; load the library "
                                          "of the namespace 'mine'") != std::string::npos);
    }

    void vmap_goesOverItsDimension() {
        const at::Tensor input = at::arange(6, at::kFloat).reshape({2, 3});
        QVERIFY(runOn(vectorised(0, 1), input).equal(input.sum(1)));
        QVERIFY(runOn(vectorised(1, 1), input.t()).equal(input.sum(1)));
    }

    void vmap_ofLevelOrDimensionThatIsNotThere_isCorrupt() {
        for (const auto& [dimension, level] : {std::pair{0, 2}, {0, 70}, {0, -1}, {2, 1}, {-1, 1}}) {
            try {
                (void)runOn(vectorised(dimension, level), at::ones({2, 3}));
                QFAIL("must fail");
            } catch (const engine::Failure& failure) {
                QCOMPARE(failure.error().code, ErrorCode::Corrupt);
            }
        }
        // What failed half-way left no level behind.
        QVERIFY(runOn(vectorised(0, 1), at::ones({2, 3})).equal(at::full({2}, 3.0F)));
    }

    void unbalancedVmap_isCorrupt() {
        auto graph = graphOf({node(kVmap + "_vmap_decrement_nesting", {}, {graph::NoneArgument{}})}, 1, 0);
        QVERIFY_THROWS_EXCEPTION(engine::Failure, (void)runOn(std::move(graph), at::ones({2})));
    }

    void refusals_sayWhy() {
        QVERIFY(refusalOf("torch.ops.higher_order.call_torchbind").find("custom object") != std::string::npos);
        QVERIFY(refusalOf("torch.ops.higher_order.aoti_call_delegate").find("compiled") != std::string::npos);
        QVERIFY(refusalOf("torch.ops.higher_order.triton_kernel_wrapper_functional").find("a Triton kernel") !=
                std::string::npos);
        QVERIFY(refusalOf("torch.ops.higher_order.flex_attention").find("capture the module") != std::string::npos);
        QVERIFY(refusalOf("torch.ops.higher_order.brand_new").find("does not know") != std::string::npos);
        QVERIFY(refusalOf(kVmap + "_make_dual").find("torch.func") != std::string::npos);
        QVERIFY(refusalOf("torch.ops.higher_order.wrap").find("order") != std::string::npos);
        QVERIFY(refusalOf(kVmap + "_add_batch_dim").find("order") != std::string::npos);
    }

    void shifts_followPython() {
        const auto shift = [](PythonOperator operation, std::int64_t value, std::int64_t places) {
            return engine::evaluate(operation, {value, places}).toInt();
        };
        QCOMPARE(shift(PythonOperator::LeftShift, -3, 4), -48);
        QCOMPARE(shift(PythonOperator::RightShift, -3, 1), -2);
        QCOMPARE(shift(PythonOperator::RightShift, 5, 1000), 0);
        QCOMPARE(shift(PythonOperator::LeftShift, 0, 1000), 0);
        QCOMPARE(engine::evaluate(PythonOperator::Positive, {true}).toInt(), 1);
    }

    void numbersBeyond64Bits_areErrors() {
        const std::int64_t most = std::numeric_limits<std::int64_t>::max();
        const std::int64_t least = std::numeric_limits<std::int64_t>::min();
        const auto fails = [](PythonOperator operation, const std::vector<c10::IValue>& operands) {
            QVERIFY_THROWS_EXCEPTION(engine::Failure, (void)engine::evaluate(operation, operands));
        };
        fails(PythonOperator::Add, {most, std::int64_t{1}});
        fails(PythonOperator::Subtract, {least, std::int64_t{1}});
        fails(PythonOperator::Multiply, {most, std::int64_t{2}});
        fails(PythonOperator::Power, {std::int64_t{10}, std::int64_t{19}});
        fails(PythonOperator::LeftShift, {std::int64_t{1}, std::int64_t{63}});
        fails(PythonOperator::LeftShift, {std::int64_t{1}, std::int64_t{-1}});
        fails(PythonOperator::FloorDivide, {least, std::int64_t{-1}});
        fails(PythonOperator::Negate, {least});
        fails(PythonOperator::Absolute, {least});
        fails(PythonOperator::ToInteger, {std::numeric_limits<double>::infinity()});
        fails(PythonOperator::Ceiling, {std::numeric_limits<double>::quiet_NaN()});
        QCOMPARE(engine::evaluate(PythonOperator::Modulo, {least, std::int64_t{-1}}).toInt(), 0);
        QCOMPARE(engine::evaluate(PythonOperator::Power, {std::int64_t{-2}, std::int64_t{63}}).toInt(), least);
    }
};

ML_TEST_MAIN(HigherOrderTest)
#include "tst_HigherOrder.moc"
