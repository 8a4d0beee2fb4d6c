# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Forward and backward, and a step of an optimizer, on a captured call; everything is put back afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from modulelens.worker.errors import WorkerError
from modulelens.worker.gradient_check import roots_of
from modulelens.worker.loaded import BoundCall
from modulelens.worker.recording import phase, wait

_OPTIMIZERS: dict[str, tuple[Callable[[Any], torch.optim.Optimizer], str]] = {
    "sgd": (lambda parameters: torch.optim.SGD(parameters), "0: plain SGD keeps no state"),
    "adam": (
        lambda parameters: torch.optim.Adam(parameters),
        "2 x the parameters with gradients, and one step count each",
    ),
}


def check_optimizer(name: str) -> str:
    """Returns the name. WorkerError: there is no such optimizer."""
    if name and name not in _OPTIMIZERS:
        raise WorkerError("invalid_argument", f"there is no optimizer '{name}'", "Optimizers are sgd and adam.")
    return name


def optimizer_formula(name: str) -> str:
    """Words for what an optimizer keeps."""
    return _OPTIMIZERS[name][1]


def optimizer_state_bytes(name: str, bound: BoundCall) -> int:
    """What an optimizer would keep for the parameters that require a gradient."""
    parameters = [parameter for parameter in bound.loaded.module.parameters() if parameter.requires_grad]
    if name == "sgd":
        return 0
    count_bytes = 4
    return sum(2 * parameter.numel() * parameter.element_size() + count_bytes for parameter in parameters)


class TrainingStep:
    """Runs training steps on one bound call, each from captured state and without gradients."""

    def __init__(self, bound: BoundCall, optimizer: str) -> None:
        self._bound = bound
        self._optimizer_name = optimizer
        self.loss = ""
        self.forward_ns = self.backward_ns = self.optimizer_ns = 0
        self.gradient_bytes = 0
        self.state_bytes: int | None = None
        self._outputs: Any = None
        self._accumulated: list[str | None] | None = None
        self._hooked: list[Any] = []

    def watch_accumulation(self) -> list[str | None]:
        """Returns a list that the next run fills: the module of each parameter whose gradient is accumulated, in that
        order; None for other leaves.
        """
        self._accumulated = []
        return self._accumulated

    def prepare(self) -> None:
        """Puts inputs and state in place."""
        self._outputs = None
        self._bound.prepare()
        self._bound.loaded.module.zero_grad(set_to_none=True)
        self._inputs = self._bound.inputs()

    def run(self) -> None:
        """One step, after `prepare`. WorkerError "unsupported": nothing can be differentiated."""
        bound, device = self._bound, self._bound.loaded.devices.device
        args, kwargs = self._inputs
        with bound.conditions(grad=True):
            begin = time.perf_counter_ns()
            with phase("forward"):
                self._outputs = bound.function()(*args, **kwargs)
                wait(device)
            self.forward_ns = time.perf_counter_ns() - begin
            with phase("loss"):
                roots, seeds, self.loss = roots_of(bound.call, self._outputs, bound)
            if not roots:
                bound.note_writes()
                raise WorkerError("unsupported", "no output of this call depends on anything that requires a gradient")
            if self._accumulated is not None:
                self._note_accumulation(roots, self._accumulated)
            begin = time.perf_counter_ns()
            with phase("backward"):
                torch.autograd.backward(roots, seeds)
                wait(device)
            self.backward_ns = time.perf_counter_ns() - begin
            if self._optimizer_name:
                self._step()
        bound.note_writes()

    def finish(self) -> None:
        """Gradients are gone afterwards."""
        self._outputs = None
        self._accumulated = None
        self._hooked.clear()
        self._bound.loaded.module.zero_grad(set_to_none=True)

    def _note_accumulation(self, roots: list[torch.Tensor], order: list[str | None]) -> None:
        owners: dict[int, str] = {}
        for name, parameter in self._bound.loaded.module.named_parameters():
            owners[id(parameter)] = name.rpartition(".")[0]
        for node in _leaves_of(roots):
            owner = owners.get(id(node.variable))
            node.register_prehook(lambda _, owner=owner: order.append(owner))
            self._hooked.append(node)

    def _step(self) -> None:
        parameters = [parameter for parameter in self._bound.loaded.module.parameters() if parameter.requires_grad]
        self.gradient_bytes = _gradient_bytes(parameters)
        if not parameters:
            return
        optimizer = _OPTIMIZERS[self._optimizer_name][0](parameters)
        begin = time.perf_counter_ns()
        with phase("optimizer"):
            optimizer.step()
            wait(self._bound.loaded.devices.device)
        self.optimizer_ns = time.perf_counter_ns() - begin
        values = [value for entry in optimizer.state.values() for value in entry.values()]
        held = [value for value in values if isinstance(value, torch.Tensor)]
        self.state_bytes = sum(value.numel() * value.element_size() for value in held)

    def parameter_gradients(self) -> dict[str, int]:
        """Bytes of the gradients by the module that owns the parameter, each storage once."""
        owners: dict[str, int] = {}
        for name, parameter in self._bound.loaded.module.named_parameters():
            if parameter.grad is not None:
                module = name.rpartition(".")[0]
                owners[module] = owners.get(module, 0) + _gradient_bytes([parameter])
        return owners


def _leaves_of(roots: list[torch.Tensor]) -> list[Any]:
    """The nodes that accumulate gradients into leaves."""
    open_nodes: list[Any] = [torch.autograd.graph.get_gradient_edge(root).node for root in roots if root.requires_grad]
    seen: set[Any] = set()
    found = []
    while open_nodes:
        node = open_nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node)
        open_nodes.extend(following for following, _ in node.next_functions)
    return found


def _gradient_bytes(parameters: list[Any]) -> int:
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    return sum(gradient.numel() * gradient.element_size() for gradient in gradients)
