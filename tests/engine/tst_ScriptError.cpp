// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/ScriptError.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens;
using base::ErrorCode;
using engine::scriptError;

/// Texts as LibTorch 2.13 throws them.
class ScriptErrorTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void operatorThatFails_isSaidWithItsLine() {
        const base::Error error = scriptError(
            "The following operation failed in the TorchScript interpreter.\n"
            "Traceback of TorchScript, serialized code (most recent call last):\n"
            "  File \"code/__torch__.py\", line 12, in forward\n"
            "    x0 = (layer).forward(x, )\n"
            "          ~~~~~~~~~~~~~~ <--- HERE\n"
            "\n"
            "Traceback of TorchScript, original code (most recent call last):\n"
            "  File \"/home/me/net.py\", line 18, in forward\n"
            "        x = self.layer(x)\n"
            "            ~~~~~~~~~~ <--- HERE\n"
            "        return x\n"
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x5 and 4x4)\n");
        QCOMPARE(error.message,
                 std::string("mat1 and mat2 shapes cannot be multiplied (2x5 and 4x4) (from /home/me/net.py:18)"));
        QCOMPARE(error.code, ErrorCode::InvalidArgument);
    }

    void tracedModule_isSaidWithTheInnermostLineOfItsSource() {
        const base::Error error = scriptError(
            "The following operation failed in the TorchScript interpreter.\n"
            "Traceback of TorchScript, serialized code (most recent call last):\n"
            "  File \"code/__torch__/torch/nn/modules/linear.py\", line 12, in forward\n"
            "    weight = self.weight\n"
            "    return torch.linear(input, weight, bias)\n"
            "           ~~~~~~~~~~~~ <--- HERE\n"
            "\n"
            "Traceback of TorchScript, original code (most recent call last):\n"
            "/lib/torch/nn/modules/linear.py(134): forward\n"
            "/lib/torch/nn/modules/module.py(1768): _slow_forward\n"
            "/home/me/net (2).py(7): <module>\n"
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x31 and 32x64)\n");
        QCOMPARE(error.message, std::string("mat1 and mat2 shapes cannot be multiplied (8x31 and 32x64) "
                                            "(from /lib/torch/nn/modules/linear.py:134)"));
        QCOMPARE(error.code, ErrorCode::InvalidArgument);
    }

    void raisedException_keepsItsName() {
        const base::Error error = scriptError(
            "The following operation failed in the TorchScript interpreter.\n"
            "Traceback of TorchScript (most recent call last):\n"
            "  File \"/tmp/e.py\", line 8, in forward\n"
            "    raise ValueError(\"no positive\\nsums\")\n"
            "    ~~~~~~~~~~~~~~~~ <--- HERE\n"
            "builtins.ValueError: no positive\nsums\n");
        QCOMPARE(error.message, std::string("builtins.ValueError: no positive (from /tmp/e.py:8)"));
    }

    void failedAllocation_isOutOfMemory() {
        const base::Error error = scriptError(
            "The following operation failed in the TorchScript interpreter.\n"
            "Traceback of TorchScript (most recent call last):\n"
            "  File \"/tmp/e.py\", line 9, in forward\n"
            "        return torch.empty(1<<50)\n"
            "               ~~~~~~~~~~~ <--- HERE\n"
            "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried "
            "to allocate 4503599627370496 bytes. Error code 12 (Cannot allocate memory)\n");
        QCOMPARE(error.code, ErrorCode::OutOfMemory);
        QVERIFY(error.message.find('\n') == std::string::npos);
    }

    void otherTexts_areTheirFirstLine() {
        QCOMPARE(scriptError("forward() is missing value for argument 'x'\nDeclaration: ...").message,
                 std::string("forward() is missing value for argument 'x'"));
        QCOMPARE(scriptError("    ~ <--- HERE\nRuntimeError: row (3): is bad").message, std::string("row (3): is bad"));
        QVERIFY(!scriptError("").message.empty());
        QVERIFY(!scriptError("<--- HERE").message.empty());
        QVERIFY(!scriptError("x\n  File \"").message.empty());
    }
};

ML_TEST_MAIN(ScriptErrorTest)
#include "tst_ScriptError.moc"
