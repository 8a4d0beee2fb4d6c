# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Any Python value as JSON, with tensors by reference. What cannot be kept becomes a typed gap."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import enum
import functools
import inspect
import math
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.masked
from torch import nn
from torch.nn.parameter import is_lazy
from torch.utils import _pytree as pytree

from modulelens.json_types import Json, JsonObject, pointer_token
from modulelens.references import is_importable, qualified_name
from modulelens.sharding import Sharding
from modulelens.tensor_store import TensorSink, dtype_name

_MAX_DEPTH = 24
_MAX_ITEMS = 1_000_000
_TORCH_ATOMS = {
    torch.dtype: "dtype",
    torch.device: "device",
    torch.layout: "layout",
    torch.memory_format: "memory_format",
}
_OPAQUE_HOMES = ("builtins", "torch._C", "threading", "_thread", "multiprocessing")
_COMPRESSED_LAYOUTS = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def gap(value: Any, reason: str) -> JsonObject:
    """Returns the typed note that stands for a value that was not kept."""
    text = ""
    with contextlib.suppress(Exception):
        text = object.__repr__(value) if isinstance(value, torch.Tensor) else repr(value)
    name = qualified_name(type(value))
    return {"$t": "gap", "type": name, "reason": reason[:300], "repr": _without_address(text)[:200]}


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _without_address(text: str) -> str:
    head, found, tail = text.partition(" at 0x")
    return f"{head}{found and '>'}" if found and tail else text


class Scope:
    """Numbers tensor objects and storages within one call or one state, and keeps them alive meanwhile."""

    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []
        self.live: dict[int, Any] = {}  # by the id of what a collective has given: what the model holds of it
        self._numbers: dict[int, int] = {}
        self._storages: dict[int, int] = {}
        self._kept: list[torch.UntypedStorage] = []

    def identity(self, tensor: torch.Tensor) -> JsonObject:
        """Returns `obj`, and `storage` and `offset` where the tensor has memory of its own kind."""
        number = self._numbers.get(id(tensor))
        if number is None:
            number = self._numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        result: JsonObject = {"obj": number}
        with contextlib.suppress(Exception):
            storage = tensor.untyped_storage()
            if tensor.device.type != "meta":
                if storage._cdata not in self._storages:
                    self._storages[storage._cdata] = len(self._storages)
                    self._kept.append(storage)
                result["storage"] = self._storages[storage._cdata]
                result["offset"] = tensor.storage_offset()
                if storage.nbytes() != tensor.numel() * tensor.element_size():
                    result["storage_bytes"] = storage.nbytes()
        return result


