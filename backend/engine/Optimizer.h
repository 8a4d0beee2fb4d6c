// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"

#include <ATen/core/Tensor.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace modulelens::engine {

/// An optimizer, operator by operator as torch.optim does it on the CPU. Confined to its thread.
class Optimizer {
public:
    /// From a text that protocol::parseOptimizer() reads, which becomes its name. InvalidArgument.
    [[nodiscard]] static base::Result<std::unique_ptr<Optimizer>> create(const std::string& text);
    virtual ~Optimizer() = default;
    Optimizer(const Optimizer&) = delete;
    Optimizer& operator=(const Optimizer&) = delete;

    /// Changes each parameter by its gradient; those without one stay. The first step makes the state, so every step must be given the
    /// same parameters. Throws c10::Error, such as for a sparse gradient.
    virtual void step(const std::vector<at::Tensor>& parameters) = 0;
    [[nodiscard]] std::int64_t stateBytes() const;
    virtual void forgetState() { m_state.clear(); }
    /// What the state is made of, such as "2 x the bytes of ...".
    [[nodiscard]] virtual std::string stateFormula() const = 0;
    /// What stateBytes() is for these parameters once each has had a gradient.
    [[nodiscard]] virtual std::int64_t stateBytesOf(const std::vector<at::Tensor>& parameters) const = 0;
    [[nodiscard]] const std::string& name() const { return m_name; }

protected:
    explicit Optimizer(std::string name) : m_name(std::move(name)) {}
    std::map<std::size_t, std::vector<at::Tensor>> m_state;   ///< By index of the parameter.

private:
    std::string m_name;
};

}  // namespace modulelens::engine
