# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Makes one golden archive of the installed torch, which every later reader must read and run.

    PYTHONPATH=backend/python PYTHON tests/support/make_golden_programs.py tests/data/programs

writes FOLDER/torch-VERSION.mlens: a capture of the small modules below, so programs without weights or pickles, the
weights, inputs and what this torch computed from them. PYTHON is an interpreter with the torch in question, which takes a
throw-away environment outside the source tree: `python3 -m venv V && V/bin/pip install torch==VERSION numpy safetensors`.
An archive is never made again; a new torch adds one. tests/engine/tst_GoldenPrograms.cpp reads them all.

Weights and inputs are multiples of 1/8 made from a formula, so that sums and products of them are exact: the modules of
EXACT give the same bits on every processor. The others use functions that round, or random numbers.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from modulelens import ModuleTracer, pack_bundle
from modulelens.nodes import NodeDescriber
from torch import nn
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

Tensor = torch.Tensor

EXACT = {
    "affine",
    "branch",
    "constants",
    "convolution",
    "data_dependent",
    "keywords",
    "lists",
    "lookup",
    "loop",
    "mapped",
    "mutation",
    "scalars",
    "scanned",
    "shapes",
    "tied",
}


def eighths(*shape: int, seed: int = 0) -> Tensor:
    """Multiples of 1/8 from -1 to 1, no two neighbours alike."""
    count = 1
    for size in shape:
        count *= size
    return (((torch.arange(count) * 7 + 3 + seed) % 17 - 8) / 8).reshape(shape)


class Shapes(nn.Module):
    """Sizes as values: in lists, in Python's arithmetic, as numbers."""

    def forward(self, x: Tensor) -> dict[str, Any]:
        rows, columns = x.shape
        half = columns // 2
        return {
            "folded": x.reshape(rows * 2, half),
            "front": x[:, :half],
            "joined": torch.cat([x, x.flip(0)], dim=1),
            "zeros": torch.zeros(rows, half + 1),
            "steps": torch.arange(rows) * 2 + max(half, 1),
            "scaled": x * (rows * 4),
            "expanded": x[0].expand(rows, columns),
        }


class Lists(nn.Module):
    """Lists of tensors, lists with None, results that are lists."""

    def forward(self, x: Tensor, index: Tensor) -> tuple[Any, ...]:
        first, second = x.split(2, dim=1)
        rows = x[:2].unbind(0)
        return (
            torch.stack([first, second]),
            x[:, index],
            rows[0] + rows[1],
            torch.einsum("bi,bj->bij", first, second).sum(dim=(1, 2)),
            list(torch.broadcast_tensors(x[:1], x[:2])),
            torch.meshgrid(index, index, indexing="ij"),
        )


class Scalars(nn.Module):
    """Numbers of every kind, element types, layouts and memory formats as arguments."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        picture = x.reshape(-1, 2, 1, 2).contiguous(memory_format=torch.channels_last)
        return (
            x.clamp(min=-0.5).masked_fill(x > 0.5, float("inf")),
            torch.full_like(x, float("-inf")),
            torch.add(x, x, alpha=2) + True,
            x.to(torch.bfloat16) * 0.5,
            x.to(torch.complex64) * (2 - 1j),
            torch.full((2, 3), 7, dtype=torch.int16, device=x.device, layout=torch.strided),
            picture * 2,
            (x * 8).to(torch.int64).bitwise_and(5).remainder(3),
            F.interpolate(picture, scale_factor=[2.0, 1.0], mode="nearest"),
            x.sum(dim=0, keepdim=True, dtype=torch.float64),
        )


class Keywords(nn.Module):
    """Inputs by keyword, constants among the inputs, a nested result with None and numbers."""

    def forward(
        self,
        x: Tensor,
        *,
        other: dict[str, Tensor],
        scale: float = 1.0,
        flag: bool = True,
        mode: str = "sum",
        missing: Tensor | None = None,
    ) -> dict[str, Any]:
        y = x * scale + other["bias"]
        return {"y": y, "reduced": [y.sum(1) if mode == "sum" else y], "missing": missing, "count": 3, "flag": flag}


class Mutation(nn.Module):
    """Writes to its input and to buffers, one of which is not persistent."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("last", torch.ones(4), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        x.mul_(2)
        self.total.add_(x.sum(0))
        self.seen += 1
        self.last.copy_(x[0])
        return x + self.total


class Constants(nn.Module):
    """Literals that export lifts out of the code, and a buffer outside the state dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.tensor([True, False, True, False]), persistent=False)
        self.table = eighths(4, seed=5)

    def forward(self, x: Tensor) -> Tensor:
        return torch.where(self.mask, x, torch.tensor([1.0, 2.0, 3.0, 4.0])) + self.table


class Branch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: self.first(y), lambda y: self.second(y).relu(), (x,))


class Loop(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))[1]


class Mapped(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return map_rows(lambda row, other: row * 2 + other, x, torch.ones(4))


class Scanned(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return scan(lambda carry, row: (carry + row, carry * 2), torch.zeros(4), x)[1]


class DataDependent(nn.Module):
    """A size that only the data tells."""

    def forward(self, x: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
        length = count.item()
        torch._check(length >= 1)
        torch._check(length <= 4)
        return torch.ones(length) * 2, x[x > 0].sum()


class Tied(nn.Module):
    """One weight under two names, one layer called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(6, 4)
        self.middle = nn.Linear(4, 4)
        self.head = nn.Linear(4, 6, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.middle(self.middle(self.tokens(ids)).relu()))


