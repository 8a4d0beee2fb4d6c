// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// A library of operators, as people build them: modulelens_test::twice, and some that change what they are given.

#include <ATen/core/Tensor.h>
#include <torch/library.h>
#include <optional>
#include <vector>

namespace {

at::Tensor twice(const at::Tensor& x) {
    return x.add(x);
}

void addTo(const at::Tensor& x, const at::Tensor& y) {
    x.add_(y);
}

at::Tensor scaleAll(const at::Tensor& x, double factor, at::TensorList rest) {
    x.mul_(factor);
    for (const at::Tensor& each : rest) {
        each.add_(x.sum());
    }
    return x.add(1);
}

at::Tensor countInto(const at::Tensor& x, const std::optional<at::Tensor>& counter) {
    if (counter) {
        counter->add_(1);
    }
    return x.mul(3);
}

at::Tensor& growInPlace(at::Tensor& x) {
    return x.mul_(2);
}

at::Tensor& halveInto(const at::Tensor& x, at::Tensor& out) {
    return out.copy_(x).div_(2);
}

} // namespace

TORCH_LIBRARY(modulelens_test, library) {
    library.def("twice(Tensor x) -> Tensor", &twice);
    library.def("add_to(Tensor(a!) x, Tensor y) -> ()");
    library.def("scale_all(Tensor(a!) x, float factor, Tensor(b!)[] rest) -> Tensor");
    library.def("count_into(Tensor x, Tensor(a!)? counter=None) -> Tensor");
    library.def("grow_(Tensor(a!) x) -> Tensor(a!)", {at::Tag::inplace});
    library.def("halve.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", {at::Tag::out});
}

TORCH_LIBRARY_IMPL(modulelens_test, CPU, library) {
    library.impl("add_to", &addTo);
    library.impl("scale_all", &scaleAll);
    library.impl("count_into", &countInto);
    library.impl("grow_", &growInPlace);
    library.impl("halve.out", &halveInto);
}
