// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <string>

namespace modulelens::protocol {

enum class OptimizerKind { GradientDescent, Adam, DecoupledAdam };

/// Which optimizer a training step has, by the names and defaults of torch.optim.
struct OptimizerSettings {
    OptimizerKind kind = OptimizerKind::GradientDescent;
    double learningRate = 1e-3;
    double momentum = 0;                 ///< Gradient descent only, as are the next two.
    double dampening = 0;
    bool isNesterov = false;
    double firstBeta = 0.9;              ///< Adam only, as are the next two.
    double secondBeta = 0.999;
    double epsilon = 1e-8;
    double weightDecay = 0;
};

/// Reads "sgd", "adam" or "adamw", with settings after it: "sgd,lr=0.01,momentum=0.9,nesterov=1,weight_decay=1e-4",
/// "adamw,beta1=0.9,beta2=0.95,eps=1e-8". InvalidArgument, saying what there is: another name or setting, or a value that
/// torch.optim would refuse.
[[nodiscard]] base::Result<OptimizerSettings> parseOptimizer(const std::string& text);

}  // namespace modulelens::protocol
