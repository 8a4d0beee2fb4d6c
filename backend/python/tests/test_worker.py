# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The Python worker over its streams: rebuild, check, measure, and what it refuses."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import nn
from worker_client import BundleRequests, WorkerFailureError, WorkerProcess
from worker_modules import Block, Counter, InPlace, Labelled, Refusing, Repeated, Tied

from modulelens import InitCapture, ModuleTracer

Captured = Callable[..., BundleRequests]
CONSENT_NEEDED, NOT_FOUND, INVALID, MISSING, UNSUPPORTED = -32011, -32001, -32602, -32012, -32005


@pytest.fixture(scope="module")
def worker() -> Iterator[WorkerProcess]:
    with WorkerProcess() as process:
        process.initialize(torch.get_num_threads())
        yield process


@pytest.fixture
def captured(tmp_path: Path) -> Captured:
    def run(build: Callable[[], nn.Module], *inputs: Any, grad: bool = False, **options: Any) -> BundleRequests:
        torch.manual_seed(0)
        with InitCapture():
            model = build()
        options.setdefault("select", [""])
        with torch.set_grad_enabled(grad), ModuleTracer(model, tmp_path / "store", "model", **options) as tracer:
            model(*inputs)
        assert tracer.bundle is not None
        return BundleRequests(tracer.bundle)

    return run


def validated(
    worker: WorkerProcess, bundle: BundleRequests, how: str, module: str = "", **source: Any
) -> dict[str, Any]:
    loaded = worker.call("load", bundle.consented(worker, module, **source))
    assert loaded["how"] == how, loaded["reasons"]
    result: dict[str, Any] = worker.call("validate", bundle.call(loaded["handle"], module))
    return result


@pytest.mark.parametrize("rung", ["structure", "init", "program"])
def test_everyRung_isBitExact(worker: WorkerProcess, captured: Captured, rung: str) -> None:
    bundle = captured(lambda: Block(8, 2), torch.randn(2, 3, 8))
    result = validated(worker, bundle, rung, rungs=[rung])
    assert (result["verdict"], result["exact"]) == ("pass", True)


def test_ladder_goesOnWhereARungFails(worker: WorkerProcess, captured: Captured) -> None:
    """A lambda cannot be kept, and the constructor's arguments hold it too: the program is left."""
    bundle = captured(lambda: Labelled(lambda x: x * 2), torch.randn(3, 4))
    loaded = worker.call("load", bundle.consented(worker))
    assert loaded["how"] == "program"
    assert loaded["reasons"][0].startswith("structure: the attribute 'function' was not kept")


def test_tiedWeightsAndInputsWrittenTo_areExact(worker: WorkerProcess, captured: Captured) -> None:
    assert validated(worker, captured(Tied, torch.tensor([[1, 2, 3]])), "structure")["exact"]
    result = validated(worker, captured(InPlace, torch.randn(3, 4), programs=False), "structure")
    assert result["exact"]
    assert {leaf["pointer"] for leaf in result["leaves"]} == {"/output", "/args/0", "/state_after/total"}


def test_stateThatRunsChange_isRestored(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(lambda: nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)), torch.randn(6, 4))
    loaded = worker.call("load", bundle.consented(worker))
    for _ in range(2):
        assert worker.call("validate", bundle.call(loaded["handle"]))["exact"]


def test_attributesThatChangeBetweenCalls_areThoseOfTheCall(worker: WorkerProcess, captured: Captured) -> None:
    model = lambda: Repeated(Counter(), 3)  # noqa: E731
    bundle = captured(model, torch.randn(2), select=["inner"], programs=False)
    loaded = worker.call("load", bundle.consented(worker, "inner"))
    assert len(bundle.versions["inner"]["calls"]) == 3
    for index in (2, 0, 1, 2):
        assert worker.call("validate", bundle.call(loaded["handle"], "inner", index))["exact"]


