# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Attention with a function of the scores: exported as operators, by this exporter alone."""

from __future__ import annotations

import concurrent.futures
from typing import Any

import torch
from conftest import Capture
from replay import replay
from torch import nn
from torch.nn.attention.flex_attention import flex_attention

from modulelens.attention_export import attention_as_operators


class Flexible(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(2, 5, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def score(value: Any, _batch: Any, head: Any, query: Any, key: Any) -> Any:
            return value + self.bias[head, query, key]

        result = flex_attention(x, x, x, score_mod=score)
        assert isinstance(result, torch.Tensor)
        return result


def exported() -> set[str]:
    program = torch.export.export(Flexible(), (torch.randn(3, 2, 5, 4),), strict=False)
    return {str(node.target) for node in program.graph.nodes}


def test_attentionWithAScoreFunction_isReproducedExactly(capture: Capture) -> None:
    bundle = capture(Flexible(), torch.randn(3, 2, 5, 4), programs=True)
    assert bundle.index["problems"] == []
    assert replay(bundle, "")


def test_otherExports_keepTheOperator() -> None:
    with attention_as_operators():
        assert "flex_attention" not in exported()
        with concurrent.futures.ThreadPoolExecutor(1) as other:
            assert "flex_attention" in other.submit(exported).result()
    assert "flex_attention" in exported()
