# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Reads bundles, folders and `.mlens` files alike. They are untrusted: names, sizes and digests are checked."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from modulelens.json_types import Json, JsonObject
from modulelens.raw_memory import memory_of
from modulelens.worker.data import Extent, TensorData

_NEWEST_SCHEMA = 1
_LOCAL_HEADER = 30
_MAX_HEADER = 100 << 20


class BundleError(ValueError):
    """A bundle that is damaged, too new, or does not hold what was asked for."""


@dataclass(frozen=True)
class _Place:
    """Where a file of the bundle lies."""

    file: Path
    offset: int
    size: int

    def read(self) -> bytes:
        with self.file.open("rb") as file:
            file.seek(self.offset)
            return file.read(self.size)


class BundleReader:
    """An opened bundle. The index is checked at once, every other file and tensor when it is read."""

    def __init__(self, path: Path) -> None:
        """Raises BundleError, and OSError when the path cannot be read."""
        self.path = path
        self._places = dict(_archive_places(path) if path.is_file() else _folder_places(path))
        content = self._read("bundle.json")
        self.index = _parse(content, "bundle.json")
        _check_schema(self.index, "modulelens.bundle")
        if self._read("bundle.sha256").decode("ascii", "replace") != f"{_sha256(content)}  bundle.json\n":
            raise BundleError("bundle.json does not match its digest in bundle.sha256")
        self._entries: dict[str, JsonObject] = {}
        for kind in ("runs", "versions", "nodes", "programs", "sources", "tensors"):
            for entry in self.index[kind]:
                self._entries[entry["file"]] = entry
        if set(self._places) != {"bundle.json", "bundle.sha256", *self._entries}:
            raise BundleError("the bundle does not hold exactly the files that its index names")
        self.tensors = _VerifiedTensors(self._extents())

    def document(self, file: str, schema: str) -> JsonObject:
        """Returns a JSON file of the bundle, checked against its digest."""
        document = _parse(self.content(file), file)
        _check_schema(document, schema)
        return document

    def content(self, file: str) -> bytes:
        """Returns the bytes of a file that the index names, checked against its digest."""
        entry = self._entries[file]
        content = self._read(file)
        if len(content) != entry["size"] or _sha256(content) != entry.get("digest", entry.get("sha256")):
            raise BundleError(f"the file '{file}' of the bundle does not match its digest")
        return content

    def extent(self, file: str, digest: str) -> Extent:
        """Returns where a file's bytes lie."""
        place = self._places[file]
        return Extent(digest, place.file, place.offset, place.size)

    def _read(self, file: str) -> bytes:
        if file not in self._places:
            raise BundleError(f"{self.path} is no whole bundle: it has no {file}")
        return self._places[file].read()

    def _extents(self) -> list[JsonObject]:
        extents: list[JsonObject] = []
        for entry in self.index["tensors"]:
            place = self._places[entry["file"]]
            with place.file.open("rb") as file:
                file.seek(place.offset)
                length = int.from_bytes(file.read(8), "little")
                if length > min(place.size - 8, _MAX_HEADER):
                    raise BundleError(f"the tensor file '{entry['file']}' is damaged")
                header = _parse(file.read(length), entry["file"])
            for key in entry["keys"]:
                begin, end = header[key]["data_offsets"]
                if not 0 <= begin <= end <= place.size - 8 - length:
                    raise BundleError(f"a tensor in '{entry['file']}' lies outside the file")
                offset = place.offset + 8 + length + begin
                extents.append({"digest": key, "file": str(place.file), "offset": offset, "length": end - begin})
        return extents


class _VerifiedTensors(TensorData):
    """Tensor data that is checked against its digest when it is read, where its form is known."""

    def __init__(self, extents: list[JsonObject]) -> None:
        super().__init__(extents)
        self._forms: dict[str, str] = {}

    def learn(self, document: Json) -> None:
        """Notes dtype and stored shape of every reference in a document: they are part of the digest."""
        open_values = [document]
        while open_values:
            value = open_values.pop()
            if isinstance(value, dict):
                if "ref" in value and "dtype" in value and "shape" in value:
                    shape: list[int] = value["stored_shape" if "stored_shape" in value else "shape"]
                    self._forms[value["ref"]] = f"{value['dtype']}:{','.join(str(size) for size in shape)}:"
                open_values.extend(value.values())
            elif isinstance(value, list):
                open_values.extend(value)

    def bytes_of(self, digest: str) -> torch.Tensor:
        """Returns a private, aligned copy of a tensor's bytes. Raises BundleError when they do not match."""
        data = super().bytes_of(digest)
        hashed = hashlib.sha256(self._forms.get(digest, "").encode())
        hashed.update(memory_of(data))
        if hashed.hexdigest() != digest:
            raise BundleError(f"the tensor {digest[:12]} of the bundle does not match its digest")
        return data


def _folder_places(folder: Path) -> Iterator[tuple[str, _Place]]:
    if not folder.is_dir():
        raise BundleError(f"there is no bundle at {folder}")
    for path in folder.rglob("*"):
        if path.is_symlink():
            raise BundleError(f"the bundle holds the link '{path.relative_to(folder)}'")
        if path.is_file():
            yield path.relative_to(folder).as_posix(), _Place(path, 0, path.stat().st_size)


def _archive_places(path: Path) -> Iterator[tuple[str, _Place]]:
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            for member in archive.infolist():
                if member.compress_type != zipfile.ZIP_STORED or member.is_dir() or member.flag_bits & 1:
                    raise BundleError(f"the member '{member.filename}' of {path} is not stored as it is")
                file.seek(member.header_offset)
                header = file.read(_LOCAL_HEADER)
                lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
                yield member.filename, _Place(path, member.header_offset + _LOCAL_HEADER + lengths, member.file_size)
    except zipfile.BadZipFile as error:
        raise BundleError(f"{path} is no bundle: {error}") from error


def _parse(content: bytes, name: str) -> JsonObject:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{name} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise BundleError(f"{name} is no JSON object")
    return document


def _check_schema(document: JsonObject, schema: str) -> None:
    if document.get("schema") != schema or not isinstance(document.get("schema_version"), int):
        raise BundleError(f"the document is no {schema}")
    if document["schema_version"] > _NEWEST_SCHEMA:
        raise BundleError(f"{schema} {document['schema_version']} is newer than this package reads; update modulelens")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
