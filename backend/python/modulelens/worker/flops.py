# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""FLOPs of what a run really calls: matrix products, 2 per multiply-add, by the same rules as the program engine's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from modulelens.worker.loaded import BoundCall
from modulelens.worker.scopes import ScopeRecorder

Formula = Callable[[tuple[Any, ...], dict[str, Any], Any], Any]

# Operators of these kinds may compute products; without a formula of ours their FLOPs are unknown.
_SUSPICIOUS = (
    "conv",
    "mm",
    "matmul",
    "linalg",
    "lstm",
    "gru",
    "rnn",
    "attention",
    "cdist",
    "fft",
    "einsum",
    "grouped",
    "_transformer",
    "multi_head",
    "sparse",
    "linear",
    "bilinear",
    "dist_forward",
    "ctc",
    "solve",
    "cholesky",
)
_FREE = (
    "upsample_linear",
    "upsample_bilinear",
    "upsample_trilinear",
    "_to_sparse",
    "to_sparse",
    "_sparse_coo",
    "is_sparse",
    "sparse_dim",
    "comm",
)


def _mm(args: tuple[Any, ...], _: Any, __: Any) -> Any:
    return 2 * args[0].shape[0] * args[0].shape[1] * args[1].shape[1]


def _bmm(args: tuple[Any, ...], _: Any, __: Any) -> Any:
    return 2 * args[0].shape[0] * args[0].shape[1] * args[0].shape[2] * args[1].shape[2]


def _shifted(formula: Formula) -> Formula:
    return lambda args, kwargs, out: formula(args[1:], kwargs, out)


def _mv(args: tuple[Any, ...], _: Any, __: Any) -> Any:
    return 2 * args[0].numel()


def _linear(args: tuple[Any, ...], _: Any, __: Any) -> Any:
    return 2 * args[0].numel() * args[1].shape[0]


def _matmul(args: tuple[Any, ...], _: Any, out: Any) -> Any:
    return 2 * int(out.numel()) * args[0].shape[-1]


def _convolution(args: tuple[Any, ...], _: Any, out: Any) -> Any:
    x, weight, transposed = args[0], args[1], bool(args[6]) if len(args) > 6 else False
    spatial = x.shape[2:] if transposed else out.shape[2:]
    return 2 * x.shape[0] * math.prod(spatial) * weight.numel()


def _convolution_backward(args: tuple[Any, ...], _: Any, __: Any) -> Any:
    gradient, x, weight, transposed, wanted = args[0], args[1], args[2], bool(args[7]), args[10]
    spatial = x.shape[2:] if transposed else gradient.shape[2:]
    return 2 * x.shape[0] * math.prod(spatial) * weight.numel() * (int(wanted[0]) + int(wanted[1]))


def _attention(args: tuple[Any, ...], _: Any, __: Any) -> Any:
    query, key, value = args[0], args[1], args[2]
    heads = math.prod(query.shape[:-2])
    return 2 * heads * query.shape[-2] * key.shape[-2] * (query.shape[-1] + value.shape[-1])


def _attention_backward(args: tuple[Any, ...], _: Any, __: Any) -> Any:
    query, key, value = args[1], args[2], args[3]
    heads = math.prod(query.shape[:-2])
    return 2 * heads * query.shape[-2] * key.shape[-2] * (3 * query.shape[-1] + 2 * value.shape[-1])


def _one_layer(factor: int) -> Formula:
    def formula(args: tuple[Any, ...], _: Any, __: Any) -> Any:
        rows = math.prod(args[0].shape[:-1])
        return factor * rows * (args[1].numel() + args[2].numel())

    return formula


def _flat_weights(factor: int) -> Formula:
    def formula(args: tuple[Any, ...], _: Any, __: Any) -> Any:
        rows = math.prod(args[0].shape[:-1])
        return factor * rows * sum(weight.numel() for weight in args[1] if weight.dim() == 2)

    return formula


def _native_attention(args: tuple[Any, ...], _: Any, __: Any) -> Any:
    batch, length, width = args[0].shape
    keys = args[1].shape[1]
    return 2 * batch * (length * (args[5].numel() + args[7].numel()) + 2 * length * keys * width)


def _encoder_layer(args: tuple[Any, ...], _: Any, __: Any) -> Any:
    batch, length, width = args[0].shape
    weights = sum(args[index].numel() for index in (3, 5, 14, 16))
    return 2 * batch * (length * weights + 2 * length * length * width)