def test_wrongOutput_fails(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(lambda: nn.Linear(4, 4), torch.randn(2, 4))
    loaded = worker.call("load", bundle.consented(worker))
    request = bundle.call(loaded["handle"])
    request["call"] = {**request["call"], "output": request["call"]["args"][0]}
    result = worker.call("validate", request)
    (leaf,) = result["leaves"]
    assert (result["verdict"], leaf["verdict"], leaf["failed_check"]) == ("fail", "fail", "values")
    assert leaf["mismatched"] == leaf["elements"] == 8
    # What the module gives is right; what the capture claims is wrong.
    assert leaf["oracle"]["error_ours"] < 1e-6 < leaf["oracle"]["error_captured"]


def test_gradients_equalTheCapturedOnes(worker: WorkerProcess, captured: Captured) -> None:
    x = torch.randn(2, 3, 8, requires_grad=True)
    bundle = captured(lambda: Block(8, 2), x, grad=True, backward=True)
    loaded = worker.call("load", bundle.consented(worker))
    result = worker.call("gradients", bundle.call(loaded["handle"]))
    assert result["verdict"] == "pass" and result["exact"]
    assert "/gradients/inputs/~1args~10" in {leaf["pointer"] for leaf in result["leaves"]}


def test_profile_countsByHandAndAddsUp(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(lambda: Block(8, 2), torch.randn(2, 3, 8), grad=True)
    loaded = worker.call("load", bundle.consented(worker))
    call = bundle.call(loaded["handle"], threads=1)
    result = worker.call("profile", {"call": call, "repetitions": 3, "train": "adam"})
    # Six rows: the projection to 24, scores and mix of 2 x 2 heads over 3 positions of 4, back to 8, two layers of 16.
    projection, product = 2 * 6 * 8 * 24, 2 * 4 * 3 * 3 * 4
    assert result["flops"] == projection + 2 * product + 2 * 6 * 8 * 8 + 2 * (2 * 6 * 8 * 16)
    # Twice as much, without the gradient of the input, and with the scores computed once more.
    assert result["training"]["flops"] == 2 * result["flops"] - projection + product
    with safe_open(result["file"], "np") as file:
        assert file.get_tensor("flops.forward.self").sum() == result["flops"]
        assert file.get_tensor("parameters.forward.self").sum() == result["parameter_bytes"]
        assert file.get_tensor("peak.forward.self").sum() == result["peak_bytes"]
        assert file.get_tensor("activation.forward.self").sum() == result["activation_bytes"]
        assert file.get_tensor("latency.forward.self").sum() >= result["latency_ns"]
        assert file.get_tensor("tree.parent")[0] == -1


def test_accumulatedGradients_areOfTheModuleWhoseParameterItIs(worker: WorkerProcess, captured: Captured) -> None:
    x = torch.randn(2, 3, requires_grad=True)
    bundle = captured(lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), x, grad=True)
    loaded = worker.call("load", bundle.consented(worker))
    call = bundle.call(loaded["handle"])
    result = worker.call("profile", {"call": call, "repetitions": 3, "backward": True})
    with safe_open(result["file"], "np") as file:
        kind, parent = file.get_tensor("tree.kind"), file.get_tensor("tree.parent")
        path, name, ends = (file.get_tensor(key) for key in ("tree.path", "tree.name", "strings.ends"))
        text = file.get_tensor("strings.bytes").tobytes()
        latency = file.get_tensor("latency.backward.self")
    strings = [text[begin:end].decode() for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
    found = {
        strings[path[parent[scope]]]: int(latency[scope])
        for scope in range(len(kind))
        if strings[name[scope]] == "autograd::AccumulateGrad"
    }
    assert {module for module, nanoseconds in found.items() if nanoseconds > 0 and module} == {"0", "2"}


def test_memory_ofAPerceptron_isWhatItIsByHand(worker: WorkerProcess, captured: Captured) -> None:
    build = lambda: nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))  # noqa: E731
    bundle = captured(build, torch.randn(8, 32), grad=True)
    loaded = worker.call("load", bundle.consented(worker))
    result = worker.call("memory", {"call": bundle.call(loaded["handle"])})
    # The input (8 x 32) and the hidden values after ReLU (8 x 64), which ReLU and the second layer share.
    assert result["activation_bytes"] == 8 * 32 * 4 + 8 * 64 * 4
    assert result["gradient_bytes"] == result["parameter_bytes"] == (32 * 64 + 64 + 64 * 32 + 32) * 4
    with safe_open(result["timeline_file"], "np") as file:
        assert file.get_tensor("forward.alive").max() == result["peak_bytes"]


