# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""One module's state as a content-addressed node: class, init arguments, attributes, tensors, children."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.nn.utils import parametrize

from modulelens.class_sources import class_source
from modulelens.decoding import ValueDecoder
from modulelens.initializers import RECORD_ATTRIBUTE, infer_arguments, initializer_of, without_stand_ins
from modulelens.json_types import Json, JsonObject, encode_json
from modulelens.references import is_importable, qualified_name
from modulelens.sharding import Sharding
from modulelens.tensor_store import TensorSink, TensorStore
from modulelens.values import Scope, ValueEncoder

_INTERNAL_ATTRIBUTES = set(nn.Module().__dict__) | {RECORD_ATTRIBUTE, "training"}


class Documents:
    """Small files by the sha256 of their bytes."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def add(self, content: bytes) -> str:
        """Keeps the bytes once and returns their digest."""
        digest = hashlib.sha256(content).hexdigest()
        self.contents.setdefault(digest, content)
        return digest


def class_of(module: nn.Module) -> type:
    """Returns the class as it was written: classes made at run time (FSDP2, parametrisation) are skipped."""
    kind = type(module)
    made_at_run_time = parametrize.is_parametrized(module) or kind.__name__.startswith("FSDP")
    if made_at_run_time and not is_importable(kind):
        return next((base for base in kind.__mro__ if is_importable(base) and base.__name__ != "FSDPModule"), kind)
    return kind


class NodeDescriber:
    """Writes the node of a module and of everything below it. The tracer holds its lock around every use."""

    def __init__(
        self,
        store: TensorStore,
        paths: dict[nn.Module, str],
        sharding: Sharding | None = None,
        sink: TensorSink | None = None,
    ) -> None:
        self.nodes = Documents()
        self.sources = Documents()
        self.class_names: set[str] = set()
        self._store = store
        self._paths = paths
        self._sharding = sharding
        self._sink = sink or store
        self._encoder = self.encoder()
        self._source_of: dict[type, str | None] = {}
        self._open: set[int] = set()
        self._outlines: dict[int, Json] = {}

    def encoder(self) -> ValueEncoder:
        """Returns an encoder that describes modules met in values."""
        return ValueEncoder(self._sink, self._module_value, self._sharding)

    def describe(self, module: nn.Module) -> tuple[str, str]:
        """Returns the digests of the module's node and of its skeleton, as the module is now."""
        outer, self._outlines = self._outlines, {}
        try:
            return self._describe(module), self.skeleton(module)
        finally:
            self._outlines = outer

    def skeleton(self, module: nn.Module) -> str:
        """Returns a digest of what the nodes of the module and all below it say besides parameters and buffers."""
        outlines = []
        for part in self._parts(module, set()):
            outlines.append(self._outlines.get(id(part)) or self._outline(part, self._attributes(part)))
        return hashlib.sha256(encode_json(outlines)).hexdigest()

    def attributes_then(self, module: nn.Module, node: str) -> list[dict[str, Any]]:
        """Returns, for each part in `modules()` order, the attributes that are no longer what they were in `node`.

        Attributes that cannot be decoded are left out.
        """
        restored: list[dict[str, Any]] = []
        done: set[int] = set()

        def visit(part: nn.Module, digest: str | None) -> None:
            if id(part) in done:
                return
            done.add(id(part))
            document = json.loads(self.nodes.contents[digest]) if digest else {"attributes": {}, "children": {}}
            restored.append(self._differing(part, document["attributes"]))
            for name, child in part._modules.items():
                if child is not None:
                    visit(child, document["children"].get(name))

        visit(module, node)
        return restored

    def _differing(self, module: nn.Module, then: JsonObject) -> dict[str, Any]:
        now = self._attributes(module)
        decoder = ValueDecoder(self._store.bytes_of, lambda _: True)
        values: dict[str, Any] = {}
        for name, encoded in then.items():
            if encoded != now.get(name):
                with contextlib.suppress(Exception):
                    values[name] = decoder.decode(encoded)
        return values

    def _parts(self, module: nn.Module, done: set[int]) -> Iterator[nn.Module]:
        if self._sharding is not None:
            module = self._sharding.plain(module)
        if id(module) not in done:
            done.add(id(module))
            yield module
            for child in module._modules.values():
                if child is not None:
                    yield from self._parts(child, done)

    def _describe(self, module: nn.Module) -> str:
        if self._sharding is not None:
            module = self._sharding.plain(module)
        self._open.add(id(module))
        try:
            children = {
                name: None if child is None or id(child) in self._open else self._describe(child)
                for name, child in module._modules.items()
            }
            return self.nodes.add(encode_json(self._node(module, children)))
        finally:
            self._open.discard(id(module))

    @staticmethod
    def _outline(module: nn.Module, attributes: JsonObject) -> Json:
        return [qualified_name(type(module)), module.training, list(module._modules.keys()), attributes]

    def _node(self, module: nn.Module, children: dict[str, str | None]) -> JsonObject:
        kind = class_of(module)
        self.class_names.add(qualified_name(kind))
        attributes = self._attributes(module)
        self._outlines[id(module)] = self._outline(module, attributes)
        return {
            "schema": "modulelens.node",
            "schema_version": 1,
            "class": qualified_name(kind),
            "runtime_class": qualified_name(type(module)) if type(module) is not kind else None,
            "training": module.training,
            "init": self._init(module),
            "attributes": attributes,
            "parameters": self._tensors(self._parameters(module)),
            "buffers": self._tensors(module._buffers),
            "non_persistent": sorted(module._non_persistent_buffers_set),
            "children": children,
            "source": self._source(kind),
        }

    def _parameters(self, module: nn.Module) -> dict[str, Any]:
        return module._parameters if self._sharding is None else self._sharding.parameters(module)

    def _tensors(self, tensors: dict[str, Any]) -> JsonObject:
        return {name: None if tensor is None else self._encoder.reference(tensor) for name, tensor in tensors.items()}

    def _init(self, module: nn.Module) -> JsonObject:
        recorded = initializer_of(module)
        if recorded is not None:
            how, arguments, keywords, missing, tensors = recorded
            self._store.adopt(tensors)
            return {
                "how": how,
                "args": without_stand_ins(arguments, self._module_value),
                "kwargs": without_stand_ins(keywords, self._module_value),
                "missing": missing,
            }
        found, missing = infer_arguments(module)
        keywords = {name: self._encoder.encode(value, Scope()) for name, value in found.items()}
        how = "unknown" if missing else "inferred"
        return {"how": how, "args": [], "kwargs": keywords, "missing": missing}

    def _attributes(self, module: nn.Module) -> JsonObject:
        scope = Scope()
        return {
            name: self._encoder.encode(value, scope)
            for name, value in _state_of(module).items()
            if name not in _INTERNAL_ATTRIBUTES
            and (self._sharding is None or self._sharding.is_attribute(module, name))
        }

    def _source(self, kind: type) -> str | None:
        if kind not in self._source_of:
            text = class_source(kind)
            self._source_of[kind] = None if text is None else self.sources.add(text.encode("utf-8", "replace"))
        return self._source_of[kind]

    def _module_value(self, module: nn.Module) -> Json:
        path = self._paths.get(module)
        inside = id(module) in self._open
        encoded: JsonObject = {"$t": "module"}
        if path is not None:
            encoded["path"] = path
        encoded["node"] = None if path is not None or inside else self._describe(module)
        return encoded


def _state_of(module: nn.Module) -> dict[str, Any]:
    """Returns the attributes that the class itself would save, else its `__dict__`."""
    for kind in type(module).__mro__:
        if kind in (nn.Module, object):
            break
        if "__getstate__" in kind.__dict__:
            with contextlib.suppress(Exception):
                state = module.__getstate__()  # type: ignore[no-untyped-call,unused-ignore]
                if isinstance(state, dict):
                    return state
    return module.__dict__
