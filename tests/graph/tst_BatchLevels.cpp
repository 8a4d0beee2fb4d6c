// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/BatchLevels.h"
#include "tests/support/TestMain.h"

#include <QTest>
#include <limits>

using namespace modulelens::graph;

namespace {

constexpr auto kUnknown = std::nullopt;
using Examples = std::optional<std::int64_t>;

Argument number(std::int64_t value) {
    return IntegerArgument{value};
}

Argument value(ValueId id) {
    return ValueArgument{id};
}

Node node(const std::string& target, std::vector<Argument> inputs, std::vector<Argument> outputs = {}) {
    Node result;
    result.target = target;
    for (Argument& input : inputs) {
        result.inputs.push_back({"", std::move(input)});
    }
    result.outputs = std::move(outputs);
    return result;
}

Node transform(const std::string& name, std::vector<Argument> inputs, std::vector<Argument> outputs = {}) {
    return node("torch._functorch.predispatch." + name, std::move(inputs), std::move(outputs));
}

Node open(Argument size) {
    return transform("_vmap_increment_nesting", {std::move(size), StringArgument{"error"}});
}

Node close() {
    return transform("_vmap_decrement_nesting", {});
}

Node add(ValueId id, std::int64_t level, ValueId out) {
    return transform("_add_batch_dim", {value(id), number(0), number(level)}, {value(out)});
}

Node remove(ValueId id, std::int64_t level, ValueId out) {
    return transform("_remove_batch_dim", {value(id), number(level), number(0), number(0)}, {value(out)});
}

Node step(std::vector<Argument> inputs, ValueId out) {
    return node("torch.ops.aten.add.Tensor", std::move(inputs), {value(out)});
}

BatchLevels levels() {
    return BatchLevels([](const Argument& argument) {
        const auto* literal = std::get_if<IntegerArgument>(&argument);
        return literal == nullptr ? std::nullopt : std::optional(literal->value);
    });
}

} // namespace

/// Values by number: 0 and 1 come from outside, the others are results.
class BatchLevelsTest : public QObject {
    Q_OBJECT

private slots:
    void outsideOfVmap_isOneExample() {
        BatchLevels batch = levels();
        QCOMPARE(batch.enter(step({value(0), value(1)}, 2)), Examples(1));
        QCOMPARE(batch.examplesOf(2), Examples(1));
    }

    void whatIsMadeOfAMappedValue_isMapped() {
        BatchLevels batch = levels();
        QCOMPARE(batch.enter(open(number(6))), Examples(1));
        QCOMPARE(batch.enter(add(0, 1, 2)), Examples(1));
        QCOMPARE(batch.enter(step({value(2), value(1)}, 3)), Examples(6));
        QCOMPARE(batch.enter(step({value(0), value(1)}, 4)), Examples(1));
        QCOMPARE(batch.enter(step({value(4), ValueListArgument{{-1, 3}}}, 5)), Examples(6));
        QCOMPARE(batch.examplesOf(1), Examples(1));
        QCOMPARE(batch.examplesOf(5), Examples(6));
        (void)batch.enter(remove(5, 1, 6));
        (void)batch.enter(close());
        QCOMPARE(batch.enter(step({value(6)}, 7)), Examples(1));
    }

    void levelsMultiply_eachValueByItsOwn() {
        BatchLevels batch = levels();
        (void)batch.enter(open(number(3)));
        (void)batch.enter(add(0, 1, 2));
        (void)batch.enter(open(number(5)));
        (void)batch.enter(add(1, 2, 3));
        QCOMPARE(batch.enter(step({value(2)}, 4)), Examples(3));
        QCOMPARE(batch.enter(step({value(3)}, 5)), Examples(5));
        QCOMPARE(batch.enter(step({value(4), value(5)}, 6)), Examples(15));
        (void)batch.enter(remove(6, 2, 7));
        (void)batch.enter(close());
        QCOMPARE(batch.enter(step({value(7)}, 8)), Examples(3));
    }

    void nextVmap_hasItsOwnSize() {
        BatchLevels batch = levels();
        for (const std::int64_t size : {2, 7}) {
            (void)batch.enter(open(number(size)));
            (void)batch.enter(add(0, 1, 2));
            QCOMPARE(batch.enter(step({value(2)}, 3)), Examples(size));
            (void)batch.enter(remove(3, 1, 4));
            (void)batch.enter(close());
        }
    }

    void batchOfNothing_isNoExample() {
        BatchLevels batch = levels();
        (void)batch.enter(open(number(0)));
        (void)batch.enter(add(0, 1, 2));
        QCOMPARE(batch.enter(step({value(2)}, 3)), Examples(0));
    }

    void sizeThatIsNoNumber_isUnknown_data() {
        QTest::addColumn<bool>("isGiven");
        QTest::addColumn<std::int64_t>("size");
        QTest::newRow("not known") << false << std::int64_t{0};
        QTest::newRow("negative") << true << std::int64_t{-4};
    }

    void sizeThatIsNoNumber_isUnknown() {
        QFETCH(bool, isGiven);
        QFETCH(std::int64_t, size);
        BatchLevels batch = levels();
        (void)batch.enter(open(isGiven ? number(size) : Argument(NoneArgument{})));
        (void)batch.enter(add(0, 1, 2));
        QCOMPARE(batch.enter(step({value(2)}, 3)), Examples(kUnknown));
        QCOMPARE(batch.examplesOf(3), Examples(kUnknown));
        QCOMPARE(batch.enter(step({value(1)}, 4)), Examples(1));
    }

    void sizesThatOverflowTogether_areUnknown() {
        BatchLevels batch = levels();
        for (const std::int64_t level : {1, 2}) {
            (void)batch.enter(open(number(std::numeric_limits<std::int64_t>::max() / 2)));
            (void)batch.enter(add(0, level, static_cast<ValueId>(level + 1)));
        }
        QCOMPARE(batch.enter(step({value(2), value(3)}, 4)), Examples(kUnknown));
    }

    void levelThatIsNotOpen_isUnknown() {
        BatchLevels batch = levels();
        (void)batch.enter(open(number(6)));
        (void)batch.enter(add(0, 9, 2));
        QCOMPARE(batch.enter(step({value(2)}, 3)), Examples(kUnknown));
        (void)batch.enter(add(0, 1, 4));
        (void)batch.enter(close());
        (void)batch.enter(close());
        QCOMPARE(batch.enter(step({value(4)}, 5)), Examples(kUnknown));
    }

    void onlyTheCallsOfVmap_areTransforms() {
        QVERIFY(BatchLevels::isTransform(open(number(2))));
        QVERIFY(BatchLevels::isTransform(transform("lazy_load_decompositions", {})));
        QVERIFY(!BatchLevels::isTransform(transform("_jvp_increment_nesting", {})));
        QVERIFY(!BatchLevels::isTransform(step({value(0)}, 1)));
    }
};

ML_TEST_MAIN(BatchLevelsTest)
#include "tst_BatchLevels.moc"
