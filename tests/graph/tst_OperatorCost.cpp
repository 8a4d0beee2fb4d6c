// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/OperatorCost.h"
#include "tests/support/TestMain.h"
#include "tests/support/TestPaths.h"

#include <QTest>

#include <fstream>
#include <set>

using namespace modulelens::graph;

namespace {

using Arguments = std::vector<CostArgument>;
using Shapes = std::vector<std::vector<std::int64_t>>;

CostTensor tensor(std::vector<std::int64_t> shape) {
    return {std::move(shape), modulelens::base::ScalarType::Float32};
}

std::vector<CostTensor> tensors(const Shapes& shapes) {
    std::vector<CostTensor> list;
    for (const auto& shape : shapes) {
        list.push_back(tensor(shape));
    }
    return list;
}

using Integers = std::vector<std::int64_t>;

/// Right values by hand: 2 per multiply-add, matrix products only.
struct Case {
    const char* tag;
    const char* name;
    Arguments inputs;
    Arguments outputs;
    std::int64_t flops;
};

std::vector<Case> cases() {
    const auto x = tensor({1, 8, 16, 16});
    const auto q = tensor({1, 12, 64, 64});
    const auto few = tensor({1, 4, 64, 64});
    const Shapes lstm{{128, 16}, {128, 32}, {128}, {128}};
    const Shapes gru{{96, 16}, {96, 32}, {96}, {96}};
    const Shapes rnn{{32, 16}, {32, 32}, {32}, {32}};
    const auto steps = tensor({2, 10, 16});
    return {
        {"linear", "aten::linear", {tensor({8, 32}), tensor({16, 32}), tensor({16})}, {}, 8192},
        {"linear 1-D", "aten::linear", {tensor({32}), tensor({16, 32}), CostNone{}}, {}, 1024},
        {"linear 3-D", "aten::linear", {tensor({2, 4, 32}), tensor({16, 32}), CostNone{}}, {}, 8192},
        {"mkldnn linear", "aten::mkldnn_linear", {tensor({8, 32}), tensor({16, 32}), CostNone{}}, {}, 8192},
        {"matmul folded", "aten::matmul", {tensor({2, 1, 4, 8}), tensor({3, 8, 5})}, {}, 1920},
        {"matmul of matrix and vector", "aten::matmul", {tensor({16, 32}), tensor({32})}, {}, 1024},
        {"linalg.matmul", "aten::linalg_matmul", {tensor({3, 4}), tensor({4, 5})}, {}, 120},
        {"mm", "aten::mm", {tensor({3, 4}), tensor({4, 5})}, {}, 120},
        {"bmm", "aten::bmm", {tensor({2, 3, 4}), tensor({2, 4, 5})}, {}, 240},
        {"mv", "aten::mv", {tensor({16, 32}), tensor({32})}, {}, 1024},
        {"dot", "aten::dot", {tensor({32}), tensor({32})}, {}, 64},
        {"vdot", "aten::vdot", {tensor({32}), tensor({32})}, {}, 64},
        {"addmm", "aten::addmm", {tensor({5}), tensor({3, 4}), tensor({4, 5})}, {}, 120},
        {"addmm in place", "aten::addmm_", {tensor({3, 5}), tensor({3, 4}), tensor({4, 5})}, {}, 120},
        {"addmv", "aten::addmv", {tensor({3}), tensor({3, 4}), tensor({4})}, {}, 24},
        {"baddbmm", "aten::baddbmm", {tensor({2, 3, 5}), tensor({2, 3, 4}), tensor({2, 4, 5})}, {}, 240},
        {"addbmm", "aten::addbmm", {tensor({3, 5}), tensor({2, 3, 4}), tensor({2, 4, 5})}, {}, 240},
        {"addmm with activation", "aten::_addmm_activation", {tensor({16}), tensor({8, 32}), tensor({32, 16})}, {}, 8192},
        {"int mm", "aten::_int_mm", {tensor({32, 32}), tensor({32, 32})}, {}, 65536},
        {"affine grid", "aten::affine_grid_generator", {tensor({3, 2, 3})}, {tensor({3, 5, 5, 2})}, 900},
        {"scaled mm", "aten::_scaled_mm", {tensor({32, 32}), tensor({32, 32})}, {}, 65536},
        {"grouped mm of batches", "aten::_grouped_mm", {tensor({4, 16, 32}), tensor({4, 32, 16})}, {}, 65536},
        {"grouped mm of rows", "aten::_scaled_grouped_mm", {tensor({64, 32}), tensor({4, 32, 16})}, {}, 65536},
        {"inner", "aten::inner", {tensor({3, 4}), tensor({5, 4})}, {}, 120},
        {"tensordot", "aten::tensordot", {tensor({2, 3, 4}), tensor({4, 3, 5}), Integers{1, 2}, Integers{1, 0}}, {}, 240},
        {"bilinear",
         "aten::bilinear",
         {tensor({8, 3}), tensor({8, 4}), tensor({5, 3, 4}), CostNone{}},
         {},
         2 * 8 * 5 * (3 * 4 + 4)},
        {"trilinear",
         "aten::_trilinear",
         {tensor({8, 3}), tensor({5, 3, 4}), tensor({8, 4}), Integers{1, 3}, Integers{0}, Integers{1, 2}, Integers{2, 3}},
         {},
         2 * 8 * 5 * (3 * 4 + 4)},
        {"einsum", "aten::einsum", {std::string("bij,bjk->bik"), tensors({{2, 3, 4}, {2, 4, 5}}), CostNone{}}, {}, 240},
        {"einsum without contraction", "aten::einsum", {std::string("i,j->ij"), tensors({{6}, {7}}), CostNone{}}, {}, 0},
        {"einsum along a path",
         "aten::einsum",
         {std::string("ij,jk,kl->il"), tensors({{2, 3}, {3, 4}, {4, 5}}), Integers{1, 2, 0, 1}},
         {},
         2 * (3 * 4 * 5 + 2 * 3 * 5)},
        {"conv1d",
         "aten::conv1d",
         {tensor({2, 4, 17}), tensor({6, 4, 3}), CostNone{}, Integers{2}, Integers{1}, Integers{1}},
         {},
         2 * 2 * 9 * 72},
        {"conv2d",
         "aten::conv2d",
         {x, tensor({12, 8, 3, 3}), CostNone{}, Integers{1, 1}, Integers{1, 1}, Integers{1, 1}},
         {},
         442368},
        {"conv2d by its output", "aten::conv2d", {x, tensor({12, 8, 3, 3})}, {tensor({1, 12, 16, 16})}, 442368},
        {"conv2d in groups", "aten::conv2d", {x, tensor({12, 2, 3, 3})}, {tensor({1, 12, 16, 16})}, 110592},
        {"conv2d depthwise", "aten::conv2d", {x, tensor({8, 1, 3, 3})}, {tensor({1, 8, 16, 16})}, 36864},
        {"conv2d of 4x4",
         "aten::conv2d",
         {tensor({1, 1, 4, 4}), tensor({1, 1, 3, 3}), CostNone{}, Integers{1}, Integers{1}},
         {},
         288},
        {"conv2d same",
         "aten::conv2d",
         {x, tensor({12, 8, 3, 3}), CostNone{}, Integers{1}, std::string("same"), Integers{1}},
         {},
         442368},
        {"conv3d",
         "aten::conv3d",
         {tensor({1, 2, 5, 6, 7}), tensor({3, 2, 2, 2, 2}), CostNone{}, Integers{1}, Integers{0}, Integers{1}},
         {},
         2 * 120 * 48},
        {"conv_transpose1d", "aten::conv_transpose1d", {tensor({2, 4, 10}), tensor({4, 6, 3})}, {}, 2 * 2 * 10 * 72},
        {"conv_transpose2d", "aten::conv_transpose2d", {x, tensor({8, 12, 3, 3})}, {}, 442368},
        {"conv_transpose2d in groups", "aten::conv_transpose2d", {x, tensor({8, 3, 3, 3})}, {}, 110592},
        {"conv_transpose3d", "aten::conv_transpose3d", {tensor({1, 2, 3, 3, 3}), tensor({2, 4, 2, 2, 2})}, {}, 2 * 27 * 64},
        {"convolution",
         "aten::convolution",
         {x, tensor({12, 8, 3, 3}), CostNone{}, Integers{1, 1}, Integers{1, 1}, Integers{1, 1}, false, Integers{0, 0},
          std::int64_t{1}},
         {},
         442368},
        {"convolution transposed",
         "aten::convolution_overrideable",
         {x, tensor({8, 12, 3, 3}), CostNone{}, Integers{2, 2}, Integers{0, 0}, Integers{1, 1}, true, Integers{0, 0},
          std::int64_t{1}},
         {},
         442368},
        {"_convolution",
         "aten::_convolution",
         {x, tensor({12, 8, 3, 3}), CostNone{}, Integers{1, 1}, Integers{1, 1}, Integers{1, 1}, false, Integers{0, 0},
          std::int64_t{1}},
         {},
         442368},
        {"convolution by mode",
         "aten::_convolution_mode",
         {x, tensor({12, 8, 3, 3}), CostNone{}, Integers{1, 1}, std::string("same"), Integers{1, 1}, std::int64_t{1}},
         {},
         442368},
        {"mkldnn convolution",
         "aten::mkldnn_convolution",
         {x, tensor({12, 8, 3, 3}), CostNone{}, Integers{1, 1}, Integers{2, 2}, Integers{1, 1}, std::int64_t{1}},
         {},
         2 * 8 * 8 * 864},
        {"convolution backward",
         "aten::convolution_backward",
         {tensor({1, 12, 16, 16}), x, tensor({12, 8, 3, 3}), Integers{12}, Integers{1, 1}, Integers{1, 1}, Integers{1, 1},
          false, Integers{0, 0}, std::int64_t{1}, std::vector<bool>{true, true, true}},
         {},
         1327104 - 442368},
        {"convolution backward in groups",
         "aten::convolution_backward",
         {tensor({1, 12, 16, 16}), x, tensor({12, 2, 3, 3}), Integers{12}, Integers{1, 1}, Integers{1, 1}, Integers{1, 1},
          false, Integers{0, 0}, std::int64_t{4}, std::vector<bool>{true, true, false}},
         {},
         331776 - 110592},
        {"convolution backward of the weight alone",
         "aten::convolution_backward",
         {tensor({1, 12, 16, 16}), x, tensor({12, 8, 3, 3}), Integers{12}, Integers{1, 1}, Integers{1, 1}, Integers{1, 1},
          false, Integers{0, 0}, std::int64_t{1}, std::vector<bool>{false, true, false}},
         {},
         442368},
        {"attention", "aten::scaled_dot_product_attention", {q, q, q}, {}, 12582912},
        {"attention with grouped queries", "aten::scaled_dot_product_attention", {q, few, few}, {}, 12582912},
        {"attention on CPU", "aten::_scaled_dot_product_flash_attention_for_cpu", {q, q, q}, {}, 12582912},
        {"attention backward",
         "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
         {q, q, q, q},
         {},
         44040192 - 12582912},
        {"lstm", "aten::lstm", {steps, tensors({{1, 2, 32}, {1, 2, 32}}), tensors(lstm), true}, {}, 245760},
        {"lstm packed",
         "aten::lstm",
         {tensor({20, 16}), tensor({10}), tensors({{1, 2, 32}, {1, 2, 32}}), tensors(lstm), true},
         {},
         245760},
        {"gru", "aten::gru", {steps, tensor({1, 2, 32}), tensors(gru), true}, {}, 184320},
        {"gru packed", "aten::gru", {tensor({20, 16}), tensor({10}), tensor({1, 2, 32}), tensors(gru), true}, {}, 184320},
        {"rnn tanh", "aten::rnn_tanh", {steps, tensor({1, 2, 32}), tensors(rnn), true}, {}, 61440},
        {"rnn relu", "aten::rnn_relu", {steps, tensor({1, 2, 32}), tensors(rnn), true}, {}, 61440},
        {"lstm cell",
         "aten::lstm_cell",
         {tensor({3, 16}), tensors({{3, 32}, {3, 32}}), tensor({128, 16}), tensor({128, 32})},
         {},
         36864},
        {"gru cell", "aten::gru_cell", {tensor({3, 16}), tensor({3, 32}), tensor({96, 16}), tensor({96, 32})}, {}, 27648},
        {"rnn tanh cell",
         "aten::rnn_tanh_cell",
         {tensor({3, 16}), tensor({3, 32}), tensor({32, 16}), tensor({32, 32})},
         {},
         9216},
        {"rnn relu cell",
         "aten::rnn_relu_cell",
         {tensor({3, 16}), tensor({3, 32}), tensor({32, 16}), tensor({32, 32})},
         {},
         9216},
        {"mkldnn lstm layer", "aten::mkldnn_rnn_layer", {steps, tensor({128, 16}), tensor({128, 32})}, {}, 245760},
        {"mkldnn lstm layer backward",
         "aten::mkldnn_rnn_layer_backward",
         {steps, tensor({128, 16}), tensor({128, 32})},
         {},
         737280 - 245760},
        {"linear backward",
         "aten::linear_backward",
         {tensor({8, 32}), tensor({8, 16}), tensor({16, 32}), std::vector<bool>{true, true, true}},
         {},
         2 * 8192},
        {"linear backward of the input alone",
         "aten::linear_backward",
         {tensor({8, 32}), tensor({8, 16}), tensor({16, 32}), std::vector<bool>{true, false, false}},
         {},
         8192},
        {"dynamically quantised linear",
         "quantized::linear_dynamic",
         {tensor({8, 32}), CostOther{}, true},
         {tensor({8, 16})},
         8192},
        {"int4 linear",
         "aten::_weight_int4pack_mm",
         {tensor({8, 32}), tensor({2, 1, 32, 4}), std::int64_t{32}, tensor({1, 16, 2})},
         {tensor({8, 16})},
         8192},
        {"fused encoder layer",
         "aten::_transformer_encoder_layer_fwd",
         {tensor({2, 10, 64}), std::int64_t{64}, std::int64_t{4}, tensor({192, 64}), tensor({192}), tensor({64, 64}),
          tensor({64}), false, false, 1e-5, tensor({64}), tensor({64}), tensor({64}), tensor({64}), tensor({128, 64}),
          tensor({128}), tensor({64, 128}), tensor({64})},
         {},
         1361920},
        {"fused self-attention",
         "aten::_native_multi_head_attention",
         {tensor({2, 10, 64}), tensor({2, 10, 64}), tensor({2, 10, 64}), std::int64_t{64}, std::int64_t{4}, tensor({192, 64}),
          tensor({192}), tensor({64, 64}), tensor({64})},
         {},
         20 * 2 * 4 * 64 * 64 + 51200},
        {"cudnn lstm", "aten::_cudnn_rnn", {steps, tensors(lstm)}, {}, 245760},
        {"cudnn lstm backward", "aten::_cudnn_rnn_backward", {steps, tensors(lstm)}, {}, 491520},
    };
}

/// Operators whose formula is that of a case above, under another kernel's name.
const std::set<std::string_view> kSameFormula = {
    "aten::cudnn_convolution",
    "aten::cudnn_convolution_relu",
    "aten::cudnn_convolution_add_relu",
    "aten::cudnn_convolution_transpose",
    "aten::miopen_convolution",
    "aten::miopen_depthwise_convolution",
    "aten::thnn_conv2d",
    "aten::_slow_conv2d_forward",
    "aten::slow_conv3d",
    "aten::slow_conv3d_forward",
    "aten::slow_conv_dilated2d",
    "aten::slow_conv_dilated3d",
    "aten::slow_conv_transpose2d",
    "aten::slow_conv_transpose3d",
    "aten::_conv_depthwise2d",
    "aten::conv_depthwise3d",
    "aten::_scaled_dot_product_attention_math",
    "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_cudnn_attention",
    "aten::_scaled_dot_product_fused_attention_overrideable",
    "aten::_scaled_dot_product_flash_attention_backward",
    "aten::_scaled_dot_product_efficient_attention_backward",
    "aten::_scaled_dot_product_cudnn_attention_backward",
    "aten::_scaled_dot_product_fused_attention_overrideable_backward",
    "quantized::linear",
    "quantized::linear_relu",
    "quantized::linear_relu_dynamic",
    "quantized::linear_dynamic_fp16",
    "quantized::linear_relu_dynamic_fp16",
    "onednn::qlinear_pointwise",
    "onednn::linear_dynamic_fp16",
    "aten::_weight_int8pack_mm",
    "aten::_weight_int4pack_mm_for_cpu",
    "aten::_dyn_quant_matmul_4bit",
    "aten::fbgemm_linear_int8_weight",
    "aten::fbgemm_linear_int8_weight_fp32_activation",
    "aten::fbgemm_linear_fp16_weight",
    "aten::fbgemm_linear_fp16_weight_fp32_activation",
};

} // namespace

