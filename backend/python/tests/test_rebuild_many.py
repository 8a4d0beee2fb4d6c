# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Every called submodule of many architectures, rebuilt alone in a Python worker, bit for bit; the count is kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import pytest
import torch
from torch import nn
from worker_client import BundleRequests, WorkerProcess
from worker_modules import Aliased, Block, Repeated

from modulelens import InitCapture, ModuleTracer

Model = tuple[Callable[[], nn.Module], Callable[[], dict[str, Any]]]

# Submodules with other nodes or other inputs, by way of rebuilding. They may grow; when one falls, something got worse.
WANTED = {"architectures": 19, "structure": 665, "init": 663}


def ids(length: int = 6) -> torch.Tensor:
    return torch.randint(0, 50, (2, length))


def image() -> dict[str, Any]:
    return {"pixel_values": torch.randn(2, 3, 32, 32)}


def models() -> dict[str, Model]:
    transformers = pytest.importorskip("transformers")
    text = {
        "vocab_size": 50,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    words = lambda: {"input_ids": ids()}  # noqa: E731
    no_cache = lambda: {"input_ids": ids(), "use_cache": False}  # noqa: E731

    def of(kind: str, **options: Any) -> Callable[[], nn.Module]:
        config = getattr(transformers, f"{kind}Config")
        model = getattr(transformers, f"{kind}Model")
        return lambda: model(config(**options))

    gpt = {"vocab_size": 50, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 32}
    vision = {"image_size": 32, "patch_size": 8, **{k: v for k, v in text.items() if k != "vocab_size"}}
    t5 = {"vocab_size": 50, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    return {
        "bert": (of("Bert", **text), words),
        "roberta": (of("Roberta", **text, pad_token_id=1), words),
        "electra": (of("Electra", **text, embedding_size=16), words),
        "distilbert": (of("DistilBert", vocab_size=50, dim=32, hidden_dim=48, n_layers=2, n_heads=4), words),
        "albert": (of("Albert", **text, embedding_size=16), words),
        "gpt2": (of("GPT2", **gpt), no_cache),
        "llama": (of("Llama", **text, num_key_value_heads=2), no_cache),
        "mistral": (of("Mistral", **text, num_key_value_heads=2), no_cache),
        "qwen2": (of("Qwen2", **text, num_key_value_heads=2), no_cache),
        "mixtral": (of("Mixtral", **text, num_key_value_heads=2, num_local_experts=2), no_cache),
        "gemma": (of("Gemma", **text, num_key_value_heads=2, head_dim=8), no_cache),
        "opt": (of("OPT", vocab_size=50, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4,
                   word_embed_proj_dim=32, max_position_embeddings=32), no_cache),
        "t5": (of("T5", **t5), lambda: {"input_ids": ids(), "decoder_input_ids": ids(4), "use_cache": False}),
        "vit": (of("ViT", **vision), image),
        "deit": (of("DeiT", **vision), image),
        "resnet": (of("ResNet", embedding_size=16, hidden_sizes=[16, 32], depths=[1, 2], layer_type="basic"), image),
        "convnext": (of("ConvNext", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], patch_size=2), image),
        "own": (lambda: nn.Sequential(Block(8, 2), Repeated(nn.Sequential(nn.Linear(8, 8), nn.Tanh()), 2), Aliased(8)),
                lambda: {"input": torch.randn(2, 3, 8)}),
        "recurrent": (lambda: nn.GRU(8, 16, 2, bidirectional=True), lambda: {"input": torch.randn(2, 5, 8)}),
    }  # fmt: skip


def trace(name: str, model: Model, folder: Path) -> BundleRequests:
    torch.manual_seed(0)
    build, inputs = model
    with InitCapture():
        module = build()
    # Attention takes a fused path in evaluation only when nobody looks at its parts.
    module.eval()
    with torch.no_grad(), ModuleTracer(module, folder / name, name, programs=False) as tracer:
        module(**inputs())
    assert tracer.bundle is not None, tracer.problems
    return BundleRequests(tracer.bundle)


@pytest.mark.slow
def test_submodulesOfManyArchitectures_areExactBothWays(tmp_path: Path) -> None:
    counts = {"structure": 0, "init": 0}
    failures: list[str] = []
    architectures = 0
    with WorkerProcess() as worker:
        worker.initialize(torch.get_num_threads())
        for name, model in models().items():
            bundle = trace(name, model, tmp_path)
            exact = 0
            for module, version in bundle.versions.items():
                for rung in counts:
                    try:
                        loaded = worker.call("load", bundle.consented(worker, module, rungs=[rung]))
                        result = worker.call("validate", {**bundle.call(loaded["handle"], module), "repeats": 1})
                        worker.call("unload", {"handle": loaded["handle"]})
                    except Exception as error:
                        failures.append(f"{rung} {name}::{module} ({version['class']}): {error}")
                        continue
                    if result["verdict"] == "pass" and result["exact"]:
                        counts[rung] += 1
                        exact += rung == "structure"
                    else:
                        failures.append(
                            f"{rung} {name}::{module} ({version['class']}): {result['verdict']} {result['reason']}"
                        )
            architectures += exact > 0
    report = "\n".join([f"{architectures} architectures, {counts}", *failures])
    print(report)
    assert architectures >= WANTED["architectures"], report
    assert counts["structure"] >= WANTED["structure"], report
    assert counts["init"] >= WANTED["init"], report
    assert not [line for line in failures if line.startswith("structure")], report
