# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Gradients of captured calls: the outputs' as backward gave them, the others as eager PyTorch gives them alone."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.utils.checkpoint
from torch import nn
from torch.utils.hooks import RemovableHandle

from modulelens.decoding import DecodeError, ValueDecoder
from modulelens.isolation import call_again, captured_conditions, isolated_copy, seed_from
from modulelens.json_types import Json, JsonObject
from modulelens.problems import Problems
from modulelens.record import CapturedCall, ModuleRecord
from modulelens.tensor_store import TensorStore
from modulelens.values import Scope, ValueEncoder, tensors_in


class OutputGradients:
    """Keeps the gradient that a backward pass inside the traced block gives each output of a kept call."""

    def __init__(self, encoder: ValueEncoder, problems: Problems) -> None:
        self._encoder = encoder
        self._problems = problems
        self._handles: list[RemovableHandle] = []

    def watch(self, captured: CapturedCall, encoded: Json, scope: Scope, lock: Any) -> None:
        """Waits for the gradients of the call's outputs, each tensor once, at its first place.

        `encoded` is the output, `scope` that of its encoding.
        """
        watched: set[int] = set()
        for pointer, reference in tensors_in(encoded, "/output", ("tensor", "shard")):
            if "obj" not in reference:
                continue
            tensor = scope.tensors[reference["obj"]]
            tensor = scope.live.get(id(tensor), tensor)
            if not tensor.requires_grad or reference["obj"] in watched:
                continue
            watched.add(reference["obj"])
            keep = functools.partial(self._keep, captured, pointer, lock)
            self._handles.append(tensor.register_hook(keep))

    def close(self) -> None:
        """Waits no longer."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _keep(self, captured: CapturedCall, pointer: str, lock: Any, gradient: torch.Tensor) -> None:
        with lock:
            try:
                if pointer not in captured.output_gradients:
                    captured.output_gradients[pointer] = self._encoder.reference(gradient.detach())
            except Exception as error:
                self._problems.add("", "gradients", error)


def seed_document(captured: CapturedCall) -> JsonObject | None:
    """What a call says of its gradients while those of its inputs and parameters are not made yet."""
    if not captured.output_gradients:
        return None
    return {"of": "captured", "outputs": captured.output_gradients, "inputs": {}, "parameters": {}}


def take_seeds(captured: CapturedCall) -> None:
    """The other way round: has a call that was read say nothing of gradients but what it was given."""
    captured.output_gradients = (captured.document["gradients"] or {}).get("outputs", {})
    captured.document["gradients"] = None


class GradientReplayer:
    """Runs captured calls again, forward and backward, on isolated copies: the live model keeps its own gradients."""

    def __init__(self, store: TensorStore, problems: Problems) -> None:
        self._store = store
        self._encoder = ValueEncoder(store)
        self._problems = problems

    def replay(self, record: ModuleRecord) -> None:
        """Fills `gradients` of each call that returned. Never raises."""
        for captured in record.calls:
            if captured.document["exception"] is not None:
                continue
            try:
                captured.document["gradients"] = self._replay(record, captured)
            except Exception as error:
                self._problems.add(record.name, "gradients", error)

    def _replay(self, record: ModuleRecord, captured: CapturedCall) -> JsonObject | None:
        call = captured.document
        decoder = self._decoder()
        decoder.prepare(call["args"], call["kwargs"])
        args, kwargs = tuple(decoder.decode(call["args"])), decoder.decode(call["kwargs"])
        attributes = record.attributes_at(captured)
        module = isolated_copy(record.module, self._state(record, captured), captured.training, attributes)
        targets = _Targets(call, decoder, module)
        with captured_conditions(call), torch.enable_grad(), _without_reentrant_checkpoints():
            seed_from(call, decoder)
            output = call_again(module, call, args, kwargs)
        outputs = _outputs_by_pointer(call, output)
        if not targets.edges or not outputs:
            return None
        captured_seeds = {pointer: ref for pointer, ref in captured.output_gradients.items() if pointer in outputs}
        if captured_seeds:
            roots = [outputs[pointer] for pointer in captured_seeds]
            seeds = [self._decoder().tensor(reference) for reference in captured_seeds.values()]
        else:
            roots, seeds = [_sum_of(list(outputs.values()))], []
        gradients = torch.autograd.grad(roots, targets.edges, seeds or None, allow_unused=True)
        named: JsonObject = {"inputs": {}, "parameters": {}}
        for (kind, name), gradient in zip(targets.names, gradients, strict=True):
            named[kind][name] = None if gradient is None else self._encoder.reference(gradient)
        return {"of": "captured" if captured_seeds else "sum", "outputs": captured_seeds, **named}

    def _decoder(self) -> ValueDecoder:
        return ValueDecoder(self._store.bytes_of, lambda _: True)

    def _state(self, record: ModuleRecord, captured: CapturedCall) -> dict[str, torch.Tensor]:
        decoder = self._decoder()
        references = {**record.tensors, **captured.document["state_before"]}
        tagged = {name: {"$t": "tensor", **reference} for name, reference in references.items()}
        decoder.prepare(tagged)
        return {name: decoder.decode(reference) for name, reference in tagged.items()}


class _Targets:
    """The inputs and parameters of one replay that require a gradient, each once.

    They are kept as edges taken before the call runs, since a module may write to what it is given.
    """

    def __init__(self, call: JsonObject, decoder: ValueDecoder, module: nn.Module) -> None:
        self.edges: list[Any] = []
        self.names: list[tuple[str, str]] = []
        seen: set[int] = set()
        for name, parameter in module.named_parameters():
            self._add("parameters", name, parameter, seen)
        for key in ("args", "kwargs"):
            for pointer, reference in tensors_in(call[key], f"/{key}"):
                if reference.get("requires_grad"):
                    self._add("inputs", pointer, decoder.tensor(reference), seen)

    def _add(self, kind: str, name: str, tensor: torch.Tensor, seen: set[int]) -> None:
        if tensor.requires_grad and id(tensor) not in seen:
            seen.add(id(tensor))
            self.edges.append(torch.autograd.graph.get_gradient_edge(tensor))
            self.names.append((kind, name))


@contextlib.contextmanager
def _without_reentrant_checkpoints() -> Iterator[None]:
    """Reentrant checkpointing works with a plain `backward()` only, which would reach the live model's gradients."""
    checkpoints: Any = torch.utils.checkpoint
    original = checkpoints.CheckpointFunction

    class Plain:
        @staticmethod
        def apply(function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
            return function(*args)

    checkpoints.CheckpointFunction = Plain
    try:
        yield
    finally:
        checkpoints.CheckpointFunction = original


def _outputs_by_pointer(call: JsonObject, output: Any) -> dict[str, torch.Tensor]:
    """The outputs that require a gradient, by the place of the captured ones, each object at its first place."""
    scope = Scope()
    encoded = ValueEncoder(_NoSink()).encode(output, scope)
    found: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for pointer, reference in tensors_in(encoded, "/output"):
        tensor = scope.tensors[reference["obj"]]
        if tensor.requires_grad and reference["obj"] not in seen:
            seen.add(reference["obj"])
            found[pointer] = tensor
    if not set(found) <= {pointer for pointer, _ in tensors_in(call["output"], "/output")}:
        raise DecodeError("the replayed call gives other outputs than the captured one")
    return found


class _NoSink:
    def put(self, tensor: torch.Tensor) -> JsonObject:
        return {}


def _sum_of(outputs: list[torch.Tensor]) -> torch.Tensor:
    parts = [(torch.real(output) if output.is_complex() else output).sum() for output in outputs]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
