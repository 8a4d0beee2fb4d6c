# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Programs: exact, shared by equal layers, weightless, without pickles, or absent with a reason."""

from __future__ import annotations

import json
import zipfile
from collections import OrderedDict
from typing import Any, NamedTuple

import pytest
import torch
from conftest import Capture
from replay import replay
from torch import nn

from modulelens.program_archive import shorten_path


class Block(nn.Module):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.norm = nn.LayerNorm(8)
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, *, scale: float = 1.0) -> torch.Tensor:
        return x + self.linear(self.norm(x)) * scale


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(number) for number in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x, scale=0.5)
        return x


def test_everyModule_isReproducedExactly(capture: Capture) -> None:
    bundle = capture(Stack().eval(), torch.randn(4, 8), programs=True)
    assert len(bundle.versions) == 10
    assert bundle.index["problems"] == []
    for module in bundle.versions:
        assert replay(bundle, module)


def test_equalLayers_shareOneProgram(capture: Capture) -> None:
    with torch.no_grad():
        bundle = capture(Stack().eval(), torch.randn(4, 8), programs=True)
    programs = {module: version["calls"][0]["program"] for module, version in bundle.versions.items()}
    for suffix in ("", ".norm", ".linear"):
        assert len({programs[f"blocks.{number}{suffix}"] for number in range(3)}) == 1
    assert len(set(programs.values())) == 4 == len(bundle.index["programs"])


