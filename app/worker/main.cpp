// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// modulelens-worker: speaks the worker protocol (docs/formats/worker-protocol.md) on standard input and output.

#include "app/worker/Channel.h"
#include "app/worker/Faults.h"
#include "app/worker/Methods.h"
#include "backend/engine/Engine.h"
#include "backend/protocol/ErrorObject.h"
#include "backend/rpc/Dispatcher.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace modulelens;

constexpr std::size_t kReadBytes = std::size_t{1} << 16;
constexpr int kDeviceLost = 4;

// The client reads no more, or cannot be understood: nothing that still runs has a use.
[[noreturn]] void leave(int code) {
    std::fflush(stderr);
    std::_Exit(code);
}

void readRequests(const worker::Channel& channel, rpc::Dispatcher& dispatcher) {
    std::vector<char> buffer(kReadBytes);
    while (true) {
        const std::string_view bytes = channel.read(buffer.data(), buffer.size());
        if (bytes.empty()) {
            leave(dispatcher.isMidMessage() ? 1 : 0);
        }
        if (const auto taken = dispatcher.receive(bytes); !taken) {
            std::fprintf(stderr, "modulelens-worker: %s\n", taken.error().text().c_str());
            leave(1);
        }
    }
}

}  // namespace

int main() {
    const worker::Channel channel = worker::Channel::takeStandardStreams();
    worker::Faults faults = worker::Faults::fromEnvironment();
    const auto send = [&](std::string_view framed) {
        if (!channel.write(framed)) {
            leave(0);
        }
        if (faults.isGarbageDue()) {
            (void)channel.write("this is no message\r\n\r\n");
        }
    };
    rpc::Dispatcher dispatcher(send, protocol::toErrorObject);
    engine::Engine engine;
    worker::addMethods(dispatcher, engine, faults);
    std::thread(readRequests, std::cref(channel), std::ref(dispatcher)).detach();
    // LibTorch keeps modes and thread counts by thread, so every job runs here.
    while (dispatcher.runNext()) {
        if (engine.isDeviceLost()) {
            leave(kDeviceLost);
        }
    }
    leave(0);
}
