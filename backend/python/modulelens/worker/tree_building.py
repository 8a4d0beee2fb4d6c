# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The tree of a profile: module calls with their containers, and below each its operators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from modulelens.json_types import JsonObject
from modulelens.state import _covered
from modulelens.worker.loaded import LoadedModule
from modulelens.worker.profile_file import MODULE, OPERATOR, ProfileTree
from modulelens.worker.recording import Row
from modulelens.worker.scopes import ModuleScope, ScopeRecorder


class ModuleTree:
    """Scopes of a profile by the module calls of a recorded run."""

    def __init__(self, scopes: ScopeRecorder, calls: list[ModuleScope], root_name: str) -> None:
        root_class = scopes.classes.get("", "")
        name = root_name or root_class.rpartition(":")[2].rpartition(".")[2]
        self.tree = ProfileTree(name, root_class)
        self._classes = scopes.classes
        self._calls = calls
        self._numbers: list[int] = []
        self._containers: dict[tuple[int, str], int] = {}
        self._modules: dict[str, int] = {"": 0}
        for call in calls:
            self._numbers.append(self._add(call))

    def scope(self, call: int) -> int:
        """The scope of a module call."""
        return self._numbers[call] if 0 <= call < len(self._numbers) else 0

    def add_row(self, row: Row) -> int:
        """Adds an operator."""
        path = self._calls[row.scope].path if row.scope < len(self._calls) else ""
        return self.tree.add(self.scope(row.scope), OPERATOR, row.name, path)

    def owner(self, module: str) -> int:
        """The scope that counts what belongs to a module: its first call, else its container, else what is above."""
        while module not in self._modules:
            module = module.rpartition(".")[0]
        return self._modules[module]

    def _add(self, call: ModuleScope) -> int:
        if call.parent < 0 and call.path == "":
            return 0
        above = self._numbers[call.parent] if call.parent >= 0 else 0
        above_path = self._calls[call.parent].path if call.parent >= 0 else ""
        parent = self._container(above, above_path, call.path.rpartition(".")[0])
        name = call.path.rpartition(".")[2]
        number = self.tree.add(parent, MODULE, name, call.path, call.class_name, call.call)
        self._modules.setdefault(call.path, number)
        return number

    def _container(self, above: int, above_path: str, path: str) -> int:
        if path == above_path or not (path if not above_path else path.startswith(f"{above_path}.")):
            return above
        parent = self._container(above, above_path, path.rpartition(".")[0])
        if path not in self._classes:
            return parent
        key = (above, path)
        if key not in self._containers:
            name = path.rpartition(".")[2]
            self._containers[key] = self.tree.add(parent, MODULE, name, path, self._classes[path])
            self._modules.setdefault(path, self._containers[key])
        return self._containers[key]


@dataclass
class StateBytes:
    """Bytes of parameters and buffers by the module that first reaches each storage."""

    parameters: dict[str, int]
    buffers: dict[str, int]


def state_bytes(loaded: LoadedModule) -> StateBytes:
    """Counts each storage once, by the extent of the views on it, at the first name that reaches it."""
    spans: dict[int, list[tuple[int, int]]] = {}
    result = StateBytes({}, {})
    names = dict.fromkeys([*(name for name, _ in loaded.module.named_parameters()), *loaded.state])
    for kind, owners in (("parameter", result.parameters), ("buffer", result.buffers)):
        for name in names:
            reference = loaded.state.get(name)
            if reference is None or reference.get("kind", "parameter") != kind or "dtype" not in reference:
                continue
            size = _new_bytes(reference, loaded, name, spans)
            module = name.rpartition(".")[0]
            if size:
                owners[module] = owners.get(module, 0) + size
    return result


def _new_bytes(reference: JsonObject, loaded: LoadedModule, name: str, spans: dict[int, list[tuple[int, int]]]) -> int:
    tensor = loaded.tensors.get(name)
    if tensor is None or tensor.numel() == 0:
        return 0
    item = tensor.element_size()
    extent = (1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))) * item
    storage = reference.get("storage")
    if storage is None:
        return extent
    known = spans.setdefault(storage, [])
    before = _covered(known)
    begin = reference.get("offset", 0) * item
    known.append((begin, begin + extent))
    return _covered(known) - before


def coverage_of(rows: Iterable[Row]) -> dict[str, list[str]]:
    """Operator names by what is known of their FLOPs."""
    unknown = {row.name for row in rows if row.flops is None}
    counted = {row.name for row in rows if row.flops} - unknown
    zero = {row.name for row in rows} - counted - unknown
    return {"counted": sorted(counted), "zero": sorted(zero), "unknown": sorted(unknown)}