def test_secondCapture_exportsNothingAnew(capture: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = Stack().eval(), torch.randn(4, 8)
    first = capture(model, x, programs=True)
    with torch.no_grad():
        model.blocks[1].linear.weight.add_(1)
    monkeypatch.setattr("torch.export.export", lambda *_, **__: pytest.fail("exported again"))
    second = capture(model, x, programs=True)
    assert first.index["programs"] == second.index["programs"]
    for module in second.versions:
        assert second.call(module)["program"] == first.call(module)["program"]
        assert replay(second, module)


def test_changedCodeOfTheSameStructure_isExportedAnew(capture: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = Stack().eval(), torch.randn(4, 8)
    with torch.no_grad():
        first = capture(model, x, programs=True)
        monkeypatch.setattr("torch.nn.functional.layer_norm", lambda x, *_: x * 2)
        second = capture(model, x, programs=True)
    assert first.call("blocks.0.norm")["program"] != second.call("blocks.0.norm")["program"]
    assert first.call("blocks.0.linear")["program"] == second.call("blocks.0.linear")["program"]
    assert replay(second)


def test_sidecar_mapsLeavesAndNamesClasses(capture: Capture) -> None:
    bundle = capture(Stack().eval(), torch.randn(4, 8), programs=True)
    with zipfile.ZipFile(bundle.program(bundle.call("blocks.1")["program"])) as archive:
        sidecar = json.loads(archive.read("program/extra/modulelens.json"))
        members = archive.namelist()
        model = archive.read("program/models/model.json").decode()
    assert sidecar == {
        "schema_version": 1,
        "inputs": ["/args/0", "/kwargs/scale"],
        "outputs": ["/output"],
        "modules": {
            "": "test_programs:Block",
            "norm": "torch.nn.modules.normalization:LayerNorm",
            "linear": "torch.nn.modules.linear:Linear",
        },
    }
    assert "program/models/model.json" in members
    assert "blocks" not in model
    assert 'File \\"/' not in model


def test_batchDimension_isDynamicWhereItCanBe(capture: Capture) -> None:
    bundle = capture(Stack().eval(), torch.randn(4, 8), programs=True)
    (program,) = bundle.versions[""]["state"]["programs"]
    (interval,) = program["dynamic"].values()
    assert interval == {"min": 2, "max": None}
    assert (program["how"], program["training"], program["call"]) == ("non_strict", False, 0)


def test_secondBatchSize_usesTheDynamicProgram(capture: Capture) -> None:
    model = Stack().eval()
    bundle = capture(model, step=lambda: [model(torch.randn(batch, 8)) for batch in (4, 7)], programs=True)
    assert len(bundle.versions[""]["state"]["programs"]) == 1
    assert replay(bundle, "", 1)


def test_staticBatch_needsOneProgramEach(capture: Capture) -> None:
    model = nn.Linear(8, 8)
    options: dict[str, Any] = {"programs": True, "dynamic_batch": False}
    bundle = capture(model, step=lambda: [model(torch.randn(batch, 8)) for batch in (4, 7)], **options)
    programs = bundle.versions[""]["state"]["programs"]
    assert [program["call"] for program in programs] == [0, 1]
    assert all(program["dynamic"] == {} for program in programs)
    assert replay(bundle, "", 0) and replay(bundle, "", 1)


def test_trainAndEval_areSeparatePrograms(capture: Capture) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

    def step() -> None:
        model.train()(torch.randn(3, 4))
        model.eval()(torch.randn(3, 4))

    bundle = capture(model, step=step, programs=True)
    assert [program["training"] for program in bundle.versions[""]["state"]["programs"]] == [True, False]
    assert replay(bundle, "", 0) and replay(bundle, "", 1)


class Nested(nn.Module):
    def forward(self, batch: dict[str, Any], *rest: torch.Tensor, **extra: torch.Tensor) -> dict[str, Any]:
        total = batch["x"] + batch["pair"][1] + sum(rest) + extra["bias"]
        return OrderedDict(total=total, parts=[(total * 2, None)], size=3)


def test_nestedInputsAndOutputs_areMapped(capture: Capture) -> None:
    model = Nested()
    batch = {"x": torch.randn(4), "pair": (1, torch.randn(4))}
    bundle = capture(model, step=lambda: model(batch, torch.randn(4), bias=torch.randn(4)), programs=True)
    with zipfile.ZipFile(bundle.program(bundle.call()["program"])) as archive:
        sidecar = json.loads(archive.read("program/extra/modulelens.json"))
    assert sidecar["inputs"] == ["/args/0/x", "/args/0/pair/v/0", "/args/0/pair/v/1", "/args/1", "/kwargs/bias"]
    assert sidecar["outputs"] == ["/output/v/0/1", "/output/v/1/1/0/v/0", "/output/v/1/1/0/v/1", "/output/v/2/1"]
    assert replay(bundle)


class Sorted(NamedTuple):
    values: torch.Tensor
    rest: list[torch.Tensor]


def test_namedTuples_areExported(capture: Capture) -> None:
    """Torch itself cannot save a program whose inputs or outputs have such classes."""

    class Sorting(nn.Module):
        def forward(self, given: Sorted) -> dict[str, Any]:
            return {"own": Sorted(given.values + 1, [given.rest[0]]), "torch": given.values.sort(-1)}

    given = Sorted(torch.randn(3, 4), [torch.randn(2)])
    model = Sorting()
    bundle = capture(model, step=lambda: model(given), programs=True)
    with zipfile.ZipFile(bundle.program(bundle.call()["program"])) as archive:
        sidecar = json.loads(archive.read("program/extra/modulelens.json"))
    assert sidecar["inputs"] == ["/args/0/v/0", "/args/0/v/1/0"]
    assert len(sidecar["outputs"]) == 4


def test_keywordsInAnotherOrder_areMapped(capture: Capture) -> None:
    class Keywords(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor, **more: torch.Tensor) -> torch.Tensor:
            return a - b * more["c"]

    model = Keywords()
    x, y, z = torch.randn(3, 2), torch.randn(3, 2), torch.randn(3, 2)
    bundle = capture(model, step=lambda: model(c=z, b=y, a=x), programs=True)
    assert bundle.versions[""]["state"]["programs"][0]["dynamic"] != {}
    assert replay(bundle)


def test_nonPersistentBuffer_isAConstantOfTheProgram(capture: Capture) -> None:
    class Shifted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("shift", torch.arange(3.0), persistent=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.shift

    bundle = capture(Shifted(), torch.randn(2, 3), programs=True)
    tensors = bundle.versions[""]["state"]["tensors"]
    assert tensors["shift"]["kind"] == "buffer" and tensors["shift"]["persistent"] is False
    assert replay(bundle)


def test_constantsThatForwardWrites_areStoredAsTheyWere(capture: Capture) -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1), persistent=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(1)
            return x + self.count

    bundle = capture(Counter(), torch.zeros(2), programs=True)
    program = torch.export.load(bundle.program(bundle.call()["program"]))
    assert program.constants["count"].item() == 0
    assert replay(bundle)


def test_lstm_isExactWithAndWithoutGradients(capture: Capture) -> None:
    model = nn.LSTM(6, 5, num_layers=2, batch_first=True, bidirectional=True)

    def step() -> None:
        model(torch.randn(3, 4, 6))
        with torch.no_grad():
            model(torch.randn(3, 4, 6))

    bundle = capture(model, step=step, programs=True)
    assert bundle.index["problems"] == []
    assert replay(bundle, "", 0) and replay(bundle, "", 1)


class Branching(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return x + 1
        return x - 1


def test_dataDependentBranch_fallsBackToDraft(capture: Capture) -> None:
    bundle = capture(Branching(), torch.ones(3), programs=True)
    state = bundle.versions[""]["state"]
    assert [program["how"] for program in state["programs"]] == ["draft"]
    assert state["no_program"] is None


class Unexportable(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_exporting():
            raise RuntimeError("this module refuses to be exported")
        return x + 1


def test_noProgram_saysReasonAndSourceLine(capture: Capture) -> None:
    bundle = capture(Unexportable(), torch.tensor([1.0, -1.0, 2.0]), programs=True)
    state = bundle.versions[""]["state"]
    assert state["programs"] == []
    assert state["no_program"]["reason"] == "RuntimeError: this module refuses to be exported"
    assert state["no_program"]["source"].startswith("test_programs.py:")
    assert state["no_program"]["source"].endswith('raise RuntimeError("this module refuses to be exported")')


def test_inputThatWasNotKept_givesNoProgram(capture: Capture) -> None:
    class Consuming(nn.Module):
        def forward(self, xs: Any) -> torch.Tensor:
            return sum(xs)

    model = Consuming()
    bundle = capture(model, step=lambda: model(torch.ones(1) for _ in range(2)), programs=True)
    assert "was not kept" in bundle.versions[""]["state"]["no_program"]["reason"]


def test_fastPathOfAttention_isAProblemNotAnError(capture: Capture) -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    model = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    with torch.no_grad():
        bundle = capture(model, torch.randn(2, 5, 16), programs=True)
    inexact = {problem["module"] for problem in bundle.index["problems"] if problem["stage"] == "verify"}
    for module in bundle.versions:
        assert bundle.versions[module]["state"]["programs"]
        assert replay(bundle, module) or module in inexact


def test_localClassAndLambda_areExported(capture: Capture) -> None:
    class Local(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3))
            self.function = lambda x: x * 2

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.function(x) * self.weight

    assert replay(capture(Local(), torch.randn(2, 3), programs=True))


def test_weightNorm_isExported(capture: Capture) -> None:
    model = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    bundle = capture(model, torch.randn(2, 4), programs=True)
    node = bundle.nodes[bundle.versions[""]["state"]["node"]]
    assert node["class"] == "torch.nn.modules.linear:Linear"
    assert "ParametrizedLinear" in node["runtime_class"]
    assert replay(bundle)


def test_shortenedPath_namesNoMachine() -> None:
    assert shorten_path(torch.nn.modules.linear.__file__) == "torch/nn/modules/linear.py"
    assert shorten_path("/somewhere/else/model.py") == "model.py"
