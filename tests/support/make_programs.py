# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Exports small modules for the tests of the graph layer, and writes what PyTorch says about each beside them.

    make_programs.py FOLDER

FOLDER receives NAME.pt2 without sample inputs, and expected.json: for each NAME the FLOPs of one forward by torch's own
counter (with formulas for the CPU kernels that it does not know), the graph's nodes with the module each belongs to, and
the sizes of another batch with the FLOPs there.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

aten = torch.ops.aten


def _recurrent(x, first, second, *_rest, out_shape=None, **_named):
    return 2 * math.prod(x[:-1]) * (math.prod(first) + math.prod(second))


KERNELS_TORCH_DOES_NOT_COUNT: dict[Any, Callable[..., int]] = {
    aten._scaled_dot_product_flash_attention_for_cpu: lambda q, k, v, *_, out_shape=None, **__: sdpa_flop_count(
        q, k, v
    ),
    aten.mkldnn_rnn_layer: _recurrent,
    aten.mv: lambda a, b, *_, out_shape=None: 2 * a[0] * a[1],
    aten.dot: lambda a, b, *_, out_shape=None: 2 * a[0],
}


class Call(nn.Module):
    """Any function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


class Block(nn.Module):
    """A pre-norm transformer block whose feed-forward runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.qkv = nn.Linear(32, 96)
        self.out = nn.Linear(32, 32)
        self.feed = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, d = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, s, 3, 4, 8).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, d))
        return self.feed(self.feed(x))


class Recommender(nn.Module):
    """Embedding bags, pairwise products and a small network."""

    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(50, 8, mode="sum") for _ in range(3)])
        self.bottom = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8))
        self.top = nn.Linear(14, 1)

    def forward(self, dense: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        features = torch.stack([x, *(bag(ids, offsets) for bag in self.bags)], dim=1)
        pairs = torch.bmm(features, features.transpose(1, 2))
        rows, columns = torch.triu_indices(4, 4, offset=1)
        return torch.sigmoid(self.top(torch.cat([x, pairs[:, rows, columns]], dim=1)))


class Thrice(nn.Module):
    """One layer called three times by its own name."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.layer(self.layer(x)))


class Last(nn.Module):
    """The first output of a recurrent layer."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


def modules() -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    r = torch.randn
    return {
        "linear": (nn.Linear(32, 16), (r(8, 32),)),
        "linear_vector": (nn.Linear(32, 16), (r(32),)),
        "mlp": (nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 10)), (r(6, 20),)),
        "matmul_broadcast": (Call(torch.matmul), (r(2, 1, 4, 8), r(3, 8, 5))),
        "matmul_vectors": (Call(lambda a, b: (a @ b) + (b @ b)), (r(16, 32), r(32))),
        "bmm": (Call(torch.bmm), (r(2, 3, 4), r(2, 4, 5))),
        "baddbmm": (Call(torch.baddbmm), (r(2, 3, 5), r(2, 3, 4), r(2, 4, 5))),
        "addmm": (Call(torch.addmm), (r(5), r(3, 4), r(4, 5))),
        "tensordot": (Call(lambda a, b: torch.tensordot(a, b, dims=([1, 2], [1, 0]))), (r(2, 3, 4), r(4, 3, 5))),
        "einsum_bmm": (Call(lambda a, b: torch.einsum("bij,bjk->bik", a, b)), (r(2, 3, 4), r(2, 4, 5))),
        "einsum_heads": (Call(lambda a, b: torch.einsum("bihd,bjhd->bhij", a, b)), (r(2, 5, 4, 8), r(2, 7, 4, 8))),
        "einsum_ellipsis": (Call(lambda a, b: torch.einsum("...ij,jk", a, b)), (r(2, 3, 4), r(4, 5))),
        "einsum_outer": (Call(lambda a, b: torch.einsum("i,j->ij", a, b)), (r(6), r(7))),
        "einsum_three": (Call(lambda a, b, c: torch.einsum("bi,ij,bj->b", a, b, c)), (r(2, 3), r(3, 4), r(2, 4))),
        "conv1d": (nn.Conv1d(4, 6, 3, stride=2, padding=1), (r(2, 4, 17),)),
        "conv2d": (nn.Conv2d(8, 12, 3, padding=1), (r(1, 8, 16, 16),)),
        "conv2d_same": (nn.Conv2d(4, 6, (3, 5), padding="same", dilation=2), (r(2, 4, 9, 11),)),
        "conv2d_groups": (nn.Conv2d(8, 12, 3, padding=1, groups=4), (r(1, 8, 16, 16),)),
        "conv2d_depthwise": (nn.Conv2d(8, 8, 3, padding=1, groups=8), (r(1, 8, 16, 16),)),
        "conv3d": (nn.Conv3d(2, 3, 2), (r(1, 2, 5, 6, 7),)),
        "conv_transpose2d": (nn.ConvTranspose2d(8, 12, 3, stride=2), (r(1, 8, 16, 16),)),
        "conv_transpose2d_groups": (nn.ConvTranspose2d(8, 12, 3, groups=4), (r(1, 8, 16, 16),)),
        "conv_unbatched": (nn.Conv1d(4, 6, 3), (r(4, 17),)),
        "sdpa": (Call(F.scaled_dot_product_attention), (r(1, 12, 64, 64), r(1, 12, 64, 64), r(1, 12, 64, 64))),
        "sdpa_grouped": (
            Call(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)),
            (r(1, 12, 64, 64), r(1, 4, 64, 64), r(1, 4, 64, 64)),
        ),
        "lstm": (Last(nn.LSTM(16, 32, batch_first=True)), (r(2, 10, 16),)),
        "lstm_deep": (Last(nn.LSTM(16, 32, num_layers=2, bidirectional=True)), (r(10, 2, 16),)),
        "gru": (Last(nn.GRU(16, 32, batch_first=True)), (r(2, 10, 16),)),
        "rnn": (Last(nn.RNN(16, 32, batch_first=True)), (r(2, 10, 16),)),
        "lstm_cell": (Last(nn.LSTMCell(16, 32)), (r(3, 16),)),
        "gru_cell": (nn.GRUCell(16, 32), (r(3, 16),)),
        "block": (Block(), (r(2, 10, 32),)),
        "attention": (nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), (r(2, 10, 32),)),
        "encoder_layer": (nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), (r(2, 10, 64),)),
        "shared_twice": (nn.Sequential(*[nn.Linear(32, 32)] * 2), (r(8, 32),)),
        "called_three_times": (Thrice(), (r(8, 32),)),
        "recommender": (Recommender(), (r(4, 5), torch.randint(0, 50, (12,)), torch.arange(0, 12, 3))),
        "norms": (
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(1)),
            (r(2, 3, 10, 10),),
        ),
        "embedding": (
            nn.Sequential(nn.Embedding(20, 6), nn.LayerNorm(6), nn.Dropout()),
            (torch.randint(0, 20, (3, 4)),),
        ),
    }


