# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""torch's own FLOP count of captured calls."""

from __future__ import annotations

import copy

import torch
from conftest import Capture
from torch import nn


def test_flops_areThoseOfTorchsCounter(capture: Capture) -> None:
    model = nn.Sequential(nn.Linear(32, 16), nn.ReLU())
    bundle = capture(model, torch.randn(8, 32), flops=True)
    for module in ("", "0"):
        flops = bundle.call(module)["torch_flops"]
        assert flops == {"torch": torch.__version__, "total": 8192, "by_operator": {"aten::addmm": 8192}}
    assert bundle.call("1")["torch_flops"]["by_operator"] == {}


def test_flops_areAbsentUnlessAskedFor(capture: Capture) -> None:
    assert "torch_flops" not in capture(nn.Linear(4, 4), torch.randn(2, 4)).call()


def test_sharedModule_countsByCall(capture: Capture) -> None:
    linear = nn.Linear(32, 32)
    bundle = capture(nn.Sequential(linear, linear), torch.randn(8, 32), flops=True)
    assert bundle.call()["torch_flops"]["total"] == 32768
    assert bundle.call("0", 1)["torch_flops"]["total"] == 16384


def test_counting_changesNothingOfTheModel(capture: Capture) -> None:
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout()).train()
    twin = copy.deepcopy(model)
    x = torch.randn(8, 4)
    torch.manual_seed(3)
    expected = twin(x)
    state = torch.get_rng_state()
    torch.manual_seed(3)
    bundle = capture(model, x, flops=True)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(model.buffers(), twin.buffers(), strict=True))
    assert bundle.call()["torch_flops"]["total"] == 0 and expected.shape == (8, 4)


def test_callThatRaised_hasNoCount(capture: Capture) -> None:
    model = nn.Linear(4, 4)

    def step() -> None:
        try:
            model(torch.randn(2, 3))
        except RuntimeError:
            model(torch.randn(2, 4))

    bundle = capture(model, step=step, flops=True)
    assert "torch_flops" not in bundle.call("", 0)
    assert bundle.call("", 1)["torch_flops"]["total"] == 64
