// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/InputCheck.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens;

namespace {

graph::SymbolicInteger literal(std::int64_t value) {
    return {value, {}, {}};
}

graph::SymbolicInteger symbolic(const char* expression) {
    return {{}, expression, {}};
}

/// A program with one tensor input for each list of sizes.
graph::Program programOf(const std::vector<std::vector<graph::SymbolicInteger>>& inputs) {
    graph::Program program;
    for (const auto& sizes : inputs) {
        graph::TensorMeta meta;
        meta.sizes = sizes;
        meta.device = "cpu";
        program.graph.inputs.emplace_back(graph::ValueArgument{static_cast<int>(program.graph.values.size())});
        program.graph.values.push_back({"x", graph::ValueKind::Tensor, meta, {}});
        program.inputs.emplace_back();
    }
    program.ranges["s0"] = {2, 8};
    program.ranges["s1"] = {2, {}};
    return program;
}

std::vector<graph::GivenInput> given(const std::vector<std::vector<std::int64_t>>& shapes) {
    std::vector<graph::GivenInput> inputs;
    for (const auto& shape : shapes) {
        graph::GivenInput input;
        input.index = inputs.size();
        input.name = "the input at /args/" + std::to_string(inputs.size());
        input.isTensor = true;
        input.sizes = shape;
        input.deviceType = "cpu";
        inputs.push_back(input);
    }
    return inputs;
}

}  // namespace

class InputCheckTest : public QObject {
    Q_OBJECT

    static void refuses(const graph::Program& program, const std::vector<graph::GivenInput>& inputs, const char* sentence) {
        const auto checked = graph::checkInputs(program, inputs);
        QVERIFY(!checked);
        QVERIFY(checked.error().code == base::ErrorCode::InvalidArgument);
        QCOMPARE(QString::fromStdString(checked.error().message), QString(sentence));
    }

private slots:
    void symbols_takeTheirValues() {
        const graph::Program program =
            programOf({{symbolic("Symbol('s0')"), literal(4)}, {symbolic("Mul(Integer(2), Symbol('s0'))"), symbolic("s1")}});
        const auto checked = graph::checkInputs(program, given({{3, 4}, {6, 9}}));
        QVERIFY2(checked, checked ? "" : checked.error().message.c_str());
        QCOMPARE(checked.value(), (std::map<std::string, std::int64_t>{{"s0", 3}, {"s1", 9}}));
    }

    void fixedDimension_ofAnotherSize_isRefused() {
        refuses(programOf({{symbolic("s0"), literal(4)}}), given({{3, 5}}),
                "dimension 1 of the input at /args/0 is 5, and the program was exported for 4 alone");
    }

    void rangeIsChecked_andNamed() {
        const graph::Program program = programOf({{symbolic("s0")}, {symbolic("s1")}});
        refuses(program, given({{9}, {4}}),
                "dimension 0 of the input at /args/0 is 9, and the program takes sizes from 2 to 8");
        refuses(program, given({{4}, {1}}),
                "dimension 0 of the input at /args/1 is 1, and the program takes sizes of 2 or more");
        QVERIFY(graph::checkInputs(program, given({{8}, {100}})));
    }

    void oneSymbolInTwoInputs_mustBeEqual() {
        refuses(programOf({{symbolic("s0")}, {literal(4), symbolic("s0")}}), given({{3}, {4, 5}}),
                "dimension 1 of the input at /args/1 is 5, and the program takes it equal to dimension 0 of the input at "
                "/args/0, which is 3");
    }

    void derivedDimension_isChecked() {
        const graph::Program program = programOf({{symbolic("Mul(Integer(2), Symbol('s0'))")}, {symbolic("s0")}});
        QVERIFY(graph::checkInputs(program, given({{8}, {4}})));
        refuses(program, given({{9}, {4}}),
                "dimension 0 of the input at /args/0 is 9, and with the other sizes the program takes 8");
    }

    void derivedDimension_withoutItsSymbol_isSolved() {
        const graph::Program program = programOf({{symbolic("2*s0 + 1")}});
        const auto checked = graph::checkInputs(program, given({{9}}));
        QVERIFY(checked);
        QCOMPARE(checked.value().at("s0"), 4);
        refuses(program, given({{8}}),
                "dimension 0 of the input at /args/0 is 8, and the program takes sizes of the form 3, 5, 7, …");
        refuses(program, given({{3}}),
                "dimension 0 of the input at /args/0 is 3, so that s0 is 1, and the program takes sizes from 2 to 8");
    }

    void otherKinds_areRefused() {
        const graph::Program program = programOf({{literal(4)}});
        auto inputs = given({{4}});
        inputs[0].dtype = base::ScalarType::Int64;
        refuses(program, inputs, "the input at /args/0 is int64, and the program takes float32");
        refuses(program, given({{4, 1}}), "the input at /args/0 has 2 dimensions, and the program takes 1");
        inputs = given({{4}});
        inputs[0].deviceType = "cuda";
        refuses(program, inputs, "the input at /args/0 was captured on cuda, and the program takes it on cpu");
        inputs = given({{4}});
        inputs[0].isTensor = false;
        refuses(program, inputs, "the input at /args/0 is no tensor, and the program takes one");
    }

    void symbolicInteger_isBoundToo() {
        graph::Program program = programOf({{symbolic("s0")}});
        program.graph.inputs.emplace_back(graph::ValueArgument{1});
        program.graph.values.push_back({"n", graph::ValueKind::SymbolicInteger, {}, symbolic("Symbol('s0')")});
        auto inputs = given({{3}});
        inputs.push_back({1, "the input at /args/1", false, base::ScalarType::Float32, {}, {}, 4});
        refuses(program, inputs,
                "the input at /args/1 is 4, and the program takes it equal to dimension 0 of the input at /args/0, which is 3");
    }

    void unknownExpressions_areLeftToTheRun() {
        QVERIFY(graph::checkInputs(programOf({{symbolic("Strange(s9)")}}), given({{7}})));
    }
};

ML_TEST_MAIN(InputCheckTest)
#include "tst_InputCheck.moc"
