# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Modules that tests capture and a worker of its own imports again."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.up = nn.Linear(width, 16)
        self.down = nn.Linear(16, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.attention(x, x, x, need_weights=False)[0]
        return self.down(torch.relu(self.up(y)))


class Labelled(nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x) + 1


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.tokens(ids))


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        self.total.add_(x.sum(0))
        return x + self.total


class Counter(nn.Module):
    """Keeps a count and a list of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.seen: list[int] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        self.seen.append(self.count)
        return x * self.count + len(self.seen)


class Repeated(nn.Module):
    def __init__(self, inner: nn.Module, times: int) -> None:
        super().__init__()
        self.inner = inner
        self.times = times

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.times):
            x = self.inner(x)
        return x


class Aliased(nn.Module):
    """One layer under two names, in a list beside another."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.layers = nn.ModuleList([nn.Linear(width, width), self.first])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for layer in self.layers:
            x = layer(x).relu()
        return x


class Refusing(nn.Module):
    def forward(self, x: torch.Tensor, refuse: bool = False, forever: bool = False) -> torch.Tensor:
        if refuse:
            raise ValueError("refused")
        while forever:
            x = x + 1
        return x
