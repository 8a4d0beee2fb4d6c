// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/Device.h>
#include <functional>
#include <memory>

namespace modulelens::engine {

/// Gives an accelerator another current stream while it exists, since the work of the default stream cannot be recorded.
/// Confined to its thread.
class RecordableStream {
public:
    /// Waits for the device. Throws c10::Error.
    explicit RecordableStream(c10::Device device);
    ~RecordableStream();
    RecordableStream(const RecordableStream&) = delete;
    RecordableStream& operator=(const RecordableStream&) = delete;

private:
    struct Guard;
    c10::Device m_device;
    std::unique_ptr<Guard> m_guard;
};

/// Records the work that is given to an accelerator's current stream, and gives all of it again at once. Needs a
/// RecordableStream around it. Confined to its thread.
class DeviceGraph {
public:
    /// Whether graphs of `device` can be recorded here.
    [[nodiscard]] static bool isAvailable(c10::Device device);

    /// Requires: isAvailable(device). Throws c10::Error.
    explicit DeviceGraph(c10::Device device);
    ~DeviceGraph();
    DeviceGraph(const DeviceGraph&) = delete;
    DeviceGraph& operator=(const DeviceGraph&) = delete;

    /// Records what `body` gives to the device; nothing of it is computed. Throws what `body` throws, and c10::Error when the
    /// device cannot record it, such as when a value is needed on the host; nothing is recorded then. What was recorded
    /// before is forgotten.
    void capture(const std::function<void()>& body);
    [[nodiscard]] bool isCaptured() const { return m_isCaptured; }
    /// Computes what was recorded, on the memory that it was recorded with. Does not wait. Requires: isCaptured().
    void replay();

private:
    struct Recording;
    c10::Device m_device;
    std::unique_ptr<Recording> m_recording;
    bool m_isCaptured = false;
};

}  // namespace modulelens::engine
