# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Cases of real training code: what hooks do not see, state that moves, copies made inside a block."""

from __future__ import annotations

import copy
import io
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from bundle_check import Bundle, check_bundle
from conftest import Capture
from replay import decoder_of, replay, same_bits
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

from modulelens import InitCapture, ModuleTracer


def node_of(bundle: Bundle, module: str = "", index: int | None = None) -> dict[str, Any]:
    version = bundle.versions[module]
    call = {} if index is None else version["calls"][index]
    return bundle.nodes[call.get("node", version["state"]["node"])]


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def encode(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return self.linear(x) * scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encode(x).relu()


def test_methodAskedFor_isACallOfItsModule(capture: Capture) -> None:
    model, x = Encoder(), torch.randn(2, 4)
    results: list[torch.Tensor] = []

    def step() -> None:
        results.append(model.encode(x, scale=2.0))
        model(x)

    bundle = capture(model, step=step, methods=["encode"], backward=True, programs=True)
    assert [call["method"] for call in bundle.versions[""]["calls"]] == ["encode", "forward", "encode"]
    assert same_bits(decoder_of(bundle).decode(bundle.call("", 0)["output"]), results[0])
    assert bundle.call("", 0)["kwargs"] == {"scale": 2.0}
    tree = [
        (run["step"], call["module"], call["method"], call["parent"]) for run in bundle.runs for call in run["calls"]
    ]
    assert tree == [
        (0, "", "encode", None),
        (0, "linear", "forward", 0),
        (0, "", "forward", None),
        (0, "", "encode", 0),
        (0, "linear", "forward", 1),
    ]
    assert bundle.call("", 0)["program"] is None and bundle.call("", 1)["program"] is not None
    assert bundle.call("", 0)["gradients"]["parameters"]["linear.weight"] is not None
    assert "encode" not in vars(model) and Encoder.encode.__qualname__ == "Encoder.encode"
    assert not hasattr(Encoder.encode, "__wrapped__") and not hasattr(nn.Linear.forward, "__wrapped__")


def test_methodNotAskedFor_isNoCall(capture: Capture) -> None:
    model = Encoder()
    bundle = capture(model, step=lambda: model.encode(torch.randn(2, 4)))
    assert [call["module"] for call in bundle.runs[0]["calls"]] == ["linear"]


def test_directForward_isSeenAndFlagged(capture: Capture) -> None:
    class Direct(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear.forward(x) + self.linear(x)

    bundle = capture(Direct(), torch.randn(2, 4), programs=True)
    calls = bundle.runs[0]["calls"]
    assert [(call["module"], call.get("direct", False), call["parent"]) for call in calls] == [
        ("", False, None),
        ("linear", True, 0),
        ("linear", False, 0),
    ]
    first, second = bundle.versions["linear"]["calls"]
    assert first["direct"] is True and "direct" not in second
    assert first["output"]["ref"] == second["output"]["ref"]
    assert replay(bundle, "linear", 0)


def test_forwardOfTheBaseClass_isNoSecondCall(capture: Capture) -> None:
    class Scaled(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) * 2

    bundle = capture(nn.Sequential(Scaled(4, 4), nn.Linear(4, 4)), torch.randn(2, 4))
    assert [(call["module"], call.get("direct")) for call in bundle.runs[0]["calls"]] == [
        ("", None),
        ("0", None),
        ("1", None),
    ]


def test_otherInstancesOfTheClasses_areLeftAlone(capture: Capture) -> None:
    model, other = nn.Sequential(nn.Linear(4, 4)), nn.Linear(4, 4)
    x = torch.randn(2, 4)

    def step() -> None:
        model(x)
        other.forward(x)
        other(x)

    assert [call["module"] for run in capture(model, step=step).runs for call in run["calls"]] == ["", "0"]


def test_overlappingTracers_leaveTheClassesAsTheyWere(tmp_path: Path) -> None:
    model, x, forward = nn.Sequential(nn.Linear(4, 4)), torch.randn(2, 4), nn.Linear.forward
    first, second = (ModuleTracer(model, tmp_path, "m", programs=False) for _ in range(2))
    first.__enter__()
    second.__enter__()
    model[0].forward(x)
    first.__exit__(None, None, None)  # not the one that came last
    model[0].forward(x)
    second.__exit__(None, None, None)
    assert nn.Linear.forward is forward
    assert [len(check_bundle(tracer.bundle).runs) for tracer in (first, second) if tracer.bundle] == [1, 2]
    torch.jit.script(model)


def test_modulesAddedBetweenSteps_areSeen(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    with ModuleTracer(model, tmp_path, "m", programs=False) as tracer:
        model(torch.randn(2, 4))
        model.append(nn.ReLU())
        tracer.step()
        model(torch.randn(2, 4))
    assert list(check_bundle(tracer.bundles[1]).versions) == ["", "0", "1"]


def test_copiesAndPicklesMadeInTheBlock_areFreeOfTheTracer(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(2, 4)
    saved = io.BytesIO()
    with ModuleTracer(model, tmp_path, "m", programs=False) as tracer:
        expected = model(x)
        copied = copy.deepcopy(model)
        torch.save(model, saved)
        pickled = pickle.loads(pickle.dumps(model))  # noqa: S301
        assert same_bits(copied(x), expected)
    assert tracer.bundle is not None and tracer.problems == []
    assert len(check_bundle(tracer.bundle).runs) == 1
    assert b"modulelens" not in saved.getvalue()
    for other in (copied, pickled):
        assert same_bits(other(x), expected)


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0
        self.seen: list[float] = []
        self.inner = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.n += 1
        self.seen.append(float(self.n))
        return self.inner(x) * self.n + sum(self.seen)


def test_attributesThatChangeBetweenCalls_areKeptForEachCall(capture: Capture) -> None:
    model = Counting()
    bundle = capture(model, step=lambda: [model(torch.randn(1, 3)) for _ in range(3)], backward=True, programs=True)
    attributes = [node_of(bundle, "", index)["attributes"] for index in range(3)]
    assert [entry["n"] for entry in attributes] == [0, 1, 2]
    assert attributes[2]["seen"] == [1.0, 2.0]
    assert "node" not in bundle.call("", 0) and "node" not in bundle.call("inner", 2)
    # The replays began with what each call began with, not with what the block left behind.
    for index in range(3):
        assert replay(bundle, "", index)
        weight = bundle.call("", index)["gradients"]["parameters"]["inner.weight"]
        x = decoder_of(bundle).decode(bundle.call("", index)["args"])[0]
        assert torch.allclose(decoder_of(bundle).tensor(weight), x.expand(3, 3) * (index + 1))
    assert (model.n, model.seen) == (3, [1.0, 2.0, 3.0])
    assert bundle.index["problems"] == []


def test_evalOfOnePartBetweenCalls_isInTheNode(capture: Capture) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))

    def step() -> None:
        model(torch.randn(1, 3))
        model[1].eval()
        model(torch.randn(1, 3))

    bundle = capture(model, step=step)
    child = bundle.nodes[node_of(bundle, "", 1)["children"]["1"]]
    assert child["training"] is False and node_of(bundle, "", 1)["training"] is True


@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm", "orthogonal", "own"])
def test_newStyleParametrization_keepsItsParts(capture: Capture, kind: str) -> None:
    class Positive(nn.Module):
        def forward(self, weight: torch.Tensor) -> torch.Tensor:
            return weight.abs()

    linear = nn.Linear(4, 4).eval()
    if kind == "own":
        nn.utils.parametrize.register_parametrization(linear, "weight", Positive())
    else:
        getattr(parametrizations, kind)(linear)
    x = torch.randn(2, 4)
    bundle = capture(linear, x, programs=True)
    node = node_of(bundle)
    assert node["class"] == "torch.nn.modules.linear:Linear"
    assert node["runtime_class"].endswith(":ParametrizedLinear")
    holder = bundle.nodes[bundle.nodes[node["children"]["parametrizations"]]["children"]["weight"]]
    assert holder["class"] == "torch.nn.utils.parametrize:ParametrizationList"
    assert holder["runtime_class"] is None and "0" in holder["children"]
    assert any(name.startswith("parametrizations.weight.original") for name in bundle.versions[""]["state"]["tensors"])
    assert replay(bundle)


def test_oldWeightNorm_isReplayed(capture: Capture) -> None:
    linear = torch.nn.utils.weight_norm(nn.Linear(4, 4))
    bundle = capture(linear, torch.randn(2, 4), programs=True)
    assert {"weight_g", "weight_v", "bias"} <= set(bundle.versions[""]["state"]["tensors"])
    assert node_of(bundle)["attributes"]["weight"]["shape"] == [4, 4]
    assert bundle.index["problems"] == [] and replay(bundle)


def checkpointed(model: nn.Sequential, x: torch.Tensor, reentrant: bool) -> torch.Tensor:
    hidden = checkpoint(model[0], x, use_reentrant=reentrant)
    result: torch.Tensor = model[1](hidden)
    return result


@pytest.mark.parametrize("reentrant", [False, True])
def test_recomputationUnderCheckpointing_isFlagged(capture: Capture, reentrant: bool) -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1))
    whole = nn.Module()
    whole.parts = model
    whole.forward = lambda x: checkpointed(model, x, reentrant)  # type: ignore[method-assign]
    x = torch.randn(3, 4, requires_grad=True)
    bundle = capture(whole, step=lambda: whole(x).sum().backward(), backward=True)
    (run,) = bundle.runs
    calls = run["calls"]
    again = [call for call in calls if call.get("recompute")]
    assert [call["module"] for call in calls if not call.get("recompute")] == [
        "",
        "parts.0",
        "parts.0.0",
        "parts.0.1",
        "parts.1",
    ]
    assert [call["module"] for call in again][:2] == ["parts.0", "parts.0.0"]
    assert all(call["version"] is None and call["parent"] is not None for call in again)
    for module in ("", "parts.0", "parts.0.0"):
        assert len(bundle.versions[module]["calls"]) == 1
    # The gradients belong to the call, whichever of the two computations they went through.
    assert bundle.call("parts.0")["gradients"]["of"] == "captured"
    weight = decoder_of(bundle).tensor(bundle.call("parts.0.0")["gradients"]["parameters"]["weight"])
    assert model[0][0].weight.grad is not None
    assert torch.allclose(weight, model[0][0].weight.grad)


