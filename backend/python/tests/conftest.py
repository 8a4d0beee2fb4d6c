# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Fixtures of all tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch: waiting threads leave a busy machine to others

import pytest
import torch
from bundle_check import Bundle, check_bundle
from torch import nn

from modulelens import ModuleTracer

Capture = Callable[..., Bundle]


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    """Traces `step` (by default one call with the given inputs) and returns the checked bundle."""

    def run(model: nn.Module, *inputs: Any, step: Callable[[], Any] | None = None, **options: Any) -> Bundle:
        options.setdefault("programs", False)
        with ModuleTracer(model, tmp_path / "store", "model", **options) as tracer:
            (step or (lambda: model(*inputs)))()
        assert tracer.bundle is not None, tracer.problems
        assert [path for path in tracer.bundle.parent.iterdir() if path.name.startswith(".")] == []
        return check_bundle(tracer.bundle)

    return run
