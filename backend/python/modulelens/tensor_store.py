# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Tensors by content: each is copied and hashed at once, and stored when it is new."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from modulelens.earlier_tensors import EarlierFile
from modulelens.json_types import JsonObject
from modulelens.raw_memory import fingerprint, tensor_digest
from modulelens.safetensors_file import (
    SAFETENSORS_DTYPES,
    StoredTensor,
    file_digest,
    read_tensor_bytes,
    write_safetensors,
)

_SHARD_BYTES = 128 << 20
_MAX_WAITING = 2
_HASHING_THREADS = 2
_Result = TypeVar("_Result")
_OPAQUE_DTYPE = re.compile("u?int[1-7]")


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


class Earlier(Protocol):
    """Tensors that are on the disk already (see `EarlierTensors`)."""

    def use(self, digest: str) -> bool:
        """Whether a tensor is there; it is counted as used then."""

    def bytes_of(self, digest: str) -> torch.Tensor:
        """Returns a private copy of its bytes. Raises KeyError when it is not there."""

    def settle(self, folder: Path) -> tuple[list[EarlierFile], list[str]]:
        """Links into `folder` what is shared; returns the files, and the used tensors that are not in one."""

    def close(self) -> None:
        """Lets go of the files."""


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
    source = tensor.view(torch.uint8) if is_opaque(tensor.dtype) else tensor
    if tensor.numel() > 0:
        for dimension, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
            if stride == 0 and size > 1:
                source = source.narrow(dimension, 0, 1)
    data = source.resolve_conj().resolve_neg().to("cpu").contiguous()
    if list(source.shape) != list(tensor.shape):
        reference["stored_shape"] = list(source.shape)
    if tensor.dtype not in SAFETENSORS_DTYPES:
        reference["stored_dtype"] = "uint8"
    return reference, StoredTensor(data, list(source.shape), tensor.dtype)


