# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Reading parameters: what is missing or of another kind is an invalid argument that names the key."""

from __future__ import annotations

from typing import Any, TypeVar

from modulelens.worker.errors import WorkerError

Kind = TypeVar("Kind")
_NAMES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "an integer",
    bool: "a boolean",
}


def required(params: Any, key: str, kind: type[Kind], where: str) -> Kind:
    """Returns params[key]."""
    if not isinstance(params, dict):
        raise WorkerError("invalid_argument", f"{where} is not an object")
    if key not in params:
        raise WorkerError("invalid_argument", f"{where} has no '{key}'")
    return _checked(params[key], key, kind, where)


def optional(params: Any, key: str, kind: type[Kind], where: str) -> Kind | None:
    """Returns params[key], or None when it is absent or null."""
    if not isinstance(params, dict):
        raise WorkerError("invalid_argument", f"{where} is not an object")
    value = params.get(key)
    return None if value is None else _checked(value, key, kind, where)


def strings(params: Any, key: str, where: str) -> list[str]:
    """Returns a list of strings, empty when it is absent."""
    values = optional(params, key, list, where) or []
    if not all(isinstance(value, str) for value in values):
        raise WorkerError("invalid_argument", f"{where} has a '{key}' that is not a list of strings")
    return values


def _checked(value: Any, key: str, kind: type[Kind], where: str) -> Kind:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise WorkerError("invalid_argument", f"{where} has a '{key}' that is not {_NAMES[kind]}")
    return value
