# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""One capture of whole modules from what the ranks kept: shards assembled, documents rewritten with new digests."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import torch

from modulelens.distributed.parts import Part
from modulelens.distributed.shard_values import assemble
from modulelens.distributed.touched_rows import HOW, TouchedRows
from modulelens.json_types import Json, JsonObject, encode_json
from modulelens.nodes import Documents
from modulelens.record import CapturedCall, ModuleRecord
from modulelens.tensor_store import TensorStore

# What a call says of the module's state.
_STATE_KEYS = ("state_before", "state_after", "node")


class GroupMerger:
    """Merges the parts of ranks that hold the same modules. The first of them says what was captured, all give shards.

    Values are aligned by their place in the documents, never by the order in which they came. `lacking` counts the
    tensors that parts of absent ranks would have made whole.
    """

    def __init__(self, parts: list[Part], store: TensorStore, nodes: Documents, sources: Documents) -> None:
        self._parts = parts
        self._store = store
        self._nodes = nodes
        self._sources = sources
        self._merged_nodes: dict[tuple[str | None, ...], str] = {}
        self._assembled: dict[str, JsonObject] = {}
        self._copied: set[str] = set()
        self.lacking = 0
        self._touched = TouchedRows(parts[0])

    def records(self) -> dict[str, ModuleRecord]:
        """Returns one record for each captured module, by name, with whole tensors and without a live module."""
        with self._store.state():
            return {name: self._record(name) for name in self._parts[0].versions}

    def _record(self, name: str) -> ModuleRecord:
        versions = [part.versions.get(name) for part in self._parts]
        first = versions[0]
        assert first is not None
        states = [None if version is None else version["state"] for version in versions]
        tensors = {
            fqn: self._reference([None if state is None else state["tensors"].get(fqn) for state in states])
            for fqn in first["state"]["tensors"]
        }
        node = self._node([None if state is None else state["node"] for state in states])
        record = ModuleRecord(
            name=name,
            aliases=first["aliases"],
            module=torch.nn.Module(),
            class_name=first["class"],
            run=next(entry["run"] for entry in self._parts[0].index["versions"] if entry["module"] == name),
            node=node,
            skeleton="",
            tensors=tensors,
            parameter_bytes=first["state"]["parameter_bytes"],
            parameter_count=first["state"]["parameter_count"],
        )
        if any("touched_rows_of" in reference for reference in tensors.values()):
            record.parameter_count, record.parameter_bytes = _sizes(tensors)
        for index in range(len(first["calls"])):
            record.calls.append(CapturedCall(self._call(states, _each(versions, "calls", index), tensors), []))
        return record

    def _call(self, states: list[JsonObject | None], calls: list[JsonObject | None], whole: JsonObject) -> JsonObject:
        first = calls[0]
        assert first is not None
        merged = {key: self._value(_each(calls, key)) for key in first if key not in _STATE_KEYS}
        if merged.get("gradients") is not None:
            outputs = {name: _untagged(reference) for name, reference in merged["gradients"]["outputs"].items()}
            merged["gradients"] = {**merged["gradients"], "outputs": outputs}
        if "node" in first:
            merged["node"] = self._node(_each(calls, "node"))
        base = [None if state is None else state["tensors"] for state in states]
        before = [_over(old, call and call["state_before"]) for old, call in zip(base, calls, strict=True)]
        merged["state_before"] = self._changes(before, _names(calls, "state_before"), whole)
        after = [_over(old, call and call["state_after"]) for old, call in zip(before, calls, strict=True)]
        known = {**whole, **merged["state_before"]}
        merged["state_after"] = self._changes(after, _names(calls, "state_after"), known)
        return {key: merged[key] for key in first}

    def _changes(self, states: list[JsonObject | None], names: list[str], known: JsonObject) -> JsonObject:
        changes: JsonObject = {}
        for name in names:
            reference = self._reference([None if state is None else state.get(name) for state in states])
            if reference.get("ref") != known.get(name, {}).get("ref") or "ref" not in reference:
                changes[name] = reference
        return changes

    def _node(self, digests: list[str | None]) -> str:
        key = tuple(digests)
        if key not in self._merged_nodes:
            documents = [
                None if digest is None else json.loads(part.nodes[digest])
                for part, digest in zip(self._parts, digests, strict=True)
            ]
            self._merged_nodes[key] = self._nodes.add(encode_json(self._merged_node(documents)))
        return self._merged_nodes[key]

    def _merged_node(self, documents: list[JsonObject | None]) -> JsonObject:
        first = documents[0]
        assert first is not None
        merged: JsonObject = {}
        for key, value in first.items():
            if key in ("parameters", "buffers"):
                merged[key] = {
                    name: None if value[name] is None else _anonymous(self._reference(_each(documents, key, name)))
                    for name in value
                }
            elif key == "children":
                merged[key] = {
                    name: None if value[name] is None else self._node(_each(documents, key, name)) for name in value
                }
            else:
                merged[key] = self._value(_each(documents, key))
        weight = merged["parameters"].get("weight")
        if weight is not None and "touched_rows_of" in weight and "num_embeddings" in merged["attributes"]:
            merged["attributes"]["num_embeddings"] = weight["shape"][0]
        if merged["source"] is not None:
            self._sources.add(self._parts[0].sources[merged["source"]])
        return merged

    def _reference(self, values: list[Json]) -> JsonObject:
        return _untagged(self._value(values))

    def _value(self, values: list[Json]) -> Json:
        first = values[0]
        if isinstance(first, list):
            return [self._value(_each(values, index)) for index in range(len(first))]
        if not isinstance(first, dict):
            return first
        if first.get("$t") == "shard":
            return self._whole(values)
        if first.get("$t") == "module" and first.get("node") is not None:
            return {**first, "node": self._node(_each(values, "node"))}
        touched = self._touched.renumbered(first, self._store)
        if touched is not None:
            values = [touched, *([None] * (len(values) - 1))]
            first = touched
            self._copied.add(touched["v"][0]["ref"])
        rows = self._touched.count(first)
        if rows is not None:
            first = {**first, "v": {**first["v"], "num_embeddings": rows}}
            values = [first, *values[1:]]
        if "ref" in first and "dtype" in first and "shape" in first:
            self._copy(first)
            return first
        return {key: self._value(_each(values, key)) for key in first}

    def _copy(self, reference: JsonObject) -> None:
        digest = reference["ref"]
        if digest not in self._copied:
            self._copied.add(digest)
            self._store.adopt({digest: self._parts[0].stored(reference)})

    def _whole(self, values: list[Json]) -> JsonObject:
        first = values[0]
        shape, dtype = first["shape"], first["dtype"]
        local: list[JsonObject] = []
        for part, value in zip(self._parts, values, strict=True):
            if (
                isinstance(value, dict)
                and value.get("$t") == "shard"
                and (value["shape"], value["dtype"]) == (shape, dtype)
            ):
                local += [{**entry, "part": part} for entry in value["local"]]
        key = repr([(entry["begin"], entry.get("term"), entry.get("ref"), entry["part"].rank) for entry in local])
        key = f"{dtype}{shape}{first.get('table')}{key}"
        if key not in self._assembled:
            self._assembled[key] = self._assemble(first, local)
        kept = ("obj", "parameter", "requires_grad", "kind", "persistent")
        return {"$t": "tensor", **self._assembled[key], **{name: first[name] for name in kept if name in first}}

    def _assemble(self, first: JsonObject, local: list[JsonObject]) -> JsonObject:
        shape, dtype = first["shape"], getattr(torch, first["dtype"])
        gap: JsonObject = {"dtype": first["dtype"], "shape": shape}
        if "unsupported" in first:
            return {**gap, "gap": first["unsupported"]}
        if first["how"] == "fsdp1":
            return {**gap, "gap": "sharded by FSDP and not computed in the traced block"}
        if first["how"] == HOW:
            rows, reason = self._touched.table(first, local, dtype)
            whole: torch.Tensor | str = reason or "" if rows is None else rows
            gap["shape"] = [self._touched.rows[first["table"]].numel(), shape[1]]
        else:
            whole = assemble(shape, dtype, local, _load)
        if isinstance(whole, str):
            self.lacking += all("ref" in entry for entry in local)
            return {**gap, "gap": f"not all ranks' parts are there: {whole}"}
        reference = self._store.put(whole)
        if first["how"] == HOW:
            reference = {**reference, "touched_rows_of": shape[0]}
        devices = {entry["device"] for entry in local if "device" in entry}
        return {**reference, "device": sorted(devices)[0]} if devices else reference


