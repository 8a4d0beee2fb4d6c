# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The seam between capturing and models that are spread over ranks: `modulelens.distributed` stands behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import torch
from torch import nn

from modulelens.json_types import JsonObject
from modulelens.tensor_store import TensorSink

if TYPE_CHECKING:
    from modulelens.distributed.rank_capture import RankCapture

Sharded: TypeAlias = Literal["full", "local", "touched-rows"]
SHARDED_CHOICES: tuple[Sharded, ...] = ("full", "local", "touched-rows")


def capture_of_rank(model: nn.Module, store: Path, model_name: str, sharded: Sharded) -> RankCapture | None:
    """Returns this rank's share in a capture, None in a process that is alone. Raises OSError."""
    if not spread_over_ranks():
        return None
    from modulelens.distributed.rank_capture import RankCapture

    return RankCapture(model, store, model_name, sharded)


def spread_over_ranks() -> bool:
    """Whether this process is one of several that train together."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return False
    return torch.distributed.get_world_size() > 1


class Sharding(Protocol):
    """What capturing asks about a sharded model. Nothing here communicates with other ranks.

    The tracer holds its lock around every use.
    """

    def ready(self, value: Any) -> Any:
        """Returns the value itself, or what it stands for when it is still under way."""

    def encode(self, tensor: torch.Tensor, sink: TensorSink) -> JsonObject | None:
        """Returns the `shard` value of a tensor of which this rank holds a part, None for any other."""

    def output(self, module: nn.Module, value: Any) -> Any:
        """Returns a call's output as the unsharded module would give it."""

    def plain(self, module: nn.Module) -> nn.Module:
        """Returns the module that this one stands for: what a wrapper holds, or the unsharded twin of a sharded one."""

    def parameters(self, module: nn.Module) -> dict[str, torch.Tensor | None]:
        """Returns the module's own parameters by name, also where a wrapper has taken them away."""

    def is_attribute(self, module: nn.Module, name: str) -> bool:
        """Whether an attribute belongs to the module as it was written, not to what shards it."""

    def begin(self, module: nn.Module, run: int) -> None:
        """Notes parameters that are whole now, while the module's call begins, and are not at other times."""
