// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/DeviceClock.h"

#include "backend/engine/Modes.h"
#include "backend/profile/Statistics.h"

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <chrono>
#include <cmath>
#include <exception>

namespace modulelens::engine {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBlocks = 25;

std::int64_t nanoseconds(Clock::duration span) {
    return std::chrono::nanoseconds(span).count();
}

/// Median over blocks of the time of one of `count` calls of `action`.
template <class Action>
std::int64_t costOf(int count, Action action) {
    std::vector<double> blocks;
    blocks.reserve(kBlocks);
    for (int block = 0; block < kBlocks; ++block) {
        const Clock::time_point start = Clock::now();
        for (int i = 0; i < count; ++i) {
            action();
        }
        blocks.push_back(static_cast<double>(nanoseconds(Clock::now() - start)) / count);
    }
    return std::max<std::int64_t>(std::llround(profile::medianOf(std::move(blocks))), 1);
}

}  // namespace

struct DeviceClock::Events {
    c10::Event begin;
    c10::Event end;
    explicit Events(c10::DeviceType type)
        : begin(type, c10::EventFlag::BACKEND_DEFAULT), end(type, c10::EventFlag::BACKEND_DEFAULT) {}
};

DeviceClock::DeviceClock(c10::Device device) : m_device(device) {
    if (device.is_cpu()) {
        m_reason = "the CPU has no clock apart from the host's";
        return;
    }
    try {
        m_events = std::make_unique<Events>(device.type());
        start();
        stop();
        synchronize(m_device);
        (void)elapsedNs();
    } catch (const std::exception&) {
        m_events.reset();
        m_reason = "the device " + device.str() + " has no events that measure time";
    }
}

DeviceClock::~DeviceClock() = default;

void DeviceClock::start() {
    if (m_events) {
        m_events->begin.record(c10::impl::VirtualGuardImpl(m_device.type()).getStream(m_device));
    }
}

void DeviceClock::stop() {
    if (m_events) {
        m_events->end.record(c10::impl::VirtualGuardImpl(m_device.type()).getStream(m_device));
    }
}

std::optional<std::int64_t> DeviceClock::elapsedNs() {
    constexpr double kNsPerMs = 1e6;
    return m_events ? std::optional(std::llround(m_events->begin.elapsedTime(m_events->end) * kNsPerMs)) : std::nullopt;
}

std::int64_t timerCostNs() {
    constexpr int kReads = 400;
    Clock::time_point last;
    return costOf(kReads, [&] { last = Clock::now(); });
}

std::int64_t nullOperatorCostNs(c10::Device device) {
    constexpr int kCalls = 100;
    const c10::OperatorHandle alias = c10::Dispatcher::singleton().findSchemaOrThrow("aten::alias", "");
    const at::Tensor tensor = at::empty({1}, at::TensorOptions().device(device));
    torch::jit::Stack stack;
    const auto call = [&] {
        stack.emplace_back(tensor);
        alias.callBoxed(stack);
        stack.clear();
    };
    call();
    return costOf(kCalls, call);
}

}  // namespace modulelens::engine
