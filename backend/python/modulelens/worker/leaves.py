# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Two tensors compared by the rule of the protocol: same bits, within the tolerances of assert_close, or not."""

from __future__ import annotations

import math
from typing import Any

import torch

from modulelens.tensor_store import dtype_name

Leaf = dict[str, Any]
_TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.complex32: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex128: (1e-7, 1e-7),
}
_ORDERED = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}


def new_leaf(pointer: str, verdict: str, reason: str = "", check: str = "") -> Leaf:
    """A leaf without numbers."""
    return {
        "pointer": pointer, "dtype": "", "shape": [], "verdict": verdict, "reason": reason, "max_abs_diff": None,
        "max_rel_diff": None, "mismatched": 0, "elements": 0, "worst_index": [], "expected": "", "got": "",
        "relative_tolerance": 0.0, "absolute_tolerance": 0.0, "failed_check": check, "max_ulp": None, "cosine": None,
        "norm_relative_error": None, "first_bad_index": [], "nan_expected": 0, "nan_got": 0, "nan_mismatched": 0,
        "infinite_expected": 0, "infinite_got": 0, "infinite_mismatched": 0,
    }  # fmt: skip


def on_host(tensor: torch.Tensor) -> torch.Tensor:
    """The values in row-major CPU memory."""
    return tensor.detach().to("cpu").resolve_conj().resolve_neg().contiguous()


