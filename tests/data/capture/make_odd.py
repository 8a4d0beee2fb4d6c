# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Made `tests/data/capture/v1-odd`: every dtype, layout and flag that a call may have. Run it to add another one.

./dev python tests/data/capture/make_odd.py
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
from modulelens import ModuleTracer
from torch import nn
from torch.utils.checkpoint import checkpoint

warnings.filterwarnings("ignore")


class Tagged(torch.Tensor):
    """A subclass without parts."""


class Odd(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.linear = nn.Linear(2, 2)

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear.forward(x)

    def forward(self, x: torch.Tensor, *odd: Any) -> torch.Tensor:
        self.count += 1
        again: torch.Tensor = checkpoint(self.linear, x, use_reentrant=False)
        return self.encode(x) + again


def values() -> list[torch.Tensor]:
    kinds = {str(kind): kind for kind in vars(torch).values() if isinstance(kind, torch.dtype)}
    raw = torch.zeros(16, dtype=torch.uint8)
    plain = [raw.view(kind) for name, kind in sorted(kinds.items()) if not name.startswith("torch.q")]
    dense = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    parts = [torch.ones(1, 2), torch.ones(3, 2)]
    scales, zeros = torch.tensor([0.5, 0.25]), torch.tensor([0.0, 1.0])
    return [
        *plain,
        dense.to_sparse(),
        dense.to_sparse_csr(),
        dense.to_sparse_csc(),
        dense.to_sparse_bsr((1, 1)),
        dense.to_sparse_bsc((1, 1)),
        dense.to_mkldnn(),
        torch.nested.nested_tensor(parts),
        torch.nested.nested_tensor(parts, layout=torch.jagged),
        torch.quantize_per_tensor(dense, 0.5, 1, torch.qint8),
        torch.quantize_per_channel(dense, scales, zeros.long(), 0, torch.quint8),
        torch.quantize_per_channel(dense, scales, zeros, 0, torch.quint4x2),
        dense.as_subclass(Tagged),
        torch.empty(2, device="meta"),
    ]


def main() -> None:
    torch.manual_seed(0)
    model = Odd()
    folder = Path(__file__).parent / "v1-odd"
    with ModuleTracer(model, folder, "odd", methods=["encode"], programs=False, backward=True) as tracer:
        for _ in range(2):
            model(torch.ones(1, 2), *values()).sum().backward()
    print(tracer.bundle, tracer.problems)


if __name__ == "__main__":
    main()
