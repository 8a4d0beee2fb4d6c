// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// tiny-operators PROGRAM.pt2 ROUNDS: the executor on the exported TinyOperators of tests/bench/models.py against the same
// operators called by hand from C++, in turn in one thread and in the same modes. Prints {"operators", "rounds": [{"by_hand_ns",
// "executor_ns"}]}, each the lower quartile of one block of runs.

#include "backend/base/FileSystem.h"
#include "backend/engine/Executor.h"
#include "backend/graph/ProgramArchive.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using namespace modulelens;

constexpr int kRunsOfBlock = 40;

at::Tensor byHand(at::Tensor x, const at::Tensor& y) {
    for (int i = 0; i < 100; ++i) {
        x = at::add(x, y);
        x = at::relu(x);
        x = at::mul(x, y);
        x = at::transpose(x, 0, 1);
    }
    return x;
}

template <class Body>
long quartileNs(Body body) {
    std::vector<long> samples;
    samples.reserve(kRunsOfBlock);
    for (int i = 0; i < kRunsOfBlock; ++i) {
        const auto start = std::chrono::steady_clock::now();
        body();
        samples.push_back(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 4];
}

int fail(const base::Error& error) {
    std::fprintf(stderr, "tiny-operators: %s\n", error.text().c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: tiny-operators PROGRAM.pt2 ROUNDS\n");
        return 2;
    }
    at::set_num_threads(1);
    const auto file = base::realFileSystem().map(argv[1]);
    if (!file) {
        return fail(file.error());
    }
    const auto archive = graph::readProgramArchive(file.value(), argv[1]);
    if (!archive) {
        return fail(archive.error());
    }
    const auto plan = engine::makePlan(archive.value().program, {});
    if (!plan) {
        return fail(plan.error());
    }
    const at::Tensor x = at::randn({8, 8});
    const at::Tensor y = at::rand({8, 8});
    const c10::InferenceMode inference;
    const std::vector<c10::IValue> inputs{x, y};
    const std::atomic<bool> stop{false};
    engine::Executor executor;
    const auto runExecutor = [&] { return executor.run(*plan.value(), inputs, stop, nullptr).at(0).toTensor(); };
    if (!runExecutor().equal(byHand(x, y))) {
        std::fprintf(stderr, "tiny-operators: the executor computes something else\n");
        return 1;
    }
    std::printf("{\"operators\": %d, \"rounds\": [", plan.value()->operatorCount);
    const int rounds = static_cast<int>(std::strtol(argv[2], nullptr, 10));
    for (int i = -1; i < rounds; ++i) {
        const long byHandNs = quartileNs([&] { (void)byHand(x, y); });
        const long executorNs = quartileNs([&] { (void)runExecutor(); });
        if (i >= 0) {
            std::printf("%s{\"by_hand_ns\": %ld, \"executor_ns\": %ld}", i == 0 ? "" : ", ", byHandNs, executorNs);
        }
    }
    std::printf("]}\n");
    return 0;
}
