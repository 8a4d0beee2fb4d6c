// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/CostLedger.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens::graph;
using modulelens::base::ScalarType;

namespace {

using Integers = std::vector<std::int64_t>;

CostTensor tensor(Integers shape, ScalarType dtype = ScalarType::Float32, Integers strides = {}) {
    return {std::move(shape), dtype, std::move(strides)};
}

std::int64_t bytes(const OperatorCall& call) {
    return operatorCost(call).bytesMoved.value_or(-1);
}

std::int64_t other(const OperatorCall& call) {
    return operatorCost(call).otherFlops.value_or(-1);
}

} // namespace

/// Bytes moved and work outside matrix products, by hand.
class TrafficTest : public QObject {
    Q_OBJECT

private slots:
    void broadcastTensor_countsItsRealStorage() {
        // A bias [8] expanded to [1000, 8], added to [1000, 8].
        const auto bias = tensor({1000, 8}, ScalarType::Float32, {0, 1});
        QCOMPARE(storedElements(bias).value(), 8);
        QCOMPARE(bytes({"aten::add", {tensor({1000, 8}), bias}, {tensor({1000, 8})}}), 4 * (8000 + 8 + 8000));
    }

    void overlappingWindows_countWhatTheyCover() {
        // unfold(0, 3, 1) of 10 elements: [8, 3] with strides [1, 1].
        QCOMPARE(storedElements(tensor({8, 3}, ScalarType::Float32, {1, 1})).value(), 10);
        QCOMPARE(storedElements(tensor({0, 3}, ScalarType::Float32, {3, 1})).value(), 0);
        QCOMPARE(storedElements(tensor({}, ScalarType::Float32, {})).value(), 1);
    }

    void examplesOfVmap_moveTheirOwnBytesAndShareTheRest() {
        const auto many = [](Integers shape, ScalarType dtype = ScalarType::Float32) {
            CostTensor mapped = tensor(std::move(shape), dtype);
            mapped.examples = 6;
            return mapped;
        };
        const auto indices = many({3}, ScalarType::Int64);
        // One table [100, 8] for all: six times three rows are read and written, six times three indices are read.
        QCOMPARE(bytes({"aten::embedding", {tensor({100, 8}), indices}, {many({3, 8})}}), 6 * (2 * 96 + 24));
        // A bag over three rows: the sum is written, three rows and three indices are read, for each example.
        QCOMPARE(bytes({"aten::embedding_bag", {tensor({100, 8}), indices}, {many({1, 8})}}), 6 * (32 + 96 + 24));
        QCOMPARE(bytes({"aten::view", {many({4, 6})}, {many({24})}}), 0);
    }

    void elementSize_isThatOfTheType() {
        QCOMPARE(bytes({"aten::relu", {tensor({10}, ScalarType::BFloat16)}, {tensor({10}, ScalarType::BFloat16)}}), 40);
        QCOMPARE(bytes({"aten::gt", {tensor({10})}, {tensor({10}, ScalarType::Bool)}}), 50);
    }

    void viewsAndReservations_moveNothing() {
        for (const char* name : {"aten::view", "aten::transpose", "aten::expand", "aten::slice", "aten::detach", "aten::t",
                                 "aten::empty_like", "aten::unbind", "_operator::mul", "aten::sym_size"}) {
            QCOMPARE(bytes({name, {tensor({4, 6})}, {tensor({4, 6})}}), 0);
        }
    }

    void reshape_copiesOnlyWhatCannotBeAView() {
        const auto plain = tensor({4, 6}, ScalarType::Float32, {6, 1});
        const auto turned = tensor({6, 4}, ScalarType::Float32, {1, 6});
        QCOMPARE(bytes({"aten::reshape", {plain}, {tensor({24})}}), 0);
        QCOMPARE(bytes({"aten::reshape", {turned}, {tensor({24})}}), 2 * 24 * 4);
        QCOMPARE(bytes({"aten::reshape", {turned}, {tensor({6, 2, 2})}}), 0);
        QCOMPARE(bytes({"aten::flatten", {tensor({2, 3, 4})}, {tensor({2, 12})}}), 0);
        // [batch, heads, length, width] seen as [batch, length, heads * width]: the transpose back of attention.
        const auto heads = tensor({2, 10, 4, 8}, ScalarType::Float32, {320, 8, 80, 1});
        QCOMPARE(bytes({"aten::reshape", {heads}, {tensor({2, 10, 32})}}), 2 * 640 * 4);
    }

