// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/ProgramArchive.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

using namespace modulelens;
using nlohmann::json;

namespace {

json tensorMeta() {
    return json::parse(
        R"json({"dtype": 7, "sizes": [{"as_int": 2}, {"as_expr": {"expr_str": "Symbol('s0')", "hint": {"as_int": 3}}}],
        "requires_grad": false, "device": {"type": "cuda", "index": 1}, "strides": [{"as_int": 3}, {"as_int": 1}],
        "storage_offset": {"as_int": 0}, "layout": 7})json");
}

/// x -> aten.relu -> y, with further inputs for the node.
json model(const json& arguments = json::array(), const std::string& stack = "L__self__,,pkg.Top") {
    json inputs = json::array({{{"name", "self"}, {"arg", {{"as_tensor", {{"name", "x"}}}}}, {"kind", 1}}});
    for (const json& argument : arguments) {
        inputs.push_back({{"name", "extra"}, {"arg", argument}, {"kind", 1}});
    }
    const json node = {{"target", "torch.ops.aten.relu.default"},
                       {"name", "relu"},
                       {"inputs", inputs},
                       {"outputs", {{{"as_tensor", {{"name", "y"}}}}}},
                       {"metadata", {{"nn_module_stack", stack}, {"stack_trace", "File \"a.py\", line 3"}}}};
    const json graph = {{"inputs", {{{"as_tensor", {{"name", "x"}}}}}},
                        {"outputs", {{{"as_tensor", {{"name", "y"}}}}}},
                        {"nodes", {node}},
                        {"tensor_values", {{"x", tensorMeta()}, {"y", tensorMeta()}}},
                        {"sym_int_values", json::object()},
                        {"sym_bool_values", json::object()}};
    const json signature = {{"input_specs", {{{"user_input", {{"arg", {{"as_tensor", {{"name", "x"}}}}}}}}}},
                            {"output_specs", {{{"user_output", {{"arg", {{"as_tensor", {{"name", "y"}}}}}}}}}}};
    return {{"graph_module", {{"graph", graph}, {"signature", signature}}},
            {"schema_version", {{"major", 8}, {"minor", 20}}},
            {"range_constraints", {{"s0", {{"min_val", 2}, {"max_val", nullptr}}}}},
            {"torch_version", "2.13.0"},
            {"verifiers", {"TRAINING"}}};
}

base::Result<std::shared_ptr<const graph::Program>> parse(const json& source) {
    return graph::parseProgram(source.dump(), "model.json");
}

template <class T>
T argumentOf(const json& argument) {
    const auto program = parse(model(json::array({argument})));
    if (!program) {
        qFatal("%s", program.error().text().c_str());
    }
    return std::get<T>((*program)->graph.nodes[0].inputs[1].argument);
}

} // namespace

class ProgramParserTest : public QObject {
    Q_OBJECT

    void refuses(const json& source, base::ErrorCode code, const char* part) {
        const auto program = parse(source);
        QVERIFY(!program);
        QVERIFY2(program.error().code == code, program.error().text().c_str());
        QVERIFY2(program.error().message.find(part) != std::string::npos, program.error().text().c_str());
    }

private slots:
    void program_keepsWhatTheFileSays() {
        const auto result = parse(model());
        QVERIFY(result);
        const graph::Program& program = **result;
        QCOMPARE(program.graph.nodes.size(), std::size_t{1});
        QCOMPARE(program.graph.nodes[0].stackTrace, std::string("File \"a.py\", line 3"));
        QCOMPARE(program.ranges.at("s0").minimum.value(), 2);
        QVERIFY(!program.ranges.at("s0").maximum);
        QCOMPARE(program.verifier, std::string("TRAINING"));
        const auto x = std::get<graph::ValueArgument>(program.graph.inputs[0]).value;
        const graph::TensorMeta& meta = program.graph.values[static_cast<std::size_t>(x)].tensor.value();
        QCOMPARE(meta.device, std::string("cuda:1"));
        QCOMPARE(meta.sizes[1].hint.value(), 3);
        QCOMPARE(meta.sizes[1].expression, std::string("Symbol('s0')"));
    }

    void enumerations_areTranslated() {
        QVERIFY(argumentOf<graph::ScalarTypeArgument>({{"as_scalar_type", 13}}).value == base::ScalarType::BFloat16);
        QVERIFY(argumentOf<graph::ScalarTypeArgument>({{"as_scalar_type", 28}}).value == base::ScalarType::UInt16);
        QCOMPARE(argumentOf<graph::LayoutArgument>({{"as_layout", 7}}).value, 0);
        QCOMPARE(argumentOf<graph::LayoutArgument>({{"as_layout", 3}}).value, 4);
        QCOMPARE(argumentOf<graph::MemoryFormatArgument>({{"as_memory_format", 4}}).value, 1);
        QCOMPARE(argumentOf<graph::MemoryFormatArgument>({{"as_memory_format", 2}}).value, 2);
    }