def test_fourThreads_makeFourWholeTrees(capture: Capture) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    inputs = [torch.randn(index + 1, 4) for index in range(4)]
    outputs: dict[int, torch.Tensor] = {}

    def work(index: int) -> None:
        for _ in range(3):
            outputs[index] = model(inputs[index])

    def step() -> None:
        threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    bundle = capture(model, step=step)
    assert bundle.index["problems"] == []
    assert sum(len(run["calls"]) for run in bundle.runs) == 4 * 3 * 5
    assert len(bundle.versions[""]["calls"]) == 12
    for call in bundle.versions[""]["calls"]:
        (x,) = decoder_of(bundle).decode(call["args"])
        assert same_bits(decoder_of(bundle).decode(call["output"]), outputs[x.shape[0] - 1])


@pytest.mark.parametrize("before", [True, False], ids=["compiledBefore", "compiledInTheBlock"])
def test_compiledModel_isCapturedEagerlyAndWorksAfterwards(capture: Capture, before: bool) -> None:
    inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    compiled: Any = torch.compile(inner, backend="eager")
    x = torch.randn(2, 4)
    if before:
        compiled(x)
    torch._dynamo.utils.counters.clear()
    bundle = capture(compiled, x)
    assert sorted(bundle.versions) == ["", "0", "1", "2"]
    assert not torch._dynamo.utils.counters["graph_break"]
    torch._dynamo.utils.counters.clear()
    assert same_bits(compiled(x), inner(x))
    assert not torch._dynamo.utils.counters["graph_break"]
    if before:  # and it need not be compiled anew
        assert not torch._dynamo.utils.counters["frames"]


