# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`python -m modulelens export BUNDLE...`: programs for modules that were captured without, after rebuilding them."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from modulelens.bundle_reader import BundleReader
from modulelens.bundle_writer import BundleFolder
from modulelens.cache_support import register_caches
from modulelens.flop_counting import count_flops
from modulelens.gradients import GradientReplayer, take_seeds
from modulelens.json_types import JsonObject, encode_json
from modulelens.nodes import Documents
from modulelens.pending import PendingError, PendingFolder, Request, pending_in
from modulelens.problems import Problems
from modulelens.programs import ProgramExporter
from modulelens.record import CapturedCall, ModuleRecord
from modulelens.tensor_store import TensorStore
from modulelens.worker.data import Extent
from modulelens.worker.decoder import DeviceMap, SourceDecoder, no_module
from modulelens.worker.errors import WorkerError
from modulelens.worker.rebuild import Blueprint, Rebuilt, rebuild
from modulelens.worker.trust import CodeResolver, needed_code

_CONSENT_EXIT, _ERROR_EXIT, _STORAGE_EXIT = 12, 9, 10
_BLOCK = 1 << 20


def main(arguments: list[str]) -> int:
    """Exports and returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m modulelens export",
        description="Adds programs to captures, from modules rebuilt from their classes. Writes new bundles. "
        "Completes the captures that a tracer with background=True has left in a store.",
    )
    parser.add_argument(
        "bundles", nargs="+", type=Path, metavar="BUNDLE", help="a bundle folder, a .mlens file, or a tracer's store"
    )
    parser.add_argument("--store", type=Path, metavar="DIR", help="where the new bundles go (else: beside the old)")
    parser.add_argument("--module", action="append", metavar="NAME", help="only this module; may stand several times")
    parser.add_argument("--all", action="store_true", help="also modules that have a program")
    parser.add_argument("--static", action="store_true", help="no dynamic batch dimension")
    parser.add_argument("--trust", action="store_true", help="consent to running the code of the captured modules")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="PACKAGE", help="consent to code of this package"
    )
    parser.add_argument("--nice", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--hint", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.nice:
        os.nice(10)
    for bundle in options.bundles:
        code = _export_one(bundle, options)
        if code != 0:
            return code
    return 0


def _export_one(bundle: Path, options: argparse.Namespace) -> int:
    allow = None if options.trust else set(options.allow)
    try:
        pending = pending_in(bundle)
        for folder in pending:
            print(complete(folder, allow, options.hint), flush=True)
        if not pending:
            written = export_bundle(
                bundle,
                options.store or bundle.absolute().parent,
                modules=options.module,
                everything=options.all,
                dynamic_batch=not options.static,
                allow=allow,
            )
            print(written or f"{bundle}: there is nothing to export")
    except WorkerError as error:
        print(f"{bundle}: {error.message}. {error.fix}", file=sys.stderr)
        return _CONSENT_EXIT if error.name == "consent_needed" else _ERROR_EXIT
    except (OSError, ValueError, KeyError) as error:
        print(f"{bundle}: {type(error).__name__}: {error}", file=sys.stderr)
        return _STORAGE_EXIT if isinstance(error, OSError) else _ERROR_EXIT
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
    with _Source(BundleReader(bundle), store) as source:
        wanted = None if modules is None else set(modules)
        chosen = [
            entry
            for entry in source.index["versions"]
            if (wanted is None or entry["module"] in wanted) and (everything or source.lacks_program(entry["digest"]))
        ]
        if not chosen:
            return None
        source.require_consent(chosen, allow)
        source.make(chosen, Request(True, dynamic_batch, False, False, source.index["incomplete_reason"]))
        return source.write()


def complete(pending: PendingFolder, allow: set[str] | None = None, hint: str = "") -> Path:
    """Writes the whole bundle of a pending capture into its store and removes what was pending; returns its path.

    `hint` is put behind the reason of a module that cannot be rebuilt. Raises as `export_bundle`, and PendingError.
    """
    with pending.held(), _opened(pending) as source:
        request = pending.request()
        source.require_consent(source.index["versions"], allow)
        source.make(source.index["versions"], request, hint)
        source.settle(request.incomplete_reason)
        written = source.write()
    pending.remove()
    return written


def complete_without(pending: PendingFolder, reason: str) -> Path:
    """As `complete`, but makes nothing, for this reason."""
    with pending.held(), _opened(pending) as source:
        request = pending.request()
        source.give_up(reason, request)
        source.settle(request.incomplete_reason)
        written = source.write()
    pending.remove()
    return written


def _opened(pending: PendingFolder) -> _Source:
    bundle = pending.bundle
    if bundle is None:
        raise PendingError(f"{pending.path} holds no bundle: the traced process ended before it was written")
    return _Source(BundleReader(bundle), pending.store)


class _InBundle:
    """The tensors of the bundle that is read, as a TensorStore takes them for earlier ones."""

    def __init__(self, reader: BundleReader) -> None:
        self._tensors = reader.tensors
        self._keys = {key for entry in reader.index["tensors"] for key in entry["keys"]}

    def use(self, digest: str) -> bool:
        return digest in self._keys

    def bytes_of(self, digest: str) -> Any:
        return self._tensors.bytes_of(digest)

    def settle(self, folder: Path) -> tuple[list[Any], list[str]]:
        return [], []

    def close(self) -> None:
        """The reader holds no files open."""


class _Source:
    """A bundle that is read, and what becomes of its versions, in a hidden folder until it is whole."""

    def __init__(self, reader: BundleReader, store: Path) -> None:
        self._reader = reader
        self.index = reader.index
        self.problems = Problems()
        self._target = store
        self._node_documents = Documents()
        self._programs = Documents()
        self._nodes: JsonObject = {}
        for entry in self.index["nodes"]:
            content = reader.content(entry["file"])
            self._node_documents.add(content)
            self._nodes[entry["digest"]] = json.loads(content)
        self._versions: JsonObject = {
            entry["digest"]: reader.document(entry["file"], "modulelens.version") for entry in self.index["versions"]
        }
        for document in [*self._nodes.values(), *self._versions.values()]:
            reader.tensors.learn(document)
        self._packages: set[str] = set()
        store.mkdir(parents=True, exist_ok=True)
        self._folder = BundleFolder(store)
        self._tensors = TensorStore(self._folder.tensors, earlier=_InBundle(reader), prefix="made-")

    def __enter__(self) -> _Source:
        return self

    def __exit__(self, *error: object) -> None:
        self._tensors.discard()
        self._folder.discard()

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

    def make(self, chosen: list[JsonObject], request: Request, hint: str = "") -> None:
        """Makes what is asked for of each of the chosen versions. A module that cannot be rebuilt keeps its reason."""
        threads = torch.get_num_threads()
        torch.set_num_threads(max(int(self.index["environment"]["threads"]["intra_op"]), 1))
        try:
            exporter = ProgramExporter(self._tensors, self._node_documents, self.problems, request.dynamic_batch)
            self._programs = exporter.programs
            replayer = GradientReplayer(self._tensors, self.problems)
            for entry in chosen:
                version = self._versions[entry["digest"]]
                self._make_one(version, request, exporter, replayer, hint)
        finally:
            torch.set_num_threads(threads)

    def _make_one(
        self,
        version: JsonObject,
        request: Request,
        exporter: ProgramExporter,
        replayer: GradientReplayer,
        hint: str,
    ) -> None:
        calls = version["calls"]
        programs: list[JsonObject] = []
        failure: JsonObject | None = None
        for root in dict.fromkeys(call.get("node", version["state"]["node"]) for call in calls):
            own = [call for call in calls if call.get("node", version["state"]["node"]) == root]
            try:
                built = self._rebuilt(version, root, own)
            except Exception as error:
                text = error.message if isinstance(error, WorkerError) else f"{type(error).__name__}: {error}"
                failure = {"reason": f"{text}{hint}", "source": None}
                self._unmade(version, own, request, text + hint)
                continue
            record = self._record(version, root, own, built.module)
            if request.backward:
                for captured in record.calls:
                    take_seeds(captured)
                replayer.replay(record)
            if request.programs:
                for call in own:
                    call["program"] = None
                exporter.export(record)
                for entry in record.programs:
                    entry["call"] = calls.index(own[entry["call"]])
                    programs.append(entry)
                if record.no_program is not None and built.warnings:
                    record.no_program["reason"] = f"{built.warnings[0]}; then {record.no_program['reason']}"
                failure = failure or record.no_program
            if request.flops:
                count_flops(record, self._tensors, self.problems)
        if request.programs:
            version["state"]["programs"] = programs or version["state"]["programs"]
            version["state"]["no_program"] = None if version["state"]["programs"] else failure

    def _unmade(self, version: JsonObject, calls: list[JsonObject], request: Request, reason: str) -> None:
        """Lets no call say that it has gradients when they were not made."""
        if request.backward:
            for call in calls:
                call["gradients"] = None
            self.problems.add(version["module"], "gradients", reason)
        if request.flops:
            self.problems.add(version["module"], "flops", reason)

    def give_up(self, reason: str, request: Request) -> None:
        """Says of all versions why what was asked for is not there."""
        for version in self._versions.values():
            self._unmade(version, version["calls"], request, reason)
            if request.programs:
                version["state"]["no_program"] = {"reason": reason[:600], "source": None}

    def settle(self, incomplete_reason: str | None) -> None:
        """Marks the bundle as what it is once nothing is pending."""
        self.index["complete"] = incomplete_reason is None
        self.index["incomplete_reason"] = incomplete_reason

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
            decoder=lambda find: SourceDecoder(self._tensors.bytes_of, resolver, devices, find or no_module),
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

    def write(self) -> Path:
        """Writes the bundle beside its final place, renames it in and returns its path. Raises OSError."""
        self._tensors.finish()
        partial = self._folder.path
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
        for file in self._tensors.files:
            entry = {"file": file.file, "sha256": file.sha256, "size": file.size, "keys": file.keys}
            index["tensors"] = [*index["tensors"], entry]
        known = {entry["digest"] for entry in index["programs"]}
        for digest, content in self._programs.contents.items():
            if digest not in known:
                entry = {"digest": digest, "file": f"programs/{digest}.pt2", "size": len(content)}
                index["programs"].append(entry)
                _write(partial / entry["file"], content)
        index["problems"] = [*index["problems"], *self.problems.entries]
        document = encode_json(index)
        digest = hashlib.sha256(document).hexdigest()
        _write(partial / "bundle.json", document)
        _write(partial / "bundle.sha256", f"{digest}  bundle.json\n".encode())
        stamp = index["created"].replace("-", "").replace(":", "").partition(".")[0]
        return self._folder.rename_to(self._target / f"{stamp}Z-{digest[:8]}")


def _flags(training: list[bool], call: JsonObject) -> list[bool]:
    return training if training and training[0] == call["training"] else [call["training"]] * len(training)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _copy(source: Extent, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.offset == 0 and source.length == source.file.stat().st_size:
        with contextlib.suppress(OSError):
            os.link(source.file, target)
            return
    left = source.length
    with source.file.open("rb") as reading, target.open("xb") as writing:
        reading.seek(source.offset)
        while left:
            block = reading.read(min(left, _BLOCK))
            if not block:
                raise ValueError(f"{source.file} is cut short")
            writing.write(block)
            left -= len(block)
