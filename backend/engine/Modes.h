// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/VersionDocument.h"
#include "backend/engine/TorchTypes.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <optional>
#include <vector>

namespace modulelens::engine {

/// Puts this thread into the modes of a captured call (autograd, inference mode, autocast) until destroyed.
class Modes {
public:
    Modes(const capture::CallDocument& call, const DeviceMap& devices, bool forceGrad);
    ~Modes();
    Modes(const Modes&) = delete;
    Modes& operator=(const Modes&) = delete;

private:
    struct Autocast {
        c10::DeviceType device;
        bool wasEnabled;
        c10::ScalarType dtype;
    };
    std::optional<c10::InferenceMode> m_inference;
    std::optional<at::AutoGradMode> m_grad;
    std::vector<Autocast> m_autocast;
    bool m_wasCacheEnabled = true;
};

/// Waits until `device` has done all that was given to it; nothing for the CPU.
void synchronize(c10::Device device);

/// True when `device` fails even when nothing is asked of it, as a GPU does after an illegal access until its process ends.
[[nodiscard]] bool isLost(c10::Device device) noexcept;

}  // namespace modulelens::engine