class OperatorCostTest : public QObject {
    Q_OBJECT

private slots:
    void formula_givesTheValueOfHandArithmetic_data() {
        QTest::addColumn<int>("index");
        int index = 0;
        for (const Case& one : cases()) {
            QTest::newRow(one.tag) << index++;
        }
    }
    void formula_givesTheValueOfHandArithmetic() {
        QFETCH(int, index);
        const Case one = cases()[static_cast<std::size_t>(index)];
        const OperatorCost cost = operatorCost({one.name, one.inputs, one.outputs});
        QVERIFY(cost.coverage == Coverage::Counted);
        QCOMPARE(cost.flops, one.flops);
    }

    void everyFormula_hasACaseAndARowInTheDocumentation() {
        std::set<std::string_view> tested = kSameFormula;
        const std::vector<Case> all = cases();
        for (const Case& one : all) {
            tested.insert(one.name);
        }
        std::ifstream file(modulelens::test::sourceFolder() / "docs" / "operators.md");
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        for (const std::string_view name : operatorsWithFormula()) {
            QVERIFY2(tested.contains(name), std::string(name).c_str());
            const std::string documented(name.starts_with("aten::") ? name.substr(6) : name);
            QVERIFY2(text.find("`" + documented + "`") != std::string::npos, documented.c_str());
        }
    }

