// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

class QObject;

namespace modulelens::test {

using TestFactory = std::unique_ptr<QObject> (*)();

/// Adds the test class of `file` (tst_<Class>.cpp) under the name <Class>. Called before main() by ML_TEST_MAIN.
bool registerTest(const char* file, TestFactory create);

/// Runs the registered test class named by argv[1], or all of them when argv[1] is absent or an option; further
/// arguments go to Qt Test. Returns 0 when everything passed, 77 when nothing failed but something was skipped, else a
/// number of failures. A warning that the test did not announce with QTest::ignoreMessage is a failure.
/// Requires: a running application object.
int runRegisteredTests(int argc, char** argv);

}  // namespace modulelens::test

/// Last line of a tst_<Class>.cpp, before its `#include "tst_<Class>.moc"`: makes the class runnable.
#define ML_TEST_MAIN(Type)                                                                                               \
    namespace {                                                                                                          \
    [[maybe_unused]] const bool registered##Type =                                                                       \
        modulelens::test::registerTest(__FILE__, []() -> std::unique_ptr<QObject> { return std::make_unique<Type>(); }); \
    }
