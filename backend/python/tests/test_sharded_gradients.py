# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Gradients captured over several ranks arrive whole: as the unsharded model, run in this process, has them."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import torch
from bundle_check import Bundle, check_bundle
from replay import decoder_of
from sharded_models import Net
from sharded_ranks import batch
from test_sharded import NET, assert_weightsOfNet, assert_whole, captured, merge, run_ranks

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch has no distributed package")


@functools.cache
def expected() -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Gradients of each module's output, and of each parameter, for the batch of the first rank."""
    torch.manual_seed(0)
    net = Net()
    outputs: dict[str, torch.Tensor] = {}

    def keep(name: str, _: torch.nn.Module, __: object, output: torch.Tensor) -> None:
        output.retain_grad()
        outputs[name] = output

    for name in NET:
        net.get_submodule(name).register_forward_hook(functools.partial(keep, name))
    net(batch(0)).square().sum().backward()
    found = {name: output.grad for name, output in outputs.items()}
    gradients = {name: parameter.grad for name, parameter in net.named_parameters()}
    assert all(gradient is not None for gradient in [*found.values(), *gradients.values()])
    return found, gradients  # type: ignore[return-value]


def assert_gradients(bundle: Bundle, tolerance: float = 1e-5) -> None:
    outputs, parameters = expected()
    assert sorted(bundle.versions) == sorted(NET)
    for module in NET:
        gradients = bundle.call(module)["gradients"]
        assert gradients is not None and gradients["of"] == "captured", (module, bundle.index["problems"])
        (seed,) = gradients["outputs"].values()
        assert "$t" not in seed
        gradient = outputs[module]
        if module.endswith(".act"):  # between two parallel layers the first rank has plain tensors of its columns alone
            gradient = gradient[:, : seed["shape"][1]]
        torch.testing.assert_close(decoder_of(bundle).tensor(seed), gradient, atol=tolerance, rtol=1e-4)
        prefix = f"{module}." if module else ""
        own = {name.removeprefix(prefix) for name in parameters if name.startswith(prefix)}
        assert set(gradients["parameters"]) == own, module
        for name, reference in gradients["parameters"].items():
            found = decoder_of(bundle).tensor(reference)
            torch.testing.assert_close(found, parameters[prefix + name], atol=tolerance, rtol=1e-4)


def test_tensorParallel_givesWholeGradients(tmp_path: Path) -> None:
    bundle = captured(tmp_path, "tensor_parallel", programs="no", backward="yes")
    assert bundle.index["problems"] == []
    assert_gradients(bundle)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["ddp", "fsdp1", "fsdp1_flat", "fsdp2"])
def test_dataParallel_givesTheFirstRanksGradients(tmp_path: Path, case: str) -> None:
    bundle = captured(tmp_path, case, programs="no", backward="yes")
    assert bundle.index["problems"] == []
    assert_gradients(bundle)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["fsdp1_hybrid", "fsdp1_hybrid_zero2", "fsdp2_hybrid"])
def test_hybridSharding_isWhole_withItsGradients(tmp_path: Path, case: str) -> None:
    bundle = captured(tmp_path, case, 4, programs="no", backward="yes")
    assert bundle.index["problems"] == [] and bundle.index["ranks"]["merged"][0] == 0
    assert_whole(bundle)
    assert_weightsOfNet(bundle)
    assert_gradients(bundle)


@pytest.mark.slow
def test_fsdp2ByTp_givesWholeGradients_fromLocalBundlesToo(tmp_path: Path) -> None:
    assert_gradients(captured(tmp_path / "full", "fsdp2_by_tp", 4, programs="no", backward="yes"))
    store, ranks = run_ranks(tmp_path / "local", "fsdp2_by_tp", 4, sharded="local", backward="yes")
    assert [rank.returncode for rank in ranks] == [0] * 4
    bundles = sorted(store.iterdir())
    assert_gradients(check_bundle(merge(bundles, tmp_path / "merged", "--programs")))
    without = check_bundle(merge(bundles, tmp_path / "without"))
    assert without.call()["gradients"] is None
    assert [problem["stage"] for problem in without.index["problems"]] == ["gradients"]


@pytest.mark.slow
def test_background_writesAndMergesBehindTheStep(tmp_path: Path) -> None:
    bundle = captured(tmp_path, "fsdp2", backward="yes", background="yes")
    assert bundle.index["problems"] == [] and bundle.index["complete"] is True
    assert_gradients(bundle)
    assert all(version["state"]["programs"] for version in bundle.versions.values())
