# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Models for captures over several ranks. Classes of a module of their own, so that every process can import them."""

from __future__ import annotations

import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.fc2(self.act(self.fc1(x)))
        return out


class Stage(nn.Module):
    """One stage of a pipeline: a block, and on the last one the norm."""

    def __init__(self, block: nn.Module, norm: nn.Module | None, number: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleDict({str(number): block})
        self.norm = norm

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks.values():
            x = x + block(x)
        return x if self.norm is None else self.norm(x)  # type: ignore[no-any-return]


class Net(nn.Module):
    """Two blocks and a norm of the root's own, with a residual around each block."""

    def __init__(self, width: int = 8, hidden: int = 16) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Mlp(width, hidden), Mlp(width, hidden)])
        self.norm = nn.LayerNorm(width)
        self.register_buffer("scale", torch.full((width,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = x + block(x)
        out: torch.Tensor = self.norm(x) * self.scale
        return out