def test_cudaGraphCapture_isRefusedWithASentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modulelens.recorder._is_capturing_graph", lambda: True)
    model = nn.Linear(4, 4)
    with (
        pytest.warns(RuntimeWarning, match="CUDA graph"),
        ModuleTracer(model, tmp_path, "m", programs=False) as tracer,
    ):
        assert model(torch.randn(2, 4)).shape == (2, 4)
    assert tracer.bundle is None
    assert "trace a step that runs eagerly" in tracer.problems[0]["message"]


def test_weightUsedDirectly_isInTheParentsState(capture: Capture) -> None:
    model = nn.MultiheadAttention(8, 2, batch_first=True)
    bundle = capture(model, step=lambda: model(*[torch.randn(2, 3, 8)] * 3))
    assert "out_proj.weight" in bundle.versions[""]["state"]["tensors"]
    assert list(bundle.versions) == [""]


class Config:
    """As HF configurations are: attributes of its own beside those it was made with."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._attn_implementation_internal = "sdpa"


def test_privateAttributesOfAConfig_areKept(capture: Capture) -> None:
    class Configured(nn.Linear):
        def __init__(self, config: Config) -> None:
            super().__init__(config.width, config.width)
            self.config = config

    with InitCapture():
        model = Configured(Config(3))
    node = node_of(capture(model, torch.randn(1, 3)))
    for config in (node["init"]["args"][0], node["attributes"]["config"]):
        assert config["$t"] == "object"
        assert config["v"] == {"width": 3, "_attn_implementation_internal": "sdpa"}


def test_lazyAndUnregisteredModules_doNotDisturb(capture: Capture) -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [nn.Linear(3, 3)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.parts[0](x)

    bundle = capture(Hidden(), torch.randn(1, 3))
    attribute = node_of(bundle)["attributes"]["parts"][0]
    assert attribute["$t"] == "module" and "path" not in attribute
    assert bundle.nodes[attribute["node"]]["parameters"]["weight"]["shape"] == [3, 3]