    void otherKernels_countAsTheirSiblings() {
        const auto x = tensor({1, 8, 16, 16});
        const auto output = tensor({1, 12, 16, 16});
        for (const char* name : {"aten::cudnn_convolution", "aten::thnn_conv2d", "aten::slow_conv_dilated2d"}) {
            QCOMPARE(operatorCost({name, {x, tensor({12, 8, 3, 3})}, {output}}).flops, 442368);
            QVERIFY(operatorCost({name, {x, tensor({12, 8, 3, 3})}, {}}).coverage == Coverage::Unknown);
        }
        const auto q = tensor({1, 12, 64, 64});
        QCOMPARE(operatorCost({"aten::_scaled_dot_product_efficient_attention", {q, q, q}, {}}).flops, 12582912);
    }

    void operatorsWithoutProducts_areZeroByDefinition() {
        for (const char* name : {"aten::add", "aten::add_", "aten::relu_", "aten::__and__", "aten::layer_norm",
                                 "aten::embedding", "aten::view", "aten::softmax", "aten::native_dropout",
                                 "aten::_foreach_add_", "_operator::mul", "aten::max_pool2d", "aten::sort", "aten::_to_copy"}) {
            const OperatorCost cost = operatorCost({name, {tensor({2, 3})}, {tensor({2, 3})}});
            QVERIFY2(cost.coverage == Coverage::ZeroByDefinition, name);
            QCOMPARE(cost.flops, 0);
        }
    }

