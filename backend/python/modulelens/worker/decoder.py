# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Decoding inside the worker: classes by consent, tensors on the worker's device, modules inside the rebuilt one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from modulelens.decoding import DecodeError, ValueDecoder
from modulelens.json_types import JsonObject
from modulelens.worker.errors import WorkerError
from modulelens.worker.trust import CodeResolver, is_value_class

ModuleFinder = Callable[[JsonObject], nn.Module]


class DeviceMap:
    """Where captured tensors go: what was on the main device or on any accelerator goes to the worker's device."""

    def __init__(self, device: str, main_device: str) -> None:
        self.device = device
        self._main_type = main_device.partition(":")[0]

    def target(self, captured: str) -> str:
        """Returns the device for a tensor that was on `captured`."""
        kind = captured.partition(":")[0]
        if kind == "meta":
            return captured
        return self.device if kind != "cpu" or self._main_type == "cpu" else "cpu"


def no_module(encoded: JsonObject) -> nn.Module:
    """The finder of values in which no module can stand."""
    raise DecodeError("a module stands in a value of a call")


class SourceDecoder(ValueDecoder):
    """The decoder of one call or one state. Raises DecodeError for gaps and WorkerError for refused or missing code."""

    def __init__(
        self,
        bytes_of: Callable[[str], torch.Tensor],
        resolver: CodeResolver,
        devices: DeviceMap,
        find_module: ModuleFinder = no_module,
    ) -> None:
        super().__init__(bytes_of, lambda _: False)
        self._resolver = resolver
        self._devices = devices
        self._find_module = find_module

    def _materialise(self, reference: JsonObject) -> torch.Tensor:
        target = self._devices.target(reference.get("device", "cpu"))
        placed = {key: value for key, value in reference.items() if key != "device"}
        try:
            tensor = super()._materialise({**placed, "device": "meta"} if target == "meta" else placed)
        except (RuntimeError, TypeError, AttributeError, KeyError) as error:
            raise WorkerError("corrupt", f"a captured tensor cannot be read: {error}") from error
        return tensor if target in ("cpu", "meta") else _moved(tensor, target)

    def _decode_device(self, encoded: JsonObject) -> Any:
        return torch.device(self._devices.target(encoded["v"]))

    def _decode_module(self, encoded: JsonObject) -> Any:
        return self._find_module(encoded)

    def _decode_object(self, encoded: JsonObject) -> Any:
        if not is_value_class(self._resolver.kind(encoded["cls"])):
            raise WorkerError("unsupported", f"{encoded['cls']} does something when it is thrown away")
        return super()._decode_object(encoded)

    def _decode_ref(self, encoded: JsonObject) -> Any:
        return self._resolver.reference(encoded["v"])

    def _resolve(self, name: str) -> Any:
        return self._resolver.kind(name)


def _moved(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """The same values with the same strides on another device."""
    moved = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
    with torch.no_grad():
        moved.copy_(tensor)
    return moved
