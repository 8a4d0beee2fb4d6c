# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`python -m modulelens export`: programs of rebuilt modules, in a new bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from bundle_check import check_bundle
from conftest import Capture
from replay import replay
from torch import nn
from worker_modules import Block, Counter, Labelled, Repeated

from modulelens.offline_export import export_bundle, main
from modulelens.worker.errors import WorkerError


def test_modulesCapturedWithout_getExactPrograms(capture: Capture, tmp_path: Path) -> None:
    bundle = capture(nn.Sequential(Block(8, 2), nn.ReLU()).eval(), torch.randn(4, 3, 8))
    assert bundle.index["programs"] == []
    written = export_bundle(bundle.folder, tmp_path / "exported")
    assert written is not None
    exported = check_bundle(written)
    assert exported.index["created"] == bundle.index["created"]
    assert all(replay(exported, module) for module in exported.versions)
    (program,) = exported.versions[""]["state"]["programs"]
    assert program["how"] == "non_strict" and program["dynamic"]
    assert export_bundle(written, tmp_path / "exported") is None


def test_trainAndEval_areSeparatePrograms(capture: Capture, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

    def step() -> None:
        model.train()(torch.randn(3, 4))
        model.eval()(torch.randn(3, 4))

    bundle = capture(model, step=step)
    written = export_bundle(bundle.folder, tmp_path / "exported")
    assert written is not None
    exported = check_bundle(written)
    assert {program["training"] for program in exported.versions[""]["state"]["programs"]} == {True, False}
    assert replay(exported, "", 0) and replay(exported, "", 1)


def test_codeWithoutConsent_isRefused(capture: Capture, tmp_path: Path) -> None:
    bundle = capture(Block(8, 2), torch.randn(2, 3, 8))
    with pytest.raises(WorkerError) as refused:
        export_bundle(bundle.folder, tmp_path / "exported", allow=set())
    assert refused.value.name == "consent_needed" and "worker_modules" in refused.value.message
    assert main([str(bundle.folder), "--store", str(tmp_path / "exported")]) == 12
    assert main([str(bundle.folder), "--store", str(tmp_path / "exported"), "--allow", "worker_modules"]) == 0


def test_moduleThatCannotBeRebuilt_keepsItsReason(capture: Capture, tmp_path: Path) -> None:
    bundle = capture(nn.Sequential(Labelled(lambda x: x), nn.ReLU()), torch.randn(2))
    written = export_bundle(bundle.folder, tmp_path / "exported")
    assert written is not None
    exported = check_bundle(written)
    assert "the attribute 'function' was not kept" in exported.versions["0"]["state"]["no_program"]["reason"]
    assert replay(exported, "1")


def test_attributesThatChangeBetweenCalls_giveAProgramEach(capture: Capture, tmp_path: Path) -> None:
    bundle = capture(Repeated(Counter(), 2), torch.randn(2))
    written = export_bundle(bundle.folder, tmp_path / "exported", modules=["inner"])
    assert written is not None
    exported = check_bundle(written)
    assert replay(exported, "inner", 0) and replay(exported, "inner", 1)


def test_damagedBundle_isRefused(capture: Capture, tmp_path: Path) -> None:
    bundle = capture(nn.Linear(2, 2), torch.randn(1, 2))
    (bundle.folder / "bundle.json").write_bytes(b"{}")
    assert main([str(bundle.folder), "--store", str(tmp_path / "exported")]) == 9


@pytest.mark.slow
def test_cachesOfTransformers_areTakenApart(capture: Capture, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=64, max_position_embeddings=64,
    )  # fmt: skip
    model = transformers.LlamaModel(config).eval()
    ids = torch.randint(0, 64, (2, 5))

    def step() -> None:
        with torch.no_grad():
            first = model(ids, use_cache=True)
            model(ids[:, :1], past_key_values=first.past_key_values, use_cache=True)

    bundle = capture(model, step=step, select=["layers.*", "layers.*.self_attn"])
    written = export_bundle(bundle.folder, tmp_path / "exported")
    assert written is not None
    exported = check_bundle(written)
    for version in exported.versions.values():
        assert version["state"]["programs"], version["state"]["no_program"]
