# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""What an export depends on, as a key: equal layers called alike need to be exported once."""

from __future__ import annotations

import hashlib
import json

from modulelens.json_types import Json, JsonObject, encode_json
from modulelens.nodes import Documents
from modulelens.record import CapturedCall, ModuleRecord


class StructureKeys:
    """Keys of modules from their nodes: everything but the values of parameters and persistent buffers."""

    def __init__(self, nodes: Documents) -> None:
        self._nodes = nodes
        self._known: dict[str, str] = {}

    def key(self, record: ModuleRecord, captured: CapturedCall) -> str:
        """Returns the key of one call of one module."""
        call = captured.document
        parts = [_without_data(call["args"]), _without_data(call["kwargs"]), list(captured.mode)]
        return _digest([self._structure(record.node_of(captured)), *parts])

    def _structure(self, node: str) -> str:
        if node not in self._known:
            document = json.loads(self._nodes.contents[node])
            del document["init"]
            document["parameters"] = _without_data(document["parameters"])
            for name, buffer in document["buffers"].items():
                if name not in document["non_persistent"]:
                    document["buffers"][name] = _without_data(buffer)
            for name, child in document["children"].items():
                document["children"][name] = None if child is None else self._structure(child)
            self._known[node] = _digest(document)
        return self._known[node]


def _without_data(encoded: Json) -> Json:
    if isinstance(encoded, list):
        return [_without_data(item) for item in encoded]
    if isinstance(encoded, dict):
        data = ("ref",) if "dtype" in encoded and "shape" in encoded else ()
        return {key: _without_data(item) for key, item in encoded.items() if key not in data}
    return encoded


def _digest(document: Json | JsonObject) -> str:
    return hashlib.sha256(encode_json(document)).hexdigest()
