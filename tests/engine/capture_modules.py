# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Captures the modules that the engine's tests run, with what PyTorch itself says of each: `capture_modules.py FOLDER`.

Leaves one folder per module with its bundle, and `expected.json`: FLOPs by torch's counter (CPU attention mapped, since it
counts that as 0), bytes saved for backward by its saved tensor hooks, bytes of unique parameters.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "backend" / "python"))

import torch
from modulelens import ModuleTracer
from torch import nn
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.tokens(ids))


class InPlace(nn.Module):
    """Writes to its input and to a buffer whose bytes equal those of another one."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("zero", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        self.total.add_(x.sum(0))
        return x + self.total + self.zero


class Attention(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v)


class Branch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: self.first(y), lambda y: self.second(y).relu(), (x,))


class Dictionary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, scale: float = 2.0) -> dict[str, Any]:
        y = self.layer(x) * scale
        return {"y": y, "parts": [y[0], y[1:]], "none": None, "count": 3, "view": y.t()}


class Containers(nn.Module):
    """A shared layer called twice, inside a list."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.ReLU()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            for layer in self.layers:
                x = layer(x)
        return x


class Chain(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = x.exp()
        b = a.exp()
        c = a + b
        return c.exp()


class LongShort(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 16, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lstm(x)[0]


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attention(x, x, x, need_weights=False)[0]


class NoGradRegion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            x = self.first(x)
        return self.second(x)


class AutocastRegion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = self.first(x)
        return self.second(x.float())


class Loop(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))[1]


class Scan(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return scan(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x)[1]


class Map(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return map_rows(lambda row, other: row.exp() + other, x, torch.ones(4))


def convolution() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())


def modules() -> dict[str, tuple[nn.Module, tuple[Any, ...], bool]]:
    """Name -> module, arguments, whether autograd is on at the capture."""
    odd_view = torch.randn(4 * 9)[3 : 3 + 32].reshape(4, 8)
    return {
        "linear": (nn.Linear(8, 4).eval(), (torch.randn(5, 8),), False),
        "linear_of_odd_view": (nn.Linear(8, 4).eval(), (odd_view,), False),
        "linear_of_transposed": (nn.Linear(8, 4).eval(), (torch.randn(8, 5).t(),), False),
        "perceptron": (
            nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)),
            (torch.randn(8, 32),),
            True,
        ),
        "convolution_eval": (convolution().eval(), (torch.randn(2, 3, 8, 8),), False),
        "convolution_train": (convolution().train(), (torch.randn(2, 3, 8, 8),), True),
        "long_short": (LongShort().eval(), (torch.randn(2, 5, 8),), False),
        "self_attention": (SelfAttention().eval(), (torch.randn(2, 5, 16),), False),
        "attention": (Attention(), tuple(torch.randn(1, 4, 16, 8) for _ in range(3)), False),
        "embedding_bag": (
            nn.EmbeddingBag(10, 4, mode="sum").eval(),
            (torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 2])),
            False,
        ),
        "tied": (Tied(), (torch.tensor([[1, 2, 3], [4, 5, 6]]),), True),
        "in_place": (InPlace(), (torch.randn(3, 4),), False),
        "dropout_train": (nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)).train(), (torch.randn(4, 8),), True),
        "branch": (Branch().eval(), (torch.ones(2, 4),), False),
        "dictionary": (Dictionary().eval(), (torch.randn(3, 4), 2.0), False),
        "containers": (Containers().eval(), (torch.randn(2, 8),), False),
        "no_grad_region": (NoGradRegion(), (torch.randn(3, 4),), True),
        "autocast_region": (AutocastRegion().eval(), (torch.randn(3, 4),), False),
        "under_autocast": (nn.Linear(8, 4).eval(), (torch.randn(3, 8),), False),
        "under_inference": (nn.Linear(8, 4).eval(), (torch.randn(3, 8),), False),
        "loop": (Loop().eval(), (torch.randn(3, 4),), False),
        "scan": (Scan().eval(), (torch.randn(3, 4),), False),
        "map": (Map().eval(), (torch.randn(3, 4),), False),
        "in_place_layers": (
            nn.Sequential(nn.Linear(8, 8), nn.ReLU(inplace=True), nn.Dropout(0.1, inplace=True)).train(),
            (torch.randn(4, 8),),
            True,
        ),
        "chain": (Chain().eval(), (torch.randn(8, 8),), False),
        "bfloat16": (nn.Linear(8, 4).to(torch.bfloat16).eval(), (torch.randn(3, 8).to(torch.bfloat16),), False),
    }


def counted_flops(module: nn.Module, arguments: tuple[Any, ...]) -> int:
    def sdpa(query: Any, key: Any, value: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
        return sdpa_flop_count(query, key, value)

    mapping = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: sdpa}
    with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        module(*arguments)
    return counter.get_total_flops()


def saved_bytes(module: nn.Module, arguments: tuple[Any, ...]) -> int:
    """Bytes of the views kept for backward, by storage, without those of parameters and buffers."""
    own = {tensor.untyped_storage().data_ptr() for tensor in [*module.parameters(), *module.buffers()]}
    kept: dict[int, tuple[torch.UntypedStorage, dict[Any, int]]] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            _, views = kept.setdefault(storage.data_ptr(), (storage, {}))
            views[tensor.storage_offset(), tensor.shape, tensor.stride()] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = module(*arguments)
    del output
    return sum(min(storage.nbytes(), sum(views.values())) for storage, views in kept.values())


def copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(argument.clone() if isinstance(argument, torch.Tensor) else argument for argument in arguments)


# Modules of which PyTorch's own counters say nothing: the flop counter does not follow control flow, and counts an LSTM as 0.
UNCOUNTED = {"branch", "long_short", "loop", "scan", "map"}
UNSAVED = {"in_place", "branch", "loop", "scan", "map", "under_autocast"}


def mode_of(name: str) -> contextlib.AbstractContextManager[Any]:
    if name == "under_autocast":
        return torch.autocast("cpu", dtype=torch.bfloat16)
    return torch.inference_mode() if name == "under_inference" else contextlib.nullcontext()


def main() -> None:
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    # Export never takes the fused path of evaluation, which rounds differently.
    torch.backends.mha.set_fastpath_enabled(False)
    expected: dict[str, Any] = {}
    for name, (module, arguments, grad) in modules().items():
        dynamic = name == "linear"
        with (
            torch.set_grad_enabled(grad),
            mode_of(name),
            ModuleTracer(
                module, store=folder / name, model_name=name, select=[""], dynamic_batch=dynamic, flops=True
            ) as tracer,
        ):
            module(*arguments)
            if dynamic:
                module(torch.randn(3, 8))
        if tracer.problems:
            print(name, tracer.problems, file=sys.stderr)
        expected[name] = {
            "flops": None if name in UNCOUNTED else counted_flops(module, copied(arguments)),
            "activation_bytes": None if name in UNSAVED else saved_bytes(module, copied(arguments)),
            "parameter_bytes": sum(
                storage.nbytes()
                for storage in {p.data_ptr(): p.untyped_storage() for p in module.parameters()}.values()
            ),
        }
    (folder / "expected.json").write_text(json.dumps(expected, indent=1))


if __name__ == "__main__":
    main()
