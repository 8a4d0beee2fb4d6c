# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The bundle as files: index, digests, alignment, packing, and what happens when something is wrong."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from bundle_check import check_bundle
from conftest import Capture
from replay import replay
from safetensors import safe_open
from torch import nn

from modulelens import InitCapture, ModuleTracer, pack_bundle
from modulelens.raw_memory import tensor_digest


def small() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 3), nn.ReLU())


def test_index_holdsTagsAttributesAndEnvironment(capture: Capture) -> None:
    attributes = {"rate": 0.5, "steps": 3, "note": "x", "good": True}
    bundle = capture(small(), torch.randn(2, 5), tags=["prod", "prod", "trial"], attributes=attributes)
    index = bundle.index
    assert index["tags"] == ["prod", "trial"] and index["attributes"] == attributes
    assert index["complete"] is True and index["incomplete_reason"] is None
    assert index["model"] == "model"
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", bundle.folder.name)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", index["created"])
    environment = index["environment"]
    assert environment["torch"] == torch.__version__
    assert environment["threads"]["intra_op"] == torch.get_num_threads()
    assert environment["packages"] == {"torch": torch.__version__}
    assert bundle.runs[0]["collection"] == "registered_model_model"


def test_sameCapture_givesTheSameVersionDigests(capture: Capture) -> None:
    model, x = small(), torch.randn(2, 5)
    first, second = (capture(model, x, programs=True) for _ in range(2))
    assert [entry["digest"] for entry in first.index["versions"]] == [
        entry["digest"] for entry in second.index["versions"]
    ]


def test_newInput_sharesTheState(capture: Capture) -> None:
    model = small()
    first, second = (capture(model, torch.randn(2, 5)) for _ in range(2))
    assert first.versions["0"]["state"] == second.versions["0"]["state"]
    assert first.index["versions"][0]["digest"] != second.index["versions"][0]["digest"]


def test_tensorFiles_openWithTheOfficialReader(capture: Capture) -> None:
    bundle = capture(nn.Linear(5, 3), torch.randn(2, 5))
    reference = bundle.versions[""]["state"]["tensors"]["weight"]
    with safe_open(bundle.folder / bundle.index["tensors"][0]["file"], "pt") as file:
        weight = file.get_tensor(reference["ref"])
    assert tensor_digest("float32", [3, 5], weight) == reference["ref"]
    text = b"float32:3,5:" + weight.numpy().tobytes()
    assert hashlib.sha256(text).hexdigest() == reference["ref"]


