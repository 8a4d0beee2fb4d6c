# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Made the first inputs of tests/data/fuzz out of the golden archives: `make_seeds.py`.

Inputs that once were findings stand beside them as `finding-*`; they are never removed.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
SMALLEST = 5


def put(target: str, name: str, content: bytes) -> None:
    folder = DATA / "fuzz" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def model_json(archive: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        member = next(name for name in zipped.namelist() if name.endswith("models/model.json"))
        return zipped.read(member)


def without_traces(model: bytes) -> bytes:
    """The same graph without the metadata that makes most of the file."""
    document = json.loads(model)
    for node in document["graph_module"]["graph"]["nodes"]:
        node["metadata"] = {key: value for key, value in node["metadata"].items() if key == "nn_module_stack"}
    return json.dumps(document, separators=(",", ":")).encode()


def programs() -> None:
    for version in ("2.9.1", "2.15.0"):
        with zipfile.ZipFile(DATA / "programs" / f"torch-{version}.mlens") as bundle:
            archives = sorted((bundle.read(n) for n in bundle.namelist() if n.endswith(".pt2")), key=len)
        for number, archive in enumerate(archives[:SMALLEST]):
            put("archive", f"torch-{version}-{number}.pt2", archive)
        for number, archive in enumerate(archives):
            if version != "2.9.1" or number % 4 == 0:
                put("graph", f"torch-{version}-{number}.json", without_traces(model_json(archive)))


def documents() -> None:
    for folder in (DATA / "capture").glob("v*/*"):
        for path in (*folder.glob("versions/*.json"), *folder.glob("nodes/*.json"), *folder.glob("runs/*.json")):
            put("documents", f"{path.parent.name}-{path.name[:12]}.json", path.read_bytes())
        put("documents", "bundle.json", (folder / "bundle.json").read_bytes())
        for path in folder.glob("tensors/*.safetensors"):
            put("safetensors", path.name, path.read_bytes())


def tensors() -> None:
    def file(header: dict[str, object], size: int) -> bytes:
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + bytes(size)

    entry = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    put("safetensors", "one", file({"a": entry, "__metadata__": {"format": "pt"}}, 24))
    put("safetensors", "empty", file({}, 0))
    padding = {"dtype": "U8", "shape": [8], "data_offsets": [24, 32]}
    scalar = {"dtype": "I64", "shape": [], "data_offsets": [32, 40]}
    put("safetensors", "padded", file({"a": entry, ".pad.0": padding, "b": scalar}, 40))


def messages() -> None:
    extent = {"digest": "0" * 64, "file": "x", "offset": 0, "length": 1}
    load = {"name": "m", "program": extent, "tensors": [extent], "state": {}, "device": "cpu"}
    call = {"handle": 1, "call": {"args": [], "kwargs": {}}, "tensors": [], "threads": 2, "timeout_ms": 5}
    bodies = [
        {"id": 1, "method": "initialize", "params": {"protocol_version": 1, "client": "c", "scratch_folder": "/s"}},
        {"id": 2, "method": "load", "params": load},
        {"id": 3, "method": "profile", "params": {**call, "repetitions": 3}},
        {"method": "$/progress", "params": {"id": 3, "stage": "run", "done": 1, "total": 2}},
        {"id": 3, "result": {"handle": 1, "load_ns": 5, "operator_count": 2, "warnings": []}},
        {"id": 4, "error": {"code": -32001, "message": "no", "data": None}},
    ]
    stream = b""
    for body in bodies:
        text = json.dumps({"jsonrpc": "2.0", **body}).encode()
        framed = b"Content-Length: %d\r\n\r\n" % len(text) + text
        put("rpc", str(body.get("method", "response")).strip("$/") + str(body.get("id", "")), framed)
        stream += framed
    put("rpc", "stream", stream)


def texts() -> None:
    put("json", "scalars", b'[null, true, false, 0, -1, 1.5, -2e10, 1E-3, "a"]')
    put("json", "escapes", rb'{"a\"\\\/\b\f\n\r\t": "\u00e9\ud83d\ude00", "\u0000": "x"}')
    put("json", "utf8", '{"é": "日本 😀"}'.encode())
    put("json", "twice", b'{"a": 1, "a": [2, {"b": {}}], "c": []}')
    put("json", "deep", b"[" * 100 + b"]" * 100)


if __name__ == "__main__":
    programs()
    documents()
    tensors()
    messages()
    texts()
