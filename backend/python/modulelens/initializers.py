# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Constructor arguments, seen by `nn.Module.__new__` before any constructor has run.

The hook cannot be taken back (CPython keeps the slot), so it is installed once and gated by a counter.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
import weakref
from typing import Any

import torch
from torch import nn

from modulelens.json_types import Json, JsonObject
from modulelens.safetensors_file import StoredTensor
from modulelens.tensor_store import MemorySink
from modulelens.values import ValueEncoder, gap

RECORD_ATTRIBUTE = "_modulelens_init"
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


class ModuleStandIn:
    """Takes the place of a module in encoded arguments, without keeping the module alive."""

    def __init__(self, module: nn.Module) -> None:
        self.module = weakref.ref(module)


class InitRecord:
    """The arguments of one constructor call, encoded at that moment. Shared by deepcopy, dropped by pickle."""

    __slots__ = ("arguments", "keywords", "tensors")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        sink = MemorySink()
        encoder = ValueEncoder(sink, ModuleStandIn)
        self.arguments: list[Json] = [encoder.encode(value) for value in args]
        self.keywords: JsonObject = {key: encoder.encode(value) for key, value in kwargs.items()}
        self.tensors: dict[str, StoredTensor] = sink.tensors

    def __deepcopy__(self, memo: dict[int, Any]) -> InitRecord:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


class InitCapture:
    """Records constructor arguments of every module built inside `with InitCapture():`. Any thread may build."""

    _active = 0
    _installed = False

    def __enter__(self) -> InitCapture:
        InitCapture._install()
        InitCapture._active += 1
        return self

    def __exit__(self, *_: object) -> None:
        InitCapture._active -= 1

    @classmethod
    def _install(cls) -> None:
        if cls._installed:
            return
        cls._installed = True

        def new_module(kind: type[nn.Module], *args: Any, **kwargs: Any) -> nn.Module:
            module = super(nn.Module, kind).__new__(kind)
            if InitCapture._active:
                with contextlib.suppress(Exception):
                    module.__dict__[RECORD_ATTRIBUTE] = InitRecord(args, kwargs)
            return module

        nn.Module.__new__ = staticmethod(new_module)  # type: ignore[assignment,method-assign]


def initializer_of(module: nn.Module) -> tuple[str, list[Json], JsonObject, list[str], dict[str, StoredTensor]] | None:
    """Returns the recorded arguments, or None when the module was built outside `InitCapture`."""
    record = module.__dict__.get(RECORD_ATTRIBUTE)
    if not isinstance(record, InitRecord):
        return None
    if isinstance(module, _CONTAINERS):
        return "captured", [], {}, [], {}
    return "captured", record.arguments, record.keywords, [], record.tensors


def infer_arguments(module: nn.Module) -> tuple[dict[str, Any], list[str]]:
    """Guesses constructor arguments from attributes of the same name; returns them and the required ones not found."""
    found: dict[str, Any] = {}
    missing: list[str] = []
    if isinstance(module, _CONTAINERS):
        return found, missing
    parameters = _constructor_parameters(type(module))  # type: ignore[arg-type]
    if parameters is None:
        return found, ["*"]
    for parameter in parameters:
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or name in ("device", "dtype"):
            continue
        if name in module._parameters and name == "bias":
            found[name] = module._parameters[name] is not None
            continue
        value = module.__dict__.get(name, parameter.empty)
        if value is parameter.empty or isinstance(value, types.MethodType | torch.Tensor):
            if parameter.default is parameter.empty:
                missing.append(name)
        else:
            found[name] = value
    return found, missing


@functools.lru_cache(maxsize=4096)
def _constructor_parameters(kind: type) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(kind.__init__).parameters.values())[1:]  # type: ignore[misc]
    except (TypeError, ValueError):
        return None


def without_stand_ins(encoded: Any, encode_module: Any) -> Json:
    """Returns encoded arguments with each stand-in replaced by what `encode_module` says of its module."""
    if isinstance(encoded, ModuleStandIn):
        module = encoded.module()
        return gap(None, "the module no longer exists") if module is None else encode_module(module)
    if isinstance(encoded, list):
        return [without_stand_ins(item, encode_module) for item in encoded]
    if isinstance(encoded, dict):
        return {key: without_stand_ins(item, encode_module) for key, item in encoded.items()}
    return encoded