    void conversion_copiesOnlyWhatChanges() {
        const auto plain = tensor({4, 6}, ScalarType::Float32, {6, 1});
        const auto turned = tensor({4, 6}, ScalarType::Float32, {1, 4});
        QCOMPARE(bytes({"aten::contiguous", {plain}, {plain}}), 0);
        QCOMPARE(bytes({"aten::contiguous", {turned}, {plain}}), 2 * 96);
        QCOMPARE(bytes({"aten::to", {plain}, {plain}}), 0);
        QCOMPARE(bytes({"aten::to", {plain}, {tensor({4, 6}, ScalarType::Float16, {6, 1})}}), 96 + 48);
        QCOMPARE(
            bytes(
                {"aten::type_as", {plain, tensor({1000}, ScalarType::Float64)}, {tensor({4, 6}, ScalarType::Float64, {6, 1})}}),
            96 + 192);
        QCOMPARE(bytes({"aten::clone", {plain}, {plain}}), 2 * 96);
    }

    void dropout_movesNothingInEvaluation() {
        QCOMPARE(bytes({"aten::dropout", {tensor({8}), 0.5, false}, {tensor({8})}}), 0);
        QCOMPARE(bytes({"aten::dropout", {tensor({8}), 0.5, true}, {tensor({8})}}), 64);
        QCOMPARE(other({"aten::dropout", {tensor({8}), 0.5, false}, {tensor({8})}}), 0);
    }

    void inPlace_readsAndWritesItsTarget() {
        QCOMPARE(bytes({"aten::add_", {tensor({8}), tensor({8})}, {tensor({8})}}), 3 * 32);
        // What was there is not read.
        QCOMPARE(bytes({"aten::copy_", {tensor({8}), tensor({8}, ScalarType::Float16)}, {tensor({8})}}), 16 + 32);
        QCOMPARE(bytes({"aten::zero_", {tensor({8})}, {tensor({8})}}), 32);
        QCOMPARE(bytes({"aten::fill_", {tensor({8}), std::int64_t{1}}, {tensor({8})}}), 32);
        QCOMPARE(bytes({"aten::zeros_like", {tensor({8})}, {tensor({8})}}), 32);
    }

    void gathers_countTheRowsThatTheyTouch() {
        const auto ids = tensor({3}, ScalarType::Int64);
        QCOMPARE(bytes({"aten::embedding", {tensor({1000, 8}), ids}, {tensor({3, 8})}}), 24 + 2 * 96);
        QCOMPARE(bytes({"aten::index_select", {tensor({1000, 8}), std::int64_t{0}, ids}, {tensor({3, 8})}}), 24 + 2 * 96);
        // [6] ids into rows of 8, 2 bags.
        QCOMPARE(bytes({"aten::embedding_bag",
                        {tensor({1000, 8}), tensor({6}, ScalarType::Int64), tensor({2}, ScalarType::Int64)},
                        {tensor({2, 8})}}),
                 48 + 16 + 6 * 32 + 64);
        // Three rows of a table are added to: indices, source, read and write of what they reach.
        QCOMPARE(bytes({"aten::index_add_", {tensor({1000, 8}), std::int64_t{0}, ids, tensor({3, 8})}, {tensor({1000, 8})}}),
                 24 + 96 + 2 * 96);
        QCOMPARE(bytes({"aten::scatter_", {tensor({1000}), std::int64_t{0}, ids, tensor({3})}, {tensor({1000})}}),
                 24 + 12 + 12);
    }

