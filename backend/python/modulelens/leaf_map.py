# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Program inputs and outputs by position, as JSON Pointers into the captured call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils import _pytree as pytree

from modulelens.json_types import Json, JsonObject, pointer_token

_CACHE_PARTS = ("keys", "values")


class LeafMapError(ValueError):
    """The captured value tree does not have the structure that the program was exported with."""


def input_pointers(spec: pytree.TreeSpec, call: JsonObject) -> list[str]:
    """Returns the pointer of each user input, in the program's order. Raises LeafMapError."""
    positional, keyword = _parts(spec)
    pointers: list[str] = []
    for index, child in enumerate(_parts(positional)):
        pointers += _leaves(child, call["args"][index], f"/args/{index}")
    for key, child in zip(keyword.context or [], _parts(keyword), strict=True):
        if key not in call["kwargs"]:
            raise LeafMapError(f"the program has an input '{key}' that the captured call has not")
        pointers += _leaves(child, call["kwargs"][key], "/kwargs" + pointer_token(key))
    return pointers


def output_pointers(spec: pytree.TreeSpec, call: JsonObject) -> list[str]:
    """Returns the pointer of each user output, in the program's order. Raises LeafMapError."""
    return list(_leaves(spec, call["output"], "/output"))


def _parts(spec: pytree.TreeSpec) -> list[pytree.TreeSpec]:
    """Returns the specs of the children, which torch 2.9 keeps under another name than later ones."""
    children: Any = getattr(spec, "children", None)
    return list(spec.children_specs if children is None else children())


def _leaves(spec: pytree.TreeSpec, encoded: Json, pointer: str) -> Iterator[str]:
    if spec.is_leaf():
        yield pointer
        return
    if _is_layered_cache(spec, encoded):
        yield from _cache_leaves(spec, encoded, pointer)
        return
    for child, (token, item) in zip(_parts(spec), _children(spec, encoded, pointer), strict=True):
        yield from _leaves(child, item, pointer + token)


def _children(spec: pytree.TreeSpec, encoded: Json, pointer: str) -> list[tuple[str, Json]]:
    found = _encoded_children(spec, encoded)
    if found is None or len(found) != spec.num_children:
        name = getattr(spec.type, "__name__", str(spec.type))
        raise LeafMapError(f"the captured value at {pointer} does not match the program's {name}")
    return found


def _encoded_children(spec: pytree.TreeSpec, encoded: Json) -> list[tuple[str, Json]] | None:
    if isinstance(encoded, list):
        return [(f"/{index}", item) for index, item in enumerate(encoded)]
    if not isinstance(encoded, dict):
        return None
    tag = encoded.get("$t")
    if tag is None:
        return _picked({key: (pointer_token(key), item) for key, item in encoded.items()}, spec.context)
    if tag in ("tuple", "namedtuple", "pytree", "size"):
        return [(f"/v/{index}", item) for index, item in enumerate(encoded["v"])]
    if tag in ("dict", "mapping"):
        return [(f"/v/{index}/1", item) for index, (_, item) in enumerate(encoded["v"])]
    if tag == "object" and spec.context in (["self_attention_cache", "cross_attention_cache"],):
        return _picked({key: ("/v" + pointer_token(key), item) for key, item in encoded["v"].items()}, spec.context)
    if tag == "dataclass":
        names = spec.context[0] if spec.context else list(encoded["v"])
        return _picked({key: ("/v" + pointer_token(key), item) for key, item in encoded["v"].items()}, names)
    return None


def _is_layered_cache(spec: pytree.TreeSpec, encoded: Json) -> bool:
    """Whether this is a cache of keys and values that was captured as an object with a list of layers."""
    layers = encoded.get("v", {}).get("layers") if isinstance(encoded, dict) and encoded.get("$t") == "object" else None
    return isinstance(layers, list) and spec.num_children == len(_CACHE_PARTS)


def _cache_leaves(spec: pytree.TreeSpec, encoded: Json, pointer: str) -> Iterator[str]:
    """The keys of all layers, then their values, as transformers flattens a cache."""
    layers = encoded["v"]["layers"]
    for part, child in zip(_CACHE_PARTS, _parts(spec), strict=True):
        places = [
            f"{pointer}/v/layers/{index}/v/{part}"
            for index, layer in enumerate(layers)
            if isinstance(layer, dict) and isinstance(layer.get("v"), dict) and layer["v"].get(part) is not None
        ]
        if len(places) != child.num_leaves:
            raise LeafMapError(f"the captured cache at {pointer} does not match the program's")
        yield from places


def _picked(children: dict[str, tuple[str, Json]], names: Any) -> list[tuple[str, Json]] | None:
    if not isinstance(names, list | tuple) or any(name not in children for name in names):
        return None
    return [children[name] for name in names]
