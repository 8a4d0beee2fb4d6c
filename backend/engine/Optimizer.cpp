// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Optimizer.h"

#include "backend/protocol/OptimizerSettings.h"

#include <ATen/Functions.h>
#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <cmath>

namespace modulelens::engine {

namespace {

using protocol::OptimizerKind;
using protocol::OptimizerSettings;

/// `tensor *= factor` as Python calls it: the overload for numbers rounds the factor to half precision first.
at::Tensor scale(const at::Tensor& tensor, double factor) {
    return tensor.mul_(at::native::wrapped_scalar_tensor(factor));
}

std::int64_t bytesOf(const std::vector<at::Tensor>& parameters) {
    std::int64_t bytes = 0;
    for (const at::Tensor& parameter : parameters) {
        bytes += parameter.numel() * static_cast<std::int64_t>(parameter.element_size());
    }
    return bytes;
}

/// torch.optim.sgd._single_tensor_sgd.
class GradientDescent : public Optimizer {
public:
    GradientDescent(std::string name, const OptimizerSettings& settings) : Optimizer(std::move(name)), m_settings(settings) {}

    void step(const std::vector<at::Tensor>& parameters) override {
        const at::NoGradGuard noGrad;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            at::Tensor gradient = parameters[i].grad();
            if (!gradient.defined()) {
                continue;
            }
            if (m_settings.weightDecay != 0) {
                gradient = gradient.add(parameters[i], m_settings.weightDecay);
            }
            if (m_settings.momentum != 0) {
                gradient = withMomentum(gradient, m_state[i]);
            }
            parameters[i].add_(gradient, -m_settings.learningRate);
        }
    }
    std::string stateFormula() const override {
        return m_settings.momentum == 0 ? "0: without momentum there is no state"
                                        : "the bytes of the parameters that require a gradient";
    }
    std::int64_t stateBytesOf(const std::vector<at::Tensor>& parameters) const override {
        return m_settings.momentum == 0 ? 0 : bytesOf(parameters);
    }

private:
    at::Tensor withMomentum(const at::Tensor& gradient, std::vector<at::Tensor>& state) const {
        if (state.empty()) {
            state = {gradient.detach().clone()};
        } else {
            scale(state[0], m_settings.momentum).add_(gradient, 1 - m_settings.dampening);
        }
        return m_settings.isNesterov ? gradient.add(state[0], m_settings.momentum) : state[0];
    }

    OptimizerSettings m_settings;
};

/// torch.optim.adam._single_tensor_adam, which AdamW calls as well.
class Adam : public Optimizer {
public:
    Adam(std::string name, const OptimizerSettings& settings) : Optimizer(std::move(name)), m_settings(settings) {}

    void step(const std::vector<at::Tensor>& parameters) override {
        const at::NoGradGuard noGrad;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            if (parameters[i].grad().defined()) {
                stepOf(parameters[i], m_state[i]);
            }
        }
    }
    std::string stateFormula() const override {
        return "2 x the bytes of the parameters that require a gradient, and a 4-byte step count for each of them";
    }
    std::int64_t stateBytesOf(const std::vector<at::Tensor>& parameters) const override {
        return 2 * bytesOf(parameters) + kStepBytes * static_cast<std::int64_t>(parameters.size());
    }

private:
    static constexpr std::int64_t kStepBytes = 4;

    static at::Tensor asReal(const at::Tensor& tensor) { return tensor.is_complex() ? at::view_as_real(tensor) : tensor; }

    void stepOf(const at::Tensor& parameter, std::vector<at::Tensor>& state) const {
        if (state.empty()) {
            state = {at::zeros({}, at::TensorOptions().dtype(at::kFloat)), at::zeros_like(parameter),
                     at::zeros_like(parameter)};
        }
        at::Tensor gradient = parameter.grad();
        state[0].add_(1);
        if (m_settings.weightDecay != 0 && m_settings.kind == OptimizerKind::DecoupledAdam) {
            scale(parameter, 1 - m_settings.learningRate * m_settings.weightDecay);
        } else if (m_settings.weightDecay != 0) {
            gradient = gradient.add(parameter, m_settings.weightDecay);
        }
        gradient = asReal(gradient);
        const at::Tensor average = asReal(state[1]);
        const at::Tensor squares = asReal(state[2]);
        average.lerp_(gradient, 1 - m_settings.firstBeta);
        scale(squares, m_settings.secondBeta).addcmul_(gradient, gradient, 1 - m_settings.secondBeta);
        const double count = state[0].item().toDouble();
        const double stepSize = m_settings.learningRate / (1 - std::pow(m_settings.firstBeta, count));
        // The square root of Python's ** operator.
        constexpr double kHalf = 0.5;
        const double correction = std::pow(1 - std::pow(m_settings.secondBeta, count), kHalf);
        const at::Tensor denominator = (squares.sqrt() / correction).add_(m_settings.epsilon);
        asReal(parameter).addcdiv_(average, denominator, -stepSize);
    }

    OptimizerSettings m_settings;
};

}  // namespace

base::Result<std::unique_ptr<Optimizer>> Optimizer::create(const std::string& text) {
    const auto settings = protocol::parseOptimizer(text);
    if (!settings) {
        return settings.error();
    }
    if (settings->kind == OptimizerKind::GradientDescent) {
        return std::unique_ptr<Optimizer>(std::make_unique<GradientDescent>(text, *settings));
    }
    return std::unique_ptr<Optimizer>(std::make_unique<Adam>(text, *settings));
}

std::int64_t Optimizer::stateBytes() const {
    std::int64_t bytes = 0;
    for (const auto& [parameter, tensors] : m_state) {
        for (const at::Tensor& tensor : tensors) {
            bytes += static_cast<std::int64_t>(tensor.nbytes());
        }
    }
    return bytes;
}

}  // namespace modulelens::engine
