# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Modules built from their nodes, without memory for their tensors: merged captures export programs from these."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from modulelens.decoding import DecodeError, ValueDecoder
from modulelens.json_types import JsonObject
from modulelens.references import resolve


class StructureBuilder:
    """Builds the module of a node: class, attributes and children as captured, parameters and buffers on `meta`.

    `classes` are used by their qualified names before anything is imported; `bytes_of` gives the data of tensors that
    stand in attributes.
    """

    def __init__(
        self,
        nodes: Mapping[str, bytes],
        bytes_of: Callable[[str], torch.Tensor],
        classes: Mapping[str, type],
    ) -> None:
        self._nodes = nodes
        self._bytes_of = bytes_of
        self._classes = classes

    def build(self, digest: str) -> nn.Module:
        """Returns the module. Raises DecodeError, ImportError or AttributeError when it cannot be had."""
        node: JsonObject = json.loads(self._nodes[digest])
        kind = self._class(node["class"])
        module: nn.Module = kind.__new__(kind)
        nn.Module.__init__(module)
        decoder = _Decoder(self._bytes_of, self._class, self.build)
        decoder.prepare(node["attributes"])
        state = {name: decoder.decode(value) for name, value in node["attributes"].items()}
        module.__dict__.update(state)
        for name, reference in node["parameters"].items():
            module._parameters[name] = None if reference is None else _parameter(reference)
        for name, reference in node["buffers"].items():
            module._buffers[name] = None if reference is None else _stand_in(reference)
        module._non_persistent_buffers_set.update(node["non_persistent"])
        for name, child in node["children"].items():
            module._modules[name] = None if child is None else self.build(child)
        if isinstance(module, nn.RNNBase):
            module._init_flat_weights()
        module.training = node["training"]
        return module

    def _class(self, name: str) -> Any:
        return self._classes[name] if name in self._classes else resolve(name, lambda _: True)


class _Decoder(ValueDecoder):
    def __init__(
        self,
        bytes_of: Callable[[str], torch.Tensor],
        find_class: Callable[[str], Any],
        build: Callable[[str], nn.Module],
    ) -> None:
        super().__init__(bytes_of, lambda _: True)
        self._find_class = find_class
        self._build = build

    def _resolve(self, name: str) -> Any:
        return self._find_class(name)

    def _decode_module(self, encoded: JsonObject) -> Any:
        if encoded["node"] is None:
            raise DecodeError("an attribute refers to another module of the model")
        return self._build(encoded["node"])


def _stand_in(reference: JsonObject) -> torch.Tensor:
    if "dtype" not in reference or "shape" not in reference:
        raise DecodeError("a parameter or buffer is no plain tensor")
    return torch.empty(reference["shape"], dtype=getattr(torch, reference["dtype"]), device="meta")


def _parameter(reference: JsonObject) -> nn.Parameter:
    return nn.Parameter(_stand_in(reference), requires_grad=bool(reference.get("requires_grad")))
