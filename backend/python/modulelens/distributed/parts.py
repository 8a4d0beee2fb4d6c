# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Reads what one rank kept: the documents and the tensors of a bundle folder, each checked against its digest."""

from __future__ import annotations

import hashlib
import json
import mmap
from pathlib import Path
from typing import Any

import torch

from modulelens.json_types import JsonObject
from modulelens.raw_memory import tensor_digest
from modulelens.safetensors_file import StoredTensor


class PartError(ValueError):
    """A rank's bundle that cannot be used, and why."""


class Part:
    """One rank's bundle. Raises PartError for a folder that is no bundle or was changed. Used from one thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        content = self._read("bundle.json")
        self.index: JsonObject = json.loads(content)
        if self.index.get("schema") != "modulelens.bundle" or self.index.get("schema_version") != 1:
            raise PartError(f"{folder} holds no bundle that this version can read")
        digest = hashlib.sha256(content).hexdigest()
        if self._read("bundle.sha256") != f"{digest}  bundle.json\n".encode():
            raise PartError(f"{folder}: bundle.json was changed after it was written")
        ranks: JsonObject | None = self.index.get("ranks")
        if ranks is None or ranks.get("rank") is None:
            raise PartError(f"{folder} is not the bundle of one rank; give the bundles that sharded='local' writes")
        self.ranks: JsonObject = ranks
        self.rank = int(ranks["rank"])
        self.versions: dict[str, JsonObject] = {
            entry["module"]: json.loads(self._verified(entry, "digest")) for entry in self.index["versions"]
        }
        self.modules = {entry["digest"]: entry["module"] for entry in self.index["versions"]}
        self.runs: list[JsonObject] = [json.loads(self._verified(entry, "sha256")) for entry in self.index["runs"]]
        self.nodes = {entry["digest"]: self._verified(entry, "digest") for entry in self.index["nodes"]}
        self.sources = {entry["digest"]: self._verified(entry, "digest") for entry in self.index["sources"]}
        self._places: dict[str, tuple[Path, int, int]] = {}
        self._maps: dict[Path, mmap.mmap] = {}
        for entry in self.index["tensors"]:
            self._read_header(self._path(entry["file"]), entry["keys"])

    def stored(self, reference: JsonObject) -> StoredTensor:
        """Returns the data of a reference that has one, checked against its digest."""
        digest = reference["ref"]
        if digest not in self._places:
            raise PartError(f"{self.folder}: the tensor {digest[:12]} is missing")
        path, begin, end = self._places[digest]
        dtype: torch.dtype = getattr(torch, reference["dtype"])
        shape: list[int] = reference.get("stored_shape") or reference["shape"]
        raw = self._map(path)[begin:end]
        if len(raw) != _count(shape) * dtype.itemsize:
            raise PartError(f"{self.folder}: the tensor {digest[:12]} has another size than its reference says")
        data = torch.frombuffer(bytearray(raw), dtype=torch.uint8).clone() if raw else torch.empty(0, dtype=torch.uint8)
        tensor = (data.view(dtype) if raw else torch.empty(0, dtype=dtype)).reshape(shape)
        if tensor_digest(reference["dtype"], shape, tensor) != digest:
            raise PartError(f"{self.folder}: the tensor {digest[:12]} was changed after it was written")
        return StoredTensor(tensor, list(shape), dtype)

    def close(self) -> None:
        """Lets go of the files."""
        for mapped in self._maps.values():
            mapped.close()
        self._maps.clear()

    def _path(self, name: str) -> Path:
        if not name or any(piece in ("", ".", "..") for piece in name.split("/")):
            raise PartError(f"{self.folder}: the file name {name!r} leaves the bundle")
        return self.folder / name

    def _read(self, name: str) -> bytes:
        try:
            return self._path(name).read_bytes()
        except OSError as error:
            raise PartError(f"{self.folder}: {name} cannot be read: {error.strerror}") from None

    def _verified(self, entry: JsonObject, key: str) -> bytes:
        content = self._read(entry["file"])
        if hashlib.sha256(content).hexdigest() != entry[key]:
            raise PartError(f"{self.folder}: {entry['file']} was changed after it was written")
        return content

    def _map(self, path: Path) -> mmap.mmap:
        if path not in self._maps:
            try:
                with path.open("rb") as file:
                    self._maps[path] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError) as error:
                raise PartError(f"{path} cannot be read: {error}") from None
        return self._maps[path]

    def _read_header(self, path: Path, keys: list[str]) -> None:
        mapped = self._map(path)
        length = int.from_bytes(mapped[:8], "little")
        if 8 + length > len(mapped):
            raise PartError(f"{path} is cut off")
        header: dict[str, Any] = json.loads(mapped[8 : 8 + length])
        for key in keys:
            begin, end = header[key]["data_offsets"]
            if not 0 <= begin <= end <= len(mapped) - 8 - length:
                raise PartError(f"{path} is cut off")
            self._places[key] = (path, 8 + length + begin, 8 + length + end)


def _count(shape: list[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count