    void everyKindOfArgument_isRead() {
        QCOMPARE(argumentOf<graph::IntegerArgument>({{"as_int", 9223372036854775807}}).value, 9223372036854775807);
        QCOMPARE(argumentOf<graph::IntegerListArgument>({{"as_ints", {1, -2}}}).values, (std::vector<std::int64_t>{1, -2}));
        QCOMPARE(argumentOf<graph::FloatArgument>({{"as_float", 0.5}}).value, 0.5);
        QVERIFY(std::isinf(argumentOf<graph::FloatArgument>({{"as_float", "-Infinity"}}).value));
        QVERIFY(std::isnan(argumentOf<graph::FloatListArgument>({{"as_floats", {1, "NaN"}}}).values[1]));
        QVERIFY(argumentOf<graph::BooleanArgument>({{"as_bool", true}}).value);
        QCOMPARE(argumentOf<graph::BooleanListArgument>({{"as_bools", {true, false}}}).values.size(), std::size_t{2});
        QCOMPARE(argumentOf<graph::StringArgument>({{"as_string", "same"}}).value, std::string("same"));
        QCOMPARE(argumentOf<graph::StringListArgument>({{"as_strings", {"a", "b"}}}).values.size(), std::size_t{2});
        QCOMPARE(argumentOf<graph::ComplexArgument>({{"as_complex", {{"real", 1}, {"imag", 2}}}}).value,
                 std::complex<double>(1, 2));
        QCOMPARE(argumentOf<graph::DeviceArgument>({{"as_device", {{"type", "cuda"}, {"index", 2}}}}).index.value(), 2);
        (void)argumentOf<graph::NoneArgument>({{"as_none", true}});
        const auto optional = argumentOf<graph::ValueListArgument>(
            {{"as_optional_tensors", {{{"as_tensor", {{"name", "x"}}}}, {{"as_none", true}}}}});
        QVERIFY(optional.optional);
        QCOMPARE(optional.values[1], -1);
        QCOMPARE(argumentOf<graph::ValueListArgument>({{"as_tensors", {{{"name", "x"}}}}}).values.size(), std::size_t{1});
        const auto mixed =
            argumentOf<graph::MixedListArgument>({{"as_sym_ints", {{{"as_int", 9007199254740993}}, {{"as_name", "x"}}}}});
        QCOMPARE(mixed.integerLiterals[0], 9007199254740993);
        QVERIFY(mixed.values[1] >= 0);
        QCOMPARE(argumentOf<graph::IntegerArgument>({{"as_sym_int", {{"as_int", 4}}}}).value, 4);
        QCOMPARE(argumentOf<graph::OperatorArgument>({{"as_operator", "torch.ops.aten.mm.default"}}).value,
                 std::string("torch.ops.aten.mm.default"));
        QCOMPARE(argumentOf<graph::IntegerListsArgument>({{"as_int_lists", {{1, 2}, json::array()}}}).values,
                 (std::vector<std::vector<std::int64_t>>{{1, 2}, {}}));
        QCOMPARE(argumentOf<graph::FloatListsArgument>({{"as_float_lists", {{0.5}}}}).values[0][0], 0.5);
        const auto nested = argumentOf<graph::TensorListsArgument>(
            {{"as_nested_tensors", json::array({json::array({{{"name", "x"}}}), json::array()})}});
        QCOMPARE(nested.values.size(), std::size_t{2});
        const auto dictionary = argumentOf<graph::DictionaryArgument>({{"as_string_to_argument", {{"a", {{"as_int", 3}}}}}});
        QCOMPARE(std::get<graph::IntegerArgument>(dictionary.entries->at(0).argument).value, 3);
        QCOMPARE(argumentOf<graph::UnsupportedArgument>({{"as_brand_new", 1}}).kind, std::string("as_brand_new"));
    }

    void subGraph_hasNamesOfItsOwn() {
        const json inner = model()["graph_module"]["graph"];
        const auto graph = argumentOf<graph::GraphArgument>({{"as_graph", {{"name", "true_graph"}, {"graph", inner}}}});
        QCOMPARE(graph.name, std::string("true_graph"));
        QCOMPARE(graph.graph->nodes.size(), std::size_t{1});
    }

    void moduleStack_becomesScopes() {
        const auto program =
            parse(model(json::array(), "L__self__,,pkg.Top;L__self___a,a,pkg.A[int, str];L__self___a_b@2,a.b,pkg.B"));
        QVERIFY(program);
        const auto& scopes = (*program)->scopes;
        QCOMPARE(scopes.size(), std::size_t{3});
        QCOMPARE(scopes[0].className, std::string("pkg.Top"));
        QCOMPARE(scopes[1].className, std::string("pkg.A[int, str]"));
        QCOMPARE(scopes[2].path, std::string("a.b"));
        QCOMPARE(scopes[2].call, 2);
        QCOMPARE(scopes[2].parent, 1);
        QCOMPARE((*program)->graph.nodes[0].scope, 2);
    }

