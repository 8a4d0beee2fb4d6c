# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""What a captured call holds, case by case."""

from __future__ import annotations

import collections
import copy
from typing import Any

import pytest
import torch
from bundle_check import Bundle, at_pointer
from conftest import Capture
from replay import decoder_of, replay, same_bits
from torch import nn

from modulelens import Capture as Opened
from modulelens import InitCapture


class Function(nn.Module):
    """A module that does what it is told."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = [function]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function[0](*args, **kwargs)


def decoded(bundle: Bundle, pointer: str, module: str = "", index: int = 0) -> torch.Tensor:
    tensor: torch.Tensor = decoder_of(bundle).decode(at_pointer(bundle.call(module, index), pointer))
    return tensor


def test_sameTensorThrice_isOneObject(capture: Capture) -> None:
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(2, 3, 8)
    bundle = capture(attention, step=lambda: attention(x, x, x))
    assert [value["obj"] for value in bundle.call()["args"]] == [0, 0, 0]
    first, second, third = decoder_of(bundle).decode(bundle.call()["args"])
    assert first is second is third


def test_equalTensors_areTwoObjectsWithOneRef(capture: Capture) -> None:
    x = torch.randn(3)
    bundle = capture(Function(torch.add), x, x.clone())
    first, second = bundle.call()["args"]
    assert first["ref"] == second["ref"] and first["obj"] != second["obj"] and first["storage"] != second["storage"]


def test_viewsOfOneStorage_sayStorageAndOffset(capture: Capture) -> None:
    x = torch.randn(6)
    bundle = capture(Function(torch.add), x[:3], x[3:])
    first, second = bundle.call()["args"]
    assert first["storage"] == second["storage"]
    assert (first["offset"], second["offset"]) == (0, 3)


def test_inplaceReluAfterLinear_leavesTheLinearsOutput(capture: Capture) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True))
    x = torch.randn(8, 4)
    expected = model[0](x)
    bundle = capture(model, x)
    assert same_bits(decoded(bundle, "/output", "0"), expected)
    assert (expected < 0).any()
    mutated = bundle.call("1")["mutated"]
    assert list(mutated) == ["/args/0"]
    assert same_bits(decoder_of(bundle).tensor(mutated["/args/0"]), expected.relu())


def test_inplaceOnAnInputThatNeedsGradients_isReplayed(capture: Capture) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 2))
    bundle = capture(model, torch.randn(8, 4), programs=True)
    assert bundle.index["problems"] == []
    for module in bundle.versions:
        assert replay(bundle, module)


def test_mutatedInput_isKeptBeforeAndAfter(capture: Capture) -> None:
    x = torch.zeros(3)
    bundle = capture(Function(lambda pair, y: pair["x"].add_(1) + y), {"x": x}, torch.ones(3))
    call = bundle.call()
    assert decoded(bundle, "/args/0/x").tolist() == [0, 0, 0]
    assert list(call["mutated"]) == ["/args/0/x"]
    assert decoder_of(bundle).tensor(call["mutated"]["/args/0/x"]).tolist() == [1, 1, 1]


def test_inputWrittenThroughData_isStillSeen(capture: Capture) -> None:
    x = torch.zeros(100, 100)

    def write(value: torch.Tensor) -> torch.Tensor:
        value.data.fill_(2)
        return value + 1

    assert list(capture(Function(write), x).call()["mutated"]) == ["/args/0"]


def test_outputThatIsTheInput_hasItsObjectNumber(capture: Capture) -> None:
    call = capture(nn.Identity(), torch.randn(2)).call()
    assert call["output"]["obj"] == call["args"][0]["obj"]


def test_returnedViewOfAMutatedBuffer_overThreeCalls(capture: Capture) -> None:
    class Cache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen.add_(x)
            return self.seen[1:3]

    model = Cache()
    bundle = capture(model, step=lambda: [model(torch.ones(4)) for _ in range(3)])
    for index in range(3):
        call = bundle.call("", index)
        assert decoded(bundle, "/output", "", index).tolist() == [index + 1.0] * 2
        assert ("seen" in call["state_before"]) == (index > 0)
        assert decoder_of(bundle).tensor(call["state_after"]["seen"]).tolist() == [index + 1.0] * 4


def test_layoutsOfInputs_areKept(capture: Capture) -> None:
    inputs = [
        torch.randn(1, 3).expand(4, 3),
        torch.arange(6.0).unfold(0, 3, 1),
        torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
        torch.empty(0, 2),
        torch.tensor(float("nan")),
    ]
    bundle = capture(Function(lambda *xs: xs), *inputs)
    for index, tensor in enumerate(inputs):
        back = decoded(bundle, f"/args/{index}")
        assert same_bits(back, tensor) and back.stride() == tensor.stride()


def test_containersOfHuggingFaceKind_keepTheirClass(capture: Capture) -> None:
    outputs = pytest.importorskip("transformers.modeling_outputs")
    value = outputs.BaseModelOutput(last_hidden_state=torch.ones(2))
    bundle = capture(Function(lambda x: (x, collections.OrderedDict(b=torch.zeros(1), a=None))), value)
    encoded = bundle.call()["args"][0]
    assert encoded["$t"] == "mapping" and encoded["cls"] == "transformers.modeling_outputs:BaseModelOutput"
    back = decoder_of(bundle).decode(bundle.call()["output"])
    assert type(back[0]) is outputs.BaseModelOutput and list(back[1]) == ["b", "a"]


def test_generatorArgument_leavesTheRunUnharmed(capture: Capture) -> None:
    results: list[Any] = []
    model = Function(sum)
    bundle = capture(model, step=lambda: results.append(model(i for i in range(4))))
    assert results == [6]
    assert bundle.call()["args"][0]["$t"] == "gap"
    assert bundle.call()["output"] == 6


def test_lambdaInitArgument_isSourceOnly(capture: Capture) -> None:
    with InitCapture():
        model = Function(lambda x: x * 2)
    bundle = capture(model, torch.ones(1))
    node = bundle.nodes[bundle.versions[""]["state"]["node"]]
    assert node["init"]["how"] == "captured"
    assert node["init"]["args"][0]["$t"] == "source"


def test_builtinFunctionAttribute_isAReference(capture: Capture) -> None:
    with InitCapture():
        model = Function(torch.relu)
    bundle = capture(model, torch.ones(1))
    node = bundle.nodes[bundle.versions[""]["state"]["node"]]
    assert node["attributes"]["function"] == [{"$t": "ref", "v": "torch:relu"}]


def test_deepcopiedLayers_keepTheirInitArguments(capture: Capture) -> None:
    with InitCapture():
        layer = nn.Linear(4, 4, bias=False)
    model = nn.Sequential(*(copy.deepcopy(layer) for _ in range(2)))
    bundle = capture(model, torch.randn(1, 4))
    for name in ("0", "1"):
        init = bundle.nodes[bundle.versions[name]["state"]["node"]]["init"]
        assert (init["how"], init["args"], init["kwargs"]) == ("captured", [4, 4], {"bias": False})


def test_moduleBuiltBeforeTheTracer_hasInferredArguments(capture: Capture) -> None:
    bundle = capture(nn.Linear(3, 2), torch.randn(1, 3), programs=True)
    node = bundle.nodes[bundle.versions[""]["state"]["node"]]
    assert node["init"]["how"] == "inferred"
    assert node["init"]["kwargs"] == {"in_features": 3, "out_features": 2, "bias": True}
    assert replay(bundle)


def test_sharedModule_hasOneVersionWithAliases(capture: Capture) -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.second = self.first

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.second(self.first(x))

    bundle = capture(Shared(), torch.randn(1, 4))
    assert sorted(bundle.versions) == ["", "first"]
    version = bundle.versions["first"]
    assert version["aliases"] == ["second"] and len(version["calls"]) == 2
    assert [call["call"] for call in bundle.runs[0]["calls"] if call["module"] == "first"] == [0, 1]
    state = bundle.versions[""]["state"]
    assert state["tensors"]["first.weight"]["obj"] == state["tensors"]["second.weight"]["obj"]
    assert (state["parameter_count"], state["parameter_bytes"]) == (20, 80)


def test_tiedWeights_shareObjectAndBytes(capture: Capture) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(5, 3)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.head(self.embedding(ids))

    bundle = capture(Tied(), torch.tensor([1, 2]), programs=True)
    state = bundle.versions[""]["state"]
    assert state["tensors"]["embedding.weight"]["obj"] == state["tensors"]["head.weight"]["obj"]
    assert state["parameter_bytes"] == 60
    assert replay(bundle)


def test_batchNormAndDropoutInTraining_overThreeCalls(capture: Capture) -> None:
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.5)).train()
    bundle = capture(model, step=lambda: [model(torch.randn(6, 4)) for _ in range(3)], programs=True)
    assert len(bundle.runs) == 3
    for index in range(3):
        assert bundle.call("", index)["rng"] is not None
        assert bundle.call("0", index)["rng"] is None
        assert set(bundle.call("0", index)["state_after"]) == {"running_mean", "running_var", "num_batches_tracked"}
        assert bool(bundle.call("0", index)["state_before"]) == (index > 0)
        for module in ("", "0", "1"):
            assert replay(bundle, module, index)


def test_weightsChangedBetweenCalls_areInStateBefore(capture: Capture) -> None:
    model = nn.Linear(2, 2)

    def step() -> None:
        model(torch.ones(1, 2))
        with torch.no_grad():
            model.weight.add_(1)
        model(torch.ones(1, 2))
        model.weight.data.mul_(2)
        model(torch.ones(1, 2))

    bundle = capture(model, step=step, programs=True)
    assert [list(call["state_before"]) for call in bundle.versions[""]["calls"]] == [[], ["weight"], ["weight"]]
    for index in range(3):
        assert replay(bundle, "", index)
    assert len(bundle.versions[""]["state"]["programs"]) == 1


def test_weightWrittenThroughDataWithinOneStep_isSeen(capture: Capture) -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.linear(x)
            self.linear.weight.data.mul_(2)
            return self.linear(y)

    bundle = capture(Twice(), torch.randn(1, 4))
    assert list(bundle.call("linear", 1)["state_before"]) == ["weight"]
    assert list(bundle.call("")["state_after"]) == ["linear.weight"]


def test_autocastAndInferenceMode_areNoted(capture: Capture) -> None:
    model = nn.Linear(4, 4)

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            model(torch.randn(2, 4))
        with torch.inference_mode():
            model(torch.randn(2, 4))
        with torch.no_grad():
            model(torch.randn(2, 4))

    bundle = capture(model, step=step, programs=True)
    first, second, third = bundle.versions[""]["calls"]
    assert first["autocast"] == [{"device": "cpu", "dtype": "bfloat16", "cache": True}]
    assert (first["grad_mode"], first["inference_mode"], first["output"]["dtype"]) == (True, False, "bfloat16")
    assert (second["grad_mode"], second["inference_mode"], second["autocast"]) == (False, True, None)
    assert (third["grad_mode"], third["inference_mode"]) == (False, False)
    for index in range(3):
        assert replay(bundle, "", index)


class Failing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor, fail: bool) -> torch.Tensor:
        y = self.inner(x)
        if fail:
            raise ValueError("asked to")
        return y


def test_exceptionInForward_leavesTheTracerBalanced(capture: Capture) -> None:
    model = Failing()

    def step() -> None:
        with pytest.raises(ValueError, match="asked to"):
            model(torch.ones(1, 2), True)
        model(torch.ones(1, 2), False)

    bundle = capture(model, step=step, programs=True)
    failed, good = bundle.versions[""]["calls"]
    assert failed["output"] is None
    assert failed["exception"] == {"type": "ValueError", "message": "asked to"}
    assert good["exception"] is None and good["output"] is not None
    assert failed["program"] is None and replay(bundle, "", 1)
    assert [call["parent"] for run in bundle.runs for call in run["calls"]] == [None, 0, None, 0]
    assert bundle.runs[0]["calls"][0]["exception"]["type"] == "ValueError"


def test_noneReturnedInsideAHandler_isNoException(capture: Capture) -> None:
    model = Function(lambda: None)

    def step() -> None:
        try:
            raise KeyError("outer")
        except KeyError:
            model()

    assert capture(model, step=step).call()["exception"] is None


def test_interruptedCall_isClosedByTheNext(capture: Capture) -> None:
    class Interrupted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Function(self._inner)
            self.count = 0

        def _inner(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            if self.count == 1:
                raise KeyboardInterrupt
            return x

        def forward(self, x: torch.Tensor) -> Any:
            try:
                self.inner(x)
            except KeyboardInterrupt:
                return self.inner(x)

    calls = capture(Interrupted(), torch.ones(1)).runs[0]["calls"]
    assert [call["module"] for call in calls] == ["", "inner", "inner"]
    assert calls[1]["exception"] is not None and calls[2]["exception"] is None


def test_callTree_holdsEveryCallEvenUnkept(capture: Capture) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 2)))
    bundle = capture(model, torch.randn(5, 4), select=("1.1",))
    assert list(bundle.versions) == ["1.1"]
    calls = bundle.runs[0]["calls"]
    assert [(call["module"], call["parent"]) for call in calls] == [
        ("", None),
        ("0", 0),
        ("1", 0),
        ("1.0", 2),
        ("1.1", 2),
    ]
    assert [call["parameter_bytes"] for call in calls] == [92, 60, 32, 0, 32]
    assert [call["own_parameter_bytes"] for call in calls] == [0, 60, 0, 0, 32]
    assert calls[1]["inputs"] == [{"path": "/args/0", "dtype": "float32", "shape": [5, 4]}]
    assert calls[1]["outputs"] == [{"path": "/output", "dtype": "float32", "shape": [5, 3]}]
    assert calls[0]["version"] is None
    for child in calls[1:]:
        parent = calls[child["parent"]]
        assert parent["start_ns"] <= child["start_ns"]
        assert child["start_ns"] + child["host_ns"] <= parent["start_ns"] + parent["host_ns"]


def test_limits_leaveVisibleGaps(capture: Capture) -> None:
    model = nn.Linear(100, 10)
    bundle = capture(model, torch.randn(2, 100), max_tensor_bytes=1000)
    tensors = bundle.versions[""]["state"]["tensors"]
    assert tensors["weight"]["gap"] == "max_tensor_bytes" and "ref" in tensors["bias"]


def test_maxBytes_leavesVisibleGaps(capture: Capture) -> None:
    bundle = capture(nn.Linear(100, 10), torch.randn(2, 100), max_bytes=4100)
    assert bundle.call()["output"]["gap"] == "max_bytes"


def test_maxCalls_limitsKeptCallsOnly(capture: Capture) -> None:
    model = nn.Linear(2, 2)
    bundle = capture(model, step=lambda: [model(torch.randn(1, 2)) for _ in range(4)], max_calls=2)
    assert len(bundle.versions[""]["calls"]) == 2
    assert [run["calls"][0]["version_call"] for run in bundle.runs] == [0, 1, None, None]


class Growing(nn.Module):
    """Puts what it computes into the list and the cache that it is given, and writes to a tensor of the list."""

    def forward(self, x: torch.Tensor, seen: list[torch.Tensor], cache: dict[str, torch.Tensor]) -> torch.Tensor:
        seen[0].add_(1)
        seen.append(x * 2)
        cache["keys"] = torch.cat([cache["keys"], x])
        return x + 1


def test_argumentsThatGrow_areKeptAsTheyWereAfterwards(capture: Capture) -> None:
    seen, cache = [torch.zeros(2)], {"keys": torch.ones(1, 2), "other": torch.ones(3)}
    model = Growing()
    bundle = capture(model, step=lambda: model(torch.ones(1, 2), seen, cache=cache))
    call = bundle.call()
    assert len(call["args"][1]) == 1 and call["kwargs"]["cache"]["keys"]["shape"] == [1, 2]
    assert set(call["mutated"]) == {"/args/1/0"}
    assert set(call["inputs_after"]) == {"/args/1", "/kwargs/cache"}
    assert [entry["shape"] for entry in call["inputs_after"]["/args/1"]] == [[2], [1, 2]]
    after = call["inputs_after"]["/kwargs/cache"]
    assert after["keys"]["shape"] == [2, 2] and after["other"] == call["kwargs"]["cache"]["other"]
    result = Opened.open(bundle.folder)[""].validate(allow=["test_calls"])
    assert result["exact"] is True
    places = {leaf["pointer"] for leaf in result["leaves"]}
    assert {"/inputs_after/args/1/1", "/inputs_after/kwargs/cache/keys"} <= places

    class Forgetful(Growing):
        def forward(self, x: torch.Tensor, seen: list[torch.Tensor], cache: dict[str, torch.Tensor]) -> torch.Tensor:
            out: torch.Tensor = super().forward(x, seen, cache)
            cache["keys"] = cache["keys"] * 2
            return out

    result = Opened.open(bundle.folder)[""].validate(Forgetful(), allow=["test_calls"])
    (wrong,) = [leaf["pointer"] for leaf in result["leaves"] if leaf["verdict"] == "fail"]
    assert wrong == "/inputs_after/kwargs/cache/keys"


def test_argumentsThatStayAsTheyAre_areNotKeptTwice(capture: Capture) -> None:
    class Summing(nn.Module):
        def forward(self, values: list[torch.Tensor]) -> torch.Tensor:
            return torch.stack(values).sum()

    bundle = capture(Summing(), [torch.ones(2), torch.ones(2)])
    assert "inputs_after" not in bundle.call()


def test_scriptModules_areCapturedWhole_andTheirChildrenNamed(capture: Capture) -> None:
    x = torch.ones(2, 4)
    scripted = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    traced = torch.jit.trace(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), x)
    model = nn.Sequential(scripted, traced)
    with pytest.warns(RuntimeWarning, match="run inside TorchScript"):
        bundle = capture(model, x, programs=True)
    assert [call["module"] for call in bundle.runs[0]["calls"]] == ["", "0", "1"]
    assert [problem["module"] for problem in bundle.index["problems"]] == ["0", "1"]
    assert "0.0, 0.1 run inside TorchScript" in bundle.index["problems"][0]["message"]
    assert torch.equal(decoded(bundle, "/output", "0"), scripted(x))
    for name in ("0", "1"):
        assert "torch.jit.save" in bundle.versions[name]["state"]["no_program"]["reason"]
        with pytest.raises(ValueError, match="a TorchScript module cannot be rebuilt"):
            Opened.open(bundle.folder)[name].build()
    assert "__call__" not in type(scripted).__dict__
