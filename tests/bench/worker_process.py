# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""A worker process driven from Python, and the parts of a bundle that its requests need. For benchmarks."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]
# Where workers load what bundles hold; tests/bench/gpu_run.sh sets it.
DEVICE = os.environ.get("MODULELENS_BENCH_DEVICE", "cpu")


def worker_path() -> Path:
    return Path(os.environ.get("MODULELENS_BIN_DIR", "bin")) / "modulelens-worker"


class WorkerProcess:
    """One `modulelens-worker`, initialized. Requests are answered in turn; an error answer raises RuntimeError."""

    def __init__(self, threads: int) -> None:
        self._scratch = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen([str(worker_path())], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._next_id = 0
        self.call(
            "initialize",
            {"protocol_version": 1, "client": "bench", "scratch_folder": self._scratch.name, "threads": threads},
        )

    def call(self, method: str, params: Json) -> Json:
        assert self._process.stdin and self._process.stdout
        request = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        self._next_id += 1
        body = json.dumps(request).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()
        while True:
            message = self._receive()
            if message.get("id") == request["id"]:
                if message.get("error"):
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"] or {}

    def _receive(self) -> Json:
        assert self._process.stdout
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise RuntimeError("the worker ended")
        return json.loads(self._process.stdout.read(length))

    def page_faults(self) -> int:
        """Faults so far that needed no reading from a disk."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[7])

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
        self._scratch.cleanup()


class BundleReader:
    """A bundle folder, trusted: nothing is verified."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._index: Json = json.loads((folder / "bundle.json").read_text())
        self._tensors = dict(self._tensor_extents())
        self._programs = {entry["digest"]: entry for entry in self._index["programs"]}

    def version(self, module: str) -> Json:
        for entry in self._index["versions"]:
            if entry["module"] == module:
                version: Json = json.loads((self._folder / entry["file"]).read_text())
                return version
        raise KeyError(module)

    def load_params(self, version: Json) -> Json:
        program = self._programs[version["calls"][0]["program"]]
        path = self._folder / program["file"]
        state = version["state"]["tensors"]
        return {
            "name": f"{version['model']}::{version['module']}",
            "program": {"digest": program["digest"], "file": str(path), "offset": 0, "length": path.stat().st_size},
            "tensors": self._extents(state),
            "state": state,
            "device": DEVICE,
        }

    def call_params(self, version: Json, handle: int, threads: int) -> Json:
        call = version["calls"][0]
        return {"handle": handle, "call": call, "tensors": self._extents(call), "threads": threads}

    def _tensor_extents(self) -> Iterator[tuple[str, Json]]:
        for entry in self._index["tensors"]:
            path = self._folder / entry["file"]
            with path.open("rb") as file:
                size = struct.unpack("<Q", file.read(8))[0]
                header = json.loads(file.read(size))
            for key, tensor in header.items():
                if key != "__metadata__" and not key.startswith(".pad."):
                    begin, end = tensor["data_offsets"]
                    place = {"file": str(path), "offset": 8 + size + begin, "length": end - begin}
                    yield key, {"digest": key, **place}

    def _extents(self, value: object) -> list[Json]:
        digests: set[str] = set()

        def visit(node: object) -> None:
            if isinstance(node, dict):
                if node.get("ref") in self._tensors:
                    digests.add(node["ref"])
                for child in node.values():
                    visit(child)
            elif isinstance(node, list):
                for child in node:
                    visit(child)

        visit(value)
        return [self._tensors[digest] for digest in sorted(digests)]
