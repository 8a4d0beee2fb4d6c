# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Bytes of tensors without numpy: `.numpy()` on a live tensor would pin its storage's size for good."""

from __future__ import annotations

import ctypes
import hashlib
import zlib

import torch

_FINGERPRINT_BLOCK = 512
_FINGERPRINT_BLOCKS = 8


def memory_of(tensor: torch.Tensor) -> memoryview:
    """Returns a view of the bytes of a contiguous CPU tensor. The caller keeps the tensor alive meanwhile.

    Raises ValueError for a tensor that only pretends to have memory.
    """
    size = tensor.numel() * tensor.element_size()
    if size == 0:
        return memoryview(b"")
    address = tensor.data_ptr()
    if not address:
        raise ValueError("a tensor without memory of its own")
    return memoryview((ctypes.c_ubyte * size).from_address(address))


def tensor_digest(dtype: str, shape: list[int], tensor: torch.Tensor) -> str:
    """Returns the content digest of a contiguous CPU tensor: sha256 of `<dtype>:<d0>,<d1>:` and its bytes."""
    text = f"{dtype}:{','.join(str(size) for size in shape)}:"
    digest = hashlib.sha256(text.encode("ascii"))
    digest.update(memory_of(tensor))
    return digest.hexdigest()


def fingerprint(tensor: torch.Tensor) -> int | None:
    """Returns a cheap checksum of some of a tensor's bytes, or None where memory cannot be read in place.

    It catches writes that leave the version counter as it was (`.data`), which whole-tensor operations always change.
    """
    if tensor.device.type != "cpu" or not tensor.is_contiguous():
        return None
    memory = memory_of(tensor)
    if len(memory) <= _FINGERPRINT_BLOCK * _FINGERPRINT_BLOCKS:
        return zlib.crc32(memory)
    value = 0
    step = (len(memory) - _FINGERPRINT_BLOCK) // (_FINGERPRINT_BLOCKS - 1)
    for block in range(_FINGERPRINT_BLOCKS):
        value = zlib.crc32(memory[block * step : block * step + _FINGERPRINT_BLOCK], value)
    return value