def test_noFile_holdsAPickle(capture: Capture) -> None:
    bundle = capture(small(), torch.randn(2, 5), programs=True)
    for path in bundle.folder.rglob("*"):
        if path.suffix == ".pt2":
            with zipfile.ZipFile(path) as archive:
                contents = [archive.read(name) for name in archive.namelist()]
        else:
            contents = [path.read_bytes()] if path.is_file() else []
        assert not any(content.startswith((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")) for content in contents)


@pytest.mark.parametrize("limit", [zipfile.ZIP64_LIMIT, 2000])
def test_packedBundle_isStoredAndAligned(
    capture: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    bundle = capture(small(), torch.randn(2, 5), programs=True)
    packed = pack_bundle(bundle.folder)
    assert packed == bundle.folder.with_name(bundle.folder.name + ".mlens")
    content = packed.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[0] == "bundle.json"
        for member in archive.infolist():
            header = content[member.header_offset : member.header_offset + 30]
            name, extra = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
            start = member.header_offset + 30 + name + extra
            assert start % 64 == 0 and member.compress_type == zipfile.ZIP_STORED
            assert content[start : start + member.file_size] == (bundle.folder / member.filename).read_bytes()
        archive.extractall(tmp_path / bundle.folder.name)
    check_bundle(tmp_path / bundle.folder.name)
    assert pack_bundle(bundle.folder, tmp_path / "again.mlens").read_bytes() == content


def test_packingWhatIsNoBundle_isRefused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no bundle\.json"):
        pack_bundle(tmp_path)


def test_blockThatRaises_leavesAnIncompleteBundle(tmp_path: Path) -> None:
    model = small()
    with pytest.raises(RuntimeError, match="stop"), ModuleTracer(model, tmp_path, "m", programs=False) as tracer:
        model(torch.randn(2, 5))
        raise RuntimeError("stop")
    assert tracer.bundle is not None
    index = check_bundle(tracer.bundle).index
    assert index["complete"] is False and "RuntimeError: stop" in index["incomplete_reason"]
    assert not model._forward_hooks and not model._forward_pre_hooks


def test_nothingCalled_leavesNothingBehind(tmp_path: Path) -> None:
    with (
        pytest.warns(RuntimeWarning, match="no module of the model was called"),
        ModuleTracer(small(), tmp_path, "m") as t,
    ):
        pass
    assert t.bundle is None and list(tmp_path.iterdir()) == []


def test_folderThatCannotBeWritten_neverReachesTheModel(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    model = small()
    with pytest.warns(RuntimeWarning), ModuleTracer(model, tmp_path / "file", "m") as tracer:
        assert model(torch.randn(2, 5)).shape == (2, 3)
    assert tracer.bundle is None and tracer.problems[0]["stage"] == "start"


def test_errorInsideTheTracer_neverReachesTheModel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise OSError("no space left")

    monkeypatch.setattr("modulelens.tensor_store.tensor_digest", broken)
    monkeypatch.setattr("modulelens.recorder._conditions", broken)
    model = small()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with ModuleTracer(model, tmp_path, "m", programs=False) as tracer:
            assert model(torch.randn(2, 5)).shape == (2, 3)
    assert len(caught) == 1 and "no space left" in str(caught[0].message)
    assert {problem["stage"] for problem in tracer.problems} == {"begin"}
    assert tracer.bundle is not None and check_bundle(tracer.bundle).runs[0]["calls"][0]["module"] == ""


def test_warningsAsErrors_neverReachTheModel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise OSError("broken")

    monkeypatch.setattr("modulelens.recorder.module_size", broken)
    model = small()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ModuleTracer(model, tmp_path, "m", programs=False) as tracer:
            assert model(torch.randn(2, 5)).shape == (2, 3)
    assert {problem["message"] for problem in tracer.problems} >= {"OSError: broken"}


def test_lazyModule_isCapturedOnceItHasAShape(capture: Capture) -> None:
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    bundle = capture(model, torch.randn(2, 5), programs=True)
    assert bundle.versions["0"]["state"]["tensors"]["weight"]["shape"] == [3, 5]
    assert bundle.versions[""]["state"]["tensors"]["0.weight"]["$t"] == "gap"
    assert replay(bundle, "0")


def test_fullDiskAtTheEnd_leavesNothingBehind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("modulelens.bundle_writer.sync", full)
    model = small()
    with (
        pytest.warns(RuntimeWarning, match="No space left"),
        ModuleTracer(model, tmp_path, "m", programs=False) as tracer,
    ):
        model(torch.randn(2, 5))
    assert tracer.bundle is None and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [
        {"model_name": ""},
        {"model_name": "a\0b"},
        {"tags": "prod"},
        {"tags": [""]},
        {"attributes": {"a": [1]}},
        {"attributes": {"a": float("nan")}},
        {"select": ("re:(",)},
        {"select": ("depth:x",)},
    ],
    ids=repr,
)
def test_wrongArguments_raiseAtOnce(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        ModuleTracer(small(), tmp_path, **{"model_name": "m", **options})


def test_moduleNameWithNul_isRefused(tmp_path: Path) -> None:
    model = nn.Module()
    model._modules["a\0b"] = nn.Linear(1, 1)
    with pytest.raises(ValueError, match="NUL"):
        ModuleTracer(model, tmp_path, "m")


def test_initArguments_areEncodedAtConstruction(capture: Capture) -> None:
    class Popping(nn.Module):
        def __init__(self, config: dict[str, int], weight: torch.Tensor, child: nn.Module) -> None:
            super().__init__()
            self.linear = nn.Linear(config.pop("inputs"), 2)
            self.child = child

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.child(self.linear(x))

    weight = torch.ones(3)
    with InitCapture():
        model = Popping({"inputs": 4}, weight, nn.ReLU())
    weight.zero_()
    bundle = capture(model, torch.randn(1, 4))
    init = bundle.nodes[bundle.versions[""]["state"]["node"]]["init"]
    config, tensor, child = init["args"]
    assert init["how"] == "captured" and config == {"inputs": 4}
    assert bundle.tensors[tensor["ref"]][1] == torch.ones(3).numpy().tobytes()
    assert child == {"$t": "module", "path": "child", "node": None}


def test_indexIsPlainJson(capture: Capture) -> None:
    bundle = capture(small(), torch.tensor([[float("nan")] * 5]))
    text = (bundle.folder / "bundle.json").read_text(encoding="utf-8")
    assert json.loads(text) == bundle.index and "NaN" not in text
