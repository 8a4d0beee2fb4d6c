# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Which steps are sampled, where bundles go, and what a second bundle shares with the first."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from bundle_check import check_bundle
from torch import nn

from modulelens import ModuleTracer
from modulelens.sample import Sample


def model_and_step() -> tuple[nn.Module, Any]:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    return model, lambda: model(torch.randn(2, 4))


def steps_of(tracer: ModuleTracer) -> list[int]:
    return [check_bundle(bundle).runs[0]["step"] for bundle in tracer.bundles]


def inodes(folder: Path) -> dict[int, int]:
    return {path.stat().st_ino: path.stat().st_size for path in folder.rglob("*.safetensors")}


def test_everyThirdStep_twice(tmp_path: Path) -> None:
    model, step = model_and_step()
    tracer = ModuleTracer(model, tmp_path, "m", every=3, max_steps=2, programs=False)
    for _ in range(8):
        with tracer:
            step()
            assert bool(model[0]._forward_hooks) == (tracer._sample is not None)
    assert steps_of(tracer) == [0, 3]
    assert tracer.problems == []


def test_stepsInsideOneBlock(tmp_path: Path) -> None:
    model, step = model_and_step()
    with ModuleTracer(model, tmp_path, "m", every=2, programs=False) as tracer:
        for _ in range(5):
            step()
            tracer.step()
    assert steps_of(tracer) == [0, 2, 4]
    assert tracer.bundle == tracer.bundles[-1] and tracer.problems == []
    assert not model[0]._forward_hooks


def test_stepOutsideABlock_andABlockInABlock_areProblems(tmp_path: Path) -> None:
    model, step = model_and_step()
    tracer = ModuleTracer(model, tmp_path, "m", programs=False)
    with pytest.warns(RuntimeWarning, match="outside"):
        tracer.step()
    with tracer, tracer:
        step()
    assert len(tracer.bundles) == 1
    assert [problem["stage"] for problem in tracer.problems] == ["step", "start"]


def test_registry_getsItsInboxFilled(tmp_path: Path) -> None:
    model, step = model_and_step()
    with ModuleTracer(model, registry=tmp_path / "registry", model_name="m", programs=False) as tracer:
        step()
    assert tracer.bundle is not None and tracer.bundle.parent == tmp_path / "registry" / "inbox"
    for wrong in ({}, {"store": tmp_path, "registry": tmp_path}):
        with pytest.raises(ValueError, match="either store"):
            ModuleTracer(model, model_name="m", **wrong)


def test_runId_isAnAttribute(tmp_path: Path) -> None:
    model, step = model_and_step()
    with ModuleTracer(model, tmp_path, "m", attributes={"lr": 0.1}, run_id="job-7", programs=False) as tracer:
        step()
    assert tracer.bundle is not None
    assert check_bundle(tracer.bundle).index["attributes"] == {"lr": 0.1, "run_id": "job-7"}


