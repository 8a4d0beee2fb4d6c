# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`validate`: a call against the capture, repeated, and against the same computation in float64."""

from __future__ import annotations

import copy
import time
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from modulelens.decoding import DecodeError
from modulelens.json_types import JsonObject
from modulelens.values import tensors_in
from modulelens.worker.comparison import Comparison, summarize, tensors_of
from modulelens.worker.dispatcher import Job
from modulelens.worker.errors import Stopped, WorkerError
from modulelens.worker.leaves import Leaf, has_same_bits, largest_difference, on_host
from modulelens.worker.loaded import BoundCall, expected_tensor

_REPEATS = 5
_REPEAT_SECONDS = 10.0
_POISON_BYTES = 64 << 20
_SEVERITY = {"fail": 3, "not_comparable": 2, "close": 1, "exact": 0}
_NARROW = (torch.float16, torch.bfloat16, torch.float32)
_FACTOR = 2.0


def validate(
    bound: BoundCall, repeats: int | None, wants_oracle: bool, same_calls: list[JsonObject], job: Job
) -> JsonObject:
    """Runs and compares; the result of the method without `threads`."""
    return _Validation(bound, repeats, wants_oracle, same_calls, job).result()


class _Validation:
    def __init__(
        self, bound: BoundCall, repeats: int | None, wants_oracle: bool, same_calls: list[JsonObject], job: Job
    ) -> None:
        self._bound = bound
        self._wanted = repeats
        self._wants_oracle = wants_oracle
        self._same_calls = same_calls
        self._job = job
        self._warnings: list[str] = []
        self._spread: dict[str, float] = {}
        self._reference_spread: dict[str, float] = {}
        self._runs = 1
        self._differs = False

    def result(self) -> JsonObject:
        job, bound = self._job, self._bound
        job.progress("run")
        begin = time.monotonic()
        outcome = bound.run()
        self._stochastic = outcome.drew_random_numbers
        job.progress("compare")
        comparison = Comparison(bound, outcome)
        self._leaves = comparison.leaves
        self._first = {pointer: on_host(tensor).clone() for pointer, tensor in comparison.tensors.items()}
        self._repeat(begin, outcome.output)
        reference_runs = 1 + sum(self._compare_captured(call) for call in self._same_calls)
        for leaf in self._leaves:
            self._judge(leaf)
        summary = summarize(self._leaves)
        oracle = self._oracle(bool(summary["exact"]))
        compared = {leaf["pointer"] for leaf in self._leaves} & set(self._first)
        repeats = {
            "runs": self._runs,
            "nondeterministic": self._differs,
            "stochastic": self._stochastic,
            "spread": max((self._spread.get(p, 0.0) for p in compared), default=None) if self._runs > 1 else None,
            "reference_runs": reference_runs,
            "reference_spread": max(self._reference_spread.values(), default=None),
        }
        return {**summary, "leaves": self._leaves, "warnings": self._warnings, "repeats": repeats, "oracle": oracle}

    def _repeat(self, begin: float, last: Any) -> None:
        wanted = self._wanted or _REPEATS
        while self._runs < wanted:
            if self._wanted is None and self._runs >= 2 and time.monotonic() - begin > _REPEAT_SECONDS:
                self._warnings.append(f"the run was repeated only {self._runs} times, since it takes long")
                break
            self._job.progress("repeat", self._runs, wanted)
            _poison(last)
            # The output before stays alive during the run, so that it cannot find its values in its memory.
            outcome = self._bound.run()
            self._compare_runs(outcome)
            last = outcome.output
            self._runs += 1

    def _compare_runs(self, outcome: Any) -> None:
        again = Comparison(self._bound, outcome)
        differs = False
        for pointer, tensor in again.tensors.items():
            first, now = self._first.get(pointer), on_host(tensor)
            if first is None:
                continue
            if now.shape != first.shape or now.dtype != first.dtype:
                self._spread[pointer] = float("inf")
                differs = True
            elif not has_same_bits(now, first):
                spread = largest_difference(now, first)
                self._spread[pointer] = max(self._spread.get(pointer, 0.0), spread)
                differs = differs or spread > 0
        if not differs:
            return
        self._differs = True
        for index, (worst, leaf) in enumerate(zip(self._leaves, again.leaves, strict=False)):
            if leaf["pointer"] == worst["pointer"] and _rank(leaf) > _rank(worst):
                self._leaves[index] = leaf

    def _compare_captured(self, call: JsonObject) -> bool:
        """The reference against itself: a captured call that had the same inputs."""
        if call.get("exception") is not None:
            return False
        decoder = self._bound.loaded.decoder(self._bound.data)
        others = dict(tensors_in(call.get("output"), "/output"))
        for pointer, reference in tensors_in(self._bound.call["output"], "/output"):
            try:
                mine, other = expected_tensor(decoder, reference), expected_tensor(decoder, others[pointer])
            except (KeyError, DecodeError, WorkerError):
                continue
            if mine.shape == other.shape and mine.dtype == other.dtype:
                spread = largest_difference(on_host(mine), on_host(other))
                self._reference_spread[pointer] = max(self._reference_spread.get(pointer, 0.0), spread)
        return True

    def _judge(self, leaf: Leaf) -> None:
        pointer = leaf["pointer"]
        if self._runs > 1 and pointer in self._first:
            leaf["spread"] = self._spread.get(pointer, 0.0)
        if pointer in self._reference_spread:
            leaf["reference_spread"] = self._reference_spread[pointer]
        if leaf["verdict"] != "fail" or leaf["failed_check"] not in ("values", "non_finite"):
            return
        if self._stochastic:
            reason = "the run draws random numbers, and the generator's state was not captured"
            leaf.update(verdict="not_comparable", reason=reason)
            return
        spread, difference = leaf.get("spread") or 0.0, leaf["max_abs_diff"]
        if difference is None or not spread > 0:
            return
        reference = leaf.get("reference_spread")
        if reference is not None and difference <= reference:
            reason = (
                f"nondeterministic: it differs by {difference}, and the captured calls among themselves by {reference}"
            )
            leaf.update(verdict="close", failed_check="", reason=reason)
        elif reference is None and difference <= 2 * spread:
            reason = (
                f"nondeterministic: runs differ among themselves by {spread}, "
                "and one captured call does not tell how far it differs itself"
            )
            leaf.update(verdict="not_comparable", reason=reason)

    def _oracle(self, exact: bool) -> JsonObject:
        result: JsonObject = {"verdict": "", "reason": "", "dtype": "float64", "factor": _FACTOR}
        if exact and not self._wants_oracle:
            return {**result, "reason": "the bits are equal, so both have the same error"}
        if self._stochastic or self._bound.call.get("rng"):
            return {**result, "reason": "the run draws random numbers"}
        self._job.progress("oracle")
        try:
            truth = {pointer: on_host(tensor) for pointer, tensor in run_in_float64(self._bound)}
        except Stopped:
            raise
        except Exception as error:
            return {**result, "reason": f"it does not run in float64: {type(error).__name__}: {error}"[:500]}
        decoder = self._bound.loaded.decoder(self._bound.data)
        captured = dict(tensors_in(self._bound.call["output"], "/output"))
        for leaf in self._leaves:
            pointer = leaf["pointer"]
            try:
                wanted = on_host(expected_tensor(decoder, captured[pointer]))
                leaf["oracle"] = _against_oracle(truth[pointer], wanted, self._first[pointer])
            except (KeyError, DecodeError, WorkerError):
                leaf["oracle"] = {"verdict": "", "reason": "it has no counterpart in float64"}
            if leaf["oracle"]["verdict"] and result["verdict"] != "fail":
                result["verdict"] = leaf["oracle"]["verdict"]
        if not result["verdict"]:
            result["reason"] = "no output could be compared in float64"
        return result


