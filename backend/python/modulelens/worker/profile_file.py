# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Profiles and other columns as safetensors files (docs/formats/profile.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import torch

from modulelens.json_types import JsonObject
from modulelens.safetensors_file import StoredTensor, write_safetensors

MODULE, OPERATOR, UNEXPLAINED = 0, 1, 2
_UNKNOWN = -(1 << 63)
_METRICS = {
    "latency": ("ns", "sum"),
    "flops": ("flops", "sum"),
    "parameters": ("bytes", "union"),
    "activation": ("bytes", "sum"),
    "peak": ("bytes", "sum"),
    "high_water": ("bytes", "max"),
    "buffers": ("bytes", "union"),
    "gradients": ("bytes", "union"),
    "training_peak": ("bytes", "sum"),
}
_DTYPES = {"I64": torch.int64, "I32": torch.int32, "U8": torch.uint8}


@dataclass
class _Scope:
    parent: int
    kind: int
    name: str
    path: str
    class_name: str
    call: int
    children: list[int] = field(default_factory=list)
    values: dict[tuple[str, str], int] = field(default_factory=dict)


class ProfileTree:
    """A tree of scopes with metrics that is built once and written. Siblings stand in the order of their adding."""

    def __init__(self, name: str, class_name: str) -> None:
        self._scopes = [_Scope(-1, MODULE, name, "", class_name, 0)]
        self._unknown: set[tuple[str, str]] = set()
        self.samples: dict[tuple[str, str], list[int]] = {}

    def add(self, parent: int, kind: int, name: str, path: str, class_name: str = "", call: int = 0) -> int:
        """Adds a scope below another and returns its number; the root is 0."""
        self._scopes.append(_Scope(parent, kind, name, path, class_name, call))
        self._scopes[parent].children.append(len(self._scopes) - 1)
        return len(self._scopes) - 1

    def add_self(self, scope: int, metric: str, value: int | None, direction: str = "forward") -> None:
        """Adds to what the scope itself has; None adds nothing."""
        if value is not None:
            values = self._scopes[scope].values
            values[metric, direction] = values.get((metric, direction), 0) + value

    def mark_unknown(self, metric: str, direction: str = "forward") -> None:
        """Operators without a value have an unknown one; else they have 0."""
        self._unknown.add((metric, direction))

    def write(self, path: Path, facts: dict[str, str], coverage: dict[str, list[str]]) -> None:
        """Writes the file."""
        order = self._preorder()
        place = {scope: index for index, scope in enumerate(order)}
        scopes = [self._scopes[scope] for scope in order]
        strings: dict[str, int] = {}

        def number(text: str) -> int:
            return strings.setdefault(text, len(strings))

        columns: dict[str, tuple[str, list[int]]] = {
            "tree.parent": ("I32", [place.get(scope.parent, -1) for scope in scopes]),
            "tree.kind": ("U8", [scope.kind for scope in scopes]),
            "tree.call": ("I32", [scope.call for scope in scopes]),
            "tree.name": ("I32", [number(scope.name) for scope in scopes]),
            "tree.path": ("I32", [number(scope.path) for scope in scopes]),
            "tree.class": ("I32", [number(scope.class_name) for scope in scopes]),
        }
        encoded = [text.encode("utf-8", "replace") for text in strings]
        ends, end = [], 0
        for text in encoded:
            end += len(text)
            ends.append(end)
        columns["strings.bytes"] = ("U8", list(b"".join(encoded)))
        columns["strings.ends"] = ("I64", ends)
        used = {key for scope in scopes for key in scope.values}
        for metric, direction in sorted(used):
            columns[f"{metric}.{direction}.self"] = ("I64", [self._value(scope, metric, direction) for scope in scopes])
        for (metric, direction), samples in self.samples.items():
            if samples:
                columns[f"{metric}.{direction}.samples"] = ("I64", samples)
        metrics = {name: {"unit": unit, "combine": rule} for name, (unit, rule) in _METRICS.items()}
        document = {"metrics": metrics, "facts": facts, "coverage": coverage}
        write_columns(path, columns, {"format": "modulelens.profile", "schema_version": "1", "profile": document})

    def _value(self, scope: _Scope, metric: str, direction: str) -> int:
        known = scope.values.get((metric, direction))
        if known is not None:
            return known
        is_gap = scope.kind == OPERATOR and (metric, direction) in self._unknown
        return _UNKNOWN if is_gap else 0

    def _preorder(self) -> list[int]:
        order: list[int] = []
        open_scopes = [0]
        while open_scopes:
            scope = open_scopes.pop()
            order.append(scope)
            open_scopes.extend(reversed(self._scopes[scope].children))
        return order


def write_columns(path: Path, columns: dict[str, tuple[str, list[int]]], metadata: JsonObject) -> None:
    """Writes columns of integers; metadata that is no text is written as JSON."""
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in metadata.items()
    }
    tensors = {}
    for key, (dtype, values) in columns.items():
        data = torch.tensor(values, dtype=_DTYPES[dtype])
        tensors[key] = StoredTensor(data, [len(values)], data.dtype)
    write_safetensors(path, tensors, texts)