@pytest.mark.parametrize("options", [{"every": 0}, {"max_steps": -1}, {"methods": "encode"}], ids=repr)
def test_wrongOptions_raiseAtOnce(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        ModuleTracer(model_and_step()[0], tmp_path, "m", **options)


def test_background_neverBlocksTheNextStep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, step = model_and_step()
    go = threading.Event()
    write = Sample.write

    def slow(sample: Sample) -> Path:
        assert go.wait(30)
        return write(sample)

    monkeypatch.setattr(Sample, "write", slow)
    tracer = ModuleTracer(model, tmp_path, "m", background=True, programs=False)
    with tracer:
        step()
    assert tracer.bundle is None
    with pytest.warns(RuntimeWarning, match="step 1 was not sampled"), tracer:
        step()
    go.set()
    tracer.wait()
    with tracer:
        step()
    tracer.wait()
    assert steps_of(tracer) == [0, 2]
    assert tracer.bundle == tracer.bundles[1]


def test_processThatEndsMeanwhile_stillWritesItsBundle(tmp_path: Path) -> None:
    code = (
        "import sys, torch; from modulelens import ModuleTracer; model = torch.nn.Linear(300, 300)\n"
        "with ModuleTracer(model, sys.argv[1], 'm', programs=False, background=True):\n    model(torch.ones(1, 300))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (bundle,) = tmp_path.iterdir()
    check_bundle(bundle)


def test_sameStepAgain_storesNoTensorAgain(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(300, 300), nn.ReLU())
    x = torch.randn(64, 300)
    tracer = ModuleTracer(model, tmp_path, "m", programs=False)
    with tracer:
        model(x)
    first = inodes(tmp_path)
    with tracer:
        model(x)
    assert inodes(tmp_path) == first and len(first) == 2
    assert len({path.name for path in tmp_path.rglob("*.safetensors")}) > 2
    one, two = (check_bundle(bundle) for bundle in tracer.bundles)
    assert one.index["versions"] == two.index["versions"]


def test_newInput_storesTheWeightsOnce(tmp_path: Path) -> None:
    model = nn.Linear(300, 300)
    for _ in range(2):
        with ModuleTracer(model, tmp_path, "m", programs=False) as tracer:
            model(torch.randn(64, 300))
        assert tracer.bundle is not None
        check_bundle(tracer.bundle)
    weights = model.weight.numel() * 4
    assert sum(size >= weights for size in inodes(tmp_path).values()) == 1


def test_littleOfAnEarlierFile_isCopiedAndNotLinked(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(300, 300), nn.Linear(300, 5))
    x = torch.randn(2, 300)
    with ModuleTracer(model, tmp_path, "m", programs=False):
        model(x)
    with ModuleTracer(model, tmp_path, "m", select=["1"], programs=False) as tracer:
        model(x)
    assert tracer.bundle is not None
    bundle = check_bundle(tracer.bundle)
    assert {path.name[0] for path in bundle.folder.rglob("*.safetensors") if path.stat().st_size > 6000} == {"0"}
    assert sum(path.stat().st_size for path in bundle.folder.rglob("*.safetensors")) < 40_000


def test_earlierFileWithBytesOfUnknownKind_isNotLinked(tmp_path: Path) -> None:
    model = nn.Linear(30, 30)
    model.register_buffer("phase", torch.zeros(3, dtype=torch.complex64))
    x = torch.randn(2, 30)
    with ModuleTracer(model, tmp_path, "m", programs=False):
        model(x)
    del model.phase
    with ModuleTracer(model, tmp_path, "m", programs=False) as tracer:
        model(x)
    assert tracer.bundle is not None
    bundle = check_bundle(tracer.bundle)
    stored = {key for entry in bundle.index["tensors"] for key in entry["keys"]}
    assert stored == {reference["ref"] for reference in bundle.versions[""]["state"]["tensors"].values()} | {
        bundle.call()["args"][0]["ref"],
        bundle.call()["output"]["ref"],
    }


def test_earlierFileThatWasCut_isNotUsed(tmp_path: Path) -> None:
    model, x = nn.Linear(30, 30), torch.randn(2, 30)
    with ModuleTracer(model, tmp_path, "m", programs=False):
        model(x)
    for path in tmp_path.rglob("*.safetensors"):
        os.truncate(path, path.stat().st_size - 1)
    with ModuleTracer(model, tmp_path, "m", programs=False) as tracer:
        model(x)
    assert tracer.bundle is not None
    check_bundle(tracer.bundle)


def test_writtenFilesDoNotStayInMemory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modulelens.tensor_store._SHARD_BYTES", 100_000)
    model = nn.Sequential(*(nn.Linear(150, 150) for _ in range(12)))
    x = torch.randn(200, 150)
    waiting: list[int] = []
    with ModuleTracer(model, tmp_path, "m", programs=False) as tracer:
        assert tracer._sample is not None
        store = tracer._sample._store
        model[6].register_forward_hook(
            lambda *_: waiting.append(sum(not shard.future.done() for shard in store._shards))
        )
        model(x)
    assert waiting and waiting[0] <= 3
    assert tracer.bundle is not None
    assert len(check_bundle(tracer.bundle).index["tensors"]) > 5


def test_fullDiskInMidCapture_leavesNothingBehind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("modulelens.tensor_store._SHARD_BYTES", 1000)
    monkeypatch.setattr("modulelens.tensor_store.write_safetensors", full)
    model = nn.Sequential(*(nn.Linear(50, 50) for _ in range(6)))
    with (
        pytest.warns(RuntimeWarning, match="No space left"),
        ModuleTracer(model, tmp_path, "m", programs=False) as tracer,
    ):
        assert model(torch.randn(4, 50)).shape == (4, 50)
    assert tracer.bundle is None and list(tmp_path.iterdir()) == []