    void products_readTheirFactorsOnce() {
        QCOMPARE(bytes({"aten::linear", {tensor({8, 32}), tensor({16, 32}), tensor({16})}, {tensor({8, 16})}}),
                 4 * (256 + 512 + 16 + 128));
    }

    void bias_isOneAdditionForEachOutput() {
        QCOMPARE(other({"aten::linear", {tensor({8, 32}), tensor({16, 32}), tensor({16})}, {}}), 128);
        QCOMPARE(other({"aten::linear", {tensor({8, 32}), tensor({16, 32}), CostNone{}}, {}}), 0);
        QCOMPARE(other({"aten::addmm", {tensor({16}), tensor({8, 32}), tensor({32, 16})}, {}}), 128);
        QCOMPARE(other({"aten::_addmm_activation", {tensor({16}), tensor({8, 32}), tensor({32, 16})}, {}}), 256);
        QCOMPARE(
            other({"aten::conv2d", {tensor({1, 8, 16, 16}), tensor({12, 8, 3, 3}), tensor({12})}, {tensor({1, 12, 16, 16})}}),
            3072);
    }

    void everythingElse_countsByElement() {
        QCOMPARE(other({"aten::relu", {tensor({4, 6})}, {tensor({4, 6})}}), 24);
        QCOMPARE(other({"aten::sum", {tensor({4, 6})}, {tensor({4})}}), 24);
        QCOMPARE(other({"aten::softmax", {tensor({4, 6}), std::int64_t{-1}}, {tensor({4, 6})}}), 120);
        QCOMPARE(other({"aten::layer_norm", {tensor({4, 6})}, {tensor({4, 6})}}), 168);
        QCOMPARE(other({"aten::rms_norm", {tensor({4, 6})}, {tensor({4, 6})}}), 96);
        const auto channels = tensor({6});
        QCOMPARE(other({"aten::batch_norm", {tensor({4, 6}), channels, channels, channels, channels, false}, {tensor({4, 6})}}),
                 48);
        QCOMPARE(other({"aten::max_pool2d", {tensor({1, 1, 8, 8}), Integers{2, 2}}, {tensor({1, 1, 4, 4})}}), 64);
        QCOMPARE(other({"aten::max_pool2d", {tensor({1, 1, 8, 8}), Integers{2}}, {tensor({1, 1, 4, 4})}}), 64);
        // Six rows of 8 into two bags: 4 additions a column.
        QCOMPARE(other({"aten::embedding_bag", {tensor({10, 8}), tensor({6}), tensor({2})}, {tensor({2, 8})}}), 32);
        QCOMPARE(other({"aten::embedding", {tensor({10, 8}), tensor({6})}, {tensor({6, 8})}}), 0);
        QCOMPARE(other({"mine::anything", {tensor({4})}, {tensor({4})}}), -1);
    }

    void lstmGates_countByStep() {
        // 20 steps of 32: 4 gates of 2 biases, a join and an activation, and 5 updates.
        const std::vector<CostTensor> weights{tensor({128, 16}), tensor({128, 32}), tensor({128}), tensor({128})};
        QCOMPARE(other({"aten::lstm",
                        {tensor({2, 10, 16}), std::vector<CostTensor>{tensor({1, 2, 32}), tensor({1, 2, 32})}, weights, true},
                        {}}),
                 20 * 32 * (4 * 4 + 5));
    }

