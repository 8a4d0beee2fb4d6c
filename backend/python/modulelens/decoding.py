# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""JSON back into Python values: identity, aliasing, strides and memory alignment as they were captured."""

from __future__ import annotations

import base64
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from modulelens.json_types import Json, JsonObject
from modulelens.raw_memory import tensor_digest
from modulelens.references import resolve
from modulelens.tensor_store import is_opaque
from modulelens.values import tensors_in

_ALIGNMENT = 64


class DecodeError(ValueError):
    """A value that cannot be given back: a gap, a missing tensor, a refused class."""


class ValueDecoder:
    """Decodes the values of one call or one state; the same `obj` number gives the same object.

    Make a new decoder for every replay: calls may write to what they are given.
    """

    def __init__(self, bytes_of: Callable[[str], torch.Tensor], allowed: Callable[[str], bool]) -> None:
        self._bytes_of = bytes_of
        self._allowed = allowed
        self._objects: dict[int, torch.Tensor] = {}
        self._storages: dict[int, torch.UntypedStorage] = {}
        self._extents: dict[int, int] = {}
        self._users: dict[int, set[int]] = {}

    @property
    def objects(self) -> dict[int, torch.Tensor]:
        """The tensors decoded so far, by object number."""
        return self._objects

    def prepare(self, *encoded: Json) -> None:
        """Notes which storages several tensors share, so that the tensors decoded next share them too."""
        for tree in encoded:
            for _, reference in tensors_in(tree, ""):
                if "storage" in reference and "ref" in reference:
                    number = reference["storage"]
                    end = (reference["offset"] + _extent(reference)) * _item_size(reference)
                    self._extents[number] = max(self._extents.get(number, 0), end)
                    self._users.setdefault(number, set()).add(reference["obj"])

    def decode(self, encoded: Json) -> Any:
        """Returns the value. Raises DecodeError for gaps, PermissionError for classes that are not allowed."""
        if isinstance(encoded, list):
            return [self.decode(item) for item in encoded]
        if not isinstance(encoded, dict):
            return encoded
        if "$t" not in encoded:
            return {key: self.decode(item) for key, item in encoded.items()}
        decoder = getattr(self, f"_decode_{encoded['$t']}", None)
        if decoder is None:
            raise DecodeError(f"a value of kind '{encoded['$t']}' cannot be rebuilt")
        return decoder(encoded)

    def tensor(self, reference: JsonObject) -> torch.Tensor:
        """Returns the tensor of a plain reference."""
        return self._decode_tensor(reference)

    def _decode_tensor(self, reference: JsonObject) -> torch.Tensor:
        number = reference.get("obj")
        if number is not None and number in self._objects:
            return self._objects[number]
        tensor = self._materialise(reference)
        if reference.get("layout") == "_mkldnn":
            tensor = tensor.to_mkldnn()
        if "cls" in reference:
            tensor = tensor.as_subclass(self._resolve(reference["cls"]))
        if reference.get("parameter"):
            tensor = nn.Parameter(tensor, requires_grad=reference.get("requires_grad", False))
        elif reference.get("requires_grad"):
            tensor = _with_history(tensor)
        if number is not None:
            self._objects[number] = tensor
        return tensor

    def _materialise(self, reference: JsonObject) -> torch.Tensor:
        dtype = getattr(torch, reference["dtype"])
        shape = reference["shape"]
        if "ref" not in reference:
            if reference.get("gap") == "meta":
                return torch.empty(shape, dtype=dtype, device="meta")
            raise DecodeError(f"a tensor was not kept: {reference.get('gap')}")
        raw = self._bytes_of(reference["ref"])
        stored_shape: list[int] = reference.get("stored_shape") or shape
        if tensor_digest(reference["dtype"], stored_shape, raw) != reference["ref"]:
            raise DecodeError(f"the data of tensor {reference['ref'][:12]} is damaged: it is not what was captured")
        seen = torch.uint8 if is_opaque(dtype) else dtype
        data = (raw.view(seen) if raw.numel() else torch.empty(0, dtype=seen)).reshape(stored_shape)
        device = reference.get("device", "cpu")
        if device != "cpu":
            return data.to(device).expand(shape)
        with torch.no_grad():
            placed = self._place(reference, data)
            return placed if seen is dtype else placed.view(dtype)

    def _place(self, reference: JsonObject, data: torch.Tensor) -> torch.Tensor:
        """Lays the data out as it was: stride, offset within 64 bytes, storage shared with others, lazy bits."""
        shape, stride = reference["shape"], reference.get("stride") or _row_major(reference["shape"])
        whole, offset = self._base(reference, data)
        if whole is not data:
            if _overlaps(data.shape, stride):
                index = torch.arange(whole.numel()).as_strided(data.shape, stride, offset)
                whole[index.reshape(-1)] = data.reshape(-1)
            else:
                whole.as_strided(data.shape, stride, offset).copy_(data)
        view = torch.empty(0, dtype=data.dtype).set_(whole.untyped_storage(), offset, shape, stride)
        if reference.get("conj"):
            view = torch.conj(view.conj_physical_())
        if reference.get("neg"):
            view = torch._neg_view(view.neg_())
        return view

    def _base(self, reference: JsonObject, data: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Returns a flat tensor over the storage and this view's offset in it: the data itself where that will do."""
        item = _item_size(reference)
        number = reference.get("storage")
        offset = reference.get("offset", 0)
        if number is not None and len(self._users.get(number, ())) > 1:
            if number not in self._storages:
                self._storages[number] = torch.empty(self._extents[number], dtype=torch.uint8).untyped_storage()
            storage = self._storages[number]
            whole = torch.empty(0, dtype=data.dtype).set_(storage, 0, (self._extents[number] // item,), (1,))
            return whole, offset
        lead = (offset * item % _ALIGNMENT) // item
        if lead == 0 and "stride" not in reference:
            return data, 0
        return torch.empty(lead + _extent(reference), dtype=data.dtype), lead

    def _decode_tuple(self, encoded: JsonObject) -> Any:
        return tuple(self.decode(item) for item in encoded["v"])

    def _decode_set(self, encoded: JsonObject) -> Any:
        return set(self._decode_tuple(encoded))

    def _decode_frozenset(self, encoded: JsonObject) -> Any:
        return frozenset(self._decode_tuple(encoded))

    def _decode_dict(self, encoded: JsonObject) -> Any:
        return {self.decode(key): self.decode(item) for key, item in encoded["v"]}

    def _decode_float(self, encoded: JsonObject) -> Any:
        return float(encoded["v"])

    def _decode_complex(self, encoded: JsonObject) -> Any:
        return complex(*(self.decode(part) for part in encoded["v"]))

    def _decode_bytes(self, encoded: JsonObject) -> Any:
        return base64.b64decode(encoded["v"])

    def _decode_size(self, encoded: JsonObject) -> Any:
        return torch.Size(encoded["v"])

    def _decode_range(self, encoded: JsonObject) -> Any:
        return range(*encoded["v"])

    def _decode_slice(self, encoded: JsonObject) -> Any:
        return slice(*(self.decode(part) for part in encoded["v"]))

    def _decode_ellipsis(self, encoded: JsonObject) -> Any:
        return ...

    def _decode_dtype(self, encoded: JsonObject) -> Any:
        return getattr(torch, encoded["v"])

    _decode_layout = _decode_memory_format = _decode_dtype

    def _decode_device(self, encoded: JsonObject) -> Any:
        return torch.device(encoded["v"])

    def _decode_enum(self, encoded: JsonObject) -> Any:
        return self._resolve(encoded["cls"])[encoded["v"]]

    def _decode_numpy(self, encoded: JsonObject) -> Any:
        return self.tensor(encoded["v"]).numpy()

    def _decode_npscalar(self, encoded: JsonObject) -> Any:
        import numpy as np

        return np.dtype(encoded["dtype"]).type(self.decode(encoded["v"]))

    def _decode_namedtuple(self, encoded: JsonObject) -> Any:
        kind = self._resolve(encoded["cls"])
        values = [self.decode(item) for item in encoded["v"]]
        return kind(*values) if hasattr(kind, "_make") else kind(values)

    def _decode_dataclass(self, encoded: JsonObject) -> Any:
        kind = self._resolve(encoded["cls"])
        value = kind.__new__(kind)
        for key, item in encoded["v"].items():
            object.__setattr__(value, key, self.decode(item))
        return value

    def _decode_mapping(self, encoded: JsonObject) -> Any:
        kind = self._resolve(encoded["cls"])
        items = self._decode_dict(encoded)
        by_keyword = dataclasses.is_dataclass(kind)
        return kind(**items) if by_keyword else kind(items)

    def _decode_object(self, encoded: JsonObject) -> Any:
        kind = self._resolve(encoded["cls"])
        value = kind.__new__(kind)
        value.__dict__.update({key: self.decode(item) for key, item in encoded["v"].items()})
        return value

    def _decode_pytree(self, encoded: JsonObject) -> Any:
        kind = self._resolve(encoded["cls"])
        children = [self.decode(item) for item in encoded["v"]]
        return pytree.SUPPORTED_NODES[kind].unflatten_fn(children, self.decode(encoded["context"]))

    def _decode_partial(self, encoded: JsonObject) -> Any:
        keywords = self.decode(encoded["kwargs"])
        return functools.partial(self.decode(encoded["fn"]), *self.decode(encoded["args"]), **keywords)

    def _decode_ref(self, encoded: JsonObject) -> Any:
        return self._resolve(encoded["v"])

    def _decode_method(self, encoded: JsonObject) -> Any:
        return getattr(self.decode(encoded["self"]), encoded["name"])

    def _decode_gap(self, encoded: JsonObject) -> Any:
        raise DecodeError(f"a value of type {encoded['type']} was not kept: {encoded['reason']}")

    def _decode_sparse(self, encoded: JsonObject) -> Any:
        parts = {name: self.tensor(part) for name, part in encoded["parts"].items()}
        shape = encoded["shape"]
        if encoded["layout"] == "sparse_coo":
            coalesced = encoded["coalesced"]
            return torch.sparse_coo_tensor(parts["indices"], parts["values"], shape, is_coalesced=coalesced)
        layout = getattr(torch, encoded["layout"])
        return torch.sparse_compressed_tensor(
            parts["compressed"], parts["plain"], parts["values"], shape, layout=layout
        )

    def _decode_nested(self, encoded: JsonObject) -> Any:
        buffer, *layout = (self.tensor(encoded["parts"][key]) for key in ("buffer", "sizes", "strides", "offsets"))
        nested = torch._nested_view_from_buffer(buffer.reshape(-1), *layout)
        return nested.requires_grad_() if encoded.get("requires_grad") else nested

    def _decode_quantized(self, encoded: JsonObject) -> Any:
        integers = self.tensor(encoded["ints"])
        if encoded["axis"] is None:
            return torch._make_per_tensor_quantized_tensor(integers, encoded["scale"], encoded["zero_point"])
        scales, zeros = self.tensor(encoded["scale"]), self.tensor(encoded["zero_point"])
        if "shape" in encoded:
            dtype = getattr(torch, encoded["dtype"])
            packed = torch._empty_per_channel_affine_quantized(
                encoded["shape"], scales=scales, zero_points=zeros, axis=encoded["axis"], dtype=dtype
            )
            packed.untyped_storage().copy_(integers.untyped_storage())
            return packed
        return torch._make_per_channel_quantized_tensor(integers, scales, zeros, encoded["axis"])

    def _decode_wrapper(self, encoded: JsonObject) -> Any:
        kind = self._resolve(encoded["cls"])
        parts = {name: self.decode(part) for name, part in encoded["parts"].items()}
        return kind.__tensor_unflatten__(parts, self.decode(encoded["context"]), None, None)

    def _resolve(self, name: str) -> Any:
        return resolve(name, self._allowed)


def _with_history(tensor: torch.Tensor) -> torch.Tensor:
    """Makes a tensor require gradients as a result does, not as a leaf does: modules may write to it in place."""
    with torch.enable_grad():
        try:
            return tensor.copy_(tensor.detach().clone().requires_grad_())
        except RuntimeError:
            return tensor.requires_grad_()


def _item_size(reference: JsonObject) -> int:
    return int(getattr(torch, reference["dtype"]).itemsize)


def _row_major(shape: list[int]) -> list[int]:
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


def _extent(reference: JsonObject) -> int:
    shape = reference["shape"]
    if 0 in shape:
        return 0
    stride = reference.get("stride", _row_major(shape))
    return 1 + sum((int(size) - 1) * int(step) for size, step in zip(shape, stride, strict=True))


def _overlaps(shape: torch.Size, stride: list[int]) -> bool:
    reach = 0
    for step, size in sorted((step, size) for step, size in zip(stride, shape, strict=True) if size > 1):
        if step <= reach:
            return True
        reach += step * (size - 1)
    return False