    void anyOtherOperator_isUnknown() {
        for (const char* name :
             {"aten::fft_fft", "aten::linalg_svd", "mylib::matmul", "aten::__", "aten::", "", "aten::cdist"}) {
            QVERIFY2(operatorCost({name, {tensor({2, 3})}, {}}).coverage == Coverage::Unknown, name);
        }
    }

    void shapesThatDoNotFit_areUnknown() {
        for (const OperatorCall& call :
             {OperatorCall{"aten::mm", {tensor({3, 4}), tensor({5, 6})}, {}}, OperatorCall{"aten::mm", {tensor({3, 4})}, {}},
              OperatorCall{"aten::mm", {tensor({}), tensor({})}, {}},
              OperatorCall{"aten::linear", {tensor({3, 4}), tensor({5, 6})}, {}},
              OperatorCall{"aten::conv2d", {tensor({3}), tensor({5, 6})}, {}},
              OperatorCall{"aten::conv2d", {tensor({1, 2}), tensor({1, 2, 3, 3})}, {}},
              OperatorCall{"aten::tensordot", {tensor({2}), tensor({2}), Integers{5}, Integers{0}}, {}},
              OperatorCall{"aten::einsum", {std::string("ij,jk"), tensors({{2}, {3, 4}})}, {}},
              OperatorCall{"aten::einsum", {std::string("i!,jk"), tensors({{2, 2}, {3, 4}})}, {}},
              OperatorCall{"aten::einsum", {std::string("i,i,i"), tensors({{2}, {2}, {2}}), Integers{9, 1}}, {}},
              OperatorCall{"aten::scaled_dot_product_attention", {tensor({4}), tensor({4}), tensor({4})}, {}},
              OperatorCall{"aten::lstm", {}, {}}}) {
            QVERIFY2(operatorCost(call).coverage == Coverage::Unknown, std::string(call.name).c_str());
        }
    }

