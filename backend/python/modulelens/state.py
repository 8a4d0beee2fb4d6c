# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Parameters and buffers of one module by name: references, changes, and the bytes they take."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from modulelens.json_types import JsonObject
from modulelens.sharding import Sharding
from modulelens.values import Scope, ValueEncoder


def named_tensors(
    module: nn.Module, sharding: Sharding | None = None
) -> Iterator[tuple[str, torch.Tensor, JsonObject]]:
    """Yields every parameter and buffer by every name relative to the module, with what a reference adds for it."""
    if sharding is not None:
        parts = list(_plain_parts(module, "", sharding, set()))
        for prefix, owner in parts:
            for name, parameter in sharding.parameters(owner).items():
                if parameter is not None:
                    yield prefix + name, parameter, {"kind": "parameter"}
        for prefix, owner in parts:
            for name, buffer in owner._buffers.items():
                if buffer is not None:
                    persistent = name not in owner._non_persistent_buffers_set
                    yield prefix + name, buffer, {"kind": "buffer", "persistent": persistent}
        return
    for name, parameter in module.named_parameters(remove_duplicate=False):
        yield name, parameter, {"kind": "parameter"}
    for prefix, owner in module.named_modules(remove_duplicate=False):
        for name, buffer in owner._buffers.items():
            if buffer is not None:
                persistent = name not in owner._non_persistent_buffers_set
                yield f"{prefix}.{name}" if prefix else name, buffer, {"kind": "buffer", "persistent": persistent}


def _plain_parts(module: nn.Module, prefix: str, sharding: Sharding, path: set[int]) -> Iterator[tuple[str, nn.Module]]:
    module = sharding.plain(module)
    if id(module) in path:
        return
    path.add(id(module))
    yield prefix, module
    for name, child in module._modules.items():
        if child is not None:
            yield from _plain_parts(child, f"{prefix}{name}.", sharding, path)
    path.remove(id(module))


def state_references(module: nn.Module, encoder: ValueEncoder, sharding: Sharding | None = None) -> JsonObject:
    """Returns `{FQN: tensor reference}` of the module as it is now."""
    scope = Scope()
    tensors = named_tensors(module, sharding)
    return {name: {**encoder.reference(tensor, scope), **extra} for name, tensor, extra in tensors}


def module_size(module: nn.Module, sharding: Sharding | None, recurse: bool = True) -> tuple[int, int]:
    """Returns bytes and elements of a module's parameters, of the whole model where they are sharded."""
    if sharding is None:
        return parameter_size(module.parameters(recurse=recurse))
    if recurse:
        found = [tensor for _, tensor, extra in named_tensors(module, sharding) if extra["kind"] == "parameter"]
    else:
        found = [tensor for tensor in sharding.parameters(sharding.plain(module)).values() if tensor is not None]
    unique = {id(tensor): tensor for tensor in found if not is_lazy(tensor)}.values()
    count = sum(tensor.numel() for tensor in unique)
    return sum(tensor.numel() * tensor.element_size() for tensor in unique), count


def changed(before: JsonObject, after: JsonObject) -> JsonObject:
    """Returns the entries of `after` that `before` lacks or has otherwise."""
    return {name: reference for name, reference in after.items() if before.get(name) != reference}


def parameter_size(parameters: Iterator[torch.Tensor]) -> tuple[int, int]:
    """Returns bytes and elements over unique storages; views of one storage count their common extent once."""
    spans: dict[tuple[int, int], list[tuple[int, int]]] = {}
    odd = 0
    odd_count = 0
    seen: set[int] = set()
    for parameter in parameters:
        if id(parameter) in seen or is_lazy(parameter) or parameter.numel() == 0:
            continue
        seen.add(id(parameter))
        item = parameter.element_size()
        try:
            storage = parameter.untyped_storage()._cdata
            first = int(parameter.storage_offset()) * item
            steps = zip(parameter.shape, parameter.stride(), strict=True)
            last = first + (1 + sum((int(size) - 1) * int(step) for size, step in steps)) * item
            spans.setdefault((storage, item), []).append((first, last))
        except (RuntimeError, NotImplementedError):
            odd += parameter.numel() * item
            odd_count += parameter.numel()
    total, count = odd, odd_count
    for (_, item), intervals in spans.items():
        covered = _covered(intervals)
        total += covered
        count += covered // item
    return total, count


def _covered(intervals: list[tuple[int, int]]) -> int:
    total = 0
    reach = -1
    for first, last in sorted(intervals):
        first = max(first, reach)
        if last > first:
            total += last - first
            reach = last
    return total
