// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Devices.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <unistd.h>
#include <array>
#include <fstream>

namespace modulelens::engine {

namespace {

std::string processorName() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        const std::size_t colon = line.find(": ");
        if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "CPU";
}

}  // namespace

std::vector<protocol::DeviceInfo> listDevices() {
    std::vector<protocol::DeviceInfo> devices;
    protocol::DeviceInfo processor;
    processor.name = "cpu";
    processor.description = processorName();
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long pageSize = ::sysconf(_SC_PAGE_SIZE);
    if (pages > 0 && pageSize > 0) {
        processor.memoryBytes = static_cast<std::int64_t>(pages) * pageSize;
    }
    processor.capability = at::get_cpu_capability();
    devices.push_back(std::move(processor));
    for (const c10::DeviceType type : {c10::DeviceType::CUDA, c10::DeviceType::XPU, c10::DeviceType::PrivateUse1}) {
        if (!c10::impl::hasDeviceGuardImpl(type)) {
            continue;
        }
        const c10::impl::VirtualGuardImpl guard(type);
        for (c10::DeviceIndex i = 0; i < guard.deviceCount(); ++i) {
            protocol::DeviceInfo device;
            device.name = c10::Device(type, i).str();
            device.description = c10::DeviceTypeName(type);
            devices.push_back(std::move(device));
        }
    }
    return devices;
}

std::string float32MatmulPrecision() {
    switch (at::globalContext().float32MatmulPrecision()) {
        case at::Float32MatmulPrecision::HIGHEST:
            return "highest";
        case at::Float32MatmulPrecision::HIGH:
            return "high";
        case at::Float32MatmulPrecision::MEDIUM:
            return "medium";
    }
    return {};
}

}  // namespace modulelens::engine
