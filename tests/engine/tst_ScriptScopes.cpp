// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/ScriptScopes.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens;
using engine::ScriptFrame;
using engine::ScriptScopes;

/// Module calls out of the stacks of a run's operators. Positions are chosen here: 100 and up are of the caller.
class ScriptScopesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void callsAtTwoPlaces_areTwoScopes() {
        ScriptScopes scopes = make();
        QCOMPARE(scopes.scopeOf(inLayer(100, 1), "linear"), 1);
        QCOMPARE(scopes.scopeOf(inLayer(100, 2), "relu"), 1);
        QCOMPARE(scopes.scopeOf(inLayer(101, 1), "linear"), 2);
        QCOMPARE(scopes.scopes()[2].path, std::string("layer"));
        QCOMPARE(scopes.scopes()[2].call, 1);
        QCOMPARE(scopes.scopes()[2].key, std::string("layer@1"));
        QCOMPARE(scopes.scopes()[2].parent, 0);
    }

    void operatorThatComesLate_belongsToItsCall() {
        // The optimiser may move an operator of the first call behind one of the second.
        ScriptScopes scopes = make();
        QCOMPARE(scopes.scopeOf(inLayer(100, 1), "linear"), 1);
        QCOMPARE(scopes.scopeOf(inLayer(101, 1), "linear"), 2);
        QCOMPARE(scopes.scopeOf(inLayer(100, 2), "relu"), 1);
        QCOMPARE(scopes.scopeOf(inLayer(100, 1), "linear"), 1);
    }

    void operatorAgainOutsideALoop_isTheSameCall() {
        ScriptScopes scopes = make();
        QCOMPARE(scopes.scopeOf(inLayer(100, 1), "to"), 1);
        QCOMPARE(scopes.scopeOf(inLayer(100, 1), "to"), 1);
    }

    void callInALoop_isANewOneEachTime() {
        ScriptScopes scopes = make();
        for (int call = 1; call <= 3; ++call) {
            QCOMPARE(scopes.scopeOf(inLayer(100, 1, true), "linear"), call);
            QCOMPARE(scopes.scopeOf(inLayer(100, 2, true), "relu"), call);
        }
        // One operator alone.
        QCOMPARE(scopes.scopeOf(inLayer(100, 2, true), "relu"), 4);
        QCOMPARE(scopes.scopes().back().call, 3);
    }

    void loopOfTheModuleItself_isOneCall() {
        ScriptScopes scopes = make();
        for (int i = 0; i < 3; ++i) {
            auto stack = inLayer(100, 1, true);
            stack.back().isInLoop = true;
            QCOMPARE(scopes.scopeOf(stack, "tanh"), 1);
        }
    }

    void workOfTheCallerBetween_separatesCalls() {
        ScriptScopes scopes = make();
        auto stack = inLayer(100, 1, true);
        stack.back().isInLoop = true;
        QCOMPARE(scopes.scopeOf(stack, "tanh"), 1);
        QCOMPARE(scopes.scopeOf({{"TOP(Net)::forward", 101, true}}, "mul"), 0);
        QCOMPARE(scopes.scopeOf(stack, "tanh"), 2);
    }

    void chainInALoop_isNewWithAllThatItCalls() {
        ScriptScopes scopes = make();
        const auto inner = [](const char* name, int position) {
            return std::vector<ScriptFrame>{
                {"TOP(Net)::forward", 100, true}, {"chain(Sequential)::forward", position, false}, {name, 1, false}};
        };
        QCOMPARE(scopes.scopeOf(inner("0(Linear)::forward", 10), "linear"), 2);
        QCOMPARE(scopes.scopeOf(inner("1(ReLU)::forward", 11), "relu"), 3);
        QCOMPARE(scopes.scopeOf(inner("0(Linear)::forward", 10), "linear"), 5);
        QCOMPARE(scopes.scopes()[4].path, std::string("chain"));
        QCOMPARE(scopes.scopes()[4].call, 1);
        QCOMPARE(scopes.scopes()[5].parent, 4);
        // The innermost alone: the chain runs anew all the same.
        QCOMPARE(scopes.scopeOf(inner("0(Linear)::forward", 10), "linear"), 7);
        QCOMPARE(scopes.scopes()[6].path, std::string("chain"));
    }

    void functionsAndOwnMethods_areNoModules() {
        ScriptScopes scopes = make();
        QCOMPARE(scopes.scopeOf({{"TOP(Net)::forward", 100, false},
                                 {"layer(Layer)::forward", 3, false},
                                 {"SELF(Layer)::again", 5, false},
                                 {"::relu", 6, false}},
                                "relu"),
                 1);
        QCOMPARE(scopes.scopes().size(), 2U);
    }

    void operatorFromNowhere_leavesNothing() {
        ScriptScopes scopes = make();
        QCOMPARE(scopes.scopeOf(inLayer(100, 1, true), "linear"), 1);
        QCOMPARE(scopes.scopeOf({{"TOP(Net)::forward", -1, false}}, "add"), 0);
        QCOMPARE(scopes.scopeOf(inLayer(100, 2, true), "relu"), 1);
        QCOMPARE(scopes.scopeOf({}, "add"), 0);
    }

    void endlessLoops_makeNoEndlessTree() {
        ScriptScopes scopes = make();
        for (int i = 0; i < 5000; ++i) {
            static_cast<void>(scopes.scopeOf(inLayer(100, 1, true), "linear"));
        }
        QCOMPARE(scopes.scopes().size(), 1001U);
    }

private:
    static ScriptScopes make() {
        return ScriptScopes(
            {{"", "m:Net"}, {"layer", "m:Layer"}, {"chain", "m:Sequential"}, {"chain.0", "m:Linear"}, {"chain.1", "m:ReLU"}});
    }
    static std::vector<ScriptFrame> inLayer(int callPosition, int position, bool isCallInLoop = false) {
        return {{"TOP(Net)::forward", callPosition, isCallInLoop}, {"layer(Layer)::forward", position, false}};
    }
};

ML_TEST_MAIN(ScriptScopesTest)
#include "tst_ScriptScopes.moc"
