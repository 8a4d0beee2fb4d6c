# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""What programs do beyond calling operators: control flow, mutation, sizes, nested inputs and outputs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from cases import CASES, Case, functions, modules, rows, same
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.utils.checkpoint import checkpoint

ROWS = rows(4)


def nested_condition(x: torch.Tensor) -> torch.Tensor:
    def outer(y: torch.Tensor) -> torch.Tensor:
        return torch.cond(y.max() > 1, lambda z: z.exp(), lambda z: z.cos(), (y,))

    return torch.cond(x.sum() > 0, outer, lambda y: y - 1, (x,))


class Parts(nn.Module):
    """Two layers for programs that use one another's results under some mode."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)


class Checkpointed(Parts):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(checkpoint(self.first, x, use_reentrant=False))


class Without(Parts):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            y = self.first(x)
            with torch.enable_grad():
                y = self.second(y)
        return self.second(y)


class Autocast(Parts):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.first(x)
            with torch.autocast("cpu", enabled=False):
                y = self.second(y.float())
        return y


class Branches(Parts):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: self.first(y), lambda y: self.second(y).relu(), (x,))


class SizeBranch(Parts):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.shape[0] > 3, lambda y: self.first(y), lambda y: self.second(y), (x,))


modules(
    "control_flow",
    ROWS,
    checkpointed=Checkpointed,
    without_grad=Without,
    autocast=Autocast,
    branches=Branches,
    size_branch=SizeBranch,
)
functions(
    "control_flow",
    ROWS,
    nested=nested_condition,
    loop=lambda x: while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x)),
    loop_of_values=lambda x: while_loop(
        lambda i, y: y.sum() < 50, lambda i, y: (i + 1, y.abs() + 1), (torch.tensor(0), x)
    ),
    mapped=lambda x: map_rows(lambda row, other: row.exp() + other, x, torch.ones(4)),
    mapped_tree=lambda x: map_rows(lambda pair: {"sum": pair[0] + pair[1], "first": pair[0] * 2}, (x, x + 1)),
    scanned=lambda x: scan(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x),
    scanned_back=lambda x: scan(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x, reverse=True),
    scanned_columns=lambda x: scan(lambda carry, row: (carry * 0.5 + row, carry - row), torch.zeros(3), x[:3], dim=1),
    associative=lambda x: associative_scan(lambda a, b: a * b, x, dim=0, combine_mode="generic"),
    vectorised=lambda x: torch.vmap(lambda row: row * row.sum())(x),
    vectorised_columns=lambda x: torch.vmap(torch.dot, in_dims=(1, None), out_dims=0)(x[:3], torch.arange(3.0)),
    vectorised_twice=lambda x: torch.vmap(torch.vmap(lambda a: a.sin() + 1))(x),
    gradient=lambda x: torch.func.grad(lambda y: (y**3).sum())(x),
)

functions(
    "sizes",
    same(2, 4),
    arithmetic=lambda x, y: (x.sum() * x.shape[0] // 2, x * (x.shape[0] * 2 - 1), x + x.shape[0] % 3, x / x.shape[0]),
    made=lambda x, y: (x.new_zeros(x.shape[0] * 2), torch.ones(x.shape[0], 2), torch.full((x.shape[0],), 3.0)),
    joined=lambda x, y: torch.cat([x, y, x[:1]]).reshape(-1, 2),
    flattened=lambda x, y: x.reshape(x.shape[0] * 2, 2).view(-1),
    halves=lambda x, y: x[: x.shape[0] // 2],
    roots=lambda x, y: x / math.sqrt(x.shape[0]) + math.sqrt(x.numel()),
    extremes=lambda x, y: (x[: min(x.shape[0], 4)], torch.zeros(torch.sym_max(x.shape[0], 4))),
    powers=lambda x, y: x * 2 ** x.shape[0] + x.shape[0] ** 2,
    returned=lambda x, y: (x * 2, x.shape[0], x.shape[0] * 2 + 1),
    rounded=lambda x, y: (torch.zeros(math.ceil(x.shape[0] / 2)), x[: int(x.shape[0] * 0.5)]),
    tested=lambda x, y: x * (1 if x.shape[0] > 1 else 2) + float(x.shape[0]),
    positions=lambda x, y: torch.arange(x.shape[0])[:, None] <= torch.arange(y.shape[0])[None],
    padded=lambda x, y: nn.functional.pad(x, (0, 0, 0, x.shape[0] % 4)),
)


class Mutating(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("average", torch.zeros(4), persistent=False)
        self.register_buffer("history", torch.zeros(3, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        self.average.mul_(0.9).add_(x.mean(0), alpha=0.1)
        self.history[1] = x[0]
        return x - self.average + self.count + self.history.sum(0)


class WritesInput(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(y)
        x[:, 0] = 1
        y.relu_()
        return x * 2


class Replacing(nn.Module):
    """Assigns a buffer anew."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state = self.state * 0.5 + x.detach().mean(0)
        return x * self.state


