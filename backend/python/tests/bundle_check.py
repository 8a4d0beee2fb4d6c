# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""A second reader of bundles, written from docs/formats/bundle.md alone. Raises AssertionError for what breaks it."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SAFETENSORS_SIZES = {
    "F64": 8,
    "I64": 8,
    "U64": 8,
    "F32": 4,
    "I32": 4,
    "U32": 4,
    "F16": 2,
    "BF16": 2,
    "I16": 2,
    "U16": 2,
}


class Bundle:
    """A checked bundle with its documents."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index = json.loads((folder / "bundle.json").read_bytes())
        self.tensors: dict[str, tuple[dict[str, Any], bytes]] = {}
        self.versions = {entry["module"]: self._json(entry) for entry in self.index["versions"]}
        self.nodes = {entry["digest"]: self._json(entry) for entry in self.index["nodes"]}
        self.runs = [self._json(entry) for entry in self.index["runs"]]

    def _json(self, entry: dict[str, Any]) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / entry["file"]).read_bytes(), parse_constant=_refuse)
        return document

    def call(self, module: str = "", index: int = 0) -> dict[str, Any]:
        """The call document of a module's version."""
        call: dict[str, Any] = self.versions[module]["calls"][index]
        return call

    def program(self, digest: str) -> Path:
        return self.folder / "programs" / f"{digest}.pt2"


def check_bundle(folder: Path) -> Bundle:
    """Checks everything that the format page promises and returns the bundle."""
    bundle = Bundle(folder)
    index = bundle.index
    digest = _sha256((folder / "bundle.json").read_bytes())
    assert (folder / "bundle.sha256").read_text() == f"{digest}  bundle.json\n"
    assert folder.name.endswith(f"-{digest[:8]}")
    assert index["schema"] == "modulelens.bundle" and index["schema_version"] == 1
    named = {"bundle.json", "bundle.sha256"}
    for kind in ("runs", "versions", "nodes", "programs", "sources", "tensors"):
        for entry in index[kind]:
            content = (folder / entry["file"]).read_bytes()
            assert len(content) == entry["size"]
            assert _sha256(content) == entry.get("digest", entry.get("sha256"))
            named.add(entry["file"])
    assert named == {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for entry in index["tensors"]:
        _read_safetensors(bundle, entry)
    for version in bundle.versions.values():
        _check_version(bundle, version)
    for node in bundle.nodes.values():
        _check_node(bundle, node)
    for run in bundle.runs:
        _check_run(bundle, run)
    for entry in index["programs"]:
        _check_program((folder / entry["file"]).read_bytes())
    return bundle


def at_pointer(document: Any, pointer: str) -> Any:
    """What a JSON Pointer stands for."""
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        document = document[int(token)] if isinstance(document, list) else document[token]
    return document


def _read_safetensors(bundle: Bundle, entry: dict[str, Any]) -> None:
    content = (bundle.folder / entry["file"]).read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    data = 8 + length
    assert data % 64 == 0
    reached = 0
    for key, tensor in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = tensor["data_offsets"]
        assert begin == reached
        reached = end
        count = 1
        for size in tensor["shape"]:
            count *= size
        assert count * _SAFETENSORS_SIZES.get(tensor["dtype"], 1) == end - begin
        if key.startswith(".pad."):
            assert tensor["dtype"] == "U8" and not any(content[data + begin : data + end])
            continue
        assert (data + begin) % 64 == 0
        bundle.tensors[key] = (tensor, content[data + begin : data + end])
    assert data + reached == len(content)
    assert [key for key in header if not key.startswith(".pad.")] == entry["keys"]


def _references(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        if "dtype" in value and "shape" in value and value.get("$t", "tensor") == "tensor":
            yield value
        for item in value.values():
            yield from _references(item)


def _check_references(bundle: Bundle, document: Any) -> None:
    for reference in _references(document):
        assert ("ref" in reference) != ("gap" in reference), reference
        if "ref" not in reference:
            continue
        stored, content = bundle.tensors[reference["ref"]]
        shape = reference.get("stored_shape", reference["shape"])
        text = f"{reference['dtype']}:{','.join(map(str, shape))}:".encode()
        assert _sha256(text + content) == reference["ref"]
        if "stored_dtype" in reference:
            assert stored["dtype"] == "U8" and stored["shape"] == [len(content)]
        else:
            assert stored["shape"] == shape


def _check_version(bundle: Bundle, version: dict[str, Any]) -> None:
    text = f"{version['model']}\0{version['module']}".encode()
    assert version["collection"] == hashlib.md5(text).hexdigest()
    state = version["state"]
    assert state["node"] in bundle.nodes
    assert (state["no_program"] is None) == bool(state["programs"])
    digests = {entry["digest"] for entry in bundle.index["programs"]}
    for program in state["programs"]:
        assert program["digest"] in digests
    _check_references(bundle, version)
    for call in version["calls"]:
        assert call["program"] is None or call["program"] in digests
        for pointer in call["mutated"]:
            assert at_pointer(call, pointer)["$t"] == "tensor"
        for name in [*call["state_before"], *call["state_after"]]:
            assert name in state["tensors"]
        if call["program"]:
            with zipfile.ZipFile(bundle.program(call["program"])) as archive:
                sidecar = json.loads(archive.read("program/extra/modulelens.json"))
            for pointer in [*sidecar["inputs"], *sidecar["outputs"]]:
                at_pointer(call, pointer)


def _check_node(bundle: Bundle, node: dict[str, Any]) -> None:
    assert node["schema"] == "modulelens.node"
    for child in node["children"].values():
        assert child is None or child in bundle.nodes
    sources = {entry["digest"] for entry in bundle.index["sources"]}
    assert node["source"] is None or node["source"] in sources
    for reference in [*node["parameters"].values(), *node["buffers"].values()]:
        assert reference is None or not {"obj", "storage"} & set(reference)
    _check_references(bundle, node)


def _check_run(bundle: Bundle, run: dict[str, Any]) -> None:
    versions = {entry["digest"]: entry["module"] for entry in bundle.index["versions"]}
    for position, call in enumerate(run["calls"]):
        assert call["id"] == position
        assert call["parent"] is None or call["parent"] < position
        assert (call["version"] is None) == (call["version_call"] is None)
        if call["version"] is not None:
            assert versions[call["version"]] == call["module"]
            captured = bundle.versions[call["module"]]["calls"][call["version_call"]]
            for tensor in [*call["inputs"], *call["outputs"]]:
                assert at_pointer(captured, tensor["path"])["shape"] == tensor["shape"]


def _check_program(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            assert member.compress_type == zipfile.ZIP_STORED
            assert member.filename.startswith("program/")
            if member.filename.endswith(".pt"):
                assert member.file_size == 0
            assert not archive.read(member).startswith((b"\x80\x02", b"\x80\x04", b"PK"))
            if member.filename.startswith("program/data/weights/weight_"):
                assert member.file_size == 0


def _refuse(text: str) -> None:
    raise AssertionError(f"{text} is no JSON")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