def test_benchmark_takesPairs(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(lambda: nn.Linear(4, 4), torch.randn(2, 4))
    handles = [worker.call("load", bundle.consented(worker))["handle"] for _ in range(2)]
    calls = [bundle.call(handle) for handle in handles]
    params = {"call": calls[0], "against": calls[1], "repetitions": 7, "count": True}
    result = worker.call("benchmark", params)
    assert [len(side["samples_ns"]) for side in result["sides"]] == [7, 7]
    assert len(result["again_ns"]) == 7
    assert {side["outputs"] for side in result["sides"]} == {"exact"}
    assert result["sides"][0]["flops"] == 2 * 2 * 4 * 4
    orders = [*result["sides"][0]["order"], *result["sides"][1]["order"], *result["again_order"]]
    assert sorted(orders) == list(range(21))


def test_codeWithoutConsent_isRefusedBeforeAnythingRuns(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(lambda: Block(8, 2), torch.randn(2, 3, 8))
    with pytest.raises(WorkerFailureError) as refused:
        worker.call("load", bundle.load())
    assert refused.value.code == CONSENT_NEEDED
    assert "worker_modules:Block" in refused.value.message
    code = worker.call("code", {"source": bundle.load()["source"]})
    assert code["packages"] == ["worker_modules"]


def test_torchAlone_needsNoConsent(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(lambda: nn.Linear(4, 4), torch.randn(2, 4))
    assert worker.call("code", {"source": bundle.load()["source"]})["sha256"] is None
    assert worker.call("load", bundle.load())["how"] == "structure"


@pytest.mark.parametrize("name", ["os:system", "subprocess:Popen", "builtins:eval", "torch:os.system", "torch:load"])
def test_hostileNames_areRefused(worker: WorkerProcess, captured: Captured, name: str) -> None:
    bundle = captured(lambda: nn.Linear(4, 4), torch.randn(2, 4), programs=False)
    root = bundle.versions[""]["state"]["node"]
    bundle.nodes[root]["attributes"]["bad"] = {"$t": "ref", "v": name}
    with pytest.raises(WorkerFailureError) as refused:
        worker.call("load", bundle.consented(worker, rungs=["structure"]))
    assert refused.value.code == UNSUPPORTED


def test_missingPackage_isNamed(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(lambda: nn.Linear(4, 4), torch.randn(2, 4), programs=False)
    root = bundle.versions[""]["state"]["node"]
    bundle.nodes[root]["class"] = "no_such_package.layers:Layer"
    with pytest.raises(WorkerFailureError) as refused:
        worker.call("load", bundle.consented(worker))
    assert refused.value.code == MISSING
    assert "'no_such_package'" in refused.value.message and "Install no_such_package" in refused.value.data["fix"]


def test_moduleThatRaises_isToldWithItsLine(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(Refusing, torch.randn(2), programs=False)
    loaded = worker.call("load", bundle.consented(worker))
    request = bundle.call(loaded["handle"])
    request["call"] = {**request["call"], "kwargs": {"refuse": True}}
    with pytest.raises(WorkerFailureError) as refused:
        worker.call("run", request)
    assert refused.value.code == UNSUPPORTED
    assert "raised ValueError: refused" in refused.value.message and "worker_modules.py:" in refused.value.message


def test_changedSource_isADifference(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(lambda: Block(8, 2), torch.randn(2, 3, 8))
    request = bundle.consented(worker)
    root = bundle.versions[""]["state"]["node"]
    old = bundle.nodes[root]["source"]
    text = bundle.sources[old].replace("class Block", "class Block  # as it was")
    new = hashlib.sha256(text.encode()).hexdigest()
    bundle.nodes[root]["source"] = new
    bundle.sources[new] = text
    request = bundle.consented(worker)
    loaded = worker.call("load", request)
    (difference,) = loaded["differences"]
    assert difference["class"] == "worker_modules:Block"
    assert "-class Block  # as it was(nn.Module):" in difference["difference"]
    assert any("is not the captured one" in warning for warning in loaded["warnings"])


EDITED = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.up = nn.Linear(width, 16)
        self.down = nn.Linear(16, width)
        self.factor = FACTOR

    def forward(self, x):
        y = self.attention(x, x, x, need_weights=False)[0]
        return self.factor * self.down(torch.relu(self.up(y)))
"""


@pytest.mark.parametrize(("factor", "verdict"), [("1", "pass"), ("2", "fail")])
def test_editedSource_takesStateAndInputs(
    worker: WorkerProcess, captured: Captured, tmp_path: Path, factor: str, verdict: str
) -> None:
    bundle = captured(lambda: Block(8, 2), torch.randn(2, 3, 8))
    file = tmp_path / "edited.py"
    file.write_text(EDITED.replace("FACTOR", factor))
    edited = {"file": str(file), "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    assert validated(worker, bundle, "structure", edited=edited)["verdict"] == verdict
    file.write_text("raise SystemExit")
    with pytest.raises(WorkerFailureError) as refused:
        worker.call("load", bundle.consented(worker, edited=edited))
    assert refused.value.code == CONSENT_NEEDED


def test_edit_thatDoesNotRun_namesItsLine(worker: WorkerProcess, captured: Captured, tmp_path: Path) -> None:
    bundle = captured(lambda: Block(8, 2), torch.randn(2, 3, 8))
    file = tmp_path / "edited.py"
    file.write_text("import torch\n\nclass Block(missing.Module):\n    pass\n")
    edited = {"file": str(file), "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    with pytest.raises(WorkerFailureError) as refused:
        worker.call("load", bundle.consented(worker, edited=edited))
    assert refused.value.code == INVALID and "edited.py:3: NameError" in refused.value.message


def test_edit_knowsTheNamesOfItsOwnModule(worker: WorkerProcess, captured: Captured, tmp_path: Path) -> None:
    bundle = captured(lambda: Block(8, 2), torch.randn(2, 3, 8))
    file = tmp_path / "edited.py"
    file.write_text(inspect.getsource(Block))
    edited = {"file": str(file), "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    loaded = worker.call("load", bundle.consented(worker, edited=edited))
    assert loaded["differences"] == []
    assert worker.call("validate", bundle.call(loaded["handle"]))["exact"]


def test_timeLimit_endsARunInsideTheModule(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(Refusing, torch.randn(2), programs=False)
    loaded = worker.call("load", bundle.consented(worker))
    request = bundle.call(loaded["handle"])
    request["call"] = {**request["call"], "kwargs": {"forever": True}}
    with pytest.raises(WorkerFailureError) as stopped:
        worker.call("run", {**request, "timeout_ms": 200})
    assert stopped.value.code == -32007
    assert worker.call("validate", bundle.call(loaded["handle"]))["exact"]


def test_cancel_endsARunInsideTheModule(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(Refusing, torch.randn(2), programs=False)
    loaded = worker.call("load", bundle.consented(worker))
    request = bundle.call(loaded["handle"])
    request["call"] = {**request["call"], "kwargs": {"forever": True}}
    number = worker.request("run", request)
    worker.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    with pytest.raises(WorkerFailureError) as stopped:
        worker.answer(number)
    assert stopped.value.code == -32800
    assert worker.call("validate", bundle.call(loaded["handle"]))["exact"]


def test_unloadedHandle_isNotFound(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(lambda: nn.Linear(4, 4), torch.randn(2, 4))
    handle = worker.call("load", bundle.load())["handle"]
    worker.call("unload", {"handle": handle})
    with pytest.raises(WorkerFailureError) as refused:
        worker.call("run", bundle.call(handle))
    assert refused.value.code == NOT_FOUND


def test_deviceThatIsNotThere_isNamed(worker: WorkerProcess, captured: Captured) -> None:
    bundle = captured(lambda: nn.Linear(4, 4), torch.randn(2, 4))
    with pytest.raises(WorkerFailureError) as refused:
        worker.call("load", bundle.load(device="cuda:77"))
    assert refused.value.code == MISSING and "cuda:77" in refused.value.message
