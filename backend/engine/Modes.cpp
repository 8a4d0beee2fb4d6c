// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Modes.h"

#include <ATen/autocast_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace modulelens::engine {

Modes::Modes(const capture::CallDocument& call, const DeviceMap& devices, bool forceGrad)
    : m_wasCacheEnabled(at::autocast::is_autocast_cache_enabled()) {
    if (call.inferenceMode && !forceGrad) {
        m_inference.emplace(true);
    } else {
        m_grad.emplace(call.gradMode || forceGrad);
    }
    for (const capture::AutocastState& state : call.autocast) {
        const c10::DeviceType device = devices(c10::Device(state.device).type()).type();
        m_autocast.push_back({device, at::autocast::is_autocast_enabled(device), at::autocast::get_autocast_dtype(device)});
        at::autocast::set_autocast_enabled(device, true);
        at::autocast::set_autocast_dtype(device, torchType(state.dtype));
        at::autocast::set_autocast_cache_enabled(state.cacheEnabled);
    }
    if (!m_autocast.empty()) {
        at::autocast::increment_nesting();
    }
}

Modes::~Modes() {
    if (m_autocast.empty()) {
        return;
    }
    if (at::autocast::decrement_nesting() == 0) {
        at::autocast::clear_cache();
    }
    for (const Autocast& autocast : m_autocast) {
        at::autocast::set_autocast_enabled(autocast.device, autocast.wasEnabled);
        at::autocast::set_autocast_dtype(autocast.device, autocast.dtype);
    }
    at::autocast::set_autocast_cache_enabled(m_wasCacheEnabled);
}

void synchronize(c10::Device device) {
    if (!device.is_cpu()) {
        const c10::impl::VirtualGuardImpl guard(device.type());
        guard.synchronizeDevice(device.has_index() ? device.index() : c10::DeviceIndex{0});
    }
}

bool isLost(c10::Device device) noexcept {
    try {
        synchronize(device);
        return false;
    } catch (...) {
        return true;
    }
}

}  // namespace modulelens::engine