def _untagged(reference: JsonObject) -> JsonObject:
    return {key: value for key, value in reference.items() if key != "$t" or value != "tensor"}


def _sizes(tensors: JsonObject) -> tuple[int, int]:
    unique = {reference["obj"]: reference for reference in tensors.values() if reference["kind"] == "parameter"}
    counts = [(math.prod(found["shape"]), getattr(torch, found["dtype"]).itemsize) for found in unique.values()]
    return sum(count for count, _ in counts), sum(count * size for count, size in counts)


def _load(entry: JsonObject) -> torch.Tensor:
    part: Part = entry["part"]
    data = part.stored(entry).data
    return data.expand(entry["shape"])


def _each(values: list[Any], *path: str | int) -> list[Any]:
    """The item at the path of every value that has one, None for the others."""
    found = []
    for value in values:
        for step in path:
            if isinstance(value, Mapping):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                value = None
        found.append(value)
    return found


def _over(base: JsonObject | None, changes: JsonObject | None) -> JsonObject | None:
    return None if base is None else {**base, **(changes or {})}


def _names(calls: list[JsonObject | None], key: str) -> list[str]:
    return list(dict.fromkeys(name for call in calls if call is not None for name in call[key]))


def _anonymous(reference: JsonObject) -> JsonObject:
    return {key: value for key, value in reference.items() if key not in ("obj", "storage", "offset", "kind")}
