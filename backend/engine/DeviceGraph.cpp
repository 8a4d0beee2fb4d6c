// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/DeviceGraph.h"

#include "backend/engine/Modes.h"

// Older versions have no graphs for devices of any kind.
#if __has_include(<ATen/core/GraphImplInterface.h>)
#include <ATen/core/GraphImplInterface.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace modulelens::engine {

struct RecordableStream::Guard {
    explicit Guard(c10::Device device)
        : stream(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, false)) {}
    c10::StreamGuard stream;
};

struct DeviceGraph::Recording {
    explicit Recording(c10::Device device) : graph(at::create_graph_impl(device.type())) {}
    std::unique_ptr<at::GraphImplInterface> graph;
};

bool DeviceGraph::isAvailable(c10::Device device) {
    return !device.is_cpu() && at::has_graph_impl(device.type());
}

RecordableStream::RecordableStream(c10::Device device) : m_device(device) {
    // The new stream does not wait for the one before.
    synchronize(device);
    m_guard = std::make_unique<Guard>(device);
}

RecordableStream::~RecordableStream() {
    (void)isLost(m_device);
}

DeviceGraph::DeviceGraph(c10::Device device) : m_device(device), m_recording(std::make_unique<Recording>(device)) {}
DeviceGraph::~DeviceGraph() = default;

void DeviceGraph::capture(const std::function<void()>& body) {
    at::GraphImplInterface& graph = *m_recording->graph;
    synchronize(m_device);
    if (m_isCaptured) {
        m_isCaptured = false;
        graph.reset();
    }
    // Other threads of LibTorch may do as they like meanwhile.
    graph.capture_begin({0, 0}, at::GraphCaptureMode::ThreadLocal);
    try {
        body();
    } catch (...) {
        // Recording must end either way; what made it fail is what is told.
        try {
            graph.capture_end();
        } catch (const std::exception&) {
        }
        graph.reset();
        throw;
    }
    graph.capture_end();
    m_isCaptured = true;
}

void DeviceGraph::replay() {
    m_recording->graph->replay();
}

}  // namespace modulelens::engine

#else

namespace modulelens::engine {

struct RecordableStream::Guard {};
struct DeviceGraph::Recording {};

RecordableStream::RecordableStream(c10::Device device) : m_device(device) {}
RecordableStream::~RecordableStream() = default;

bool DeviceGraph::isAvailable(c10::Device) {
    return false;
}

DeviceGraph::DeviceGraph(c10::Device device) : m_device(device) {}
DeviceGraph::~DeviceGraph() = default;
void DeviceGraph::capture(const std::function<void()>&) {}
void DeviceGraph::replay() {}

}  // namespace modulelens::engine

#endif