    void placeholderStack_belongsToTheTop() {
        const std::string placeholder = "_empty_nn_module_stack_from_metadata_hook";
        const auto program = parse(model(json::array(), placeholder + "," + placeholder + "," + placeholder));
        QVERIFY(program);
        QCOMPARE((*program)->scopes.size(), std::size_t{1});
        QCOMPARE((*program)->graph.nodes[0].scope, 0);
    }

    void anotherMajorVersion_isUnsupported() {
        json source = model();
        source["schema_version"]["major"] = 9;
        refuses(source, base::ErrorCode::Unsupported, "version 9");
        source["schema_version"]["major"] = 7;
        refuses(source, base::ErrorCode::Unsupported, "version 7");
    }

    void malformedParts_areCorruptAndNamed() {
        json source = model();
        source["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"] = {{"as_tensor", {{"name", "z"}}}};
        refuses(source, base::ErrorCode::Corrupt, "node 'relu'");
        source = model();
        source["graph_module"]["graph"]["nodes"].push_back(source["graph_module"]["graph"]["nodes"][0]);
        refuses(source, base::ErrorCode::Corrupt, "computed twice");
        source = model();
        source["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"] = {{"as_int", 1}, {"as_bool", true}};
        refuses(source, base::ErrorCode::Corrupt, "exactly one kind");
        source = model();
        source["graph_module"]["signature"]["input_specs"] = json::array();
        refuses(source, base::ErrorCode::Corrupt, "another number");
        source = model();
        source["graph_module"]["graph"]["tensor_values"]["x"]["dtype"] = 99;
        refuses(source, base::ErrorCode::Unsupported, "element type 99");
        source = model();
        source["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0]["as_int"] = -1;
        refuses(source, base::ErrorCode::Corrupt, "negative");
        source = model();
        source.erase("graph_module");
        refuses(source, base::ErrorCode::Corrupt, "graph_module");
        refuses(model(json::array({{{"as_layout", 12}}})), base::ErrorCode::Corrupt, "layout 12");
        refuses(model(json::array({{{"as_int", 1.5}}})), base::ErrorCode::Corrupt, "no 64-bit integer");
        refuses(model(json::array({{{"as_int", 18446744073709551615ULL}}})), base::ErrorCode::Corrupt, "no 64-bit integer");
    }

    void parameterThatIsNoTensor_isCorrupt() {
        json source = model();
        source["graph_module"]["graph"]["inputs"].push_back({{"as_int", 3}});
        source["graph_module"]["signature"]["input_specs"].push_back(
            {{"parameter", {{"arg", {{"name", "p"}}}, {"parameter_name", "weight"}}}});
        refuses(source, base::ErrorCode::Corrupt, "weight");
    }

    void deepNesting_isCorruptAndDoesNotOverflowTheStack() {
        std::string deep(2'000'000, '[');
        const auto program = graph::parseProgram(deep, "deep.json");
        QVERIFY(!program);
        QVERIFY(program.error().code == base::ErrorCode::Corrupt);
        QVERIFY(program.error().message.find("deeper") != std::string::npos);
    }

    void everyValueReplaced_neverCrashes() {
        const json source = model(json::array({{{"as_sym_ints", {{{"as_int", 1}}}}}}));
        const json flat = source.flatten();
        for (auto entry = flat.begin(); entry != flat.end(); ++entry) {
            for (const json& replacement : {json(nullptr), json(-1), json(1e300), json("x"), json::array(), json::object(),
                                            json(true), json::array({json::object()})}) {
                json changed = source;
                changed[json::json_pointer(entry.key())] = replacement;
                const auto program = parse(changed);
                QVERIFY(program || program.error().code != base::ErrorCode::Internal);
            }
        }
    }

    void damagedText_neverCrashes() {
        const std::string text = model(json::array({{{"as_sym_ints", {{{"as_int", 1}}}}}})).dump();
        std::mt19937 random(11);
        for (int round = 0; round < 3000; ++round) {
            std::string damaged = text;
            for (unsigned i = 0; i <= random() % 4; ++i) {
                damaged[random() % damaged.size()] = static_cast<char>(random());
            }
            const auto program = graph::parseProgram(damaged, "damaged.json");
            QVERIFY(program || program.error().code != base::ErrorCode::Internal);
        }
    }
};

ML_TEST_MAIN(ProgramParserTest)
#include "tst_ProgramParser.moc"
