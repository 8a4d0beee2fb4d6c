# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Higher-order operators beyond control flow, and custom operators of a library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from cases import CASES, Case, functions, modules, rows, same
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan_op
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.invoke_subgraph import mark_compile_region
from torch._higher_order_ops.out_dtype import out_dtype
from torch._higher_order_ops.print import print as print_values
from torch._higher_order_ops.strict_mode import strict_mode
from torch._higher_order_ops.while_loop import while_loop, while_loop_stack_output_op
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from worker_process import worker_path

ROWS = rows(4)
LIBRARY = "libtest-operators.so"
aten = torch.ops.aten


def zero() -> torch.Tensor:
    return torch.zeros((), dtype=torch.long)


def doubled(count: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return lambda i, y: i < count, lambda i, y: (i + 1, y * 2)


@mark_compile_region
def region(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


def scanned(x: torch.Tensor, combine: Callable[..., Any], *others: torch.Tensor) -> Any:
    return associative_scan_op(combine, [x, *others], ())


functions(
    "higher_order",
    ROWS,
    looped_never=lambda x: while_loop(*doubled(0), (zero(), x)),
    looped_with_copies=lambda x: (lambda pair: (pair[1].add_(1), x))(while_loop(*doubled(0), (zero(), x))),
    looped_stacked=lambda x: while_loop_stack_output_op(*doubled(3), (zero(), x), ()),
    looped_stacked_never=lambda x: while_loop_stack_output_op(*doubled(0), (zero(), x), ()),
    scanned_one=lambda x: scanned(x, lambda a, b: (a * b,)),
    scanned_long=lambda x: scanned(x.repeat(3, 1), lambda a, b: (a * 0.9 + b,)),
    scanned_two=lambda x: scanned(x, lambda a, b, c, d: (a * c, c * b + d), x + 1),
    scanned_short=lambda x: (scanned(x[:1], lambda a, b: (a + b,)), scanned(x[:2], lambda a, b: (a + b,))),
    hinted=lambda x: hints_wrapper(lambda y: y + 1, (x,), {}, hints={"speed": 1}),
    strict=lambda x: strict_mode(lambda y: (y.exp(), y - 1), (x,)),
    regions=lambda x: region(x) + region(x * 2),
    printed=lambda x: (print_values("{}", x), x + 1)[1],
)
functions(
    "higher_order",
    lambda batch: (torch.randint(-99, 99, (4, 4), dtype=torch.int8), torch.randn(batch, 4).half()),
    out_dtype_product=lambda x, y: (out_dtype(aten.mm.default, torch.int32, x, x), y),
    out_dtype_scalar=lambda x, y: (out_dtype(aten.mul.Scalar, torch.int32, x, 2.5), y),
    out_dtype_half=lambda x, y: (out_dtype(aten.mul.Tensor, torch.float32, y, y), x),
    out_dtype_narrow=lambda x, y: (out_dtype(aten.div.Scalar, torch.float16, y, 3), x),
    out_dtype_linear=lambda x, y: out_dtype(aten.linear.default, torch.int32, x, x),
)


class LoopsOverBuffer(nn.Module):
    """A loop whose body writes to a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> Any:
        def body(i: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            self.total.add_(1)
            return i + 1, y + self.total

        return while_loop(lambda i, y: i < 3, body, (zero(), x))


modules("higher_order", ROWS, looped_with_buffer=LoopsOverBuffer)


def causal(batch: Any, head: Any, query: Any, key: Any) -> Any:
    return query >= key


def windowed(batch: Any, head: Any, query: Any, key: Any) -> Any:
    return (query - key).abs() < 2


class Flexible(nn.Module):
    """Attention with a learned bias of the scores."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(4, 6, 6))
        self.options = options

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> Any:
        def score(value: Any, batch: Any, head: Any, i: Any, j: Any) -> Any:
            return value + self.bias[head, i, j]

        return flex_attention(query, key, value, score_mod=score, **self.options)


class Transposed(nn.Module):
    """Heads behind the sequence, as projections give them: the result has those strides."""

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        heads = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query, key, value)]
        return flex_attention(*heads).transpose(1, 2).flatten(2)


modules(
    "flexible_attention",
    same(3, 4, 6, 8),
    biased=Flexible,
    masked=lambda: Flexible(block_mask=create_block_mask(causal, None, None, 6, 6, device="cpu")),
    scaled=lambda: Flexible(scale=0.25, return_lse=True),
    transposed=Transposed,
)
functions(
    "flexible_attention",
    lambda batch: (torch.randn(batch, 4, 6, 8), torch.randn(batch, 2, 5, 8), torch.randn(batch, 2, 5, 8)),
    grouped=lambda q, k, v: flex_attention(q, k, v, enable_gqa=True),
    relative=lambda q, k, v: flex_attention(q, k, v, lambda s, b, h, i, j: s + (i - j), enable_gqa=True),
    empty_rows=lambda q, k, v: flex_attention(
        q, k, v, block_mask=create_block_mask(windowed, None, None, 6, 5, device="cpu"), enable_gqa=True
    ),
    halves=lambda q, k, v: flex_attention(q.half(), k.half(), v.half(), enable_gqa=True),
    doubles=lambda q, k, v: flex_attention(q.double(), k.double(), v.double(), enable_gqa=True),
)


def load_operators() -> Any:
    """The operators of the library that the tests build, with shapes for export."""
    library = Path(worker_path()).parent / LIBRARY
    torch.ops.load_library(str(library))
    torch.library.register_fake("modulelens_test::add_to", lambda x, y: None)
    torch.library.register_fake("modulelens_test::scale_all", lambda x, factor, rest: torch.empty_like(x))
    torch.library.register_fake("modulelens_test::count_into", lambda x, counter=None: torch.empty_like(x))
    torch.library.register_fake("modulelens_test::grow_", lambda x: x)
    torch.library.register_fake("modulelens_test::halve.out", lambda x, *, out: out)
    return torch.ops.modulelens_test


custom = load_operators()


def changed(x: torch.Tensor, part: Callable[[torch.Tensor], torch.Tensor], y: torch.Tensor) -> torch.Tensor:
    copy = x.clone()
    custom.add_to(part(copy), y)
    return copy


def all_scaled(x: torch.Tensor) -> Any:
    first, second = x.clone(), x.t().clone().t()
    result = custom.scale_all(first, 0.5, [second[0], second, first[1:]])
    return result, first, second


def counted(x: torch.Tensor) -> Any:
    counter = torch.zeros(3)
    return custom.count_into(x, counter[1:]), custom.count_into(x), counter


functions(
    "custom_operators",
    ROWS,
    libraries=(LIBRARY,),
    whole=lambda x: changed(x, lambda c: c, x),
    sliced=lambda x: changed(x, lambda c: c[:, 1:3], x[:, :2]),
    strided=lambda x: changed(x, lambda c: c.t(), x.t()),
    aliased=lambda x: changed(x, lambda c: c.view(-1, 4), x),
    listed=all_scaled,
    optional=counted,
    in_place=lambda x: (lambda copy: (custom.grow_(copy) + 1, copy))(x.clone()),
    written=lambda x: custom.halve.out(x, out=torch.empty(x.shape[0], 4)) + 1,
)


class CustomState(nn.Module):
    """A buffer and an input that a custom operator changes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(2, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        custom.add_to(self.state[1], x[0])
        custom.add_to(x, x * 2)
        return x + self.state.sum(0)


CASES.append(Case("custom_operators", "state", CustomState, ROWS, modes=("eval",), libraries=(LIBRARY,)))
