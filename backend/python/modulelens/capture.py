# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`Capture.open(bundle)["encoder.layer.5"].build()`: what was captured, as Python values and running modules."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from modulelens.bundle_reader import BundleError, BundleReader
from modulelens.decoding import DecodeError
from modulelens.json_types import JsonObject
from modulelens.worker.comparison import Comparison, summarize
from modulelens.worker.data import TensorData
from modulelens.worker.decoder import DeviceMap, SourceDecoder, no_module
from modulelens.worker.errors import WorkerError
from modulelens.worker.loaded import BoundCall, LoadedModule
from modulelens.worker.rebuild import Blueprint, Rebuilt, rebuild
from modulelens.worker.trust import CodeResolver


class Capture:
    """A bundle, opened to read. Behaves as a mapping from module names to what was captured of them."""

    def __init__(self, reader: BundleReader) -> None:
        self._reader = reader
        self._index = reader.index
        self._entries = {entry["module"]: entry for entry in self._index["versions"]}
        self._nodes: JsonObject = {
            entry["digest"]: reader.document(entry["file"], "modulelens.node") for entry in self._index["nodes"]
        }
        for node in self._nodes.values():
            reader.tensors.learn(node)

    @classmethod
    def open(cls, path: str | Path) -> Capture:
        """Opens a bundle folder, a `.mlens` file, or the newest bundle in a folder of bundles.

        Raises BundleError for what is no bundle, is damaged or too new.
        """
        place = Path(path)
        if place.is_dir() and not (place / "bundle.json").exists():
            shown = [found for found in place.iterdir() if not found.name.startswith(".")]
            bundles = [found for found in shown if found.suffix == ".mlens" or (found / "bundle.json").is_file()]
            if not bundles:
                raise BundleError(f"{place} holds no bundle")
            place = max(bundles, key=lambda found: found.name)
        try:
            return cls(BundleReader(place))
        except (KeyError, TypeError, AttributeError) as error:
            raise BundleError(f"the bundle {place} is damaged: {type(error).__name__} {error}") from error

    @property
    def path(self) -> Path:
        """The bundle's folder or file."""
        return self._reader.path

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self._index["model"])

    @property
    def is_complete(self) -> bool:
        """False when the traced step raised or a rank is missing; `incomplete_reason` says which."""
        return bool(self._index["complete"])

    @property
    def incomplete_reason(self) -> str | None:
        reason: str | None = self._index["incomplete_reason"]
        return reason

    @property
    def tags(self) -> list[str]:
        return list(self._index["tags"])

    @property
    def attributes(self) -> JsonObject:
        return dict(self._index["attributes"])

    @property
    def environment(self) -> JsonObject:
        return dict(self._index["environment"])

    @property
    def problems(self) -> list[JsonObject]:
        """What the tracer could not do."""
        return list(self._index["problems"])

    @property
    def runs(self) -> list[JsonObject]:
        """The run records: every module call of the step as a tree, with shapes and measured times."""
        return [self._reader.document(entry["file"], "modulelens.run") for entry in self._index["runs"]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, module: object) -> bool:
        return module in self._entries

    def __getitem__(self, module: str) -> CapturedModule:
        """Returns a captured module by its name, "" for the top. Raises KeyError when its tensors were not kept."""
        if module not in self._entries:
            known = ", ".join(repr(name) for name in list(self._entries)[:8])
            raise KeyError(f"'{module}' was not captured; there are {len(self._entries)} modules: {known}")
        document = self._reader.document(self._entries[module]["file"], "modulelens.version")
        self._reader.tensors.learn(document)
        return CapturedModule(self._reader, document, self._nodes)

    def __repr__(self) -> str:
        return f"<Capture of {self.model!r}: {len(self)} modules, {self.path.name}>"


