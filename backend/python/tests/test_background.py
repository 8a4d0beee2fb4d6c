# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`background=True`: what runs the model's code is made behind the step, in a process that may die at any moment."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from bundle_check import check_bundle
from replay import replay
from torch import nn
from worker_modules import Block

from modulelens import Capture, ModuleTracer
from modulelens.offline_export import main

# Outside the traced process it says which process it runs in, and waits until somebody opens and closes the gate.
_HELD = """
import contextlib
import os
from pathlib import Path
from torch import nn

class Held(nn.Linear):
    def forward(self, x):
        gate = os.environ.get("HELD_GATE")
        if gate and os.environ["HELD_TRACED"] != str(os.getpid()) and Path(gate).exists():
            Path(gate).with_suffix(".pid").write_text(str(os.getpid()))
            with contextlib.suppress(FileNotFoundError), open(gate, "rb") as held:
                held.read()
        return super().forward(x)
"""

_TRACED = """
import os, sys
os.environ["HELD_TRACED"] = str(os.getpid())
import torch
from held_module import Held
from modulelens import ModuleTracer

torch.manual_seed(0)
model = nn = Held(3, 3)
with ModuleTracer(model, sys.argv[1], "m", background=True, backward=True) as tracer:
    model(torch.ones(2, 3)).sum().backward()
print("ended", flush=True)
"""


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A class `held_module.Held` whose calls outside this process wait until the returned gate is opened."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "held_module.py").write_text(_HELD)
    path = tmp_path / "gate"
    os.mkfifo(path)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("HELD_GATE", str(path))
    monkeypatch.setenv("HELD_TRACED", str(os.getpid()))
    yield path
    sys.modules.pop("held_module", None)


def opened(gate: Path) -> None:
    """Lets the exporting process, which calls the module several times, go on."""
    descriptor = os.open(gate, os.O_WRONLY)  # waits until it is there
    gate.unlink()
    os.close(descriptor)


def visible(store: Path) -> list[Path]:
    return [path for path in store.iterdir() if not path.name.startswith(".")]


def wait_until_unlocked(pending: Path) -> None:
    """Waits until no process works on a pending capture."""
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(pending, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.close(descriptor)


def test_block_endsBeforeTheExport(gate: Path, tmp_path: Path) -> None:
    from held_module import Held  # type: ignore[import-not-found]

    model: nn.Module = Held(3, 3)
    store = tmp_path / "store"
    tracer = ModuleTracer(model, store, "m", background=True, backward=True, flops=True)
    with tracer:
        model(torch.ones(2, 3)).sum().backward()
    # The export cannot have ended: it waits for the gate.
    assert tracer.bundle is None and (not store.exists() or visible(store) == [])
    opened(gate)
    tracer.wait()
    assert tracer.problems == [] and tracer.bundle is not None
    bundle = check_bundle(tracer.bundle)
    assert list(store.iterdir()) == [tracer.bundle]
    assert bundle.index["complete"] is True and bundle.index["incomplete_reason"] is None
    assert replay(bundle, "") and bundle.call()["torch_flops"]["total"] == 36
    gradients = bundle.call()["gradients"]
    assert gradients["of"] == "captured" and set(gradients["parameters"]) == {"weight", "bias"}


def test_stepsGoOn_whileAnExportIsUnderWay(gate: Path, tmp_path: Path) -> None:
    from held_module import Held

    model = Held(3, 3)
    tracer = ModuleTracer(model, tmp_path / "store", "m", background=True)
    with tracer:
        model(torch.ones(2, 3))
    assert tracer._writer is not None and tracer._writer.has_written(wait=True)
    with tracer:
        model(torch.zeros(2, 3))
    opened(gate)
    tracer.wait()
    assert tracer.problems == []
    assert [check_bundle(bundle).runs[0]["step"] for bundle in tracer.bundles] == [0, 1]


def test_killedProcesses_leaveWhatExportCompletes(gate: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _TRACED, str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None and process.stdout.readline() == "ended\n"
        descriptor = os.open(gate, os.O_WRONLY)  # the exporting process is inside the module now
        process.kill()
        os.kill(int(gate.with_suffix(".pid").read_text()), signal.SIGKILL)
        os.close(descriptor)
    assert process.returncode == -signal.SIGKILL
    gate.unlink()
    assert visible(store) == []
    (pending,) = store.glob(".pending-*")
    wait_until_unlocked(pending)
    assert Capture.open(pending).incomplete_reason is not None

    assert main(["--trust", str(store)]) == 0
    (bundle,) = store.glob("[!.]*")
    checked = check_bundle(bundle)
    assert not list(store.glob(".pending-*"))
    assert checked.index["complete"] is True and replay(checked, "")
    assert set(checked.call()["gradients"]["parameters"]) == {"weight", "bias"}
    assert main(["--trust", str(bundle)]) == 0


def test_processThatIsKilledAlone_leavesTheBundleToTheOther(gate: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _TRACED, str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None and process.stdout.readline() == "ended\n"
        descriptor = os.open(gate, os.O_WRONLY)
        process.kill()
    (pending,) = store.glob(".pending-*")
    assert main(["--trust", str(pending)]) == 9  # the other process is at it
    assert list(store.glob(".pending-*")) == [pending]
    gate.unlink()
    os.close(descriptor)
    wait_until_unlocked(pending)
    (bundle,) = visible(store)
    assert check_bundle(bundle).index["complete"] is True


def test_exportThatDies_givesABundleThatSaysSo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modulelens.background._CHILD", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    model = Block(8, 2)
    tracer = ModuleTracer(model, tmp_path, "m", background=True, backward=True)
    with pytest.warns(RuntimeWarning, match="ended by signal 9"):
        with tracer:
            model(torch.ones(2, 3, 8)).sum().backward()
        tracer.wait()
    assert tracer.bundle is not None
    bundle = check_bundle(tracer.bundle)
    assert "ended by signal 9" in bundle.versions[""]["state"]["no_program"]["reason"]
    assert bundle.index["complete"] is True and bundle.call()["gradients"] is None
    assert {problem["stage"] for problem in bundle.index["problems"]} == {"gradients"}
    assert list(tmp_path.iterdir()) == [tracer.bundle]


def test_classThatCannotBeImported_saysWhatWouldExportIt(tmp_path: Path) -> None:
    class Local(nn.Linear):
        pass

    model = nn.Sequential(Local(2, 2), nn.ReLU())
    tracer = ModuleTracer(model, tmp_path, "m", background=True)
    with tracer:
        model(torch.ones(1, 2))
    tracer.wait()
    assert tracer.bundle is not None
    bundle = check_bundle(tracer.bundle)
    reason = bundle.versions["0"]["state"]["no_program"]["reason"]
    assert "cannot be imported" in reason and "background=True" in reason
    assert replay(bundle, "1")


def test_blockThatRaises_isIncompleteForItsOwnReason(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    tracer = ModuleTracer(model, tmp_path, "m", background=True)
    with contextlib.suppress(ArithmeticError), tracer:
        model(torch.ones(1, 2))
        raise ArithmeticError("too much")
    tracer.wait()
    assert tracer.bundle is not None
    index: dict[str, Any] = json.loads((tracer.bundle / "bundle.json").read_bytes())
    assert index["incomplete_reason"] == "the traced block raised ArithmeticError: too much"
    assert index["programs"]
