// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// A library of operators, as people build them: modulelens_test::twice.

#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace {

at::Tensor twice(const at::Tensor& x) {
    return x.add(x);
}

} // namespace

TORCH_LIBRARY(modulelens_test, library) {
    library.def("twice(Tensor x) -> Tensor", &twice);
}