def has_same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Both as `on_host` gives them, of one dtype and shape."""
    if left.numel() == 0:
        return True
    return torch.equal(left.reshape(-1).view(torch.uint8), right.reshape(-1).view(torch.uint8))


def largest_difference(left: torch.Tensor, right: torch.Tensor) -> float:
    """The largest absolute difference; two NaN differ by nothing, one alone by infinity."""
    if left.numel() == 0 or not _has_arithmetic(left.dtype):
        return 0.0
    a, b = _wide(left), _wide(right)
    equal = a.eq(b) | (a.isnan() & b.isnan())
    difference = (a - b).abs().masked_fill(equal, 0.0)
    return float(difference.nan_to_num(math.inf, math.inf).max())


@torch.no_grad()
def compare_tensors(expected: torch.Tensor, got: Any, pointer: str, same_device: bool = True) -> Leaf:
    """Compares what a run gave with the captured value of a plain strided tensor."""
    leaf = new_leaf(pointer, "exact")
    leaf["dtype"], leaf["shape"], leaf["elements"] = dtype_name(expected.dtype), list(expected.shape), expected.numel()
    leaf["relative_tolerance"], leaf["absolute_tolerance"] = _TOLERANCES.get(expected.dtype, (0.0, 0.0))
    wrong = _structure(expected, got, same_device)
    if wrong:
        leaf.update(verdict="fail", failed_check="structure", mismatched=leaf["elements"], reason=wrong)
        return leaf
    same_strides = expected.numel() == 0 or all(
        size <= 1 or step == other
        for size, step, other in zip(expected.shape, expected.stride(), got.stride(), strict=True)
    )
    wanted, given = on_host(expected), on_host(got)
    can_compute = _has_arithmetic(wanted.dtype)
    if has_same_bits(wanted, given) or (can_compute and _is_inexact(wanted.dtype) and _only_nan_bits(wanted, given)):
        _describe_exact(wanted, leaf)
    elif can_compute:
        _compare_values(wanted, given, leaf)
    else:
        leaf.update(verdict="fail", failed_check="values", mismatched=leaf["elements"], reason="the bits differ")
    if not same_strides and same_device:
        reason = f"expected strides {list(expected.stride())}, got {list(got.stride())}"
        leaf.update(verdict="fail", failed_check="structure", reason=reason)
    return leaf


def _structure(expected: torch.Tensor, got: Any, same_device: bool) -> str:
    if not isinstance(got, torch.Tensor):
        return f"expected a tensor, got {type(got).__name__}"
    if got.layout != torch.strided or got.is_nested:
        return f"expected a dense tensor, got one of layout {got.layout}"
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"expected {_text(expected)}, got {_text(got)}"
    if same_device and got.device.type != expected.device.type:
        return f"expected it on {expected.device.type}, got it on {got.device.type}"
    return ""


def _text(tensor: torch.Tensor) -> str:
    return f"{dtype_name(tensor.dtype)}{list(tensor.shape)}"


def _is_inexact(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _has_arithmetic(dtype: torch.dtype) -> bool:
    return not str(dtype).startswith(("torch.bits", "torch.q")) and dtype != torch.float8_e8m0fnu


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128 if tensor.dtype.is_complex else torch.float64)


def _only_nan_bits(expected: torch.Tensor, got: torch.Tensor) -> bool:
    nan = expected.isnan()
    if not torch.equal(nan, got.isnan()):
        return False
    return has_same_bits(expected.masked_fill(nan, 0), got.masked_fill(nan, 0))


def _describe_exact(expected: torch.Tensor, leaf: Leaf) -> None:
    leaf["max_abs_diff"] = leaf["max_rel_diff"] = 0.0
    if expected.dtype not in _TOLERANCES or expected.dtype == torch.complex32 or expected.numel() == 0:
        return
    leaf["max_ulp"] = 0
    if bool((expected.isfinite() & expected.ne(0)).any()):
        leaf["cosine"], leaf["norm_relative_error"] = 1.0, 0.0
    leaf["nan_expected"] = leaf["nan_got"] = int(expected.isnan().sum())
    leaf["infinite_expected"] = leaf["infinite_got"] = int(expected.isinf().sum())


def _compare_values(expected: torch.Tensor, got: torch.Tensor, leaf: Leaf) -> None:
    inexact = _is_inexact(expected.dtype)
    a, b = _wide(expected), _wide(got)
    equal = a.eq(b) | (a.isnan() & b.isnan()) if inexact else expected.eq(got)
    difference = (a - b).abs().masked_fill(equal, 0.0)
    allowed = a.abs() * leaf["relative_tolerance"] + leaf["absolute_tolerance"]
    # Written so that a NaN or an infinity on one side alone is a mismatch.
    good = equal | (difference.le(allowed) & a.abs().isfinite()) if inexact else equal
    mismatch = ~good
    leaf["mismatched"] = int(mismatch.sum())
    ordered = difference.nan_to_num(math.inf, math.inf)
    largest = float(ordered.max())
    leaf["max_abs_diff"] = largest if math.isfinite(largest) else None
    relative = float((difference / a.abs()).masked_fill(a.abs().eq(0), 0.0).nan_to_num(math.inf, math.inf).max())
    leaf["max_rel_diff"] = relative if math.isfinite(relative) else None
    excess = ordered.masked_fill(good, -1.0) if leaf["mismatched"] else ordered
    worst = int(excess.flatten().argmax())
    leaf["worst_index"] = _index(worst, expected.shape)
    leaf["expected"], leaf["got"] = _element(expected, worst), _element(got, worst)
    leaf["verdict"] = "fail" if leaf["mismatched"] else "close"
    leaf["max_ulp"] = _largest_ulp(expected, got)
    _as_vectors(a, b, leaf)
    if inexact:
        _count_non_finite(a, b, leaf)
    if leaf["mismatched"]:
        leaf["first_bad_index"] = _index(int(mismatch.flatten().to(torch.uint8).argmax()), expected.shape)
        leaf["failed_check"] = "non_finite" if leaf["nan_mismatched"] or leaf["infinite_mismatched"] else "values"
        leaf["reason"] = f"{leaf['mismatched']} of {leaf['elements']} elements differ"
        for key, what in (
            ("nan_mismatched", "NaN on one side alone"),
            ("infinite_mismatched", "not the same infinity"),
        ):
            if leaf[key]:
                leaf["reason"] += f", {leaf[key]} of them {what}"


def _index(flat: int, shape: torch.Size) -> list[int]:
    index: list[int] = []
    for size in reversed(shape):
        index.insert(0, flat % size)
        flat //= size
    return index


def _element(tensor: torch.Tensor, flat: int) -> str:
    value = tensor.flatten()[flat]
    if tensor.dtype == torch.bool:
        return "true" if bool(value) else "false"
    if tensor.dtype == torch.float32:
        import numpy as np

        return str(np.float32(value.item()))
    return repr(value.item() if not _is_inexact(tensor.dtype) else _wide(value).item()).strip("()")


def _largest_ulp(expected: torch.Tensor, got: torch.Tensor) -> int | None:
    if expected.dtype in (torch.complex64, torch.complex128):
        expected, got = torch.view_as_real(expected), torch.view_as_real(got)
    if expected.dtype not in _ORDERED or expected.numel() == 0:
        return None
    whole = _ORDERED[expected.dtype]
    lowest = torch.iinfo(whole).min

    def ordered(numbers: torch.Tensor) -> torch.Tensor:
        bits = numbers.view(whole).to(torch.int64)
        return torch.where(bits < 0, lowest - bits, bits)

    finite = expected.isfinite() & got.isfinite()
    a, b = ordered(expected), ordered(got)
    apart = a.abs() + b.abs()
    across = apart.masked_fill(apart < 0, torch.iinfo(torch.int64).max)
    distance = torch.where((a < 0) == (b < 0), (a - b).abs(), across)
    return int(distance.masked_fill(~finite, 0).max())


def _as_vectors(a: torch.Tensor, b: torch.Tensor, leaf: Leaf) -> None:
    finite = a.isfinite() & b.isfinite()

    def flat(tensor: torch.Tensor) -> torch.Tensor:
        masked = torch.where(finite, tensor, torch.zeros((), dtype=tensor.dtype))
        return (torch.view_as_real(masked) if masked.is_complex() else masked).flatten()

    left, right = flat(a), flat(b)
    largest = max(float(left.abs().max()), float(right.abs().max()))
    if not largest > 0:
        return
    left, right = left / largest, right / largest
    norm, other = float(left.norm()), float(right.norm())
    if norm > 0:
        leaf["norm_relative_error"] = float((left - right).norm()) / norm
        if other > 0:
            leaf["cosine"] = min(1.0, float(torch.dot(left, right)) / norm / other)


def _count_non_finite(a: torch.Tensor, b: torch.Tensor, leaf: Leaf) -> None:
    leaf["nan_expected"], leaf["nan_got"] = int(a.isnan().sum()), int(b.isnan().sum())
    leaf["nan_mismatched"] = int((a.isnan() ^ b.isnan()).sum())
    leaf["infinite_expected"], leaf["infinite_got"] = int(a.isinf().sum()), int(b.isinf().sum())
    leaf["infinite_mismatched"] = int(((a.isinf() | b.isinf()) & a.ne(b)).sum())
