# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Publishes bundles to a W&B registry with the official SDK (`pip install wandb`), as docs/formats/wandb.md says."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from modulelens.bundle_reader import BundleError, BundleReader
from modulelens.json_types import Json, JsonObject
from modulelens.names import run_collection
from modulelens.raw_memory import memory_of
from modulelens.safetensors_file import ALIGNMENT, SAFETENSORS_DTYPES

_OWN_FILE_BYTES = 1 << 20
_SAFETENSORS_NAMES = {str(dtype).removeprefix("torch."): name for dtype, name in SAFETENSORS_DTYPES.items()}


@dataclass
class Published:
    """What was published of a bundle: the names of the registry's versions, such as `<collection>:v3`."""

    versions: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)


def publish_bundle(path: Path, team: str, registry: str, project: str = "modulelens") -> Published:
    """Publishes every version of a bundle, and the runs that they were captured in, to a team's registry.

    Raises BundleError, OSError, and what the SDK raises. Needs the SDK's sign-in (WANDB_API_KEY or netrc).
    """
    wandb: Any = importlib.import_module("wandb")
    bundle = BundleReader(path)
    published = Published()
    with tempfile.TemporaryDirectory() as scratch, wandb.init(entity=team, project=project, job_type="publish") as run:
        for index, entry in enumerate(bundle.index["runs"]):
            artifact = _run_artifact(wandb, bundle, entry, Path(scratch) / f"run-{index}")
            published.runs.append(_log(run, artifact, registry, []))
        for index, entry in enumerate(bundle.index["versions"]):
            artifact = _version_artifact(wandb, bundle, entry, Path(scratch) / f"version-{index}")
            tags = [tag for tag in bundle.index["tags"] if all(c.isalnum() or c in "-_ " for c in tag)]
            published.versions.append(_log(run, artifact, registry, tags))
    return published


def _log(run: Any, artifact: Any, registry: str, tags: list[str]) -> str:
    logged = run.log_artifact(artifact, tags=tags)
    logged.wait()
    collection = artifact.name.split(":")[0]
    linked = run.link_artifact(logged, f"wandb-registry-{registry}/{collection}")
    return f"{collection}:{linked.version}"


def _run_artifact(wandb: Any, bundle: BundleReader, entry: JsonObject, scratch: Path) -> Any:
    document = bundle.document(entry["file"], "modulelens.run")
    metadata = {
        "schema": "modulelens.run",
        "schema_version": 1,
        "model_name": document["model"],
        "run_digest": entry["sha256"],
        "step": document["step"],
        "started": document["started"],
        "call_count": len(document["calls"]),
    }
    artifact = wandb.Artifact(run_collection(document["model"]), type="run-record", metadata=metadata)
    _add(artifact, scratch, f"runs/{entry['sha256']}.json", bundle.content(entry["file"]))
    return artifact


def _version_artifact(wandb: Any, bundle: BundleReader, entry: JsonObject, scratch: Path) -> Any:
    document = bundle.document(entry["file"], "modulelens.version")
    artifact = wandb.Artifact(
        entry["collection"],
        type="module",
        description=entry["model"] + (f", module {entry['module']}" if entry["module"] else ""),
        metadata=_metadata(bundle, entry, document),
    )
    for name, content in _VersionFiles(bundle, entry, document).collect().items():
        _add(artifact, scratch, name, content)
    return artifact


def _add(artifact: Any, scratch: Path, name: str, content: bytes) -> None:
    path = scratch / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    artifact.add_file(str(path), name=name)


def _metadata(bundle: BundleReader, entry: JsonObject, document: JsonObject) -> JsonObject:
    state, environment = document["state"], document["environment"]
    runs = bundle.index["runs"]
    no_program = state["no_program"]
    return {
        "schema": "modulelens.version",
        "schema_version": 1,
        "model_name": entry["model"],
        "module_name": entry["module"],
        "class": document["class"],
        "version_digest": entry["digest"],
        "state_digest": state["node"],
        "program": state["programs"][0]["digest"] if state["programs"] else "",
        "no_program_reason": no_program["reason"] if no_program else "",
        "captured": bundle.index["created"],
        "device": environment["device"],
        "torch": environment["torch"],
        "parameter_bytes": state["parameter_bytes"],
        "parameter_count": state["parameter_count"],
        "call_count": len(document["calls"]),
        "dtypes": sorted({reference["dtype"] for reference in _references(document)}),
        "run_digest": runs[entry["run"]]["sha256"] if runs else "",
        "attributes": bundle.index["attributes"],
    }