class CapturedModule:
    """One module of a capture: its calls as values, and the module itself as something that runs."""

    def __init__(self, reader: BundleReader, document: JsonObject, nodes: JsonObject) -> None:
        self.document = document
        self._reader = reader
        self._nodes = nodes
        self._data: TensorData = reader.tensors
        main_device = str(document["environment"].get("device", "cpu"))
        self._devices = DeviceMap("cpu", main_device)
        self.how: str | None = None
        """How the last `build` was done: "structure", "init" or "program"."""
        self.reasons: list[str] = []
        """Why the last `build` was not done in a better way, and what it lacks."""

    @property
    def name(self) -> str:
        """The module's first name in `named_modules()` order."""
        return str(self.document["module"])

    @property
    def class_name(self) -> str:
        """`package.module:QualName`."""
        return str(self.document["class"])

    @property
    def calls(self) -> list[JsonObject]:
        """The kept calls as the bundle has them."""
        return list(self.document["calls"])

    @property
    def source(self) -> str | None:
        """The class's source text, None where there was none."""
        digest = self._nodes[self.document["state"]["node"]]["source"]
        return None if digest is None else self._reader.content(f"sources/{digest}.py").decode("utf-8", "replace")

    def inputs(self, call: int = 0, allow: Iterable[str] = ()) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns positional and keyword arguments of a call, decoded anew each time: calls may write to them.

        `allow` names the packages, besides torch, whose classes may be imported. Raises DecodeError for a value that
        was not kept, and PermissionError for a class of a package that is not allowed.
        """
        document = self._call(call)
        with _plain_errors():
            decoder = self._decoder(allow)
            decoder.prepare(document["args"], document["kwargs"])
            return tuple(decoder.decode(document["args"])), decoder.decode(document["kwargs"])

    def output(self, call: int = 0, allow: Iterable[str] = ()) -> Any:
        """Returns the output of a call. Raises as `inputs` does."""
        with _plain_errors():
            return self._decoder(allow).decode(self._call(call)["output"])

    def state(self, call: int = 0) -> dict[str, torch.Tensor]:
        """Returns parameters and buffers by name as they were before a call."""
        with _plain_errors():
            decoder = self._decoder(())
            tagged = {name: {"$t": "tensor", **reference} for name, reference in self._state(call).items()}
            decoder.prepare(tagged)
            return {name: decoder.decode(reference) for name, reference in tagged.items()}

    def build(self, call: int = 0, allow: Iterable[str] = ()) -> nn.Module:
        """Makes the module run again, alone and as it was before a call; `how` then says in which way.

        This imports and runs the module's own code: only packages in `allow`, and torch, are imported. Raises
        PermissionError for others, ImportError for what this Python lacks, DecodeError when no way works.
        """
        return self._load(call, allow).module

    def validate(self, module: nn.Module | None = None, call: int = 0, allow: Iterable[str] = ()) -> JsonObject:
        """Runs a call again, on `module` or on what `build` gives, and compares with what was captured.

        Returns `verdict` ("pass", "fail", "not_comparable"), `exact`, `max_abs_diff`, `reason`, and `leaves`: one entry
        for each compared tensor with its place, verdict, differences and first differing index.
        """
        built = self._load(call, allow) if module is None else Rebuilt(module, "given", _tensors_of(module))
        document = self._call(call)
        if document["exception"] is not None:
            return {**summarize([]), "reason": "the captured call raised an exception", "leaves": []}
        with _plain_errors():
            loaded = LoadedModule(
                name=self.name,
                module=built.module,
                how=built.how,
                tensors=built.tensors,
                state=self._state(call),
                data=self._data,
                resolver=_Resolver(allow),
                devices=self._devices,
                node=self._nodes[self._root(call)],
                module_name=self.name,
            )
            bound = BoundCall(loaded, {**document, "state_before": {}}, self._data)
            comparison = Comparison(bound, bound.run())
        return {**summarize(comparison.leaves), "leaves": list(comparison.leaves)}

    def __repr__(self) -> str:
        return f"<CapturedModule {self.name!r}: {self.class_name}, {len(self.document['calls'])} calls>"

    def _load(self, call: int, allow: Iterable[str]) -> Rebuilt:
        packages = set(allow)
        resolver = _Resolver(packages)
        digest = self._call(call)["program"]
        blueprint = Blueprint(
            root=self._root(call),
            name=self.name,
            nodes=self._nodes,
            state=self._state(call),
            resolver=resolver,
            decoder=lambda find: SourceDecoder(self._data.bytes_of, resolver, self._devices, find or no_module),
            program=None if digest is None else self._reader.extent(f"programs/{digest}.pt2", digest),
        )
        with _plain_errors():
            built = rebuild(blueprint)
        self.how = built.how
        self.reasons = [*built.reasons, *built.warnings]
        return built

    def _call(self, call: int) -> JsonObject:
        calls: list[JsonObject] = self.document["calls"]
        if not 0 <= call < len(calls):
            raise IndexError(f"there is no call {call}; {len(calls)} calls of '{self.name}' were kept")
        return calls[call]

    def _root(self, call: int) -> str:
        return str(self._call(call).get("node", self.document["state"]["node"]))

    def _state(self, call: int) -> JsonObject:
        return {**self.document["state"]["tensors"], **self._call(call)["state_before"]}

    def _decoder(self, allow: Iterable[str]) -> SourceDecoder:
        return SourceDecoder(self._data.bytes_of, _Resolver(set(allow)), self._devices)


class _Resolver(CodeResolver):
    """Finds classes of the running script or notebook too, where `__main__` is allowed."""

    def _import(self, name: str) -> Any:
        module, _, qualname = name.partition(":")
        if module != "__main__" or module not in self._packages:
            return super()._import(name)
        found: Any = sys.modules[module]
        for part in qualname.split("."):
            if not hasattr(found, part):
                raise WorkerError("environment_missing", f"the running script has no {qualname}")
            found = getattr(found, part)
        return found


_KINDS: dict[str, type[Exception]] = {
    "consent_needed": PermissionError,
    "environment_missing": ImportError,
    "corrupt": BundleError,
    "not_found": BundleError,
}


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Turns the worker's errors into Python's own."""
    try:
        yield
    except WorkerError as error:
        text = error.message.replace("there is no consent to code of", "'allow' does not name")
        raise _KINDS.get(error.name, DecodeError)(text) from error


def _tensors_of(module: nn.Module) -> dict[str, torch.Tensor]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
