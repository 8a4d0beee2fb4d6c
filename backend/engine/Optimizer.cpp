// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/Optimizer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <cmath>

namespace modulelens::engine {

namespace {

constexpr double kLearningRate = 1e-3;

class GradientDescent : public Optimizer {
public:
    GradientDescent() : Optimizer("sgd") {}

    void step(const std::vector<at::Tensor>& parameters) override {
        const at::NoGradGuard noGrad;
        for (const at::Tensor& parameter : parameters) {
            if (parameter.grad().defined()) {
                parameter.add_(parameter.grad(), -kLearningRate);
            }
        }
    }
    std::string stateFormula() const override { return "0: without momentum there is no state"; }
    std::int64_t stateBytesOf(const std::vector<at::Tensor>&) const override { return 0; }
};

class Adam : public Optimizer {
public:
    Adam() : Optimizer("adam") {}

    void step(const std::vector<at::Tensor>& parameters) override {
        const at::NoGradGuard noGrad;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            const at::Tensor& parameter = parameters[i];
            const at::Tensor gradient = parameter.grad();
            if (!gradient.defined()) {
                continue;
            }
            std::vector<at::Tensor>& state = m_state[i];
            if (state.empty()) {
                state = {at::zeros({}, at::TensorOptions().dtype(at::kFloat)), at::zeros_like(parameter),
                         at::zeros_like(parameter)};
            }
            const at::Tensor& average = state[1];
            const at::Tensor& squares = state[2];
            state[0].add_(1);
            average.lerp_(gradient, 1 - kFirstBeta);
            squares.mul_(kSecondBeta).addcmul_(gradient, gradient.conj(), 1 - kSecondBeta);
            const double count = state[0].item().toDouble();
            const double stepSize = kLearningRate / (1 - std::pow(kFirstBeta, count));
            const double correction = std::sqrt(1 - std::pow(kSecondBeta, count));
            const at::Tensor scale = (squares.sqrt() / correction).add_(kEpsilon);
            parameter.addcdiv_(average, scale, -stepSize);
        }
    }
    std::string stateFormula() const override {
        return "2 x the bytes of the parameters that require a gradient, and a 4-byte step count for each of them";
    }
    std::int64_t stateBytesOf(const std::vector<at::Tensor>& parameters) const override {
        std::int64_t bytes = 0;
        for (const at::Tensor& parameter : parameters) {
            bytes += 2 * parameter.numel() * static_cast<std::int64_t>(parameter.element_size()) + kStepBytes;
        }
        return bytes;
    }

private:
    static constexpr double kFirstBeta = 0.9;
    static constexpr double kSecondBeta = 0.999;
    static constexpr double kEpsilon = 1e-8;
    static constexpr std::int64_t kStepBytes = 4;
};

}  // namespace

base::Result<std::unique_ptr<Optimizer>> Optimizer::create(const std::string& name) {
    if (name == "sgd") {
        return std::unique_ptr<Optimizer>(std::make_unique<GradientDescent>());
    }
    if (name == "adam") {
        return std::unique_ptr<Optimizer>(std::make_unique<Adam>());
    }
    return base::Error{base::ErrorCode::InvalidArgument, "there is no optimizer '" + name + "'", "Use sgd or adam."};
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