class Lookup(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.single = nn.Embedding(8, 4, padding_idx=0)
        self.bags = nn.EmbeddingBag(8, 4, mode="sum", include_last_offset=True)

    def forward(self, ids: Tensor, offsets: Tensor) -> Tensor:
        return self.bags(ids, offsets) + self.single(ids).sum(0)


class Modes(nn.Module):
    """Regions without gradients and with autocast."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            x = self.first(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.second(x)
        return y.float() + x


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.project = nn.Linear(8, 24)
        self.feed = nn.Sequential(nn.Linear(8, 16), nn.GELU(approximate="tanh"), nn.Linear(16, 8))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.project(self.norm(x)).reshape(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.feed(mixed.transpose(1, 2).reshape(batch, length, width)).softmax(-1)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6, batch_first=True)
        self.cell = nn.GRUCell(6, 6)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        sequence, (hidden, _) = self.lstm(x)
        return sequence, self.cell(sequence[:, -1], hidden.reshape(-1, 6))


def whole(*shape: int, below: int, seed: int = 0) -> Tensor:
    return (eighths(*shape, seed=seed) * 8 + 8).to(torch.int64) % below


# Name -> module and its inputs for a batch.
Case = tuple[nn.Module, Callable[[int], tuple[tuple[Any, ...], dict[str, Any]]]]


def cases() -> dict[str, Case]:
    def plain(*shape: int) -> Callable[[int], tuple[tuple[Any, ...], dict[str, Any]]]:
        return lambda batch: ((eighths(batch, *shape, seed=batch),), {})

    return {
        "affine": (nn.Linear(4, 3), plain(4)),
        "attention": (Attention(), plain(5, 8)),
        "branch": (Branch(), plain(4)),
        "constants": (Constants(), plain(4)),
        "convolution": (nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)), plain(2, 4, 4)),
        "data_dependent": (DataDependent(), lambda batch: ((eighths(batch, 4), torch.tensor(3)), {})),
        "dropout": (nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).train(), plain(4)),
        "keywords": (
            Keywords(),
            lambda batch: ((eighths(batch, 4),), {"other": {"bias": eighths(batch, 4, seed=3)}, "scale": 0.5}),
        ),
        "lists": (Lists(), lambda batch: ((eighths(batch, 4), torch.tensor([3, 0, 1])), {})),
        "lookup": (
            Lookup(),
            lambda batch: ((whole(2 * batch, below=8), torch.arange(0, 2 * batch + 1, 2)), {}),
        ),
        "loop": (Loop(), plain(4)),
        "mapped": (Mapped(), plain(4)),
        "modes": (Modes(), plain(4)),
        "mutation": (Mutation(), plain(4)),
        "normalised": (nn.BatchNorm1d(4).train(), plain(4)),
        "recurrent": (Recurrent(), plain(3, 4)),
        "scalars": (Scalars(), plain(4)),
        "scanned": (Scanned(), plain(4)),
        "shapes": (Shapes(), plain(4)),
        "tied": (Tied(), lambda batch: ((whole(batch, 3, below=6),), {})),
    }


class Golden(nn.Module):
    """Calls every case."""

    def __init__(self, parts: dict[str, Case]) -> None:
        super().__init__()
        self.inputs = {name: inputs for name, (_, inputs) in parts.items()}
        for name, (module, _) in parts.items():
            self.add_module(name, module)
        for number, parameter in enumerate(self.parameters()):
            parameter.data.copy_(eighths(*parameter.shape, seed=number))

    def forward(self, batch: int) -> None:
        for name, inputs in self.inputs.items():
            args, kwargs = inputs(batch)
            self.get_submodule(name)(*args, **kwargs)


def main() -> int:
    """Writes the archive into the folder named on the command line; refuses to write over one."""
    version = torch.__version__.split("+")[0]
    target = Path(sys.argv[1]) / f"torch-{version}.mlens"
    if target.exists():
        print(f"{target} is there already: golden archives are kept as they are", file=sys.stderr)
        return 1
    torch.set_num_threads(1)
    torch.manual_seed(2026)
    torch.backends.mha.set_fastpath_enabled(False)
    # Class sources would be torch's own for the most part, and nothing that runs reads them.
    NodeDescriber._source = lambda *_: None  # type: ignore[method-assign]
    model = Golden(cases())
    for name, module in model.named_children():
        module.train(name in {"dropout", "normalised"})
    attributes = {"purpose": "golden", "exact": ",".join(sorted(EXACT))}
    folder = Path(tempfile.mkdtemp())
    with torch.no_grad(), ModuleTracer(model, folder, "golden", select=["*"], attributes=attributes) as tracer:
        for batch in (3, 5):
            model(batch)
    for problem in tracer.problems:
        print(problem, file=sys.stderr)
    if tracer.bundle is None:
        return 1
    pack_bundle(tracer.bundle, target)
    shutil.rmtree(folder)
    print(f"{target}: {target.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
