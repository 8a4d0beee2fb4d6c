# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The traced model does not notice the tracer: same outputs, same random numbers, same state afterwards."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from bundle_check import check_bundle
from replay import same_bits
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from modulelens import InitCapture, ModuleTracer
from modulelens.initializers import RECORD_ATTRIBUTE


def training_model() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.ReLU(inplace=True), nn.Linear(8, 2))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> list[torch.Tensor]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 6)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, torch.rand(7)]  # so that the generator is not where the last captured call left it


class Seen(TorchDispatchMode):
    """Lists the operators that reach the dispatcher."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operators.append(str(function))
        return function(*args, **(kwargs or {}))


def describe(model: nn.Module) -> dict[str, Any]:
    """Everything of a module that a tracer might leave changed."""
    return {
        name: (list(vars(part)), len(part._forward_hooks), len(part._forward_pre_hooks), part.training)
        for name, part in model.named_modules()
    }


def test_trainingRun_isBitEqualWithAndWithoutTracer(tmp_path: Path) -> None:
    results = []
    for traced in (False, True):
        model = training_model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        torch.manual_seed(5)
        if traced:
            with ModuleTracer(model, tmp_path, "m") as tracer:
                losses = train(model, optimizer, 2)
            assert tracer.bundle is not None
        else:
            losses = train(model, optimizer, 2)
        losses += train(model, optimizer, 2)
        results.append([*losses, *model.state_dict().values(), torch.get_rng_state()])
    assert all(same_bits(*pair) for pair in zip(*results, strict=True))


def test_modelObjects_areLeftAsTheyWere(tmp_path: Path) -> None:
    model = training_model()
    before, tensors = describe(model), {name: id(tensor) for name, tensor in model.state_dict(keep_vars=True).items()}
    versions = [parameter._version for parameter in model.parameters()]
    with ModuleTracer(model, tmp_path, "m"):
        model(torch.randn(5, 6))
    assert describe(model) == before
    assert {name: id(tensor) for name, tensor in model.state_dict(keep_vars=True).items()} == tensors
    assert [parameter._version for parameter in model.parameters()] == versions
    assert all(parameter.grad is None for parameter in model.parameters())


def test_storages_stayResizable(tmp_path: Path) -> None:
    model, x = nn.Linear(4, 4), torch.randn(2, 4)
    with ModuleTracer(model, tmp_path, "m", programs=False):
        model(x)
    for tensor in (x, model.weight):
        assert tensor.untyped_storage().resizable()


def test_attributesThatForwardWrites_areNotWrittenByExport(tmp_path: Path) -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0
            self.seen: list[int] = []
            self.register_buffer("total", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            self.seen.append(x.shape[0])
            self.total.add_(1)
            return x * 2

    model = Counting()
    with ModuleTracer(model, tmp_path, "m"):
        model(torch.ones(3))
    assert (model.count, model.seen, model.total.item()) == (1, [3], 1.0)


def test_userHooks_runOnceAndStay(tmp_path: Path) -> None:
    seen: list[str] = []
    model = nn.Sequential(nn.Linear(2, 2))
    model.register_forward_hook(lambda *_: seen.append("after"))
    model.register_forward_pre_hook(lambda *_: seen.append("before"))
    with ModuleTracer(model, tmp_path, "m"):
        model(torch.ones(1, 2))
    assert seen == ["before", "after"]
    assert len(model._forward_hooks) == 1


def test_flopCounter_seesOnlyTheModel(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True)), torch.randn(2, 4)
    with FlopCounterMode(display=False) as plain:
        model(x)
    with ModuleTracer(model, tmp_path, "m", programs=False), FlopCounterMode(display=False) as traced, Seen() as seen:
        model(x)
    assert traced.get_total_flops() == plain.get_total_flops() > 0
    assert "aten.clone.default" not in seen.operators


def test_jitTraceInsideTheBlock_holdsNoOperatorOfOurs(tmp_path: Path) -> None:
    model, x = nn.Linear(4, 4), torch.randn(2, 4)
    plain = [node.kind() for node in torch.jit.trace(model, x).graph.nodes()]
    with pytest.warns(RuntimeWarning, match="no module"), ModuleTracer(model, tmp_path, "m"):
        traced = torch.jit.trace(model, x, check_trace=False)
    assert [node.kind() for node in traced.graph.nodes()] == plain


def test_interruptedBlock_exportsNothing(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    tracer = ModuleTracer(model, tmp_path, "m")
    with pytest.raises(KeyboardInterrupt), tracer:
        model(torch.randn(1, 2))
        raise KeyboardInterrupt
    assert tracer.bundle is not None
    bundle = check_bundle(tracer.bundle)
    assert bundle.versions[""]["state"]["no_program"]["reason"] == "the traced block was interrupted"


def test_initCapture_leavesModulesUsable() -> None:
    with InitCapture():
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout())
    assert RECORD_ATTRIBUTE in model[0].__dict__
    assert RECORD_ATTRIBUTE not in nn.Linear(3, 4).__dict__
    assert RECORD_ATTRIBUTE not in "".join(model.state_dict())
    copied = copy.deepcopy(model)
    assert copied[0].__dict__[RECORD_ATTRIBUTE] is model[0].__dict__[RECORD_ATTRIBUTE]
    restored = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert restored[0].__dict__[RECORD_ATTRIBUTE] is None
    assert torch.export.export(model.eval(), (torch.ones(1, 3),), strict=True) is not None


def test_initCapture_doesNotKeepModulesAlive() -> None:
    import gc
    import weakref

    class Holder(nn.Module):
        def __init__(self, child: nn.Module) -> None:
            super().__init__()

    with InitCapture():
        child = nn.Linear(2, 2)
        holder = Holder(child)
    alive = weakref.ref(child)
    del child
    gc.collect()
    assert alive() is None and holder is not None


def test_leftoversOfDeadTracers_areSwept(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    code = (
        "import os, sys; from modulelens.bundle_writer import BundleFolder; from pathlib import Path;"
        "BundleFolder(Path(sys.argv[1])).tensors.mkdir(); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    elsewhere = tmp_path / ".incoming-other_host-1-00000000"
    elsewhere.mkdir()
    assert len(list(tmp_path.iterdir())) == 2
    with ModuleTracer(model, store=tmp_path, model_name="outer") as outer:
        model(torch.ones(1, 2))
        other = nn.Linear(2, 2)
        with ModuleTracer(other, store=tmp_path, model_name="inner") as inner:
            other(torch.ones(1, 2))
    assert outer.bundle is not None
    assert inner.bundle is not None
    assert set(tmp_path.iterdir()) == {elsewhere, outer.bundle, inner.bundle}


def test_textThatIsNoUnicode_isRefusedAtOnce(tmp_path: Path) -> None:
    for arguments in (
        {"model_name": "\ud800"},
        {"model_name": "m", "tags": ["\ud800"]},
        {"model_name": "m", "attributes": {"k": "\ud800"}},
    ):
        with pytest.raises(ValueError, match="Unicode"):
            ModuleTracer(nn.Linear(2, 2), store=tmp_path, **arguments)  # type: ignore[arg-type]


def test_tracerCanBeUsedTwice(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    tracer = ModuleTracer(model, tmp_path, "m", programs=False)
    bundles = []
    for _ in range(2):
        with tracer:
            model(torch.randn(1, 2))
        bundles.append(tracer.bundle)
    assert len({*bundles}) == 2 and None not in bundles


@pytest.mark.parametrize("mode", ["no_grad", "inference", "grad"])
def test_outputs_areBitEqual(tmp_path: Path, mode: str) -> None:
    guard = {"no_grad": torch.no_grad, "inference": torch.inference_mode, "grad": torch.enable_grad}[mode]
    model = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    x = torch.randn(2, 5, 16)
    with guard():
        plain = model(x)
        with ModuleTracer(model, tmp_path, "m", programs=False):
            traced = model(x)
    assert torch.allclose(plain, traced, atol=1e-6)
    assert plain.requires_grad == traced.requires_grad