    void hugeShapes_areUnknownAndDoNotOverflow() {
        const std::int64_t huge = std::int64_t{1} << 40;
        const OperatorCost cost = operatorCost({"aten::mm", {tensor({huge, huge}), tensor({huge, huge})}, {}});
        QVERIFY(cost.coverage == Coverage::Unknown);
        QVERIFY(!cost.bytesMoved);
    }

    void bytes_countInputsAndOutputsOnce() {
        const OperatorCost add = operatorCost({"aten::add", {tensor({2, 3}), tensor({3})}, {tensor({2, 3})}});
        QCOMPARE(add.bytesMoved.value(), 4 * (6 + 3 + 6));
        QCOMPARE(operatorCost({"aten::view", {tensor({2, 3})}, {tensor({6})}}).bytesMoved.value(), 0);
        QVERIFY(!operatorCost({"aten::add", {tensor({2, 3})}, {}}).bytesMoved);
    }

    void embedding_readsOnlyTheRowsThatItNeeds() {
        const OperatorCost cost = operatorCost({"aten::embedding", {tensor({1000, 8}), tensor({3})}, {tensor({3, 8})}});
        QCOMPARE(cost.bytesMoved.value(), 4 * (3 + 24 + 24));
        const OperatorCost bag =
            operatorCost({"aten::embedding_bag", {tensor({1000, 8}), tensor({6}), tensor({2})}, {tensor({2, 8})}});
        QCOMPARE(bag.bytesMoved.value(), 4 * (6 + 2 + 48 + 16));
    }
};

ML_TEST_MAIN(OperatorCostTest)
#include "tst_OperatorCost.moc"