class _VersionFiles:
    """The files of one version's artifact, by path."""

    def __init__(self, bundle: BundleReader, entry: JsonObject, document: JsonObject) -> None:
        self._bundle = bundle
        self._entry = entry
        self._document = document
        self._nodes = {each["digest"]: each["file"] for each in bundle.index["nodes"]}
        self._seen: set[str] = set()
        self._sources: set[str] = set()
        self._named: list[str] = []
        self._files: dict[str, bytes] = {}

    def collect(self) -> dict[str, bytes]:
        entry, document = self._entry, self._document
        state: dict[str, JsonObject] = {}
        trace: dict[str, JsonObject] = {}
        self._files[f"trace/versions/{entry['digest']}.json"] = self._bundle.content(entry["file"])
        self._add_nodes([document["state"]["node"]], "state/", state)
        programs = {each["digest"]: each["file"] for each in self._bundle.index["programs"]}
        for program in document["state"]["programs"]:
            file = programs[program["digest"]]
            self._files[f"state/{file}"] = self._bundle.content(file)
        _note(document["state"]["tensors"], state)
        self._add_nodes([call["node"] for call in document["calls"] if call.get("node")], "trace/", trace)
        self._named += _modules(document["calls"])
        while self._named:
            named, self._named = self._named, []
            self._add_nodes([digest for digest in named if digest in self._nodes], "trace/", trace)
        _note(document["calls"], trace)
        self._add_tensors(state, "state/tensors/")
        self._add_tensors({key: value for key, value in trace.items() if key not in state}, "trace/tensors/")
        return self._files

    def _add_nodes(self, digests: list[str], folder: str, tensors: dict[str, JsonObject]) -> None:
        waiting = list(digests)
        sources = {each["digest"]: each["file"] for each in self._bundle.index["sources"]}
        while waiting:
            digest = waiting.pop()
            if digest in self._seen:
                continue
            self._seen.add(digest)
            node = self._bundle.document(self._nodes[digest], "modulelens.node")
            self._files[f"{folder}nodes/{digest}.json"] = self._bundle.content(self._nodes[digest])
            source = node["source"]
            if source and source not in self._sources:
                self._sources.add(source)
                self._files[f"{folder}sources/{source}.py"] = self._bundle.content(sources[source])
            waiting += [child for child in node["children"].values() if child]
            self._named += _modules(node)
            _note(node, tensors)

    def _add_tensors(self, references: dict[str, JsonObject], folder: str) -> None:
        contents: dict[str, tuple[JsonObject, bytes]] = {}
        self._bundle.tensors.learn(list(references.values()))
        for digest in sorted(references):
            data = self._bundle.tensors.bytes_of(digest)  # Alive while its memory is read.
            contents[digest] = (references[digest], bytes(memory_of(data)))
        small = {digest: item for digest, item in contents.items() if len(item[1]) < _OWN_FILE_BYTES}
        for digest, item in contents.items():
            if digest not in small:
                self._files[f"{folder}{digest}.safetensors"] = _safetensors({digest: item})
        if small:
            name = hashlib.sha256("".join(small).encode()).hexdigest()[:16]
            self._files[f"{folder}small-{name}.safetensors"] = _safetensors(small)


def _references(document: Json) -> list[JsonObject]:
    """Returns every tensor reference of a document whose data was kept."""
    found: list[JsonObject] = []
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("ref"), str) and "dtype" in value and "shape" in value:
                found.append(value)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found


def _note(document: Json, tensors: dict[str, JsonObject]) -> None:
    for reference in _references(document):
        tensors.setdefault(reference["ref"], reference)


def _modules(document: Json) -> list[str]:
    """Returns the nodes of modules that encoded values name."""
    found: list[str] = []
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if value.get("$t") == "module" and value.get("node"):
                found.append(value["node"])
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found


def _safetensors(tensors: dict[str, tuple[JsonObject, bytes]]) -> bytes:
    """Returns a file as the desktop writes it, so that equal content has equal bytes wherever it is published from."""
    members: list[str] = []
    body = b""
    pads = 0

    def member(key: str, dtype: str, shape: list[int], size: int) -> None:
        entry = {"data_offsets": [len(body), len(body) + size], "dtype": dtype, "shape": shape}
        members.append(f"{json.dumps(key)}:{json.dumps(entry, separators=(',', ':'))}")

    for digest, (reference, content) in tensors.items():
        gap = -len(body) % ALIGNMENT
        if gap:
            member(f".pad.{pads}", "U8", [gap], gap)
            pads += 1
            body += b"\0" * gap
        dtype = _SAFETENSORS_NAMES.get(reference["dtype"])
        shape: list[int] = [len(content)]
        if dtype:
            shape = reference["stored_shape" if "stored_shape" in reference else "shape"]
        member(digest, dtype or "U8", shape, len(content))
        body += content
    header = ("{" + ",".join(members) + "}").encode("ascii")
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    return len(header).to_bytes(8, "little") + header + body


def main(arguments: list[str]) -> int:
    """`python -m modulelens publish BUNDLE... TEAM/REGISTRY`; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m modulelens publish", description=__doc__)
    parser.add_argument("bundles", nargs="+", type=Path, metavar="BUNDLE", help="bundle folder or .mlens file")
    parser.add_argument("registry", metavar="wandb:TEAM/REGISTRY")
    parser.add_argument("--project", default="modulelens", help="the team's project where artifacts are made")
    options = parser.parse_args(arguments)
    team, slash, registry = options.registry.removeprefix("wandb:").partition("/")
    if not (team and slash and registry):
        parser.error(f"'{options.registry}' is no registry; write wandb:TEAM/REGISTRY")
    try:
        for bundle in options.bundles:
            for name in publish_bundle(bundle, team, registry, options.project).versions:
                print(f"published {name}")
    except ModuleNotFoundError as error:
        print(f"modulelens: {error}; install it with: pip install wandb", file=sys.stderr)
        return 7
    except (BundleError, OSError) as error:
        print(f"modulelens: {error}", file=sys.stderr)
        return 9
    return 0