class Constants(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + torch.tensor([0.5, 1.5, 2.5, 3.5])


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(4, 4)
        self.head = nn.Linear(4, 4, bias=False)
        self.head.weight = self.tokens.weight
        self.again = self.head

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.again(self.head(x)) + self.tokens.weight[0]


modules("mutation", ROWS, buffers=Mutating, replaced=Replacing, constants=Constants, tied=Tied)
modules("mutation", same(2, 4), inputs=WritesInput)
functions(
    "mutation",
    ROWS,
    sliced=lambda x: x.clone().mul_(2)[:, 1:].fill_(1),
    assigned=lambda x: torch.zeros(x.shape[0], 4).index_put_((torch.arange(2),), x[:2]).t().add_(1),
    view_written=lambda x: (lambda y: (y.view(-1)[::2].zero_(), y)[1])(x.clone()),
    chained=lambda x: x.clone().clamp_(0).sqrt_().add_(x, alpha=2),
)


class Point(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


class Nested(nn.Module):
    def forward(
        self,
        batch: dict[str, Any],
        pair: tuple[torch.Tensor, list[torch.Tensor]],
        scale: float = 1.0,
        flag: bool = True,
        missing: torch.Tensor | None = None,
        mode: str = "sum",
    ) -> dict[str, Any]:
        total = batch["a"] + batch["nested"]["b"] + pair[0] + sum(pair[1])
        total = total * scale if flag else total
        if mode == "sum":
            total = total.sum(-1)
        return {
            "total": total,
            "none": missing,
            "number": 3,
            "point": Point(total, total + 1),
            "list": [total, (total,)],
            "text": mode,
        }


class Keywords(nn.Module):
    def forward(self, *values: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        return sum(values) * named["scale"] + named.get("shift", torch.zeros(4))


def nested_inputs(batch: int) -> tuple[Any, ...]:
    t = [torch.randn(batch, 4) for _ in range(5)]
    return ({"a": t[0], "nested": {"b": t[1]}}, (t[2], [t[3], t[4]]), {"scale": 0.5, "mode": "sum", "missing": None})


CASES.append(Case("values", "nested", Nested, nested_inputs, keywords=True))
CASES.append(
    Case(
        "values",
        "keywords",
        Keywords,
        lambda batch: (torch.randn(batch, 4), torch.randn(batch, 4), {"scale": torch.randn(batch, 4)}),
        keywords=True,
    )
)
functions(
    "values",
    ROWS,
    nothing=lambda x: (None, x, None),
    same_twice=lambda x: (x + 1,) * 2,
    named_results=lambda x: {"sort": x.sort(-1), "max": x.max(0)},
    input_returned=lambda x: (x, x[0], x + 0),
    numbers=lambda x: [x.sum(), 1, 2.5, True, "text"],
    empty=lambda x: (x[:, :0], torch.zeros(0), x.new_zeros(0, 3)),
    scalar=lambda x: x.sum() * torch.tensor(2.0),
    special=lambda x: (x / 0, x * float("nan"), torch.full_like(x, float("-inf")), x.masked_fill(x < 0, -0.0)),
)

functions(
    "quantised",
    ROWS,
    fake=lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127),
    fake_channels=lambda x: torch.fake_quantize_per_channel_affine(
        x, torch.full((4,), 0.1), torch.zeros(4, dtype=torch.int32), 1, 0, 255
    ),
    round_trip=lambda x: (x / 0.05).round().clamp(-128, 127).to(torch.int8).float() * 0.05,
    whole_products=lambda x: torch._int_mm(
        (x.repeat(8, 2)[:24] * 10).to(torch.int8), torch.ones(8, 8, dtype=torch.int8)
    ),
    float8=lambda x: x.to(torch.float8_e4m3fn).float() + x.to(torch.float8_e5m2).float(),
)
modules("quantised", ROWS, dynamic=lambda: torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 4))))
