# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""What is measured of each call in the run, on a device whose clock and allocator the test turns."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from bundle_check import check_bundle
from conftest import Capture
from torch import nn

from modulelens import ModuleTracer
from modulelens.measurements import accelerator_meter


class FakeDevice:
    """A clock in nanoseconds and an allocator, which modules move and the tracer's own work moves too."""

    def __init__(self) -> None:
        self.now = 0
        self.given = 1000
        self.peak = 1000

    def work(self, nanoseconds: int, extra_bytes: int = 0) -> None:
        self.now += nanoseconds
        self.peak = max(self.peak, self.given + extra_bytes)

    def mark(self) -> int:
        return self.now

    def elapsed_ns(self, first: int, last: int) -> int:
        return last - first

    def allocated(self) -> int:
        self.work(7)  # the tracer costs device time of its own, which must not count
        return self.given

    def take_peak(self) -> int:
        peak, self.peak = self.peak, self.given
        return peak


class Part(nn.Module):
    def __init__(self, device: FakeDevice, nanoseconds: int, extra_bytes: int, *children: nn.Module) -> None:
        super().__init__()
        self.turned = [device]
        self.costs = (nanoseconds, extra_bytes)
        self.below = nn.ModuleList(children)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.turned[0].work(*self.costs)
        for child in self.below:
            x = child(x)
        return x + 1


def test_deviceTimeAndPeak_areThoseOfTheModelAlone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeDevice()
    monkeypatch.setattr("modulelens.sample.accelerator_meter", lambda: device)
    model = Part(device, 100, 50, Part(device, 10, 500), Part(device, 20, 5))
    for wanted in (True, False):
        with ModuleTracer(model, tmp_path, "m", programs=False, peak_memory=wanted) as tracer:
            model(torch.zeros(1))
        assert tracer.bundle is not None
        run = check_bundle(tracer.bundle).runs[0]
        assert [call["device_ns"] for call in run["calls"]] == [130, 10, 20]
        assert [call["allocated_bytes"] for call in run["calls"]] == [1000] * 3
        assert [call.get("peak_bytes") for call in run["calls"]] == ([1500, 1500, 1005] if wanted else [None] * 3)
        assert run["measured"]["device_ns"]["reason"] is None
        assert "traced run" in run["measured"]["device_ns"]["source"]
        assert (run["measured"]["peak_bytes"]["reason"] is None) is wanted


def test_withoutAnAccelerator_thereIsHostTimeAndAReason(capture: Capture) -> None:
    if accelerator_meter() is not None:
        pytest.skip("an accelerator is in use")
    model = nn.Linear(2, 2)
    run = capture(model, torch.ones(1, 2)).runs[0]
    assert run["calls"][0]["host_ns"] > 0 and "device_ns" not in run["calls"][0]
    assert run["measured"]["device_ns"]["reason"] == "no accelerator was in use"


def test_deviceThatFails_neverReachesTheModel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(FakeDevice):
        def mark(self) -> int:
            raise RuntimeError("device lost")

    monkeypatch.setattr("modulelens.sample.accelerator_meter", Broken)
    model = nn.Linear(2, 2)
    with (
        pytest.warns(RuntimeWarning, match="device lost"),
        ModuleTracer(model, tmp_path, "m", programs=False) as tracer,
    ):
        assert model(torch.ones(1, 2)).shape == (1, 2)
    assert tracer.bundle is not None and "device_ns" not in check_bundle(tracer.bundle).runs[0]["calls"][0]
