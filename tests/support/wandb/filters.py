# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Filters and orders of list queries: a small part of MongoDB's language, as the W&B SDK sends it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from graphql import GraphQLError

Getter = Callable[[str], Any]

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, wanted: value == wanted,
    "$ne": lambda value, wanted: value != wanted,
    "$in": lambda value, wanted: value in wanted,
    "$nin": lambda value, wanted: value not in wanted,
    "$gt": lambda value, wanted: value is not None and value > wanted,
    "$gte": lambda value, wanted: value is not None and value >= wanted,
    "$lt": lambda value, wanted: value is not None and value < wanted,
    "$lte": lambda value, wanted: value is not None and value <= wanted,
    "$regex": lambda value, wanted: isinstance(value, str) and re.search(wanted, value) is not None,
    "$contains": lambda value, wanted: isinstance(value, str) and wanted in value,
    "$exists": lambda value, wanted: (value is not None) == wanted,
}
_OF_ALL = ("$ne", "$nin")


def _field_matches(value: Any, wanted: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    if not isinstance(wanted, dict):
        return wanted in values
    for name, operand in wanted.items():
        operator = _OPERATORS.get(name)
        if operator is None:
            raise GraphQLError(f"unsupported filter op {name}")
        quantifier = all if name in _OF_ALL else any
        if not quantifier(operator(each, operand) for each in values):
            return False
    return True


def matches(wanted: dict[str, Any] | None, get: Getter) -> bool:
    """True when every condition of `wanted` holds for the fields that `get` gives: scalars, or lists of which one suffices."""
    for key, value in (wanted or {}).items():
        if key == "$and":
            holds = all(matches(each, get) for each in value)
        elif key == "$or":
            holds = any(matches(each, get) for each in value)
        elif key == "$nor":
            holds = not any(matches(each, get) for each in value)
        elif key == "$not":
            holds = not matches(value, get)
        elif key.startswith("$"):
            raise GraphQLError(f"unsupported filter op {key}")
        else:
            holds = _field_matches(get(key), value)
        if not holds:
            return False
    return True


def ordered(items: list[Any], order: str | None, getter: Callable[[Any], Getter]) -> list[Any]:
    """`items` by an order such as "+name" or "-created_at"."""
    if not order:
        return items
    return sorted(items, key=lambda item: getter(item)(order.lstrip("+-")) or "", reverse=order[0] == "-")
