# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""DTensors (tensor parallelism, FSDP2) and tensors whose collective is still under way."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from modulelens.distributed.shard_values import Block, shard_value
from modulelens.json_types import JsonObject

with contextlib.suppress(ImportError):
    from torch.distributed._functional_collectives import AsyncCollectiveTensor
    from torch.distributed.tensor import DTensor, Partial
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset


def arrived(value: Any) -> Any:
    """Returns the tensor that a collective under way gives: waiting for it is no collective of its own."""
    return value.wait() if isinstance(value, AsyncCollectiveTensor) else value


def is_dtensor(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, DTensor)


def shard_of(tensor: Any, keep: Callable[[torch.Tensor], JsonObject], **details: object) -> JsonObject:
    """Returns the `shard` value of a DTensor."""
    mesh, placements = tensor.device_mesh, tensor.placements
    shape = tensor.shape
    local = arrived(tensor._local_tensor).detach()
    coordinate = mesh.get_coordinate()
    blocks = []
    if coordinate is not None:
        local_shape, offset = compute_local_shape_and_global_offset(shape, mesh, placements)
        term = tuple(int(coordinate[axis]) for axis, place in enumerate(placements) if isinstance(place, Partial))
        if tuple(local.shape) == tuple(local_shape) and local.numel() > 0:
            blocks.append(Block(list(offset), local, term))
    reduce = next((place.reduce_op for place in placements if isinstance(place, Partial)), None)
    if reduce not in (None, "sum"):
        details["unsupported"] = f"a tensor that waits for the reduction '{reduce}'"
    described = {"ranks": mesh.mesh.tolist(), "names": list(mesh.mesh_dim_names or [])}
    names = [str(place) for place in placements]
    return shard_value("dtensor", shape, tensor.dtype, blocks, keep, placements=names, mesh=described, **details)


def copies_of(tensor: torch.Tensor) -> set[int]:
    """The ranks of a DTensor's mesh."""
    return {int(rank) for rank in tensor.device_mesh.mesh.flatten().tolist()} if is_dtensor(tensor) else set()  # type: ignore[attr-defined]
