# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Made `tests/data/capture/v1`: a small bundle of format version 1 that every later reader must read.

Usage: python tests/data/capture/make_golden.py OUT_DIR
It holds two calls (batch 3 and 4) in training mode: batch norm buffers that change, dropout with its random state (both
without versions of their own), a module used twice under two names, an input that is written to, an expanded input and
nested outputs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from modulelens import InitCapture, ModuleTracer
from torch import nn


class Golden(nn.Module):
    """Small, and in need of everything that a version records."""

    def __init__(self, width: int, rate: float = 0.5) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.again = self.linear
        self.activation = nn.ReLU(inplace=True)
        self.norm = nn.BatchNorm1d(width)
        self.dropout = nn.Dropout(rate)

    def forward(self, x: torch.Tensor, options: dict[str, torch.Tensor]) -> dict[str, object]:
        hidden = self.activation(self.linear(x))
        hidden = self.dropout(self.norm(self.again(hidden + options["bias"])))
        return {"y": hidden, "pair": (hidden.sum(dim=1), None)}


def main() -> None:
    """Captures the bundle into the folder named on the command line."""
    torch.set_num_threads(1)
    torch.manual_seed(2026)
    with InitCapture():
        model = Golden(4, rate=0.25)
    attributes = {"purpose": "golden", "version": 1}
    options = {"exclude": ("dropout", "norm"), "tags": ["golden"], "attributes": attributes}
    with ModuleTracer(model, Path(sys.argv[1]), "golden", **options) as tracer:
        for batch in (3, 4):
            model(torch.randn(batch, 4), {"bias": torch.randn(1, 4).expand(batch, 4)})
    print(tracer.bundle)
    for problem in tracer.problems:
        print(problem, file=sys.stderr)


if __name__ == "__main__":
    main()
