# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`python -m modulelens export BUNDLE...`: programs for modules that were captured without, after rebuilding them."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import nn

from modulelens.bundle_reader import BundleReader
from modulelens.bundle_writer import _make_durable
from modulelens.cache_support import register_caches
from modulelens.json_types import JsonObject, encode_json
from modulelens.nodes import Documents
from modulelens.problems import Problems
from modulelens.programs import ProgramExporter
from modulelens.record import CapturedCall, ModuleRecord
from modulelens.worker.data import Extent
from modulelens.worker.decoder import DeviceMap, SourceDecoder, no_module
from modulelens.worker.errors import WorkerError
from modulelens.worker.rebuild import Blueprint, Rebuilt, rebuild
from modulelens.worker.trust import CodeResolver, needed_code

_CONSENT_EXIT, _ERROR_EXIT = 12, 9
_BLOCK = 1 << 20


def main(arguments: list[str]) -> int:
    """Exports and returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m modulelens export",
        description="Adds programs to captures, from modules rebuilt from their classes. Writes new bundles.",
    )
    parser.add_argument("bundles", nargs="+", type=Path, metavar="BUNDLE", help="a bundle folder or a .mlens file")
    parser.add_argument("--store", type=Path, metavar="DIR", help="where the new bundles go (else: beside the old)")
    parser.add_argument("--module", action="append", metavar="NAME", help="only this module; may stand several times")
    parser.add_argument("--all", action="store_true", help="also modules that have a program")
    parser.add_argument("--static", action="store_true", help="no dynamic batch dimension")
    parser.add_argument("--trust", action="store_true", help="consent to running the code of the captured modules")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="PACKAGE", help="consent to code of this package"
    )
    options = parser.parse_args(arguments)
    for bundle in options.bundles:
        try:
            written = export_bundle(
                bundle,
                options.store or bundle.absolute().parent,
                modules=options.module,
                everything=options.all,
                dynamic_batch=not options.static,
                allow=None if options.trust else set(options.allow),
            )
        except WorkerError as error:
            print(f"{bundle}: {error.message}. {error.fix}", file=sys.stderr)
            return _CONSENT_EXIT if error.name == "consent_needed" else _ERROR_EXIT
        except (OSError, ValueError, KeyError) as error:
            print(f"{bundle}: {type(error).__name__}: {error}", file=sys.stderr)
            return _ERROR_EXIT
        print(written or f"{bundle}: there is nothing to export")
    return 0


def export_bundle(
    bundle: Path,
    store: Path,
    modules: Iterable[str] | None = None,
    everything: bool = False,
    dynamic_batch: bool = True,
    allow: set[str] | None = None,
) -> Path | None:
    """Writes a bundle with programs to `store` and returns its path; None when nothing was left to do.

    `allow` names the packages, besides torch, whose code may run; None: all. WorkerError "consent_needed": one lacks.
    """
    source = _Source(BundleReader(bundle))
    wanted = None if modules is None else set(modules)
    chosen = [
        entry
        for entry in source.index["versions"]
        if (wanted is None or entry["module"] in wanted) and (everything or source.lacks_program(entry["digest"]))
    ]
    if not chosen:
        return None
    source.require_consent(chosen, allow)
    exporter = ProgramExporter(source, source.node_documents, source.problems, dynamic_batch)  # type: ignore[arg-type]
    for entry in chosen:
        source.export(entry["digest"], exporter)
    return source.write(store, exporter.programs)


class _Source:
    """A bundle that is read, and what becomes of its versions."""

    def __init__(self, reader: BundleReader) -> None:
        self._reader = reader
        self.index = reader.index
        self.problems = Problems()
        self.node_documents = Documents()
        self._nodes: JsonObject = {}
        for entry in self.index["nodes"]:
            content = reader.content(entry["file"])
            self.node_documents.add(content)
            self._nodes[entry["digest"]] = json.loads(content)
        self._versions: JsonObject = {
            entry["digest"]: reader.document(entry["file"], "modulelens.version") for entry in self.index["versions"]
        }
        for document in [*self._nodes.values(), *self._versions.values()]:
            reader.tensors.learn(document)
        self._data = reader.tensors
        self._packages: set[str] = set()

    def bytes_of(self, digest: str) -> Any:
        """As a TensorStore gives them."""
        return self._data.bytes_of(digest)

    def lacks_program(self, digest: str) -> bool:
        """Whether a call that returned has no program."""
        return any(call["program"] is None and call["exception"] is None for call in self._versions[digest]["calls"])

    def require_consent(self, chosen: list[JsonObject], allow: set[str] | None) -> None:
        """Notes the packages that may be imported. WorkerError "consent_needed"."""
        calls = [self._versions[entry["digest"]]["calls"] for entry in chosen]
        packages = needed_code(self._nodes, calls).packages
        missing = [package for package in packages if allow is not None and package not in allow]
        if missing:
            raise WorkerError(
                "consent_needed",
                f"exporting runs code of {', '.join(missing)}",
                "If you trust where the capture comes from, repeat the command with --trust or --allow PACKAGE.",
            )
        self._packages = set(packages)

    def export(self, digest: str, exporter: ProgramExporter) -> None:
        """Fills programs into a version. A module that cannot be rebuilt keeps its reason."""
        version = self._versions[digest]
        calls = version["calls"]
        programs: list[JsonObject] = []
        failure: JsonObject | None = None
        for root in dict.fromkeys(call.get("node", version["state"]["node"]) for call in calls):
            own = [call for call in calls if call.get("node", version["state"]["node"]) == root]
            try:
                built = self._rebuilt(version, root, own)
            except Exception as error:
                text = error.message if isinstance(error, WorkerError) else f"{type(error).__name__}: {error}"
                failure = {"reason": text, "source": None}
                continue
            for call in own:
                call["program"] = None
            record = self._record(version, root, own, built.module)
            exporter.export(record)
            for entry in record.programs:
                entry["call"] = calls.index(own[entry["call"]])
                programs.append(entry)
            if record.no_program is not None and built.warnings:
                record.no_program["reason"] = f"{built.warnings[0]}; then {record.no_program['reason']}"
            failure = failure or record.no_program
        version["state"]["programs"] = programs or version["state"]["programs"]
        version["state"]["no_program"] = None if version["state"]["programs"] else failure

    def _rebuilt(self, version: JsonObject, root: str, calls: list[JsonObject]) -> Rebuilt:
        resolver = CodeResolver(self._packages)
        devices = DeviceMap("cpu", version["environment"]["device"])
        state = {
            **version["state"]["tensors"],
            **(calls[0]["state_before"] if root != version["state"]["node"] else {}),
        }
        blueprint = Blueprint(
            root=root,
            name=version["module"],
            nodes=self._nodes,
            state=state,
            resolver=resolver,
            decoder=lambda find: SourceDecoder(self._data.bytes_of, resolver, devices, find or no_module),
        )
        built = rebuild(blueprint, ("structure", "init"))
        register_caches()
        return built

    @staticmethod
    def _record(version: JsonObject, root: str, calls: list[JsonObject], module: nn.Module) -> ModuleRecord:
        training = [part.training for part in module.modules()]
        return ModuleRecord(
            name=version["module"],
            aliases=version["aliases"],
            module=module,
            class_name=version["class"],
            run=0,
            node=root,
            skeleton=root,
            tensors=version["state"]["tensors"],
            parameter_bytes=version["state"]["parameter_bytes"],
            parameter_count=version["state"]["parameter_count"],
            calls=[CapturedCall(call, _flags(training, call)) for call in calls],
        )

    def write(self, store: Path, programs: Documents) -> Path:
        """Writes the bundle beside its final place and renames it in."""
        store.mkdir(parents=True, exist_ok=True)
        partial = store / f".incoming-export-{os.getpid()}-{secrets.token_hex(4)}"
        partial.mkdir()
        try:
            return self._fill(partial, store, programs)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _fill(self, partial: Path, store: Path, programs: Documents) -> Path:
        index = dict(self.index)
        renamed: dict[str, str] = {}
        for entry in index["versions"]:
            content = encode_json(self._versions[entry["digest"]])
            digest = hashlib.sha256(content).hexdigest()
            renamed[entry["digest"]] = digest
            entry.update(digest=digest, file=f"versions/{digest}.json", size=len(content))
            _write(partial / entry["file"], content)
        for entry in index["runs"]:
            run = self._reader.document(entry["file"], "modulelens.run")
            for call in run["calls"]:
                call["version"] = renamed.get(call["version"], call["version"])
            content = encode_json(run)
            entry.update(sha256=hashlib.sha256(content).hexdigest(), size=len(content))
            _write(partial / entry["file"], content)
        for kind in ("nodes", "sources", "tensors", "programs"):
            for entry in index[kind]:
                _copy(self._reader.extent(entry["file"], ""), partial / entry["file"])
        known = {entry["digest"] for entry in index["programs"]}
        for digest, content in programs.contents.items():
            if digest not in known:
                entry = {"digest": digest, "file": f"programs/{digest}.pt2", "size": len(content)}
                index["programs"].append(entry)
                _write(partial / entry["file"], content)
        index["problems"] = [*index["problems"], *self.problems.entries]
        document = encode_json(index)
        digest = hashlib.sha256(document).hexdigest()
        _write(partial / "bundle.json", document)
        _write(partial / "bundle.sha256", f"{digest}  bundle.json\n".encode())
        _make_durable(partial)
        stamp = index["created"].replace("-", "").replace(":", "").partition(".")[0]
        final = store / f"{stamp}Z-{digest[:8]}"
        if not final.exists():
            partial.rename(final)
        return final


def _flags(training: list[bool], call: JsonObject) -> list[bool]:
    return training if training and training[0] == call["training"] else [call["training"]] * len(training)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _copy(source: Extent, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    left = source.length
    with source.file.open("rb") as reading, target.open("xb") as writing:
        reading.seek(source.offset)
        while left:
            block = reading.read(min(left, _BLOCK))
            if not block:
                raise ValueError(f"{source.file} is cut short")
            writing.write(block)
            left -= len(block)
