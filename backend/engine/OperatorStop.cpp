// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/OperatorStop.h"

#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>
#include <mutex>
#include <optional>
#include <stdexcept>

namespace modulelens::engine {

namespace {

// A key of LibTorch's own tests, which no kernel uses: operators of a thread that includes it go to stopHere.
constexpr c10::DispatchKey kStopKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

thread_local const std::atomic<bool>* threadStop = nullptr;

std::mutex callbackMutex;
std::optional<at::CallbackHandle> installedCallback;

void stopHere(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*) {
    throw std::runtime_error("the run was cancelled");
}

void installFallback() {
    static const auto kLibrary = [] {
        torch::Library library(torch::Library::IMPL, "_", kStopKey, __FILE__, __LINE__);
        library.fallback(torch::CppFunction::makeFromBoxedFunction<&stopHere>());
        return library;
    }();
}

// LibTorch swallows what callbacks throw, so this one only has the next operator thrown away.
std::unique_ptr<at::ObserverContext> onOperator(const at::RecordFunction&) {
    if (threadStop != nullptr && threadStop->load(std::memory_order_relaxed)) {
        c10::impl::tls_set_dispatch_key_included(kStopKey, true);
    }
    return nullptr;
}

}  // namespace

OperatorStop::OperatorStop(const std::atomic<bool>& stop) {
    installFallback();
    threadStop = &stop;
}

OperatorStop::~OperatorStop() {
    threadStop = nullptr;
    c10::impl::tls_set_dispatch_key_included(kStopKey, false);
}

void OperatorStop::request() noexcept {
    try {
        const std::scoped_lock lock(callbackMutex);
        if (!installedCallback) {
            installedCallback =
                at::addGlobalCallback(at::RecordFunctionCallback(&onOperator).scopes({at::RecordScope::FUNCTION}));
        }
    } catch (const std::exception&) {
        // Without memory for the callback the run goes on to its end.
        installedCallback.reset();
    }
}

void OperatorStop::withdraw() noexcept {
    const std::scoped_lock lock(callbackMutex);
    if (installedCallback) {
        at::removeCallback(*installedCallback);
        installedCallback.reset();
    }
}

}  // namespace modulelens::engine