    void causalMask_hidesWhatAnExactKernelSkips() {
        const auto q = tensor({1, 12, 64, 64});
        const OperatorCost cost = operatorCost({"aten::scaled_dot_product_attention", {q, q, q, CostNone{}, 0.0, true}, {}});
        QCOMPARE(cost.flops, 12582912);
        QCOMPARE(cost.flops - cost.maskedFlops, 6389760);
        QCOMPARE(operatorCost({"aten::scaled_dot_product_attention", {q, q, q, CostNone{}, 0.0, false}, {}}).maskedFlops, 0);
        // Two queries against five keys: 1 + 2 of 10 pairs; five against two: 1 + 2 + 2 + 2 + 2.
        const auto two = tensor({1, 1, 2, 8});
        const auto five = tensor({1, 1, 5, 8});
        const OperatorCost wide =
            operatorCost({"aten::scaled_dot_product_attention", {two, five, five, CostNone{}, 0.0, true}, {}});
        QCOMPARE(wide.flops - wide.maskedFlops, 3 * 4 * 8);
        const OperatorCost tall =
            operatorCost({"aten::scaled_dot_product_attention", {five, two, two, CostNone{}, 0.0, true}, {}});
        QCOMPARE(tall.flops - tall.maskedFlops, 9 * 4 * 8);
    }

    void attentionBackward_tellsWhatItComputesAgain() {
        const auto q = tensor({1, 12, 64, 64});
        const OperatorCost cost =
            operatorCost({"aten::_scaled_dot_product_flash_attention_for_cpu_backward", {q, q, q, q}, {}});
        QCOMPARE(cost.flops, 44040192 - 12582912);
        // The model's backward is twice its forward.
        QCOMPARE(cost.flops - cost.recomputedFlops, 25165824);
    }

    void ledger_addsUpAndSaysWhatItDoesNotKnow() {
        CostLedger ledger;
        ledger.add("aten::mm", operatorCost({"aten::mm", {tensor({3, 4}), tensor({4, 5})}, {tensor({3, 5})}}));
        ledger.add("aten::mm", operatorCost({"aten::mm", {tensor({3, 4}), tensor({4, 5})}, {tensor({3, 5})}}));
        ledger.add("aten::relu", operatorCost({"aten::relu", {tensor({3, 5})}, {tensor({3, 5})}}));
        QVERIFY(!ledger.isLowerBound());
        QCOMPARE(ledger.totals().flops, 240);
        QCOMPARE(ledger.totals().otherFlops.value(), 15);
        QCOMPARE(ledger.totals().bytesMoved.value(), 2 * 4 * (12 + 20 + 15) + 8 * 15);
        QCOMPARE(ledger.rows().find("aten::mm")->second.calls, 2);
        ledger.add("mine::matmul", operatorCost({"mine::matmul", {tensor({3, 5})}, {}}));
        QVERIFY(ledger.isLowerBound());
        QVERIFY(!ledger.totals().bytesMoved);
        QCOMPARE(ledger.namesOf(Coverage::Unknown), std::vector<std::string>{"mine::matmul"});
        QCOMPARE(ledger.namesOf(Coverage::Counted), std::vector<std::string>{"aten::mm"});
    }

    void ledgersThatDiffer_sayWhere() {
        CostLedger first;
        CostLedger second;
        first.add("aten::mm", {Coverage::Counted, 10, 0, 0, 0, 0});
        second.add("aten::mm", {Coverage::Counted, 30, 0, 0, 0, 0});
        second.add("aten::mv", {Coverage::Counted, 5, 0, 0, 0, 0});
        second.add("aten::add", {Coverage::ZeroByDefinition, 0, 0, 0, 0, 0});
        const auto found = CostLedger::differences(first, second);
        QCOMPARE(found.size(), std::size_t{2});
        QCOMPARE(found[0].name, std::string("aten::mm"));
        QCOMPARE(found[0].second.value(), 30);
        QVERIFY(!found[1].first);
        QVERIFY(CostLedger::differences(second, second).empty());
    }

    void sumsThatOverflow_stayAtTheLargestNumber() {
        CostLedger ledger;
        const std::int64_t huge = std::numeric_limits<std::int64_t>::max() - 1;
        ledger.add("a", {Coverage::Counted, huge, 0, 0, 0, 0});
        ledger.add("b", {Coverage::Counted, huge, 0, 0, 0, 0});
        QCOMPARE(ledger.totals().flops, std::numeric_limits<std::int64_t>::max());
    }
};

ML_TEST_MAIN(TrafficTest)
#include "tst_Traffic.moc"