def count(module: nn.Module, args: tuple[torch.Tensor, ...]) -> int:
    """FLOPs of one forward by torch's counter, on the path that exported graphs take."""
    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=KERNELS_TORCH_DOES_NOT_COUNT) as counter:
        module(*args)
    return counter.get_total_flops()


def nodes_of(program: torch.export.ExportedProgram) -> list[dict[str, Any]]:
    found = []
    for node in program.graph.nodes:
        stack = node.meta.get("nn_module_stack")
        if node.op == "call_function" and stack:
            key = list(stack)[-1]
            if key.startswith("_empty_nn_module_stack"):
                continue  # Nodes that compute sizes belong to no module.
            found.append(
                {"name": node.name, "path": stack[key][0], "call": int(key.split("@")[1]) if "@" in key else 0}
            )
    return found


def save(program: torch.export.ExportedProgram, path: Path) -> None:
    program._example_inputs = None  # Sample inputs would be pickled.
    torch.export.save(program, path)
    with zipfile.ZipFile(path) as archive:
        assert all(member.compress_type == zipfile.ZIP_STORED for member in archive.infolist())


def wider(args: tuple[torch.Tensor, ...], batch: int) -> tuple[torch.Tensor, ...]:
    return tuple(arg[:1].repeat(batch, *[1] * (arg.dim() - 1)) for arg in args)


def main() -> None:
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    expected: dict[str, Any] = {}
    for name, (module, args) in modules().items():
        module.eval()
        program = torch.export.export(module, args, strict=False)
        expected[name] = {"flops": count(module, args), "nodes": nodes_of(program)}
        save(program, folder / f"{name}.pt2")
    for name in ("mlp", "block", "conv2d", "lstm"):
        module, args = modules()[name]
        module.eval()
        batch = torch.export.Dim("batch", min=2, max=64)
        sample = wider(args, 3)
        program = torch.export.export(module, sample, dynamic_shapes=({0: batch},), strict=False)
        symbol = str(next(iter(program.range_constraints)))
        entry = {"flops": count(module, sample), "nodes": nodes_of(program)}
        entry |= {"symbol": symbol, "other": 7, "other_flops": count(module, wider(args, 7))}
        expected[f"{name}_dynamic"] = entry
        save(program, folder / f"{name}_dynamic.pt2")
    (folder / "expected.json").write_text(json.dumps(expected, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
