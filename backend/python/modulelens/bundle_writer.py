# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Writes one bundle folder beside its final place, makes it durable, and renames it in."""

from __future__ import annotations

import datetime
import fcntl
import hashlib
import os
import secrets
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

from modulelens.environment import deciding_environment
from modulelens.json_types import JsonObject, encode_json
from modulelens.names import collection_id, run_collection
from modulelens.nodes import Documents
from modulelens.record import ModuleRecord, Run
from modulelens.tensor_store import TensorStore


@dataclass
class BundleContents:
    """Everything that one traced run has left."""

    model_name: str
    environment: JsonObject
    tags: list[str]
    attributes: JsonObject
    records: dict[str, ModuleRecord]
    runs: list[Run]
    nodes: Documents
    sources: Documents
    store: TensorStore
    programs: Documents
    problems: list[JsonObject]
    incomplete_reason: str | None
    ranks: JsonObject | None = None
    measured: JsonObject | None = None


def hidden_prefix(kind: str) -> str:
    """How the names of folders of this host begin that are no bundles yet."""
    host = "".join(c if c.isalnum() else "_" for c in socket.gethostname())
    return f".{kind}-{host}-"


def try_lock(folder: Path) -> int | None:
    """The descriptor that holds the lock on a folder; None when another process has it or locks do not work there."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _locked_folder(store: Path) -> tuple[Path, int | None]:
    """A new folder in the store, locked while this process lives, so that others can tell it from a leftover."""
    while True:
        path = store / f"{hidden_prefix('incoming')}{os.getpid()}-{secrets.token_hex(4)}"
        path.mkdir()
        lock = try_lock(path)
        if path.is_dir():
            return path, lock
        # Another tracer took it for a leftover before it was locked.
        if lock is not None:
            os.close(lock)


def _remove_leftovers(store: Path) -> None:
    """Removes what tracers of this host that died have left. A lock says nothing about the processes of other hosts."""
    for path in store.glob(f"{hidden_prefix('incoming')}*"):
        lock = try_lock(path)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


class BundleFolder:
    """The temporary folder of a bundle that is being written. Used from one thread."""

    def __init__(self, store: Path) -> None:
        store.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(store)
        self._store = store
        self.path, self._lock = _locked_folder(store)

    @property
    def tensors(self) -> Path:
        """The folder for tensor files."""
        return self.path / "tensors"

    def discard(self) -> None:
        """Removes what has been written so far."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._unlock()

    def finish(self, contents: BundleContents, into: Path | None = None) -> Path:
        """Writes all documents and renames the folder into the store, or `into` another folder on the same disk.

        Returns its path. Raises OSError when the disk refuses.
        """
        contents.store.finish()
        created = datetime.datetime.now(datetime.timezone.utc)
        index = self._index(contents, created)
        document = encode_json(index)
        digest = hashlib.sha256(document).hexdigest()
        (self.path / "bundle.json").write_bytes(document)
        (self.path / "bundle.sha256").write_text(f"{digest}  bundle.json\n", encoding="ascii")
        parent = self._store if into is None else into
        return self.rename_to(parent / f"{created:%Y%m%dT%H%M%SZ}-{digest[:8]}")

    def rename_to(self, final: Path) -> Path:
        """Makes what was written durable and gives it its name, unless the same bundle is there; returns that.

        Raises OSError when the disk refuses.
        """
        make_durable(self.path)
        if not final.exists():
            self.path.rename(final)
        self._unlock()
        sync(final.parent)
        return final

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _index(self, contents: BundleContents, created: datetime.datetime) -> JsonObject:
        environment = contents.environment
        versions = [
            self._version(contents.model_name, record, environment)
            for record in contents.records.values()
            if record.calls
        ]
        index = {
            "schema": "modulelens.bundle",
            "schema_version": 1,
            "created": created.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "model": contents.model_name,
            "complete": contents.incomplete_reason is None,
            "incomplete_reason": contents.incomplete_reason,
            "environment": environment,
            "tags": contents.tags,
            "attributes": contents.attributes,
            "runs": [self._run(contents, number, run, environment) for number, run in enumerate(contents.runs)],
            "versions": versions,
            "nodes": self._documents("nodes", "json", contents.nodes),
            "programs": self._documents("programs", "pt2", contents.programs),
            "sources": self._documents("sources", "py", contents.sources),
            "tensors": [
                {"file": file.file, "sha256": file.sha256, "size": file.size, "keys": file.keys}
                for file in contents.store.files
            ],
            "problems": contents.problems,
        }
        return index if contents.ranks is None else {**index, "ranks": contents.ranks}

    def _version(self, model_name: str, record: ModuleRecord, environment: JsonObject) -> JsonObject:
        document = {
            "schema": "modulelens.version",
            "schema_version": 1,
            "model": model_name,
            "module": record.name,
            "aliases": record.aliases,
            "class": record.class_name,
            "collection": collection_id(model_name, record.name),
            "state": {
                "node": record.node,
                "tensors": record.tensors,
                "parameter_bytes": record.parameter_bytes,
                "parameter_count": record.parameter_count,
                "programs": record.programs,
                "no_program": record.no_program,
            },
            "environment": deciding_environment(environment),
            "calls": [call.document for call in record.calls],
        }
        content = encode_json(document)
        record.digest = hashlib.sha256(content).hexdigest()
        file = f"versions/{record.digest}.json"
        self._write(file, content)
        return {
            "digest": record.digest,
            "file": file,
            "size": len(content),
            "collection": document["collection"],
            "model": model_name,
            "module": record.name,
            "class": record.class_name,
            "run": record.run,
        }

    def _run(self, contents: BundleContents, number: int, run: Run, environment: JsonObject) -> JsonObject:
        for entry in run.calls:
            if entry["version"] is not None:
                entry["version"] = contents.records[entry["version"]].digest
        document = {
            "schema": "modulelens.run",
            "schema_version": 1,
            "model": contents.model_name,
            "collection": run_collection(contents.model_name),
            "step": run.step,
            "started": run.started,
            "duration_ns": run.duration_ns,
            "device": environment["device"],
            "environment": environment,
            **({} if contents.measured is None else {"measured": contents.measured}),
            "calls": run.calls,
        }
        content = encode_json(document)
        file = f"runs/{number}.json"
        self._write(file, content)
        return {"file": file, "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}

    def _documents(self, folder: str, suffix: str, documents: Documents) -> list[JsonObject]:
        entries: list[JsonObject] = []
        for digest, content in documents.contents.items():
            file = f"{folder}/{digest}.{suffix}"
            self._write(file, content)
            entries.append({"digest": digest, "file": file, "size": len(content)})
        return entries

    def _write(self, file: str, content: bytes) -> None:
        path = self.path / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


def make_durable(folder: Path) -> None:
    """Has the disk write a folder and all that is in it."""
    for path in sorted(folder.rglob("*")):
        sync(path)
    sync(folder)


def sync(path: Path) -> None:
    """Has the disk write one file or the names in one folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
