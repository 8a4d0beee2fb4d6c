# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Tensors by content: each is copied and hashed at once, and stored when it is new."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from modulelens.json_types import JsonObject
from modulelens.raw_memory import fingerprint, tensor_digest
from modulelens.safetensors_file import (
    SAFETENSORS_DTYPES,
    StoredTensor,
    read_tensor_bytes,
    write_safetensors,
)

_SHARD_BYTES = 256 << 20


class TensorSink(Protocol):
    """Where an encoder puts tensors."""

    def put(self, tensor: torch.Tensor) -> JsonObject:
        """Returns the reference of a plain strided tensor, without object and storage numbers."""


def dtype_name(dtype: torch.dtype) -> str:
    """Returns torch's name of a dtype without `torch.`."""
    return str(dtype).removeprefix("torch.")


def shape_reference(tensor: torch.Tensor) -> JsonObject:
    """Returns what a reference says of a tensor before its data: dtype, shape, stride, device, bits."""
    reference: JsonObject = {"dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape)}
    if not tensor.is_contiguous():
        reference["stride"] = list(tensor.stride())
    if tensor.device.type != "cpu":
        reference["device"] = str(tensor.device)
    if tensor.is_conj():
        reference["conj"] = True
    if tensor.is_neg():
        reference["neg"] = True
    return reference


class ShapeSink:
    """Notes shapes and dtypes only: for modules whose tensors are not kept."""

    def put(self, tensor: torch.Tensor) -> JsonObject:
        return shape_reference(tensor)


class MemorySink:
    """Keeps tensors in memory until a store takes them."""

    def __init__(self, max_bytes: int = 16 << 20) -> None:
        self.tensors: dict[str, StoredTensor] = {}
        self._left = max_bytes

    def put(self, tensor: torch.Tensor) -> JsonObject:
        reference, stored = snapshot(tensor)
        if stored is None:
            return reference
        if stored.size > self._left:
            return {**reference, "gap": "larger than what is kept of constructor arguments"}
        self._left -= stored.size
        reference["ref"] = tensor_digest(reference["dtype"], stored.shape, stored.data)
        self.tensors[reference["ref"]] = _owned(stored, tensor)
        return reference


def snapshot(tensor: torch.Tensor) -> tuple[JsonObject, StoredTensor | None]:
    """Returns a tensor's reference without `ref`, and its row-major data, which may still share the tensor's memory."""
    tensor = tensor.detach()
    reference = shape_reference(tensor)
    if tensor.device.type == "meta":
        return {**reference, "gap": "meta"}, None
    source = tensor
    if tensor.numel() > 0:
        for dimension, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
            if stride == 0 and size > 1:
                source = source.narrow(dimension, 0, 1)
    data = source.resolve_conj().resolve_neg().to("cpu").contiguous()
    if list(source.shape) != list(tensor.shape):
        reference["stored_shape"] = list(source.shape)
    if data.dtype not in SAFETENSORS_DTYPES:
        reference["stored_dtype"] = "uint8"
    return reference, StoredTensor(data, list(source.shape), data.dtype)


def _owned(stored: StoredTensor, tensor: torch.Tensor) -> StoredTensor:
    if stored.data.untyped_storage()._cdata == tensor.untyped_storage()._cdata:
        return StoredTensor(stored.data.clone(), stored.shape, stored.dtype)
    return stored


@dataclass(frozen=True)
class TensorFile:
    """One written safetensors file, as the index lists it."""

    file: str
    sha256: str
    size: int
    keys: list[str]


class TensorStore:
    """Content-addressed tensors of one bundle, written to numbered safetensors files in `folder`.

    Not safe for several threads at once; the tracer holds its lock around every use.
    """

    def __init__(self, folder: Path, max_bytes: int | None = None, max_tensor_bytes: int | None = None) -> None:
        self.files: list[TensorFile] = []
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_tensor_bytes = max_tensor_bytes
        self._stored_bytes = 0
        self._pending: dict[str, StoredTensor] = {}
        self._pending_bytes = 0
        self._written: dict[str, Path] = {}
        self._cache: dict[tuple[Any, ...], tuple[StorageWeakRef, int | None, JsonObject]] = {}

    def clear_cache(self) -> None:
        """Forgets which live tensors were seen: between steps a storage may change without a sign."""
        self._cache.clear()

    def put(self, tensor: torch.Tensor) -> JsonObject:
        """Snapshots a plain strided tensor now and returns its reference."""
        with torch.no_grad():
            tensor = tensor.detach()
            key, mark = self._identity(tensor)
            if key is not None:
                hit = self._cache.get(key)
                if hit is not None and not hit[0].expired() and hit[1] == mark:
                    return dict(hit[2])
            reference = self._store(tensor)
            if key is not None:
                weak = StorageWeakRef(tensor.untyped_storage())
                self._cache[key] = (weak, mark, dict(reference))
            return reference

    def adopt(self, tensors: dict[str, StoredTensor]) -> None:
        """Takes over tensors that a MemorySink kept."""
        for digest, stored in tensors.items():
            self._keep(digest, stored)

    def bytes_of(self, digest: str) -> torch.Tensor:
        """Returns a private copy of a stored tensor's bytes as uint8. Raises KeyError when it is not stored."""
        if digest in self._pending:
            data = self._pending[digest].data
            # A single element may have any stride, of which a view as bytes wants none but 1.
            private = torch.empty(data.shape, dtype=data.dtype).copy_(data)
            return private.reshape(-1).view(torch.uint8) if data.numel() else torch.empty(0, dtype=torch.uint8)
        return read_tensor_bytes(self._written[digest], digest)

    def flush(self) -> None:
        """Writes what is pending. Raises OSError when the disk refuses."""
        if not self._pending:
            return
        name = f"{len(self.files):04d}.safetensors"
        self._folder.mkdir(parents=True, exist_ok=True)
        sha256, size = write_safetensors(self._folder / name, self._pending)
        self.files.append(TensorFile(f"tensors/{name}", sha256, size, list(self._pending)))
        for digest in self._pending:
            self._written[digest] = self._folder / name
        self._pending = {}
        self._pending_bytes = 0

    def _identity(self, tensor: torch.Tensor) -> tuple[tuple[Any, ...] | None, int | None]:
        with contextlib.suppress(Exception):
            if not tensor.is_inference():
                storage = tensor.untyped_storage()
                shape, stride = tuple(tensor.shape), tensor.stride()
                view = (storage._cdata, tensor.storage_offset(), shape, stride, tensor.dtype)
                return (*view, tensor._version, tensor.is_conj(), tensor.is_neg()), fingerprint(tensor)
        return None, None

    def _store(self, tensor: torch.Tensor) -> JsonObject:
        reference, stored = snapshot(tensor)
        if stored is None:
            return reference
        if self._max_tensor_bytes is not None and stored.size > self._max_tensor_bytes:
            return {**reference, "gap": "max_tensor_bytes"}
        digest = tensor_digest(reference["dtype"], stored.shape, stored.data)
        if not self._has(digest):
            if self._max_bytes is not None and self._stored_bytes + stored.size > self._max_bytes:
                return {**reference, "gap": "max_bytes"}
            self._keep(digest, _owned(stored, tensor))
        reference["ref"] = digest
        return reference

    def _has(self, digest: str) -> bool:
        return digest in self._pending or digest in self._written

    def _keep(self, digest: str, stored: StoredTensor) -> None:
        if self._has(digest):
            return
        self._pending[digest] = stored
        self._stored_bytes += stored.size
        self._pending_bytes += stored.size
        if self._pending_bytes > _SHARD_BYTES:
            self.flush()