class ValueEncoder:
    """Encodes values. Never raises: what fails becomes a gap that names the reason."""

    def __init__(
        self,
        sink: TensorSink,
        encode_module: Callable[[nn.Module], Json] | None = None,
        sharding: Sharding | None = None,
    ) -> None:
        self._sink = sink
        self._sharding = sharding
        self._encode_module = encode_module
        self._scope: Scope | None = None
        self._open: list[int] = []

    def encode(self, value: Any, scope: Scope | None = None) -> Json:
        """Returns the JSON of a value; with a scope, tensors carry object and storage numbers."""
        outer_scope, self._scope = self._scope, scope
        outer_open, self._open = self._open, []
        try:
            return self._value(value)
        finally:
            self._scope, self._open = outer_scope, outer_open

    def reference(self, tensor: torch.Tensor, scope: Scope | None = None) -> JsonObject:
        """Returns the reference of a tensor; tensors that are not plain and strided come as a tagged value."""
        encoded: JsonObject = self.encode(tensor, scope)
        if encoded.get("$t") == "tensor":
            del encoded["$t"]
        return encoded

    def _value(self, value: Any) -> Json:
        if value is None or type(value) in (bool, int) or (type(value) is str and _is_unicode(value)):
            return value
        if self._sharding is not None:
            arrived = self._sharding.ready(value)
            if arrived is not value and self._scope is not None:
                self._scope.live[id(arrived)] = value
            value = arrived
        if id(value) in self._open:
            return gap(value, "the value holds itself")
        if len(self._open) > _MAX_DEPTH:
            return gap(value, "nested too deeply")
        self._open.append(id(value))
        try:
            return self._dispatch(value)
        except Exception as error:
            return gap(value, f"{type(error).__name__}: {error}")
        finally:
            self._open.pop()

    def _dispatch(self, value: Any) -> Json:
        for encode in (self._tensor_like, self._plain, self._torch_atom, self._code, self._container, self._structured):
            encoded = encode(value)
            if encoded is not None:
                return encoded
        return gap(value, "no encoding for this type")

    def _plain(self, value: Any) -> Json:
        kind = type(value)
        if kind is str:
            return gap(value, "text that is not Unicode")
        if kind is float:
            return value if math.isfinite(value) else {"$t": "float", "v": repr(value)}
        if kind is complex:
            return {"$t": "complex", "v": [self._value(value.real), self._value(value.imag)]}
        if kind is bytes:
            return {"$t": "bytes", "v": base64.b64encode(value).decode("ascii")}
        if kind is slice:
            return {"$t": "slice", "v": [self._value(part) for part in (value.start, value.stop, value.step)]}
        if kind is range:
            return {"$t": "range", "v": [value.start, value.stop, value.step]}
        if value is Ellipsis:
            return {"$t": "ellipsis"}
        if isinstance(value, np.generic):
            return {"$t": "npscalar", "dtype": str(value.dtype), "v": self._value(value.item())}
        return None

    def _torch_atom(self, value: Any) -> Json:
        if type(value) is torch.Size:
            return {"$t": "size", "v": [int(size) for size in value]}
        for kind, tag in _TORCH_ATOMS.items():
            if isinstance(value, kind):
                return {"$t": tag, "v": str(value).removeprefix("torch.")}
        if isinstance(value, enum.Enum):
            return {"$t": "enum", "cls": qualified_name(type(value)), "v": value.name}
        if isinstance(value, torch.Generator):
            return gap(value, "a random generator of its own")
        return None

    def _code(self, value: Any) -> Json:
        if isinstance(value, nn.Module):
            if self._encode_module is None:
                return gap(value, "a module where none can be described")
            return self._encode_module(value)
        if isinstance(value, functools.partial):
            arguments, keywords = self._value(list(value.args)), self._value(dict(value.keywords))
            return {"$t": "partial", "fn": self._value(value.func), "args": arguments, "kwargs": keywords}
        if isinstance(value, types.MethodType):
            return {"$t": "method", "self": self._value(value.__self__), "name": value.__name__}
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
            if is_importable(value):
                return {"$t": "ref", "v": qualified_name(value)}
            return self._source(value)
        if inspect.isgenerator(value) or hasattr(type(value), "__next__"):
            return gap(value, "an iterator: reading it would consume it")
        return None

    @staticmethod
    def _source(value: Any) -> Json:
        try:
            text = textwrap.dedent(inspect.getsource(value))
        except (OSError, TypeError):
            return gap(value, "code that cannot be imported and has no source")
        return {"$t": "source", "name": getattr(value, "__qualname__", "?"), "v": text}

    def _container(self, value: Any) -> Json:
        kind = type(value)
        if kind in (list, tuple, dict, set, frozenset) and len(value) > _MAX_ITEMS:
            return gap(value, f"more than {_MAX_ITEMS} items")
        if kind is list:
            return [self._value(item) for item in value]
        if kind is tuple:
            return {"$t": "tuple", "v": [self._value(item) for item in value]}
        if kind in (set, frozenset):
            return {"$t": kind.__name__, "v": [self._value(item) for item in sorted(value, key=repr)]}
        if kind is dict:
            if all(type(key) is str and not key.startswith("$") for key in value):
                return {key: self._value(item) for key, item in value.items()}
            return {"$t": "dict", "v": self._pairs(value)}
        return None

    def _structured(self, value: Any) -> Json:
        kind = type(value)
        name = qualified_name(kind)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return {
                "$t": "namedtuple",
                "cls": name,
                "fields": list(value._fields),
                "v": [self._value(x) for x in value],
            }
        if isinstance(value, dict):
            return {"$t": "mapping", "cls": name, "v": self._pairs(value)}
        if kind in pytree.SUPPORTED_NODES and not dataclasses.is_dataclass(value):
            children, context = pytree.SUPPORTED_NODES[kind].flatten_fn(value)
            encoded = [self._value(child) for child in children]
            return {"$t": "pytree", "cls": name, "v": encoded, "context": self._value(context)}
        if dataclasses.is_dataclass(value) and (kind in pytree.SUPPORTED_NODES or not hasattr(value, "__dict__")):
            fields = {field.name: self._value(getattr(value, field.name)) for field in dataclasses.fields(value)}
            return {"$t": "dataclass", "cls": name, "v": fields}
        if dataclasses.is_dataclass(value) and set(vars(value)) == {field.name for field in dataclasses.fields(value)}:
            return {"$t": "dataclass", "cls": name, "v": {key: self._value(item) for key, item in vars(value).items()}}
        if isinstance(value, bool | int | str | float | list | tuple | set | types.ModuleType):
            return None
        if not hasattr(value, "__dict__") or kind.__module__.startswith(_OPAQUE_HOMES):
            return None
        return {"$t": "object", "cls": name, "v": {str(key): self._value(item) for key, item in vars(value).items()}}

    def _pairs(self, mapping: dict[Any, Any]) -> list[Json]:
        return [[self._value(key), self._value(item)] for key, item in mapping.items()]

    def _tensor_like(self, value: Any) -> Json:
        if isinstance(value, torch.Tensor):
            identity = self._scope.identity(value) if self._scope is not None else {}
            encoded = self._tensor(value)
            if encoded["$t"] == "shard":
                identity = {key: number for key, number in identity.items() if key == "obj"}
            return {**encoded, **identity}
        if isinstance(value, np.ndarray):
            if value.dtype.hasobject:
                return gap(value, "a numpy array of objects")
            return {"$t": "numpy", "v": self._sink.put(torch.from_numpy(np.array(value, order="C")))}
        return None

    def _tensor(self, tensor: torch.Tensor) -> JsonObject:
        flags: JsonObject = {}
        if isinstance(tensor, nn.Parameter):
            flags["parameter"] = True
        if tensor.requires_grad:
            flags["requires_grad"] = True
        shard = self._sharding.encode(tensor, self._sink) if self._sharding is not None else None
        if shard is not None:
            return shard | flags
        if is_lazy(tensor):
            return gap(tensor, "a lazy parameter or buffer has no shape yet")
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return gap(tensor, "a tensor inside vmap or grad has no memory of its own")
        if tensor.is_nested and tensor.layout == torch.strided:
            return self._nested(tensor) | flags
        if type(tensor) not in (torch.Tensor, nn.Parameter):
            if hasattr(tensor, "__tensor_flatten__"):
                return self._wrapper(tensor) | flags
            if isinstance(tensor, torch.masked.MaskedTensor):
                return gap(tensor, "a masked tensor cannot be taken apart")
            flags["cls"] = qualified_name(type(tensor))
            tensor = tensor.as_subclass(torch.Tensor)
        if tensor.is_quantized:
            return self._quantized(tensor) | flags
        if str(tensor.layout) == "torch._mkldnn":
            return {"$t": "tensor", **self._sink.put(tensor.detach().to_dense()), "layout": "_mkldnn", **flags}
        if tensor.layout != torch.strided:
            return self._sparse(tensor) | flags
        return {"$t": "tensor", **self._sink.put(tensor), **flags}

    def _wrapper(self, tensor: torch.Tensor) -> JsonObject:
        names, context = tensor.__tensor_flatten__()  # type: ignore[attr-defined]
        parts = {name: self._value(getattr(tensor, name)) for name in names}
        shape = [size if isinstance(size, int) else str(size) for size in tensor.shape]
        name = qualified_name(type(tensor))
        return {"$t": "wrapper", "cls": name, "parts": parts, "context": self._value(context), "shape": shape}

    def _nested(self, tensor: torch.Tensor) -> JsonObject:
        plain: Any = tensor.detach()
        parts = {
            "buffer": plain.values(),
            "sizes": plain._nested_tensor_size(),
            "strides": plain._nested_tensor_strides(),
            "offsets": plain._nested_tensor_storage_offsets(),
        }
        return {"$t": "nested", "parts": {name: self._sink.put(part) for name, part in parts.items()}}

    def _sparse(self, tensor: torch.Tensor) -> JsonObject:
        plain = tensor.detach()
        encoded: JsonObject = {"$t": "sparse", "layout": str(plain.layout)[6:], "shape": list(plain.shape)}
        if plain.layout == torch.sparse_coo:
            parts = {"indices": plain._indices(), "values": plain._values()}
            encoded["coalesced"] = plain.is_coalesced()
        elif plain.layout in _COMPRESSED_LAYOUTS:
            rows = plain.layout in (torch.sparse_csr, torch.sparse_bsr)
            compressed = plain.crow_indices() if rows else plain.ccol_indices()
            parts = {"compressed": compressed, "plain": plain.col_indices() if rows else plain.row_indices()}
            parts["values"] = plain.values()
        else:
            return gap(tensor, f"layout {plain.layout}")
        encoded["parts"] = {name: self._sink.put(part) for name, part in parts.items()}
        return encoded

    def _quantized(self, tensor: torch.Tensor) -> JsonObject:
        encoded: JsonObject = {
            "$t": "quantized",
            "dtype": dtype_name(tensor.dtype),
            "scheme": str(tensor.qscheme())[6:],
        }
        encoded["ints"] = self._sink.put(tensor.int_repr())
        if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            return encoded | {"scale": tensor.q_scale(), "zero_point": tensor.q_zero_point(), "axis": None}
        scales, zeros = (
            self._sink.put(tensor.q_per_channel_scales()),
            self._sink.put(tensor.q_per_channel_zero_points()),
        )
        if tensor.dtype in (torch.quint4x2, torch.quint2x4):
            encoded["shape"] = list(tensor.shape)
        return encoded | {"scale": scales, "zero_point": zeros, "axis": tensor.q_per_channel_axis()}


