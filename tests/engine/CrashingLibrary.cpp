// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// A library that ends its process as it is loaded.

#include <csignal>

namespace {

struct Crash {
    Crash() { static_cast<void>(std::raise(SIGSEGV)); }
};

const Crash kCrash;

} // namespace
