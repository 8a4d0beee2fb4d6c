// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/support/TestMain.h"

#include <QApplication>

int main(int argc, char** argv) {
    const QApplication application(argc, argv);
    return modulelens::test::runRegisteredTests(argc, argv);
}
