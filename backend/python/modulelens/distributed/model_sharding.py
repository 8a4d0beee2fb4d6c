# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""What one traced block knows of its model's sharding: the adapters of all kinds of wrappers behind one seam."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from modulelens.distributed import dtensors, fsdp, torchrec_modules
from modulelens.distributed.shard_values import shard_value
from modulelens.json_types import Json, JsonObject
from modulelens.names import unwrapped
from modulelens.tensor_store import ShapeSink, TensorSink, TensorStore, shape_reference


class CopySink:
    """Notes shapes where another rank keeps the data: this rank's is a copy, or its own batch of a replica."""

    def __init__(self, rank: int) -> None:
        self._reason = f"rank {rank} keeps its own"

    def put(self, tensor: torch.Tensor) -> JsonObject:
        return {**shape_reference(tensor), "gap": self._reason}


class ModelSharding:
    """Implements the `Sharding` seam for one model on one rank. Never communicates."""

    def __init__(self, model: nn.Module) -> None:
        self.kept_parts = 0
        self._names: dict[nn.Module, str] = {}
        self._store: TensorStore | None = None
        self._reference: Callable[[torch.Tensor], JsonObject] | None = None
        self._twins = torchrec_modules.twins_of(model)
        self._units: dict[int, list[fsdp.Unit]] = {}
        self._managed: dict[int, dict[str, fsdp.ManagedParameter]] = {}
        self._ranks: set[int] = set()
        self._waiting: dict[int, tuple[torch.Tensor, str]] = {}
        self._run = 0
        self._awaited: set[tuple[str, int]] = set()
        self._computed: dict[tuple[str, int], JsonObject] = {}
        for unit in fsdp.units_of(model):
            self._add_unit(unit)
        self._ranks |= _wrapper_ranks(model)
        for parameter in model.parameters():
            self._ranks |= dtensors.copies_of(parameter)

    def keep_in(
        self, store: TensorStore, names: dict[nn.Module, str], reference: Callable[[torch.Tensor], JsonObject]
    ) -> None:
        """Says where parts go, what modules are called, and how a parameter that became whole is referred to."""
        self._store = store
        self._names = names
        self._reference = reference

    def keep_rows(self) -> list[RemovableHandle]:
        """From now on only used rows are kept of embedding tables. Returns what to remove after the step."""
        return self._twins.keep_rows()

    def hides(self, module: nn.Module) -> bool:
        """Whether what lies below the module is the sharding's own."""
        return self._twins.hides(module)

    @property
    def first_rank(self) -> int:
        """The lowest rank that holds a copy or a part of what this rank holds: this rank itself when there is none."""
        return min(self._ranks, default=torch.distributed.get_rank())

    def ready(self, value: Any) -> Any:
        return torchrec_modules.arrived(dtensors.arrived(value))

    def output(self, module: nn.Module, value: Any) -> Any:
        """Returns a call's output in the order of the unsharded module."""
        return self._twins.in_order(module, value)

    def plain(self, module: nn.Module) -> nn.Module:
        return self._twins.twin(unwrapped(module))

    def parameters(self, module: nn.Module) -> dict[str, torch.Tensor | None]:
        found: dict[str, torch.Tensor | None] = {
            name: value for name, value in module._parameters.items() if name != fsdp.FLAT_PARAMETER
        }
        for name, managed in self._managed.get(id(module), {}).items():
            tensor = managed.now()
            found[name] = tensor
            if not managed.is_whole():
                self._waiting[id(tensor)] = (tensor, self._slot(managed))
        return found

    def is_attribute(self, module: nn.Module, name: str) -> bool:
        return not fsdp.is_mark(name) and name not in self._managed.get(id(module), {})

    def begin(self, module: nn.Module, run: int) -> None:
        if run != self._run:
            self._twins.begin_run(run)
        self._run = run
        for unit in self._units.get(id(module), ()):
            for managed in unit.parameters:
                key = (self._slot(managed), run)
                if key in self._awaited and key not in self._computed and managed.is_whole():
                    assert self._reference is not None
                    self._computed[key] = self._reference(managed.now())

    def encode(self, tensor: torch.Tensor, sink: TensorSink) -> JsonObject | None:
        keep = self._no_part if isinstance(sink, ShapeSink) else self._part
        waiting = self._waiting.get(id(tensor))
        if waiting is not None:
            details = {"awaits": [waiting[1], self._run]}
            self._awaited.add((waiting[1], self._run))
            if dtensors.is_dtensor(tensor):
                return dtensors.shard_of(tensor, keep, **details)
            return shard_value("fsdp1", tensor.shape, tensor.dtype, [], keep, **details)
        if dtensors.is_dtensor(tensor):
            return dtensors.shard_of(tensor, keep)
        return self._twins.encode(tensor, keep, sink)

    def with_computed(self, value: Json) -> Json:
        """Returns an encoded value in which what was awaited stands as it was computed, where it was."""
        if isinstance(value, list):
            return [self.with_computed(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("$t") == "shard" and "awaits_rows" in value:
            kept = {key: item for key, item in value.items() if key != "awaits_rows"}
            return {**kept, "local": self._twins.rows_of(value, self._part)}
        if value.get("$t") == "shard" and "awaits" in value:
            slot, run = value["awaits"]
            computed = copy.deepcopy(self._computed.get((slot, run)))
            if computed is None:
                return {key: item for key, item in value.items() if key != "awaits"}
            return computed | {key: value[key] for key in ("kind", "persistent", "obj") if key in value}
        return {key: self.with_computed(item) for key, item in value.items()}

    def _part(self, tensor: torch.Tensor) -> JsonObject:
        assert self._store is not None
        self.kept_parts += 1
        return self._store.put(tensor)

    def _no_part(self, tensor: torch.Tensor) -> JsonObject:
        return {**shape_reference(tensor), "gap": "only shapes are noted"}

    def _slot(self, managed: fsdp.ManagedParameter) -> str:
        module, name = managed.owners[0]
        return f"{self._names.get(module, id(module))}.{name}"

    def _add_unit(self, unit: fsdp.Unit) -> None:
        self._ranks |= unit.ranks
        for module in unit.modules:
            self._units.setdefault(id(unwrapped(module)), []).append(unit)
        for managed in unit.parameters:
            for module, name in managed.owners:
                self._managed.setdefault(id(module), {})[name] = managed


def _wrapper_ranks(model: nn.Module) -> set[int]:
    """The ranks of every process group over which the model is replicated by a wrapper."""
    ranks: set[int] = set()
    for module in model.modules():
        if isinstance(module, nn.parallel.DistributedDataParallel):
            ranks.update(torch.distributed.get_process_group_ranks(module.process_group))
        ranks.update(torchrec_modules.ranks_of(module))
    return ranks