def _rank(leaf: Leaf) -> tuple[int, float]:
    return _SEVERITY[leaf["verdict"]], leaf["max_abs_diff"] or 0.0


def _poison(output: Any) -> None:
    """Leaves memory behind that holds no number, where the next run's results are likely to lie."""
    blocks = []
    for _, tensor in tensors_of(output):
        size = tensor.numel() * tensor.element_size()
        if 0 < size <= _POISON_BYTES:
            blocks.append(torch.full((size,), 0xFF, dtype=torch.uint8, device=tensor.device))


class _Float64Mode(TorchFunctionMode):
    """Narrower floating dtypes that the module names become float64."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16):
            return args[0].double()
        args, kwargs = pytree.tree_map(_widened_dtype, (tuple(args), kwargs or {}))
        return func(*args, **kwargs)


def _widened_dtype(value: Any) -> Any:
    return torch.float64 if isinstance(value, torch.dtype) and value in _NARROW else value


def _widened(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.dtype in _NARROW else value


def run_in_float64(bound: BoundCall) -> list[tuple[str, torch.Tensor]]:
    """Runs the call on float64 copies of module and inputs; returns the output's tensors."""
    bound.prepare()
    args, kwargs = bound.inputs()
    module: nn.Module = copy.deepcopy(bound.loaded.module).double()
    default = torch.get_default_dtype()
    call = {**bound.call, "autocast": None}
    with BoundCall(bound.loaded, call, bound.data).conditions():
        torch.set_default_dtype(torch.float64)
        try:
            wide_args, wide_kwargs = pytree.tree_map(_widened, (args, kwargs))
            with _Float64Mode():
                output = module(*wide_args, **wide_kwargs)
        finally:
            torch.set_default_dtype(default)
    return list(tensors_of(output))


def _against_oracle(truth: torch.Tensor, captured: torch.Tensor, ours: torch.Tensor) -> JsonObject:
    if truth.shape != captured.shape or ours.shape != captured.shape or not captured.dtype.is_floating_point:
        return {"verdict": "", "reason": "it is no floating-point tensor of one shape"}
    error_ours, error_captured = largest_difference(truth, ours), largest_difference(truth, captured)
    largest = float(truth.abs().nan_to_num(0.0, 0.0, 0.0).max()) if truth.numel() else 0.0
    bound = _FACTOR * error_captured + torch.finfo(captured.dtype).eps * largest
    verdict = "pass" if error_ours <= bound else "fail"
    return {
        "verdict": verdict,
        "reason": "",
        "error_ours": error_ours,
        "error_captured": error_captured,
        "bound": bound,
    }
