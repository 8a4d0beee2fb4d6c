// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/OperatorCounter.h"

#include "backend/graph/CostLedger.h"
#include "tests/support/TestMain.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>
#include <torch/library.h>
#include <QTest>

#include <functional>

namespace functorch = at::functorch;
using namespace modulelens;
using engine::OperatorCounter;
using graph::CostLedger;

namespace {

at::Tensor wrappedProduct(const at::Tensor& a, const at::Tensor& b) {
    return at::mm(a, b) * 2;
}

CostLedger counted(const std::function<void()>& body) {
    CostLedger ledger;
    const OperatorCounter counter([&](std::string_view name, const graph::OperatorCost& cost) { ledger.add(name, cost); });
    body();
    return ledger;
}

/// FLOPs of one forward, without autograd.
std::int64_t forward(const std::function<void()>& body) {
    const at::NoGradGuard noGrad;
    const CostLedger ledger = counted(body);
    for (const std::string& name : ledger.namesOf(graph::Coverage::Unknown)) {
        qWarning("unknown: %s", name.c_str());
    }
    return ledger.isLowerBound() ? -1 : ledger.totals().flops;
}

/// Forward, then the gradients of its sum.
CostLedger training(const std::function<at::Tensor()>& body) {
    const at::AutoGradMode grad(true);
    return counted([&] { body().sum().backward(); });
}

at::Tensor leaf(at::IntArrayRef sizes) {
    return at::randn(sizes).requires_grad_(true);
}

struct Recurrent {
    at::Tensor input = at::randn({2, 10, 16});
    at::Tensor hidden = at::zeros({1, 2, 32});
    std::vector<at::Tensor> weights;

    explicit Recurrent(std::int64_t gates, bool requiresGrad = false) {
        for (const auto& sizes : {std::vector<std::int64_t>{gates * 32, 16}, {gates * 32, 32}, {gates * 32}, {gates * 32}}) {
            weights.push_back(at::randn(sizes).requires_grad_(requiresGrad));
        }
        input.requires_grad_(requiresGrad);
    }
    at::Tensor lstm() const {
        return std::get<0>(at::lstm(input, {hidden, hidden}, weights, true, 1, 0.0, input.requires_grad(), false, true));
    }
};

}  // namespace

TORCH_LIBRARY(modulelens_golden, library) {
    library.def("wrapped_product(Tensor a, Tensor b) -> Tensor");
    library.impl("wrapped_product", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(wrappedProduct)));
}

