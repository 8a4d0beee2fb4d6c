// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Plan.h"

#include "backend/engine/Executor.h"
#include "tests/support/TestMain.h"

#include <ATen/Functions.h>
#include <QTest>

using namespace modulelens;
using base::ErrorCode;
using engine::makePlan;

namespace {

graph::Value tensorValue(const std::string& name) {
    graph::Value value;
    value.name = name;
    value.kind = graph::ValueKind::Tensor;
    return value;
}

graph::Node node(const std::string& target, std::vector<graph::NamedArgument> inputs, graph::ValueId output) {
    graph::Node result;
    result.name = "node";
    result.target = target;
    result.inputs = std::move(inputs);
    result.outputs = {graph::ValueArgument{output}};
    result.stackTrace = "  File \"/somewhere/model.py\", line 12, in forward\n    return exotic(x)\n";
    return result;
}

/// A program of one user input, value 0, that returns value `output`.
std::shared_ptr<graph::Program> program(std::vector<graph::Node> nodes, int valueCount, graph::ValueId output) {
    auto result = std::make_shared<graph::Program>();
    for (int i = 0; i < valueCount; ++i) {
        result->graph.values.push_back(tensorValue("v" + std::to_string(i)));
    }
    result->graph.inputs = {graph::ValueArgument{0}};
    result->graph.outputs = {graph::ValueArgument{output}};
    result->graph.nodes = std::move(nodes);
    result->inputs = {{graph::InputKind::UserInput, "", true, {}}};
    result->outputs = {{graph::OutputKind::UserOutput, ""}};
    return result;
}

at::Tensor runOn(const std::shared_ptr<graph::Program>& source, const at::Tensor& input) {
    const auto plan = makePlan(source, {});
    if (!plan) {
        throw std::runtime_error(plan.error().text());
    }
    const std::atomic<bool> stop{false};
    return engine::Executor().run(*plan.value(), {input}, stop, nullptr).at(0).toTensor();
}

}  // namespace

class PlanTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void unsupportedOperators_areNamedTogetherWithTheirLines() {
        const auto source =
            program({node("torch.ops.mine.exotic.default", {{"x", graph::ValueArgument{0}}}, 1),
                     node("torch.ops.higher_order.strange", {{"", graph::ValueArgument{1}}}, 2), node("os.system", {}, 3)},
                    4, 3);
        const auto plan = makePlan(source, {});
        QVERIFY(!plan);
        QCOMPARE(plan.error().code, ErrorCode::Unsupported);
        for (const char* part : {"mine.exotic", "higher_order.strange", "os.system", "model.py:12: return exotic(x)"}) {
            QVERIFY2(plan.error().message.find(part) != std::string::npos, plan.error().message.c_str());
        }
    }

    void metadataAssertions_areLeftOut() {
        const auto source =
            program({node("torch.ops.aten._assert_tensor_metadata.default", {{"a", graph::ValueArgument{0}}}, -1)}, 1, 0);
        const auto plan = makePlan(source, {});
        QVERIFY(plan.hasValue());
        QCOMPARE(plan.value()->operatorCount, 0);
    }

    void valueOutOfRange_isCorrupt() {
        const auto source = program({node("torch.ops.aten.relu.default", {{"self", graph::ValueArgument{9}}}, 1)}, 2, 1);
        QCOMPARE(makePlan(source, {}).error().code, ErrorCode::Corrupt);
    }

    void signatureThatDoesNotFit_isCorrupt() {
        const auto source = program({}, 1, 0);
        source->inputs.clear();
        QCOMPARE(makePlan(source, {}).error().code, ErrorCode::Corrupt);
    }

    void numbers_fitTheSchema() {
        // An integer for a tensor, an integer for a float, one integer for a list of two.
        const auto source = program(
            {node("torch.ops.aten.add.Tensor", {{"self", graph::ValueArgument{0}}, {"other", graph::IntegerArgument{1}}}, 1),
             node("torch.ops.aten.leaky_relu.default",
                  {{"self", graph::ValueArgument{1}}, {"negative_slope", graph::IntegerArgument{2}}}, 2),
             node("torch.ops.aten.max_pool2d.default",
                  {{"self", graph::ValueArgument{2}}, {"kernel_size", graph::IntegerArgument{2}}}, 3)},
            4, 3);
        const at::Tensor result = runOn(source, at::full({1, 1, 2, 2}, -3.0F));
        QCOMPARE(result.numel(), 1);
        QCOMPARE(result.item().toFloat(), -4.0F);
    }

    void programThatTurnsAutogradOn_staysOutOfInferenceMode() {
        const std::vector<graph::Node> relu{node("torch.ops.aten.relu.default", {{"self", graph::ValueArgument{0}}}, 1)};
        const auto inner = std::make_shared<const graph::Graph>(program(relu, 2, 1)->graph);
        for (const bool isOn : {false, true}) {
            const auto source = program({node("torch.ops.higher_order.wrap_with_set_grad_enabled",
                                              {{"", graph::BooleanArgument{isOn}},
                                               {"", graph::GraphArgument{"inner", inner}},
                                               {"", graph::ValueArgument{0}}},
                                              1)},
                                        2, 1);
            const auto plan = makePlan(source, {});
            QVERIFY(plan.hasValue());
            QCOMPARE(plan.value()->isInferenceSafe, !isOn);
        }
    }

    void sameValueTwice_isNotMovedTooEarly() {
        const auto source = program(
            {node("torch.ops.aten.relu.default", {{"self", graph::ValueArgument{0}}}, 1),
             node("torch.ops.aten.add.Tensor", {{"self", graph::ValueArgument{1}}, {"other", graph::ValueArgument{1}}}, 2)},
            3, 2);
        QVERIFY(runOn(source, at::ones({3})).equal(at::full({3}, 2.0F)));
    }

    void failingOperator_namesNodeShapesAndLine() {
        const auto source = program(
            {node("torch.ops.aten.mm.default", {{"self", graph::ValueArgument{0}}, {"mat2", graph::ValueArgument{0}}}, 1)}, 2,
            1);
        try {
            (void)runOn(source, at::ones({2, 3}));
            QFAIL("mm of [2, 3] and [2, 3] must fail");
        } catch (const engine::Failure& failure) {
            const std::string& text = failure.error().message;
            QVERIFY2(text.find("aten.mm.default") != std::string::npos, text.c_str());
            QVERIFY2(text.find("[2, 3]") != std::string::npos, text.c_str());
            QVERIFY2(text.find("model.py:12") != std::string::npos, text.c_str());
            QVERIFY2(text.find("frame #") == std::string::npos, text.c_str());
        }
    }

    void pythonOperators_followPython_data() {
        QTest::addColumn<int>("operation");
        QTest::addColumn<int>("left");
        QTest::addColumn<int>("right");
        QTest::addColumn<int>("expected");
        using engine::PythonOperator;
        QTest::newRow("-7 // 2") << static_cast<int>(PythonOperator::FloorDivide) << -7 << 2 << -4;
        QTest::newRow("7 // -2") << static_cast<int>(PythonOperator::FloorDivide) << 7 << -2 << -4;
        QTest::newRow("-7 % 3") << static_cast<int>(PythonOperator::Modulo) << -7 << 3 << 2;
        QTest::newRow("7 % -3") << static_cast<int>(PythonOperator::Modulo) << 7 << -3 << -2;
        QTest::newRow("3 ** 4") << static_cast<int>(PythonOperator::Power) << 3 << 4 << 81;
        QTest::newRow("max") << static_cast<int>(PythonOperator::Maximum) << 3 << 4 << 4;
    }
    void pythonOperators_followPython() {
        QFETCH(int, operation);
        QFETCH(int, left);
        QFETCH(int, right);
        QFETCH(int, expected);
        const c10::IValue result = engine::evaluate(static_cast<engine::PythonOperator>(operation),
                                                    {static_cast<std::int64_t>(left), static_cast<std::int64_t>(right)});
        QCOMPARE(result.toInt(), expected);
    }

    void sizeDividedByZero_isAnError() {
        QVERIFY_THROWS_EXCEPTION(engine::Failure,
                                 (void)engine::evaluate(engine::PythonOperator::Modulo, {std::int64_t{1}, std::int64_t{0}}));
    }
};

ML_TEST_MAIN(PlanTest)
#include "tst_Plan.moc"
