# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""A worker process driven over its streams, and the requests that load and call what a bundle holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]
PACKAGE = Path(__file__).resolve().parents[1]


class WorkerFailureError(Exception):
    """An error answer."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data: Json = error.get("data") or {}
        self.message: str = error["message"]


class WorkerProcess:
    """One Python worker (or the program that `command` names). Requests are answered in turn."""

    def __init__(self, command: list[str] | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._scratch = tempfile.TemporaryDirectory()
        paths = [str(PACKAGE), str(PACKAGE / "tests"), os.environ.get("PYTHONPATH", "")]
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
        self.process = subprocess.Popen(
            command or [sys.executable, "-m", "modulelens", "worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**variables, **(environment or {})},
        )
        self._next = 0
        self.notifications: list[Json] = []

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self._scratch.cleanup()

    def initialize(self, threads: int = 1) -> Json:
        params = {"protocol_version": 1, "client": "test", "scratch_folder": self._scratch.name, "threads": threads}
        result: Json = self.call("initialize", params)
        return result

    def call(self, method: str, params: Any) -> Any:
        """The result. WorkerFailureError: an error answer."""
        return self.answer(self.request(method, params))

    def request(self, method: str, params: Any) -> int:
        """Sends without waiting; returns the id."""
        number = self._next
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def answer(self, number: int) -> Any:
        while True:
            message = self.receive()
            if message is None:
                raise EOFError
            if "method" in message:
                self.notifications.append(message)
            elif message.get("id") == number:
                if message.get("error"):
                    raise WorkerFailureError(message["error"])
                return message["result"]

    def send(self, message: Json) -> None:
        body = json.dumps(message).encode()
        self.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self) -> Json | None:
        """The next message; None when the output has ended."""
        assert self.process.stdout
        length = None
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return None if length is None else json.loads(self.process.stdout.read(length))


class BundleRequests:
    """Requests for the versions of one bundle folder. Nothing is verified."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index: Json = json.loads((folder / "bundle.json").read_text())
        self.versions = {entry["module"]: self._document(entry) for entry in self.index["versions"]}
        self.nodes = {entry["digest"]: self._document(entry) for entry in self.index["nodes"]}
        self.sources = {
            entry["digest"]: (folder / entry["file"]).read_text(encoding="utf-8") for entry in self.index["sources"]
        }
        self._programs = {entry["digest"]: entry for entry in self.index["programs"]}
        self._extents = {extent["digest"]: extent for extent in self._tensor_extents()}

    def load(self, module: str = "", device: str = "cpu", call: int = 0, **source: Any) -> Json:
        """The request for one version without consent; `source` adds to what it says of the source engine."""
        version = self.versions[module]
        params: Json = {
            "name": f"{version['model']}::{module}",
            "tensors": list(self._extents.values()),
            "state": version["state"]["tensors"],
            "device": device,
            "source": {
                "root": version["state"]["node"],
                "module": module,
                "nodes": self._nodes_of(version),
                "values": version["calls"],
                "sources": self.sources,
                "captured_device": version["environment"]["device"],
                **source,
            },
        }
        digest = version["calls"][call]["program"]
        if digest is not None:
            file = self.folder / self._programs[digest]["file"]
            params["program"] = {"digest": digest, "file": str(file), "offset": 0, "length": file.stat().st_size}
        return params

    def call(self, handle: int, module: str = "", call: int = 0, threads: int | None = None) -> Json:
        extents = list(self._extents.values())
        params = {"handle": handle, "call": self.versions[module]["calls"][call], "tensors": extents}
        return {**params, "threads": threads} if threads else params

    def consented(self, worker: WorkerProcess, module: str = "", **options: Any) -> Json:
        """As `load`, with the consent that the worker asks for."""
        params = self.load(module, **options)
        sha256 = worker.call("code", {"source": params["source"]})["sha256"]
        return {**params, "consent": [sha256] if sha256 else []}

    def _nodes_of(self, version: Json) -> Json:
        """The nodes of the version and its calls, with all that they name."""
        found: Json = {}
        names = [version["state"]["node"], *(call["node"] for call in version["calls"] if call.get("node"))]
        while names:
            digest = names.pop()
            if digest not in found:
                found[digest] = self.nodes[digest]
                names += [child for child in self.nodes[digest]["children"].values() if child is not None]
                names += _modules_in(self.nodes[digest])
        return found

    def _document(self, entry: Json) -> Json:
        document: Json = json.loads((self.folder / entry["file"]).read_bytes())
        return document

    def _tensor_extents(self) -> list[Json]:
        extents = []
        for entry in self.index["tensors"]:
            path = self.folder / entry["file"]
            with path.open("rb") as file:
                size = int.from_bytes(file.read(8), "little")
                header = json.loads(file.read(size))
            for key, tensor in header.items():
                if key != "__metadata__" and not key.startswith(".pad."):
                    begin, end = tensor["data_offsets"]
                    place = {"offset": 8 + size + begin, "length": end - begin}
                    extents.append({"digest": key, "file": str(path), **place})
        return extents


def _modules_in(value: Any) -> list[str]:
    """Digests of nodes of modules that stand in a value."""
    if isinstance(value, list):
        return [digest for item in value for digest in _modules_in(item)]
    if not isinstance(value, dict):
        return []
    own = [value["node"]] if value.get("$t") == "module" and value.get("node") else []
    return own + [digest for item in value.values() for digest in _modules_in(item)]
