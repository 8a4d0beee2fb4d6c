# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Stores that refuse what is written: the model runs on, nothing half-written stays, and a sentence says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from modulelens import ModuleTracer

# A limit on the size of files refuses a write in its middle, as a full disk does.
_LIMITED = """
import resource, signal, sys
import torch
from modulelens import ModuleTracer

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model, x = torch.nn.Linear(600, 600), torch.ones(2, 600)
expected = model(x)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
with ModuleTracer(model, sys.argv[1], "m", background=sys.argv[2] == "yes") as tracer:
    output = model(x)
tracer.wait()
assert torch.equal(output, expected) and tracer.bundle is None
print([problem["message"] for problem in tracer.problems])
"""


@pytest.mark.parametrize("background", ["no", "yes"])
def test_diskThatIsFull_leavesNothing_andSaysSo(tmp_path: Path, background: str) -> None:
    store = tmp_path / "store"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _LIMITED, str(store), background],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"nothing was written to {store}: File too large; free some space" in done.stdout
    assert list(store.iterdir()) == []


def test_storeThatIsNoFolder_isAProblem(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.write_text("mine")
    model, x = nn.Linear(2, 2), torch.ones(1, 2)
    with pytest.warns(RuntimeWarning, match="give another folder"), ModuleTracer(model, store, "m") as tracer:
        assert torch.equal(model(x), model(x))
    assert tracer.bundle is None and store.read_text() == "mine"


def test_warning_pointsAtTheCallersLine(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.warns(RuntimeWarning) as caught, ModuleTracer(nn.Linear(2, 2), tmp_path / "store", "m"):
        pass
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.slow
def test_tenThousandModules_areCaptured(tmp_path: Path) -> None:
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(10_000))).eval()
    with torch.no_grad(), ModuleTracer(model, tmp_path, "m", programs=False) as tracer:
        model(torch.ones(1, 2))
    assert tracer.problems == [] and tracer.bundle is not None
    assert len(list((tracer.bundle / "versions").iterdir())) == 10_001
