# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The `shard` value: the parts of one tensor that a rank holds, and how parts of all ranks make the whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from modulelens.json_types import JsonObject
from modulelens.tensor_store import dtype_name


@dataclass(frozen=True)
class Block:
    """One rectangular part of a tensor. Blocks of one place with several `term`s are added up."""

    begin: list[int]
    data: torch.Tensor
    term: tuple[int, ...] = ()


def shard_value(
    how: str,
    shape: Iterable[int],
    dtype: torch.dtype,
    blocks: Iterable[Block],
    keep: Callable[[torch.Tensor], JsonObject],
    **details: object,
) -> JsonObject:
    """Returns the value for the blocks that this rank holds; `keep` snapshots data and returns its reference."""
    local = []
    for block in blocks:
        place: JsonObject = {"begin": list(block.begin)}
        if block.term:
            place["term"] = list(block.term)
        local.append(place | keep(block.data))
    return {"$t": "shard", "how": how, "dtype": dtype_name(dtype), "shape": list(shape), **details, "local": local}


def assemble(
    shape: list[int],
    dtype: torch.dtype,
    parts: Iterable[JsonObject],
    load: Callable[[JsonObject], torch.Tensor],
) -> torch.Tensor | str:
    """Returns the whole tensor from the `local` entries of all ranks, or the reason why it cannot be had.

    An entry that repeats the place and the term of an earlier one is a copy. Terms are added in their order.
    """
    places: dict[tuple[int, ...], dict[tuple[int, ...], JsonObject]] = {}
    for part in parts:
        places.setdefault(tuple(part["begin"]), {}).setdefault(tuple(part.get("term", ())), part)
    terms = max((len(found) for found in places.values()), default=0)
    whole = torch.empty(shape, dtype=dtype)
    covered = 0
    for offset, found in places.items():
        if len(found) != terms:
            return "terms of the sum are missing"
        total: torch.Tensor | None = None
        for _, part in sorted(found.items()):
            if "ref" not in part:
                return f"a part was not kept: {part.get('gap')}"
            data = load(part)
            total = data if total is None else total + data
        assert total is not None
        if len(total.shape) != len(shape):
            return "a part has another number of dimensions than the whole"
        inside = all(
            first >= 0 and first + size <= whole_size
            for first, size, whole_size in zip(offset, total.shape, shape, strict=True)
        )
        if not inside:
            return "a part lies outside the whole"
        target = whole
        for dimension, (first, size) in enumerate(zip(offset, total.shape, strict=True)):
            target = target.narrow(dimension, first, size)
        target.copy_(total)
        covered += total.numel()
    if covered != math.prod(shape):
        return "parts are missing"
    return whole
