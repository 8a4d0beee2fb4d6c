# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""A traced process that dies at any moment leaves a whole bundle or none, never something in between."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from bundle_check import check_bundle
from torch import nn

from modulelens import Capture, ModuleTracer
from modulelens.bundle_reader import BundleError

# Dies at the N-th call of one of the functions by which bundles get onto the disk.
_TRACED = """
import os, signal, sys
import torch
from torch import nn
from modulelens import ModuleTracer, bundle_writer, earlier_tensors, safetensors_file, tensor_store

store, wanted = sys.argv[1], int(sys.argv[2])
tensor_store._SHARD_BYTES = 20_000
reached = 0

def dying(function):
    def wrapper(*args, **kwargs):
        global reached
        reached += 1
        if reached == wanted:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return wrapper

safetensors_file._CountingWriter.write = dying(safetensors_file._CountingWriter.write)
bundle_writer.BundleFolder._write = dying(bundle_writer.BundleFolder._write)
bundle_writer.sync = dying(bundle_writer.sync)
torch.manual_seed(0)
model = nn.Sequential(*(nn.Linear(40, 40) for _ in range(4)))
with ModuleTracer(model, store, "m", programs=False) as tracer:
    model(torch.randn(30, 40))
assert tracer.bundle is not None, tracer.problems
print(reached)
"""


def traced(store: Path, wanted: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _TRACED, str(store), str(wanted)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_processKilledAnywhere_leavesAWholeBundleOrNone(tmp_path: Path) -> None:
    whole = traced(tmp_path / "whole", 0)
    assert whole.returncode == 0, whole.stderr
    moments = int(whole.stdout)
    assert moments > 40
    seen = {True: 0, False: 0}
    for number, wanted in enumerate([*range(1, moments, moments // 12), moments - 1, moments]):
        store = tmp_path / str(number)
        assert traced(store, wanted).returncode == -signal.SIGKILL
        bundles = [path for path in store.iterdir() if not path.name.startswith(".")]
        seen[bool(bundles)] += 1
        for bundle in bundles:
            check_bundle(bundle)
        if not bundles:
            with pytest.raises(BundleError, match="holds no bundle"):
                Capture.open(store)
        # The next tracer carries on in the same store and sweeps what was left.
        model = nn.Linear(2, 2)
        with ModuleTracer(model, store, "next", programs=False) as tracer:
            model(torch.ones(1, 2))
        assert tracer.bundle is not None
        assert set(store.iterdir()) == {*bundles, tracer.bundle}
    assert seen[False] > 5


def test_processKilledInMidStep_leavesNoBundle(tmp_path: Path) -> None:
    process = traced(tmp_path, 9)
    assert process.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".incoming-")
    with pytest.raises(BundleError):
        Capture.open(left)
