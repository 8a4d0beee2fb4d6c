// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/Bundle.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace modulelens::test {

/// A module of a synthetic capture: one parameter "weight", one call with one input and one output.
struct BuiltModule {
    std::string name;
    std::string className = "torch.nn.modules.linear:Linear";
    std::vector<float> weight{1.0F, 2.0F};
    std::vector<float> input{3.0F};
    std::string inputDtype = "float32";          ///< "float32" or "int32": how the four-byte values are called.
    std::string source = "class Linear: pass\n";
    std::string device = "cpu";
    std::vector<std::string> children;           ///< Names of modules that stand before this one.
};

/// Writes bundles as docs/formats/bundle.md describes them, without PyTorch. Confined to its thread.
class BundleBuilder {
public:
    explicit BundleBuilder(std::string model) : m_model(std::move(model)) {}

    std::string created = "2026-11-30T16:01:45.123456Z";
    std::vector<std::string> tags;
    std::map<std::string, capture::AttributeValue> attributes;
    std::int64_t step = 0;
    std::vector<BuiltModule> modules;

    /// Writes the bundle into a new folder below `store` and returns it. Aborts the test program when that fails.
    std::filesystem::path write(const std::filesystem::path& store) const;

private:
    std::string m_model;
};

/// A module of that name, everything else as it comes.
BuiltModule namedModule(const std::string& name);

/// The model "mini lm": a top module, "encoder.layer.2" (Linear) and "encoder.layer.10" (LayerNorm, on cuda:0). `weight`
/// changes the first two, `input` the trace of all three.
BundleBuilder encoderBundle(float weight = 1.0F, float input = 3.0F);

} // namespace modulelens::test
