# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`gradients`: forward and backward, each gradient against the captured one."""

from __future__ import annotations

from typing import Any

import torch

from modulelens.decoding import DecodeError
from modulelens.json_types import JsonObject, pointer_token
from modulelens.worker.comparison import summarize, tensors_of
from modulelens.worker.dispatcher import Job
from modulelens.worker.errors import WorkerError
from modulelens.worker.leaves import Leaf, compare_tensors, new_leaf
from modulelens.worker.loaded import BoundCall, expected_tensor, input_references


class Targets:
    """What a gradient is computed for: parameters and inputs that require one, as edges taken before the call runs."""

    def __init__(self, bound: BoundCall, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.edges: list[Any] = []
        self.names: list[tuple[str, str]] = []
        self.aliases: dict[tuple[str, str], int] = {}
        self._numbers: dict[int, int] = {}
        for name, parameter in bound.loaded.module.named_parameters(remove_duplicate=False):
            self._add("parameters", name, parameter)
        for pointer, reference in input_references(bound.call):
            tensor = _value_at((args, kwargs), bound, pointer)
            if reference.get("requires_grad") and isinstance(tensor, torch.Tensor):
                self._add("inputs", pointer, tensor)

    def _add(self, kind: str, name: str, tensor: torch.Tensor) -> None:
        if not tensor.requires_grad:
            return
        if id(tensor) not in self._numbers:
            self._numbers[id(tensor)] = len(self.edges)
            self.edges.append(torch.autograd.graph.get_gradient_edge(tensor))
            self.names.append((kind, name))
        self.aliases[kind, name] = self._numbers[id(tensor)]


def _value_at(inputs: tuple[tuple[Any, ...], dict[str, Any]], bound: BoundCall, pointer: str) -> Any:
    value: Any = {"args": list(inputs[0]), "kwargs": inputs[1]}
    encoded: Any = bound.call
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(encoded, dict) and "$t" in encoded and key == "v":
            encoded = encoded["v"]
            continue
        encoded = encoded[int(key)] if isinstance(encoded, list) else encoded[key]
        try:
            value = value[int(key)] if isinstance(value, list | tuple) else value[key]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return value


def roots_of(
    call: JsonObject, output: Any, bound: BoundCall
) -> tuple[list[torch.Tensor], list[torch.Tensor] | None, str]:
    """Returns what is differentiated, the gradients it begins with (None: of a sum), and words for it."""
    found: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for pointer, tensor in tensors_of(output):
        if tensor.requires_grad and id(tensor) not in seen:
            seen.add(id(tensor))
            found[pointer] = tensor
    captured = (call.get("gradients") or {}).get("outputs") or {}
    seeds = {pointer: reference for pointer, reference in captured.items() if pointer in found}
    if seeds:
        decoder = bound.loaded.decoder(bound.data)
        gradients = [expected_tensor(decoder, reference) for reference in seeds.values()]
        return [found[pointer] for pointer in seeds], gradients, "captured gradients of the outputs"
    if not found:
        return [], None, "sum of the outputs"
    parts = [(torch.real(tensor) if tensor.is_complex() else tensor).sum() for tensor in found.values()]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return [total], None, "sum of the outputs"


def check_gradients(bound: BoundCall, job: Job) -> JsonObject:
    """The result of the method without `threads`."""
    expected = bound.call.get("gradients")
    if not expected:
        reason = (
            "the capture holds no gradients of this call: "
            "nothing in it needs one, or it was traced without backward=True"
        )
        return {"verdict": "not_comparable", "exact": False, "max_abs_diff": None, "leaves": [], "reason": reason}
    job.progress("gradients")
    bound.prepare()
    args, kwargs = bound.inputs()
    targets = Targets(bound, args, kwargs)
    with bound.conditions(grad=True):
        output = bound.function()(*args, **kwargs)
    roots, seeds, _ = roots_of(bound.call, output, bound)
    gradients: list[Any] = [None] * len(targets.edges)
    if roots and targets.edges:
        gradients = list(torch.autograd.grad(roots, targets.edges, seeds, allow_unused=True))
    bound.note_writes()
    leaves = [
        leaf for kind in ("inputs", "parameters") for leaf in _compare(kind, expected[kind], targets, gradients, bound)
    ]
    summary = summarize(leaves)
    if not leaves:
        summary["reason"] = "the captured call has no gradient to compare with"
    return {**summary, "leaves": leaves}


def _compare(kind: str, expected: JsonObject, targets: Targets, gradients: list[Any], bound: BoundCall) -> list[Leaf]:
    decoder = bound.loaded.decoder(bound.data)
    leaves: list[Leaf] = []
    seen: set[int] = set()
    for name, reference in expected.items():
        pointer = f"/gradients/{kind}" + pointer_token(name)
        number = targets.aliases.get((kind, name))
        gradient = None if number is None else gradients[number]
        if number is not None:
            seen.add(number)
        if reference is None:
            wrong = "" if gradient is None else "it has a gradient here and none in eager PyTorch"
            leaves.append(new_leaf(pointer, "fail" if wrong else "exact", wrong))
        elif gradient is None:
            leaves.append(new_leaf(pointer, "fail", "it has no gradient here and one in eager PyTorch"))
        else:
            try:
                wanted = expected_tensor(decoder, reference)
            except (DecodeError, WorkerError) as error:
                leaves.append(new_leaf(pointer, "not_comparable", f"the captured gradient was not kept: {error}"))
                continue
            leaves.append(compare_tensors(wanted, gradient.to_dense() if gradient.is_sparse else gradient, pointer))
    for number, (own, name) in enumerate(targets.names):
        if own == kind and number not in seen and gradients[number] is not None:
            reason = "it has a gradient here and the captured call gave it none"
            leaves.append(new_leaf(f"/gradients/{kind}" + pointer_token(name), "fail", reason))
    return leaves
