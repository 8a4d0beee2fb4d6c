# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Gradients of captured calls: those that a backward pass gave the outputs, and what eager PyTorch gives the rest."""

from __future__ import annotations

from typing import Any

import torch
from bundle_check import Bundle
from conftest import Capture
from replay import decoder_of, same_bits
from torch import nn


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 16), nn.GELU()), nn.Linear(16, 4))


def gradient(bundle: Bundle, kind: str, name: str, module: str = "", index: int = 0) -> torch.Tensor:
    return decoder_of(bundle).tensor(bundle.call(module, index)["gradients"][kind][name])


def test_withoutTheOption_thereAreNone(capture: Capture) -> None:
    model = network()
    bundle = capture(model, step=lambda: model(torch.randn(2, 8)).sum().backward())
    assert bundle.call()["gradients"] is None


def test_backwardInsideTheBlock_givesTheOutputsTheirGradients(capture: Capture) -> None:
    model = network()
    x = torch.randn(2, 8)
    seen: list[torch.Tensor] = []

    def step() -> None:
        hidden = model[1](model[0](x))
        hidden.register_hook(lambda given: seen.append(given.clone()))
        model[2](hidden).square().sum().backward()

    bundle = capture(model, step=step, select=["1"], backward=True)
    gradients = bundle.call("1")["gradients"]
    assert gradients["of"] == "captured"
    assert same_bits(gradient(bundle, "outputs", "/output", "1"), seen[0])


def test_parametersOfACallAlone_areThoseOfTheModel(capture: Capture) -> None:
    model = network()
    x = torch.randn(2, 8)
    bundle = capture(model, step=lambda: model(x).square().sum().backward(), backward=True)
    for module, name in (("0", "weight"), ("1.0", "bias"), ("2", "weight")):
        expected = model.get_submodule(module).get_parameter(name).grad
        assert expected is not None
        assert same_bits(gradient(bundle, "parameters", name, module), expected)
    # What reaches a module's input is what its neighbour's output got.
    inputs = gradient(bundle, "inputs", "/args/0", "2")
    assert same_bits(inputs, gradient(bundle, "outputs", "/output", "1"))


def test_withoutBackward_theSumOfTheOutputsCounts(capture: Capture) -> None:
    model = network()
    x = torch.randn(2, 8)
    bundle = capture(model, x, select=[""], backward=True)
    gradients = bundle.call()["gradients"]
    assert gradients["of"] == "sum" and gradients["outputs"] == {} and gradients["inputs"] == {}
    model(x).sum().backward()
    assert same_bits(gradient(bundle, "parameters", "0.weight"), model[0].weight.grad)


def test_everyCall_hasItsOwn(capture: Capture) -> None:
    layer = nn.Linear(4, 4)
    model = nn.Sequential(layer, layer)
    x = torch.randn(3, 4)
    bundle = capture(model, step=lambda: model(x).sum().backward(), select=["0"], backward=True)
    both = [gradient(bundle, "parameters", "weight", "0", index) for index in (0, 1)]
    assert layer.weight.grad is not None
    assert torch.allclose(both[0] + both[1], layer.weight.grad)


def test_whatNothingReads_hasNone(capture: Capture) -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.used(x)

    bundle = capture(Half(), torch.randn(2, 4), select=[""], backward=True)
    parameters = bundle.call()["gradients"]["parameters"]
    assert parameters["unused.weight"] is None and parameters["used.weight"]["shape"] == [4, 4]


def test_inputThatTheCallWritesTo_hasTheGradientOfWhatItHeld(capture: Capture) -> None:
    class Doubles(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.mul_(2)

    x = torch.randn(3, requires_grad=True) * 1
    bundle = capture(Doubles(), x, backward=True)
    assert torch.equal(gradient(bundle, "inputs", "/args/0"), torch.full((3,), 2.0))


def test_modelAndItsGradients_areLeftAlone(capture: Capture) -> None:
    model = network()
    x = torch.randn(2, 8)
    model(x).sum().backward()
    before = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    output: list[Any] = []
    capture(model, step=lambda: output.append(model(x)), backward=True)
    after = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert all(torch.equal(*pair) for pair in zip(before, after, strict=True))
    # The hooks went with the block.
    assert not output[0]._backward_hooks


def test_gradientUnderAutocast_isOfTheParametersType(capture: Capture) -> None:
    layer = nn.Linear(4, 4)

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = layer(torch.randn(2, 4))
        y.sum().backward()

    bundle = capture(layer, step=step, backward=True)
    assert same_bits(gradient(bundle, "parameters", "weight"), layer.weight.grad)


def test_viewOfALargerStorage_saysHowLargeItIs(capture: Capture) -> None:
    table = torch.randn(100, 4)
    bundle = capture(nn.Linear(4, 4), table[:8])
    assert bundle.call()["args"][0]["storage_bytes"] == 100 * 4 * 4
    whole = capture(nn.Linear(4, 4), table)
    assert "storage_bytes" not in whole.call()["args"][0]
