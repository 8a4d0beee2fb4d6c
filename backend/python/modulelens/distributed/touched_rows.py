# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Embedding tables cut down to the rows that the captured ids use, and the ids renumbered to these rows."""

from __future__ import annotations

import json
from collections.abc import Iterator

import torch

from modulelens.distributed.parts import Part
from modulelens.json_types import Json, JsonObject
from modulelens.tensor_store import TensorStore

HOW = "rows"
_JAGGED = ":KeyedJaggedTensor"
_CONFIGS = (":EmbeddingBagConfig", ":EmbeddingConfig")
_VALUES, _LENGTHS, _OFFSETS = 0, 2, 3


class TouchedRows:
    """The used rows of each table of which only rows were kept. Tables that share a feature share their rows."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self.rows: dict[str, torch.Tensor] = {}
        self._of_feature: dict[str, torch.Tensor] = {}
        tables = {value["table"] for version in part.versions.values() for value in _kept_rows(version)}
        if not tables:
            return
        groups = _groups(_features(part, tables))
        ids: dict[str, list[torch.Tensor]] = {}
        for version in part.versions.values():
            for jagged in _jagged(version["calls"]):
                for feature, found in self._segments(jagged):
                    ids.setdefault(feature, []).append(found)
        for names, features in groups:
            seen = [segment for feature in features for segment in ids.get(feature, [])]
            rows = torch.unique(torch.cat(seen)) if seen else torch.empty(0, dtype=torch.int64)
            self.rows |= dict.fromkeys(names, rows.to(torch.int64))
            self._of_feature |= dict.fromkeys(features, rows.to(torch.int64))

    def count(self, config: JsonObject) -> int | None:
        """Returns the number of rows of the table that an encoded table configuration is of, None for other values."""
        if config.get("$t") != "dataclass" or not str(config["cls"]).endswith(_CONFIGS):
            return None
        rows = self.rows.get(config["v"].get("name"))
        return None if rows is None else rows.numel()

    def renumbered(self, value: JsonObject, store: TensorStore) -> JsonObject | None:
        """Returns a jagged value with its ids as places among the used rows, None for values that are none."""
        if not self._of_feature or not _is_jagged(value):
            return None
        values = value["v"][_VALUES]
        ids = self._part.stored(values).data.clone()
        begin = 0
        for feature, segment in self._segments(value):
            rows = self._of_feature.get(feature)
            end = begin + segment.numel()
            if rows is not None:
                ids[begin:end] = torch.searchsorted(rows, segment.to(torch.int64)).to(ids.dtype)
            begin = end
        kept = {key: item for key, item in values.items() if key not in ("stride", "stored_shape", "storage_bytes")}
        children = list(value["v"])
        children[_VALUES] = {**kept, **store.put(ids)}
        return {**value, "v": children}

    def table(
        self, value: JsonObject, local: list[JsonObject], dtype: torch.dtype
    ) -> tuple[torch.Tensor | None, str | None]:
        """Returns the used rows of a table from what the ranks kept of it, or the reason why some are missing."""
        rows = self.rows[value["table"]]
        whole = torch.zeros(rows.numel(), value["shape"][1], dtype=dtype)
        covered = torch.zeros(whole.shape, dtype=torch.bool)
        for entry in local:
            part: Part = entry["part"]
            if "ref" not in entry or "ref" not in entry["rows"]:
                return None, "rows were not kept"
            held = part.stored(entry["rows"]).data
            data = part.stored(entry).data
            place = torch.searchsorted(held, rows).clamp(max=max(held.numel() - 1, 0))
            if not held.numel():
                continue
            match = held[place] == rows
            columns = slice(entry["begin"][1], entry["begin"][1] + data.shape[1])
            whole[match, columns] = data[place[match]]
            covered[match, columns] = True
        return (whole, None) if bool(covered.all()) else (None, "used rows are missing")

    def _segments(self, jagged: JsonObject) -> Iterator[tuple[str, torch.Tensor]]:
        keys = jagged["context"]
        values = self._part.stored(jagged["v"][_VALUES]).data
        lengths = jagged["v"][_LENGTHS]
        if lengths is not None:
            counts = self._part.stored(lengths).data
        else:
            counts = self._part.stored(jagged["v"][_OFFSETS]).data.diff()
        sizes = counts.reshape(len(keys), -1).sum(dim=1).tolist()
        yield from zip(keys, values.split(sizes), strict=True)


def _is_jagged(value: JsonObject) -> bool:
    return value.get("$t") == "pytree" and str(value["cls"]).endswith(_JAGGED)


def _jagged(value: Json) -> Iterator[JsonObject]:
    if isinstance(value, list):
        for item in value:
            yield from _jagged(item)
    elif isinstance(value, dict):
        if _is_jagged(value):
            yield value
        else:
            for item in value.values():
                yield from _jagged(item)


def _kept_rows(version: JsonObject) -> Iterator[JsonObject]:
    for value in version["state"]["tensors"].values():
        if value.get("how") == HOW:
            yield value


def _features(part: Part, tables: set[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {table: set() for table in tables}

    def visit(value: Json) -> None:
        if isinstance(value, list):
            for item in value:
                visit(item)
        elif isinstance(value, dict):
            if value.get("$t") == "dataclass" and str(value["cls"]).endswith(_CONFIGS):
                if value["v"].get("name") in found:
                    found[value["v"]["name"]].update(value["v"]["feature_names"])
                return
            for item in value.values():
                visit(item)

    for content in part.nodes.values():
        visit(json.loads(content)["attributes"])
    return found


def _groups(features: dict[str, set[str]]) -> list[tuple[list[str], set[str]]]:
    groups: list[tuple[list[str], set[str]]] = []
    for table, own in features.items():
        joined: tuple[list[str], set[str]] = ([table], set(own))
        apart = []
        for names, shared in groups:
            if shared & joined[1]:
                joined = (names + joined[0], shared | joined[1])
            else:
                apart.append((names, shared))
        groups = [*apart, joined]
    return groups
