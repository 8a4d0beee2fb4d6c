# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Writes and reads safetensors files whose every tensor starts at a multiple of 64 bytes in the file."""

from __future__ import annotations

import hashlib
import json
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import torch

from modulelens.json_types import JsonObject
from modulelens.raw_memory import memory_of

ALIGNMENT = 64
_CHUNK_BYTES = 4 << 20

# Every dtype that safetensors knows by name; any other is stored as U8.
SAFETENSORS_DTYPES: dict[torch.dtype, str] = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.uint16: "U16",
    torch.uint32: "U32",
    torch.uint64: "U64",
    torch.bool: "BOOL",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
}


@dataclass
class StoredTensor:
    """The data of one tensor as it goes into a file: row-major CPU memory."""

    data: torch.Tensor
    shape: list[int]
    dtype: torch.dtype

    @property
    def size(self) -> int:
        return self.data.numel() * self.data.element_size()


def write_safetensors(path: Path, tensors: dict[str, StoredTensor], metadata: dict[str, str] | None = None) -> int:
    """Writes a file and returns its size. Raises OSError when the disk refuses."""
    header: JsonObject = {} if metadata is None else {"__metadata__": metadata}
    gaps: list[int] = []
    offset = 0
    for key, tensor in tensors.items():
        gap = -offset % ALIGNMENT
        if gap:
            header[f".pad.{len(gaps)}"] = {"dtype": "U8", "shape": [gap], "data_offsets": [offset, offset + gap]}
            gaps.append(gap)
            offset += gap
        dtype = SAFETENSORS_DTYPES.get(tensor.dtype)
        shape = tensor.shape if dtype is not None else [tensor.size]
        header[key] = {"dtype": dtype or "U8", "shape": shape, "data_offsets": [offset, offset + tensor.size]}
        offset += tensor.size
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    with path.open("xb") as file:
        writer = _CountingWriter(file)
        writer.write(len(text).to_bytes(8, "little"))
        writer.write(text)
        for tensor in tensors.values():
            writer.write(b"\0" * ((-writer.size) % ALIGNMENT))
            writer.write(memory_of(tensor.data))
    return writer.size


def file_digest(path: Path) -> str:
    """Returns the sha256 of a file's bytes. Raises OSError."""
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(_CHUNK_BYTES))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            digest.update(buffer[:size])
    return digest.hexdigest()


def read_tensor_bytes(path: Path, key: str) -> torch.Tensor:
    """Returns a private, aligned copy of one tensor's bytes as uint8. Raises KeyError when the file has no such key."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        length = int.from_bytes(memory[:8], "little")
        begin, end = json.loads(memory[8 : 8 + length])[key]["data_offsets"]
        if begin == end:
            return torch.empty(0, dtype=torch.uint8)
        return torch.frombuffer(bytearray(memory[8 + length + begin : 8 + length + end]), dtype=torch.uint8).clone()


def tensor_sizes(path: Path) -> dict[str, tuple[str, int]]:
    """Returns safetensors' dtype and the bytes of each tensor of a file by key."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    return {key: (entry["dtype"], entry["data_offsets"][1] - entry["data_offsets"][0]) for key, entry in header.items()}


class _CountingWriter:
    """Writes to a file and counts what it writes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = 0

    def write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self.size += len(data)
