# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Attention with a function of the scores (`flex_attention`) in exported programs.

torch exports it as one operator around two graphs, which it cannot save. Here it becomes the operators that PyTorch
itself runs for it without a compiler, so that the program computes the bits of the traced run.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, make_fx


@contextlib.contextmanager
def attention_as_operators() -> Iterator[None]:
    """While it lasts, exports of this thread write `flex_attention` as operators. A torch without it stays as it is."""
    try:
        from torch._higher_order_ops.flex_attention import flex_attention, sdpa_dense

        kernels: dict[Any, Any] = flex_attention.python_key_table
        kept = kernels[ProxyTorchDispatchMode]
    except (ImportError, AttributeError, KeyError):
        yield
        return
    exporting = threading.get_ident()

    def traced(mode: Any, *arguments: Any, **named: Any) -> Any:
        if threading.get_ident() != exporting:
            return kept(mode, *arguments, **named)
        return _operators_of(sdpa_dense, mode, *arguments, **named)

    _set_kernel(flex_attention, kernels, traced)
    try:
        yield
    finally:
        _set_kernel(flex_attention, kernels, kept)


def _set_kernel(operator: Any, kernels: dict[Any, Any], kernel: Any) -> None:
    kernels[ProxyTorchDispatchMode] = kernel
    operator._dispatch_cache.clear()


def _operators_of(
    dense: Any,
    mode: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Any,
    block_mask: Any,
    scale: Any,
    kernel_options: Any,
    score_buffers: tuple[Any, ...] = (),
    mask_buffers: tuple[Any, ...] = (),
) -> Any:
    """Traces the dense attention apart from `mode`, which does not see through its `vmap`, and calls that in it."""
    count = len(score_buffers)

    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *buffers: Any) -> Any:
        return dense(q, k, v, score_mod, block_mask, scale, kernel_options, buffers[:count], buffers[count:])

    operands = (query, key, value, *score_buffers, *mask_buffers)
    graph = make_fx(attention)(*operands)
    with mode:
        return tuple(graph(*operands))
