# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""FSDP2 (`fully_shard`) and FSDP1 (`FullyShardedDataParallel`): parameters whole only while a unit computes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

# The one parameter that FSDP1 makes of a unit's parameters, on the module that it wraps.
FLAT_PARAMETER = "_flat_param"

# What the two put on the modules that they manage.
_MARKS = (
    "_is_fsdp_managed_module",
    "_fsdp_use_orig_params",
    "__composable_api_state_key",
    "_distribute_module_applied",
)


def is_mark(name: str) -> bool:
    """Whether an attribute is one of those that sharding leaves on a module."""
    return name.startswith(_MARKS)


@dataclass
class ManagedParameter:
    """One parameter that FSDP manages: who holds it under which name, and its state now."""

    owners: list[tuple[nn.Module, str]]
    index: int
    group: Any

    def is_whole(self) -> bool:
        """True while the parameter is unsharded and the owners show it so."""
        raise NotImplementedError

    def now(self) -> torch.Tensor:
        """The parameter as its owner shows it when whole; else a tensor of its dtype and shape as it will be."""
        raise NotImplementedError


class _Fsdp2Parameter(ManagedParameter):
    def is_whole(self) -> bool:
        return str(self.group.sharded_state.name) == "UNSHARDED"

    def now(self) -> torch.Tensor:
        module, name = self.owners[0]
        found = module._parameters[name]
        assert found is not None
        return found


class _Fsdp1Parameter(ManagedParameter):
    _shown: tuple[torch.Tensor, nn.Parameter] | None = None
    _waiting: torch.Tensor | None = None

    def is_whole(self) -> bool:
        module, name = self.owners[0]
        shown = getattr(module, name, None)
        if shown is None or tuple(shown.shape) != tuple(self.group.flat_param._shapes[self.index]):
            return False
        with contextlib.suppress(AttributeError):  # before the first forward there is no memory for the whole
            return not self.group.needs_unshard()
        return False

    def now(self) -> torch.Tensor:
        flat = self.group.flat_param
        if not self.is_whole():
            if self._waiting is None:
                empty = torch.empty(flat._shapes[self.index], dtype=flat.dtype, device="meta")
                self._waiting = nn.Parameter(empty, requires_grad=flat.requires_grad)
            return self._waiting
        module, name = self.owners[0]
        shown: torch.Tensor = getattr(module, name)
        if isinstance(shown, nn.Parameter):
            return shown
        if self._shown is None or self._shown[0] is not shown:
            self._shown = (shown, nn.Parameter(shown.detach(), requires_grad=flat.requires_grad))
        return self._shown[1]


@dataclass
class Unit:
    """Parameters that become whole together, just before `modules` are called."""

    modules: list[nn.Module]
    parameters: list[ManagedParameter]
    ranks: set[int]


def units_of(model: nn.Module) -> Iterator[Unit]:
    """Yields every FSDP unit of the model."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    seen: set[int] = set()
    for module in model.modules():
        if isinstance(module, FullyShardedDataParallel):
            yield from _fsdp1_units(module)
        state = _fsdp2_state(module)
        if state is not None and id(state) not in seen:
            seen.add(id(state))
            yield from _fsdp2_units(state)


def _fsdp2_state(module: nn.Module) -> Any:
    from torch.distributed.fsdp import FSDPModule

    return module._get_fsdp_state() if isinstance(module, FSDPModule) else None


def _fsdp2_units(state: Any) -> Iterator[Unit]:
    groups = getattr(state, "_fsdp_param_groups", None)
    if groups is None:
        groups = [state._fsdp_param_group] if state._fsdp_param_group is not None else []
    for group in groups:
        parameters: list[ManagedParameter] = []
        ranks: set[int] = set()
        for index, parameter in enumerate(group.fsdp_params):
            info = parameter._module_info
            shared = zip(info.shared_modules, info.shared_param_names, strict=True)
            parameters.append(_Fsdp2Parameter([(info.module, info.param_name), *shared], index, parameter))
            ranks.update(int(rank) for rank in parameter.mesh_info.mesh.mesh.flatten().tolist())
        yield Unit(list(state._modules), parameters, ranks)


def _fsdp1_units(wrapper: Any) -> Iterator[Unit]:
    handle = wrapper._handle
    ranks = set(torch.distributed.get_process_group_ranks(wrapper.process_group))
    parameters: list[ManagedParameter] = []
    if handle is not None:
        flat = handle.flat_param
        owners = [[(info.module, info.param_name)] for info in flat._param_infos]
        first = {(id(info.module), info.param_name): place for place, info in enumerate(flat._param_infos)}
        for info in flat._shared_param_infos:
            place = first.get((id(info.prim_module), info.prim_param_name))
            if place is not None:
                owners[place].append((info.module, info.param_name))
        parameters = [_Fsdp1Parameter(owner, index, handle) for index, owner in enumerate(owners)]
    yield Unit([wrapper._fsdp_wrapped_module], parameters, ranks)
