# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""What a traced block does beyond one process: this rank's part, and on the first rank the merge of all parts."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

from torch import nn

from modulelens.bundle_writer import BundleContents, BundleFolder
from modulelens.distributed.merging import MergeOptions, merge_ranks
from modulelens.distributed.model_sharding import CopySink, ModelSharding
from modulelens.distributed.ranks import RankFolder
from modulelens.json_types import Json, JsonObject, encode_json
from modulelens.names import unwrapped
from modulelens.nodes import Documents, class_of
from modulelens.problems import Problems
from modulelens.record import ModuleRecord
from modulelens.references import qualified_name
from modulelens.sharding import Sharded
from modulelens.tensor_store import TensorSink, TensorStore


class RankCapture:
    """This rank's share in capturing one block. Used from the thread of the block."""

    def __init__(self, model: nn.Module, store: Path, model_name: str, sharded: Sharded) -> None:
        self.sharding = ModelSharding(model)
        self.ranks = RankFolder(store, model_name)
        self._model = model
        self._store = store
        self._sharded = sharded
        self.handles = self.sharding.keep_rows() if sharded == "touched-rows" else []
        first = self.sharding.first_rank
        self._copies_of = first if sharded != "local" and first < self.ranks.rank else None
        if sharded != "local":
            self.ranks.begin()

    def bundle_folder(self) -> BundleFolder:
        """The folder for this rank's bundle: in the store itself when the ranks' bundles are merged later."""
        return BundleFolder(self._store if self._sharded == "local" else self.ranks.own)

    def sink(self, store: TensorStore) -> TensorSink:
        """Where whole tensors go: nowhere on a rank whose lower neighbour has the same modules."""
        return store if self._copies_of is None else CopySink(self._copies_of)

    def write(self, folder: BundleFolder, contents: BundleContents, error: str | None) -> Path | None:
        """Writes this rank's bundle and reports it; returns its folder when it is the block's result ('local').

        Raises OSError when the disk refuses.
        """
        rank, size = self.ranks.rank, self.ranks.world_size
        _put_computed(self.sharding, contents)
        contents.ranks = {
            "capture": self.ranks.capture,
            "world_size": size,
            "sharded": self._sharded,
            "rank": rank,
            "raised": error,
            "merged": [],
            "missing": [],
        }
        contents.incomplete_reason = error or (
            f"this is the part of rank {rank} of {size}; put the parts of all ranks together with "
            "`python -m modulelens merge`"
        )
        if self._sharded == "local":
            return folder.finish(contents)
        path: Path | None = None
        if self._copies_of is None or self.sharding.kept_parts:
            path = folder.finish(contents)
        else:
            folder.discard()
        self.ranks.report({"bundle": None if path is None else path.name, "raised": error})
        return None

    def merge(self, timeout: float, options: MergeOptions, problems: Problems) -> Path | None:
        """On the first rank: waits for the others and returns the merged bundle. None on the others.

        What ranks that are late may still leave stays where it is. Raises what merging raises.
        """
        if self._sharded == "local" or not self.ranks.is_first():
            return None
        reports, missing, late = self.ranks.gather(timeout)
        kept = f"; what ranks have left stays in {self.ranks.path.name}" if late else ""
        for rank, reason in sorted(missing.items()):
            problems.add("", "ranks", f"rank {rank} is missing: {reason}{kept}")
        folders = [
            self.ranks.path / f"rank-{rank}" / report["bundle"]
            for rank, report in sorted(reports.items())
            if report.get("bundle")
        ]
        raised = {rank: report["raised"] for rank, report in reports.items() if report.get("raised")}
        options.classes = _classes_of(self._model)
        bundle = merge_ranks(folders, self._store, missing, raised, options)
        if not late:
            shutil.rmtree(self.ranks.path, ignore_errors=True)
        return bundle

    def leave(self, reason: str) -> None:
        """Tells the first rank that this one has nothing to give, unless it has reported. Never raises."""
        with contextlib.suppress(OSError):
            if self.ranks.is_open:
                self.ranks.report({"bundle": None, "raised": reason})
        self.ranks.end()


def _put_computed(sharding: ModelSharding, contents: BundleContents) -> None:
    """Rewrites documents with parameters as they were computed where they were sharded when first seen."""
    nodes = Documents()
    rewritten: dict[str, str] = {}

    def node(digest: str) -> str:
        if digest not in rewritten:
            document = _with_nodes(sharding.with_computed(_parsed(contents.nodes.contents[digest])), node)
            for kind in ("parameters", "buffers"):
                document[kind] = {name: _untagged(value) for name, value in document[kind].items()}
            document["children"] = {
                name: None if child is None else node(child) for name, child in document["children"].items()
            }
            rewritten[digest] = nodes.add(encode_json(document))
        return rewritten[digest]

    for record in contents.records.values():
        _put_into_record(sharding, record, node)
    contents.nodes = nodes


def _put_into_record(sharding: ModelSharding, record: ModuleRecord, node: Any) -> None:
    record.node = node(record.node)
    record.tensors = _references(sharding, record.tensors)
    for call in record.calls:
        document = call.document
        for key in ("args", "kwargs", "output"):
            document[key] = _with_nodes(document[key], node)
        if "node" in document:
            document["node"] = node(document["node"])
        before = _references(sharding, document["state_before"])
        document["state_before"] = {
            name: value for name, value in before.items() if not _is_same(value, record.tensors.get(name))
        }
        after = _references(sharding, document["state_after"])
        known = {**record.tensors, **document["state_before"]}
        document["state_after"] = {name: value for name, value in after.items() if not _is_same(value, known.get(name))}


def _references(sharding: ModelSharding, references: JsonObject) -> JsonObject:
    return {name: _untagged(sharding.with_computed(value)) for name, value in references.items()}


def _untagged(value: Json) -> Json:
    if isinstance(value, dict) and value.get("$t") == "tensor":
        return {key: item for key, item in value.items() if key != "$t"}
    return value


def _is_same(value: JsonObject, known: JsonObject | None) -> bool:
    if known is None:
        return False
    numbers = ("obj", "storage", "offset", "storage_bytes")
    first, second = ({key: item for key, item in entry.items() if key not in numbers} for entry in (value, known))
    return first == second and ("ref" in first or "local" in first)


def _with_nodes(value: Json, node: Any) -> Json:
    if isinstance(value, list):
        return [_with_nodes(item, node) for item in value]
    if isinstance(value, dict):
        if value.get("$t") == "module" and value.get("node") is not None:
            return {**value, "node": node(value["node"])}
        return {key: _with_nodes(item, node) for key, item in value.items()}
    return value


def _parsed(content: bytes) -> JsonObject:
    document: JsonObject = json.loads(content)
    return document


def _classes_of(model: nn.Module) -> dict[str, type]:
    classes: dict[str, type] = {}
    for module in model.modules():
        kind = class_of(unwrapped(module))
        classes.setdefault(qualified_name(kind), kind)
    return classes
