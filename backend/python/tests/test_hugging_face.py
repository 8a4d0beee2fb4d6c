# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Hugging Face models: caches written in place over several calls, configurations with private attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from modulelens import Capture, InitCapture, ModuleTracer

transformers = pytest.importorskip("transformers")
ALLOW = {"transformers", __name__.partition(".")[0]}


def tiny_llama() -> nn.Module:
    config = transformers.LlamaConfig(
        vocab_size=50,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    model: nn.Module = transformers.LlamaModel(config).eval()
    return model


def verdicts(capture: Capture) -> dict[tuple[str, int], tuple[str, bool, str | None]]:
    found = {}
    for name in capture:
        module = capture[name]
        for call in range(len(module.calls)):
            report = module.validate(call=call, allow=ALLOW)
            found[name, call] = (report["verdict"], report["exact"], module.how)
    return found


@pytest.mark.slow
def test_cacheWrittenInPlace_overPrefillAndTwoSteps(tmp_path: Path) -> None:
    model = tiny_llama()
    cache = transformers.DynamicCache()
    with torch.no_grad(), ModuleTracer(model, tmp_path, "llama", programs=False) as tracer:
        for ids in (torch.tensor([[1, 2, 3, 4]]), torch.tensor([[5]]), torch.tensor([[6]])):
            model(input_ids=ids, past_key_values=cache, use_cache=True)
    assert tracer.bundle is not None and tracer.problems == []
    found = verdicts(Capture.open(tracer.bundle))
    assert len(found) == 3 * len(list(model.modules())) - sum(
        3 for part in model.modules() if isinstance(part, nn.ModuleList)
    )
    assert set(found.values()) == {("pass", True, "structure")}


class Popping(nn.Module):
    """Takes what it is given apart, as configurations read from files are."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.linear = nn.Linear(config.pop("width"), config.pop("out"))
        self.rest = config

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * self.rest["scale"]


def test_poppedConfig_isRebuiltBothWays(tmp_path: Path) -> None:
    with InitCapture():
        model = Popping({"width": 3, "out": 2, "scale": 0.5})
    with ModuleTracer(model, tmp_path, "m", programs=False) as tracer:
        model(torch.randn(2, 3))
    assert tracer.bundle is not None
    module = Capture.open(tracer.bundle)[""]
    assert module.validate(allow=ALLOW)["exact"] and module.how == "structure"
    assert module.document["state"]["node"] and "scale" in str(module.build(allow=ALLOW).rest)


@pytest.mark.slow
def test_configWithPrivateAttributes_keepsThem(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    with InitCapture():
        model = transformers.BertModel(config).eval()
    with torch.no_grad(), ModuleTracer(model, tmp_path, "bert", programs=False) as tracer:
        model(input_ids=torch.tensor([[1, 2, 3]]))
    assert tracer.bundle is not None
    capture = Capture.open(tracer.bundle)
    assert {value[:2] for value in verdicts(capture).values()} == {("pass", True)}
    attention = capture["encoder.layer.0.attention.self"].build(allow=ALLOW)
    assert attention.config._attn_implementation == config._attn_implementation
