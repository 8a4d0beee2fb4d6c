# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Tensor data by place: packs, bundles and caches look alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from modulelens.raw_memory import memory_of
from modulelens.worker.errors import WorkerError
from modulelens.worker.params import required


@dataclass(frozen=True)
class Extent:
    """Bytes of one digest in a file."""

    digest: str
    file: Path
    offset: int
    length: int

    def read(self) -> bytes:
        """Returns the bytes. WorkerError: the file is missing or too short."""
        with self._open() as file:
            return bytes(file.read(self.length))

    def read_tensor(self) -> torch.Tensor:
        """Returns the bytes in aligned memory of their own, as uint8."""
        with self._open() as file:
            data = torch.empty(self.length, dtype=torch.uint8)
            if self.length and file.readinto(memory_of(data)) != self.length:
                raise WorkerError("corrupt", f"{self.file} ends inside the tensor {self.digest[:12]}")
            return data

    def _open(self) -> Any:
        try:
            file = self.file.open("rb", buffering=0)
        except OSError as error:
            raise WorkerError("not_found", f"the data of {self.digest[:12]} cannot be read: {error}") from error
        if self.offset + self.length > self.file.stat().st_size:
            file.close()
            raise WorkerError("corrupt", f"{self.file} is shorter than its tensors say")
        file.seek(self.offset)
        return file


def parse_extent(value: Any, where: str) -> Extent:
    """Reads one extent. WorkerError: not one."""
    offset, length = (required(value, key, int, where) for key in ("offset", "length"))
    if offset < 0 or length < 0:
        raise WorkerError("invalid_argument", f"{where} has a negative place")
    return Extent(required(value, "digest", str, where), Path(required(value, "file", str, where)), offset, length)


class TensorData:
    """The extents that a request names, above those of another collection."""

    def __init__(self, extents: Iterable[Any], below: TensorData | None = None) -> None:
        self._below = below
        self._extents = {
            extent.digest: extent for extent in (parse_extent(item, "a tensor's place") for item in extents)
        }

    def bytes_of(self, digest: str) -> torch.Tensor:
        """Returns a private, aligned copy of a tensor's bytes. WorkerError: nothing says where they lie."""
        found = self._extents.get(digest)
        if found is not None:
            return found.read_tensor()
        if self._below is not None:
            return self._below.bytes_of(digest)
        raise WorkerError("not_found", f"nothing says where the tensor {digest[:12]} lies")