_FORMULAS: dict[str, Formula] = {
    "aten::_native_multi_head_attention": _native_attention,
    "aten::_transformer_encoder_layer_fwd": _encoder_layer,
    "aten::mm": _mm,
    "aten::_int_mm": _mm,
    "aten::_scaled_mm": _mm,
    "aten::addmm": _shifted(_mm),
    "aten::_addmm_activation": _shifted(_mm),
    "aten::bmm": _bmm,
    "aten::baddbmm": _shifted(_bmm),
    "aten::addbmm": _shifted(_bmm),
    "aten::mv": _mv,
    "aten::addmv": _shifted(_mv),
    "aten::dot": _mv,
    "aten::vdot": _mv,
    "aten::linear": _linear,
    "aten::matmul": _matmul,
    "aten::mkldnn_linear": _linear,
    "aten::convolution": _convolution,
    "aten::_convolution": _convolution,
    "aten::mkldnn_convolution": _convolution,
    "aten::convolution_backward": _convolution_backward,
    "aten::scaled_dot_product_attention": _attention,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten::_scaled_dot_product_flash_attention": _attention,
    "aten::_scaled_dot_product_efficient_attention": _attention,
    "aten::_scaled_dot_product_cudnn_attention": _attention,
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
    "aten::_scaled_dot_product_flash_attention_backward": _attention_backward,
    "aten::_scaled_dot_product_efficient_attention_backward": _attention_backward,
    "aten::mkldnn_rnn_layer": _one_layer(2),
    "aten::mkldnn_rnn_layer_backward": _one_layer(4),
    "aten::_cudnn_rnn": _flat_weights(2),
    "aten::_cudnn_rnn_backward": _flat_weights(4),
}


@dataclass
class TracedOperator:
    """One operator that the dispatcher was asked for; `flops` None: unknown."""

    name: str
    scope: int
    flops: int | None


@dataclass
class Counted:
    """What a run called."""

    total: int = 0
    operators: int = 0
    unknown: list[str] = field(default_factory=list)
    bytes_least: int = 0
    trace: list[TracedOperator] = field(default_factory=list)


class OperatorTrace(TorchDispatchMode):
    """Notes every operator below autograd with its FLOPs and the module it was called in."""

    def __init__(self, scopes: ScopeRecorder | None, whole: set[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counted = Counted()
        self._scopes = scopes
        self._whole = whole
        self._seen: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func._schema.name
        flops = operator_flops(name, args, kwargs or {}, out)
        counted = self.counted
        counted.operators += 1
        counted.trace.append(TracedOperator(name, self._scopes.current if self._scopes else 0, flops))
        if flops is None:
            if name not in counted.unknown:
                counted.unknown.append(name)
        elif flops > 0:
            counted.total += flops
            self._count_bytes(args)
        return out

    def _count_bytes(self, args: Any) -> None:
        for tensor in pytree.tree_leaves(args):
            if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided:
                continue
            storage = tensor.untyped_storage()
            if storage._cdata in self._whole and storage._cdata not in self._seen:
                self._seen.add(storage._cdata)
                self.counted.bytes_least += min(storage.nbytes(), tensor.numel() * tensor.element_size())


def operator_flops(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> int | None:
    """Returns the FLOPs of one call, 0 for operators that compute no product, None when that is not known."""
    formula = _FORMULAS.get(name)
    if formula is not None:
        try:
            return int(formula(args, kwargs, out))
        except (AttributeError, IndexError, TypeError):
            return None
    namespace, _, plain = name.partition("::")
    if namespace not in ("aten", "prim", "prims", "profiler"):
        return None
    if any(text in plain for text in _SUSPICIOUS) and not any(text in plain for text in _FREE):
        return None
    return 0


def count_flops(bound: BoundCall, scopes: ScopeRecorder | None = None) -> Counted:
    """Runs the call once and counts. Inputs and state are put in place before."""
    bound.prepare()
    args, kwargs = bound.inputs()
    tensors = [*bound.loaded.tensors.values(), *pytree.tree_leaves((args, kwargs))]
    whole = {
        tensor.untyped_storage()._cdata
        for tensor in tensors
        if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided and tensor.device.type != "meta"
    }
    trace = OperatorTrace(scopes, whole)
    with bound.conditions():
        if scopes is None:
            with trace:
                bound.function()(*args, **kwargs)
        else:
            with scopes.recording(), trace:
                bound.function()(*args, **kwargs)
    bound.note_writes()
    return trace.counted