def tensors_in(encoded: Json, pointer: str, kinds: tuple[str, ...] = ("tensor",)) -> Iterator[tuple[str, JsonObject]]:
    """Yields the JSON Pointer and the reference of every tensor of these kinds in an encoded value, in order."""
    if isinstance(encoded, list):
        for index, item in enumerate(encoded):
            yield from tensors_in(item, f"{pointer}/{index}", kinds)
    elif isinstance(encoded, dict):
        if encoded.get("$t") in kinds:
            yield pointer, encoded
        elif encoded.get("$t") not in ("sparse", "quantized", "numpy", "nested", "shard"):
            for key, item in encoded.items():
                yield from tensors_in(item, pointer + pointer_token(key), kinds)


def can_change(encoded: Json) -> bool:
    """Whether other values can be put into an encoded one: it is, or holds, a list, a dict or an object."""
    if isinstance(encoded, list):
        return True
    if not isinstance(encoded, dict):
        return False
    if encoded.get("$t") in ("tuple", "namedtuple"):
        return any(can_change(item) for item in encoded["v"])
    return encoded.get("$t") in (None, "dict", "mapping", "object", "pytree", "dataclass")


def without_data(encoded: Json) -> Json:
    """An encoded value without what its tensors hold: the same as long as it holds the same tensors."""
    if isinstance(encoded, list):
        return [without_data(item) for item in encoded]
    if not isinstance(encoded, dict):
        return encoded
    return {key: without_data(item) for key, item in encoded.items() if key not in ("ref", "gap")}
