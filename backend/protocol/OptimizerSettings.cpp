// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/OptimizerSettings.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace modulelens::protocol {

namespace {

constexpr double kDecayOfDecoupledAdam = 1e-2;

bool readNumber(std::string_view text, double& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

/// Where the setting `name` of `settings` lies; null when that optimizer has none such.
double* settingOf(OptimizerSettings& settings, std::string_view name) {
    if (name == "lr") {
        return &settings.learningRate;
    }
    if (name == "weight_decay") {
        return &settings.weightDecay;
    }
    if (settings.kind == OptimizerKind::GradientDescent) {
        return name == "momentum" ? &settings.momentum : name == "dampening" ? &settings.dampening : nullptr;
    }
    return name == "beta1"   ? &settings.firstBeta
           : name == "beta2" ? &settings.secondBeta
           : name == "eps"   ? &settings.epsilon
                             : nullptr;
}

bool isAllowed(const OptimizerSettings& settings) {
    const auto isBeta = [](double beta) { return beta >= 0 && beta < 1; };
    const bool isNesterovRight = !settings.isNesterov || (settings.momentum > 0 && settings.dampening == 0);
    return settings.learningRate >= 0 && settings.weightDecay >= 0 && settings.momentum >= 0 && isNesterovRight &&
           isBeta(settings.firstBeta) && isBeta(settings.secondBeta) && settings.epsilon >= 0;
}

}  // namespace

base::Result<OptimizerSettings> parseOptimizer(const std::string& text) {
    const auto refuse = [&](const std::string& message) {
        return base::Error{base::ErrorCode::InvalidArgument, message,
                           "Use sgd, adam or adamw, with settings such as sgd,lr=0.01,momentum=0.9,weight_decay=1e-4 or "
                           "adamw,beta2=0.95,eps=1e-8."};
    };
    std::string_view rest = text;
    const auto next = [&] {
        const std::size_t comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        return part;
    };
    OptimizerSettings settings;
    const std::string name(next());
    if (name == "adam" || name == "adamw") {
        settings.kind = name == "adam" ? OptimizerKind::Adam : OptimizerKind::DecoupledAdam;
        settings.weightDecay = name == "adam" ? 0 : kDecayOfDecoupledAdam;
    } else if (name != "sgd") {
        return refuse("there is no optimizer '" + name + "'");
    }
    for (bool hasMore = text.size() > name.size(); hasMore;) {
        hasMore = rest.find(',') != std::string_view::npos;
        const std::string part(next());
        const std::size_t equals = part.find('=');
        const std::string key = part.substr(0, equals);
        double number = 0;
        if (equals == std::string::npos || !readNumber(std::string_view(part).substr(equals + 1), number)) {
            return refuse("'" + part + "' is no setting of an optimizer with a number");
        }
        if (key == "nesterov" && settings.kind == OptimizerKind::GradientDescent && (number == 0 || number == 1)) {
            settings.isNesterov = number == 1;
        } else if (double* const setting = settingOf(settings, key)) {
            *setting = number;
        } else {
            return refuse("the optimizer " + name + " has no setting '" + part + "'");
        }
    }
    if (!isAllowed(settings)) {
        return refuse("torch.optim refuses the settings '" + text + "'");
    }
    return settings;
}

}  // namespace modulelens::protocol