def is_opaque(dtype: torch.dtype) -> bool:
    """Whether torch can do nothing with the dtype but view it as bytes: integers of less than eight bits."""
    return _OPAQUE_DTYPE.fullmatch(dtype_name(dtype)) is not None


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
    """Content-addressed tensors of one bundle, in safetensors files in `folder`, written by a thread of their own.

    At most two files wait to be written; then `put` waits for the disk, so that memory stays bounded. After a write has
    failed, tensors become gaps and `finish` raises. Not safe for several threads at once; the tracer holds its lock
    around every use.
    """

    def __init__(
        self,
        folder: Path,
        max_bytes: int | None = None,
        max_tensor_bytes: int | None = None,
        earlier: Earlier | None = None,
        prefix: str = "",
    ) -> None:
        self._prefix = prefix
        self.files: list[TensorFile] = []
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_tensor_bytes = max_tensor_bytes
        self._earlier = earlier
        self._stored_bytes = 0
        self._section = "trace"
        self._pending: dict[str, dict[str, StoredTensor]] = {"state": {}, "trace": {}}
        self._pending_bytes = {"state": 0, "trace": 0}
        self._forms: dict[str, tuple[list[int], torch.dtype]] = {}
        self._places: dict[str, _Shard] = {}
        self._shards: list[_Shard] = []
        self._writer: ThreadPoolExecutor | None = None
        self._failure: OSError | None = None
        self._cache: dict[tuple[Any, ...], tuple[StorageWeakRef, int | None, JsonObject]] = {}

    def clear_cache(self) -> None:
        """Forgets which live tensors were seen: between steps a storage may change without a sign."""
        self._cache.clear()

    @contextlib.contextmanager
    def state(self) -> Iterator[None]:
        """Inside, what is stored is state. It goes into files of its own: a later bundle may share them."""
        outer, self._section = self._section, "state"
        try:
            yield
        finally:
            self._section = outer

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
            if self._has(digest):
                continue
            if self._earlier is not None and self._earlier.use(digest):
                self._forms[digest] = (stored.shape, stored.dtype)
            else:
                self._keep(digest, stored)

    def bytes_of(self, digest: str) -> torch.Tensor:
        """Returns a private copy of a stored tensor's bytes as uint8. Raises KeyError when it is not stored."""
        stored = self._in_memory(digest)
        if stored is not None:
            data = stored.data
            # A single element may have any stride, of which a view as bytes wants none but 1.
            private = torch.empty(data.shape, dtype=data.dtype).copy_(data)
            return private.reshape(-1).view(torch.uint8) if data.numel() else torch.empty(0, dtype=torch.uint8)
        place = self._places.get(digest)
        if place is None and self._earlier is not None:
            return self._earlier.bytes_of(digest)
        if place is None:
            raise KeyError(digest)
        place.result()
        return read_tensor_bytes(place.path, digest)

    def flush(self) -> None:
        """Hands what is pending to the writer. Raises nothing: a disk that refuses shows in `finish`."""
        for section in self._pending:
            self._flush(section)

    def finish(self) -> None:
        """Writes what is left and waits for it; then `files` is whole. Raises OSError when the disk refused."""
        if self._earlier is not None:
            linked, left = self._earlier.settle(self._folder)
            for digest in left:
                self._keep(digest, self._earlier_tensor(digest))
            self.files = [TensorFile(f"tensors/{_name(file)}", file.sha256, file.size, file.keys) for file in linked]
            self._earlier.close()
        self.flush()
        sizes = [shard.result() for shard in self._shards]
        # Only now, so that the step does not pay for it.
        with ThreadPoolExecutor(_HASHING_THREADS, thread_name_prefix="modulelens-digest") as hashing:
            futures = [_submitted(hashing, file_digest, shard.path) for shard in self._shards]
            digests = [future.result() for future in futures]
        for shard, sha256, size in zip(self._shards, digests, sizes, strict=True):
            self.files.append(TensorFile(f"tensors/{shard.path.name}", sha256, size, shard.keys))
        self._shards = []
        self._stop_writer()
        if self._failure is not None:
            raise self._failure

    def discard(self) -> None:
        """Lets go of everything; waits for a write that is under way."""
        self._pending = {"state": {}, "trace": {}}
        for shard in self._shards:
            shard.future.cancel()
        self._stop_writer()
        if self._earlier is not None:
            self._earlier.close()

    def _flush(self, section: str) -> None:
        tensors = self._pending[section]
        if not tensors:
            return
        self._pending[section] = {}
        self._pending_bytes[section] = 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            waiting = [shard for shard in self._shards if not shard.is_written()]
            if len(waiting) >= _MAX_WAITING:
                waiting[0].result()
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, thread_name_prefix="modulelens-writer")
            path = self._folder / f"{self._prefix}{len(self._shards):04d}.safetensors"
            shard = _Shard(path, tensors, _submitted(self._writer, write_safetensors, path, tensors))
        except (OSError, RuntimeError) as error:
            self._failure = self._failure or (error if isinstance(error, OSError) else OSError(str(error)))
            return
        self._shards.append(shard)
        for digest in tensors:
            self._places[digest] = shard

    def _stop_writer(self) -> None:
        if self._writer is not None:
            self._writer.shutdown(wait=True)
            self._writer = None

    def _identity(self, tensor: torch.Tensor) -> tuple[tuple[Any, ...] | None, int | None]:
        with contextlib.suppress(Exception):
            if not tensor.is_inference():
                storage = tensor.untyped_storage()
                shape, stride = tuple(tensor.shape), tensor.stride()
                view = (storage._cdata, tensor.storage_offset(), shape, stride, tensor.dtype)
                return (*view, tensor._version, tensor.is_conj(), tensor.is_neg()), fingerprint(tensor)
        return None, None

    def _store(self, tensor: torch.Tensor) -> JsonObject:
        if self._failure is not None:
            return {**shape_reference(tensor), "gap": f"the disk refused: {self._failure.strerror or self._failure}"}
        if self._max_tensor_bytes is not None and _stored_size(tensor) > self._max_tensor_bytes:
            gap = "meta" if tensor.device.type == "meta" else "max_tensor_bytes"
            return {**shape_reference(tensor), "gap": gap}
        reference, stored = snapshot(tensor)
        if stored is None:
            return reference
        digest = tensor_digest(reference["dtype"], stored.shape, stored.data)
        if not self._has(digest):
            if self._max_bytes is not None and self._stored_bytes + stored.size > self._max_bytes:
                return {**reference, "gap": "max_bytes"}
            if self._earlier is not None and self._earlier.use(digest):
                self._forms[digest] = (stored.shape, stored.dtype)
            else:
                self._keep(digest, _owned(stored, tensor))
        reference["ref"] = digest
        return reference

    def _earlier_tensor(self, digest: str) -> StoredTensor:
        assert self._earlier is not None
        shape, dtype = self._forms[digest]
        data = self._earlier.bytes_of(digest)
        return StoredTensor(
            data.view(dtype).reshape(shape) if data.numel() else torch.empty(shape, dtype=dtype), shape, dtype
        )

    def _in_memory(self, digest: str) -> StoredTensor | None:
        for tensors in self._pending.values():
            if digest in tensors:
                return tensors[digest]
        place = self._places.get(digest)
        return place.tensors.get(digest) if place is not None else None

    def _has(self, digest: str) -> bool:
        return digest in self._places or any(digest in tensors for tensors in self._pending.values())

    def _keep(self, digest: str, stored: StoredTensor) -> None:
        self._pending[self._section][digest] = stored
        self._stored_bytes += stored.size
        self._pending_bytes[self._section] += stored.size
        if self._pending_bytes[self._section] > _SHARD_BYTES:
            self._flush(self._section)


class _Shard:
    """One tensor file on its way to the disk; its tensors are let go of once they are there."""

    def __init__(self, path: Path, tensors: dict[str, StoredTensor], future: Future[int]) -> None:
        self.path = path
        self.keys = list(tensors)
        self.tensors = tensors
        self.future = future
        future.add_done_callback(self._release)

    def result(self) -> int:
        """Waits for the file and returns its size. Raises OSError when the disk refused."""
        return self.future.result()

    def is_written(self) -> bool:
        """Whether the file is there. Raises OSError when the disk refused."""
        return self.future.done() and bool(self.future.result())

    def _release(self, future: Future[int]) -> None:
        if not future.cancelled() and future.exception() is None:
            self.tensors = {}


def _submitted(executor: ThreadPoolExecutor, function: Callable[..., _Result], *args: Any) -> Future[_Result]:
    """Submits a call; makes it at once when the interpreter ends, where executors take nothing more."""
    try:
        return executor.submit(function, *args)
    except RuntimeError:
        future: Future[_Result] = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def _name(file: EarlierFile) -> str:
    assert file.link is not None
    return file.link.name


def _stored_size(tensor: torch.Tensor) -> int:
    """Bytes of the tensor's data, expanded dimensions counted once."""
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= 1 if stride == 0 and size > 1 else size
    return count * tensor.element_size()