/// The golden FLOPs of operators as they really run here, forward and backward (hand arithmetic, 2 per multiply-add).
///
/// Not here, since only eager Python runs them: vmap and jit of a linear layer, torch.utils.checkpoint (model 98304,
/// executed 114688 without re-entry, 131072 with), einsum's own path, modules called twice and three times (the exported
/// forms of these are in tests/graph/tst_ExportedPrograms.cpp, where modules count by call).
class OperatorCounterTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { at::set_num_threads(1); }

    void linear_ofAnyRank() {
        const at::Tensor weight = at::randn({16, 32});
        const at::Tensor bias = at::randn({16});
        QCOMPARE(forward([&] { at::linear(at::randn({8, 32}), weight, bias); }), 8192);
        QCOMPARE(forward([&] { at::linear(at::randn({32}), weight, bias); }), 1024);
        QCOMPARE(forward([&] { at::linear(at::randn({2, 4, 32}), weight, bias); }), 8192);
        QCOMPARE(forward([&] {
                     const c10::InferenceMode inference;
                     at::linear(at::randn({8, 32}), weight, bias);
                 }),
                 8192);
    }

    void meta_countsAsCpu() {
        const auto meta = at::TensorOptions().device(at::kMeta);
        QCOMPARE(forward([&] { at::mm(at::empty({8, 32}, meta), at::empty({32, 16}, meta)); }), 8192);
    }

    void products() {
        QCOMPARE(forward([] { at::bmm(at::randn({2, 3, 4}), at::randn({2, 4, 5})); }), 240);
        QCOMPARE(forward([] { at::matmul(at::randn({2, 1, 4, 8}), at::randn({3, 8, 5})); }), 1920);
        QCOMPARE(forward([] { at::einsum("bij,bjk->bik", {at::randn({2, 3, 4}), at::randn({2, 4, 5})}); }), 240);
        QCOMPARE(forward([] { at::mv(at::randn({16, 32}), at::randn({32})); }), 1024);
        QCOMPARE(forward([] { at::dot(at::randn({32}), at::randn({32})); }), 64);
        QCOMPARE(forward([] { at::_addmm_activation(at::randn({16}), at::randn({8, 32}), at::randn({32, 16})); }), 8192);
    }

    void integerProduct() {
        const at::Tensor numbers = at::ones({32, 32}, at::kChar);
        QCOMPARE(forward([&] { at::_int_mm(numbers, numbers); }), 65536);
    }

    void groupedProduct() {
        const at::Tensor a = at::randn({4, 16, 32}).to(at::kBFloat16);
        const at::Tensor b = at::randn({4, 16, 32}).to(at::kBFloat16).transpose(1, 2);
        QCOMPARE(forward([&] { at::_grouped_mm(a, b); }), 65536);
    }

    void dynamicallyQuantisedLinear() {
        auto& dispatcher = c10::Dispatcher::singleton();
        const auto prepack = dispatcher.findSchemaOrThrow("quantized::linear_prepack", "");
        const auto linear = dispatcher.findSchemaOrThrow("quantized::linear_dynamic", "");
        torch::jit::Stack stack{at::quantize_per_tensor(at::randn({16, 32}), 0.1, 0, at::kQInt8), at::randn({16})};
        prepack.callBoxed(stack);
        QCOMPARE(forward([&] {
                     torch::jit::Stack call{at::randn({8, 32}), stack.front(), false};
                     linear.callBoxed(call);
                 }),
                 8192);
    }

    void customOperator_countsWhatItCalls() {
        const auto product = c10::Dispatcher::singleton().findSchemaOrThrow("modulelens_golden::wrapped_product", "");
        QCOMPARE(forward([&] {
                     torch::jit::Stack call{at::randn({8, 32}), at::randn({32, 32})};
                     product.callBoxed(call);
                 }),
                 16384);
    }

    void kernelThatOnlyAsksForMemory_isUnknown() {
        // Its kernel calls empty() and then computes what nobody sees.
        const at::NoGradGuard noGrad;
        const auto ledger = counted([] { at::fft_fft(at::randn({16})); });
        QVERIFY(ledger.isLowerBound());
        const auto determinant = counted([] { at::linalg_det(at::randn({4, 4})); });
        QVERIFY(determinant.isLowerBound());
    }

    void convolution_ofAnyGroups() {
        const at::Tensor x = at::randn({1, 8, 16, 16});
        QCOMPARE(forward([&] { at::conv2d(x, at::randn({12, 8, 3, 3}), {}, 1, 1); }), 442368);
        QCOMPARE(forward([&] { at::conv2d(x, at::randn({12, 2, 3, 3}), {}, 1, 1, 1, 4); }), 110592);
        QCOMPARE(forward([&] { at::conv2d(x, at::randn({8, 1, 3, 3}), {}, 1, 1, 1, 8); }), 36864);
        QCOMPARE(forward([&] { at::conv_transpose2d(x, at::randn({8, 12, 3, 3}), {}, 2); }), 442368);
        QCOMPARE(forward([&] { at::conv_transpose2d(x, at::randn({8, 3, 3, 3}), {}, 1, 0, 0, 4); }), 110592);
    }

    void convolutionBackward_doesNotMultiplyByGroups() {
        const at::Tensor x = leaf({1, 8, 16, 16});
        const auto flops = [](const CostLedger& ledger) { return ledger.isLowerBound() ? -1 : ledger.totals().flops; };
        QCOMPARE(flops(training([&] { return at::conv2d(x, leaf({12, 8, 3, 3}), {}, 1, 1); })), 1327104);
        QCOMPARE(flops(training([&] { return at::conv2d(x, leaf({12, 2, 3, 3}), {}, 1, 1, 1, 4); })), 331776);
        QCOMPARE(flops(training([&] { return at::conv_transpose2d(x, leaf({8, 3, 3, 3}), {}, 1, 0, 0, 4); })), 331776);
    }

    void attention_forwardBackwardAndTheModelsOwn() {
        const at::Tensor q = at::randn({1, 12, 64, 64});
        const at::Tensor few = at::randn({1, 4, 64, 64});
        QCOMPARE(forward([&] { at::scaled_dot_product_attention(q, q, q); }), 12582912);
        QCOMPARE(forward([&] { at::scaled_dot_product_attention(q, few, few, {}, 0, false, {}, true); }), 12582912);
        const at::Tensor grown = leaf({1, 12, 64, 64});
        const auto all =
            training([&] { return at::scaled_dot_product_attention(grown, leaf({1, 12, 64, 64}), leaf({1, 12, 64, 64})); });
        QVERIFY(!all.isLowerBound());
        QCOMPARE(all.totals().flops, 44040192);
        QCOMPARE(all.totals().flops - all.totals().recomputedFlops - 12582912, 25165824);
    }

    void causalAttention_tellsTheExactCount() {
        const at::NoGradGuard noGrad;
        const at::Tensor q = at::randn({1, 12, 64, 64});
        const auto ledger = counted([&] { at::scaled_dot_product_attention(q, q, q, {}, 0, true); });
        QCOMPARE(ledger.totals().flops, 12582912);
        QCOMPARE(ledger.totals().flops - ledger.totals().maskedFlops, 6389760);
    }

    void encoderLayer_onTheFastPathOfEvaluation() {
        const auto r = [](at::IntArrayRef sizes) { return at::randn(sizes); };
        QCOMPARE(forward([&] {
                     at::_transformer_encoder_layer_fwd(r({2, 10, 64}), 64, 4, r({192, 64}), r({192}), r({64, 64}), r({64}),
                                                        false, false, 1e-5, r({64}), r({64}), r({64}), r({64}), r({128, 64}),
                                                        r({128}), r({64, 128}), r({64}));
                 }),
                 1361920);
    }

    void recurrentLayers() {
        const Recurrent four(4);
        const Recurrent three(3);
        const Recurrent one(1);
        QCOMPARE(forward([&] { four.lstm(); }), 245760);
        QCOMPARE(forward([&] { at::gru(three.input, three.hidden, three.weights, true, 1, 0.0, false, false, true); }), 184320);
        QCOMPARE(forward([&] { at::rnn_tanh(one.input, one.hidden, one.weights, true, 1, 0.0, false, false, true); }), 61440);
    }

    void lstmBackward_isTwiceItsForward() {
        const Recurrent layer(4, true);
        const auto ledger = training([&] { return layer.lstm(); });
        for (const std::string& name : ledger.namesOf(graph::Coverage::Unknown)) {
            qWarning("unknown: %s", name.c_str());
        }
        QVERIFY(!ledger.isLowerBound());
        QCOMPARE(ledger.totals().flops, 737280);
    }

    void linearBackward_countsOnlyTheGradientsThatAreWanted() {
        const auto flops = [](bool input, bool weight) {
            const at::Tensor x = at::randn({8, 32}).requires_grad_(input);
            const at::Tensor w = at::randn({16, 32}).requires_grad_(weight);
            return training([&] { return at::linear(x, w); }).totals().flops;
        };
        QCOMPARE(flops(true, true), 3 * 8192);
        QCOMPARE(flops(true, false), 2 * 8192);
        QCOMPARE(flops(false, true), 2 * 8192);
    }

    void lookups_areZero() {
        const at::Tensor table = at::randn({10, 8});
        const at::Tensor ids = at::arange(6);
        QCOMPARE(forward([&] { at::embedding(table, ids); }), 0);
        const at::NoGradGuard noGrad;
        const auto bag = counted([&] { at::embedding_bag(table, ids, at::arange(0, 6, 3)); });
        QCOMPARE(bag.totals().flops, 0);
        QVERIFY(!bag.isLowerBound());
        // arange is a creation; six rows of 8 into two bags are 32 additions.
        QCOMPARE(bag.totals().otherFlops.value_or(-1), 32);
    }

    void vmap_countsAllExamplesAndReadsOnceWhatItIsNotMappedOver() {
        const at::NoGradGuard noGrad;
        const at::Tensor batch = at::randn({6, 3, 4});
        const auto mapped = [&](const std::function<void(const at::Tensor&)>& body) {
            const auto level = functorch::initAndPushDynamicLayer(functorch::TransformType::Vmap, c10::SymInt(6),
                                                                  functorch::RandomnessType::Error);
            const CostLedger ledger = counted([&, x = functorch::addBatchDim(batch, 0, level)] { body(x); });
            (void)functorch::popDynamicLayerAndDeleteMetadata();
            return ledger.totals();
        };
        const at::Tensor weight = at::randn({4, 5});
        const graph::CostTotal product = mapped([&](const at::Tensor& x) { at::matmul(x, weight); });
        QCOMPARE(product.flops, 6 * 120);
        QCOMPARE(product.bytesMoved.value_or(-1), 4 * (6 * 12 + 20 + 6 * 15));
        const at::Tensor bias = at::randn({3, 4});
        const graph::CostTotal sum = mapped([&](const at::Tensor& x) { at::add(x, bias); });
        QCOMPARE(sum.flops, 0);
        QCOMPARE(sum.otherFlops.value_or(-1), 6 * 12);
        QCOMPARE(sum.bytesMoved.value_or(-1), 4 * (6 * 12 + 12 + 6 * 12));
    }

    void countingTwice_givesTheSame() {
        const at::Tensor a = at::randn({8, 8});
        const std::int64_t first = forward([&] { at::mm(a, a); });
        QVERIFY_EXCEPTION_THROWN(forward([&] { at::mm(a, at::randn({3, 3})); }), c10::Error);
        QCOMPARE(forward([&] { at::mm(a, a); }), first);
    }

    void bytes_followTheRealStorage() {
        const at::NoGradGuard noGrad;
        const at::Tensor rows = at::randn({1000, 8});
        const at::Tensor bias = at::randn({8}).expand({1000, 8});
        QCOMPARE(counted([&] { at::add(rows, bias); }).totals().bytesMoved.value_or(-1), 4 * (8000 + 8 + 8000));
        QCOMPARE(counted([&] { rows.view({8000}); }).totals().bytesMoved.value_or(-1), 0);
        QCOMPARE(counted([&] { rows.reshape({4000, 2}); }).totals().bytesMoved.value_or(-1), 0);
        QCOMPARE(counted([&] { rows.t().reshape({8000}); }).totals().bytesMoved.value_or(-1), 2 * 32000);
        QCOMPARE(counted([&] { rows.contiguous(); }).totals().bytesMoved.value_or(-1), 0);
    }
};

ML_TEST_MAIN(OperatorCounterTest)
#include "tst_OperatorCounter.moc"
