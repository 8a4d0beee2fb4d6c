# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""torchrec: sharded embedding collections as the unsharded ones that they stand for. torchrec is not imported here."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from modulelens.distributed import dtensors
from modulelens.distributed.shard_values import Block, shard_value
from modulelens.initializers import RECORD_ATTRIBUTE, InitRecord
from modulelens.json_types import JsonObject
from modulelens.tensor_store import TensorSink

Keep = Callable[[torch.Tensor], JsonObject]


def arrived(value: Any) -> Any:
    """Returns what a lazy torchrec result stands for. It is waited for once, whoever asks later gets the same."""
    types = sys.modules.get("torchrec.distributed.types")
    if types is None or not isinstance(value, types.LazyAwaitable):
        return value
    result = types.LazyAwaitable._wait_async(value)
    value.__dict__["wait"] = lambda: result
    return result


def ranks_of(module: nn.Module) -> set[int]:
    """The ranks over which a DistributedModelParallel spreads its model; none for other modules."""
    parallel = sys.modules.get("torchrec.distributed.model_parallel")
    if parallel is None or not isinstance(module, parallel.DistributedModelParallel):
        return set()
    return set(torch.distributed.get_process_group_ranks(module._env.process_group))


@dataclass
class Rows:
    """Rows of a table that one lookup has used on this rank: their numbers in the whole table, in order."""

    numbers: torch.Tensor
    column: int
    data: torch.Tensor


@dataclass
class Twin:
    """The unsharded module, without memory, that a sharded one stands for."""

    sharded: nn.Module
    plain: nn.Module
    keys: list[str]
    state: dict[str, Any] = field(default_factory=dict)
    rows: dict[tuple[str, int], list[Rows]] = field(default_factory=dict)

    def refresh(self) -> None:
        """Looks at the sharded module as it is now. Local: nothing is gathered."""
        self.state = dict(self.sharded.state_dict())
        self.plain.train(self.sharded.training)


class Twins:
    """The twins of one model's sharded modules. The tracer holds its lock around every use."""

    def __init__(self, twins: list[Twin]) -> None:
        self.all = twins
        self._by_rows = False
        self._run = 0
        self._by_module = {id(twin.sharded): twin for twin in twins}
        self._containing: dict[int, list[Twin]] = {}
        self._parameters = {
            id(parameter): (twin, name) for twin in twins for name, parameter in twin.plain.named_parameters()
        }

    def hides(self, module: nn.Module) -> bool:
        """Whether what lies below the module is the sharding's own."""
        return id(module) in self._by_module

    def twin(self, module: nn.Module) -> nn.Module:
        """Returns the unsharded module that a sharded one stands for, any other module itself."""
        found = self._by_module.get(id(module))
        return module if found is None else found.plain

    def refresh(self) -> None:
        for twin in self.all:
            twin.refresh()

    def keep_rows(self) -> list[RemovableHandle]:
        """From now on only used rows are kept of tables that are spread over ranks. Returns what to remove again."""
        self._by_rows = True
        handles = []
        for twin in self.all:
            # The lookups stand in a plain list, which `modules()` does not see.
            for lookup in twin.sharded._lookups:  # type: ignore[union-attr]
                for part in lookup.modules():
                    if hasattr(getattr(part, "config", None), "embedding_tables"):
                        handles.append(part.register_forward_pre_hook(functools.partial(self._note_rows, twin)))
        return handles

    def begin_run(self, run: int) -> None:
        """Looks at all sharded modules as they are at the beginning of a run."""
        self._run = run
        self.refresh()

    def rows_of(self, value: JsonObject, keep: Keep) -> list[JsonObject]:
        """Returns the `local` entries of a value of which only rows are kept.

        Rows that other runs have used stand before those of the value's own run, which count where both have one.
        """
        owner, name, own_run = value["awaits_rows"]
        kept = self.all[owner].rows
        found = [rows for (table, run), used in kept.items() if table == name and run != own_run for rows in used]
        found += kept.get((name, own_run), [])
        return [{"begin": [0, rows.column], "rows": keep(rows.numbers), **keep(rows.data)} for rows in found]

    def _note_rows(self, twin: Twin, part: nn.Module, args: tuple[Any, ...]) -> None:
        with torch.no_grad():
            for table in part.config.embedding_tables:  # type: ignore[union-attr]
                name = next(name for name in twin.state if name.endswith(f".{table.name}.weight"))
                if not hasattr(twin.state[name], "local_shards"):
                    continue
                ids = torch.cat([args[0][feature].values() for feature in table.feature_names]).to(torch.int64)
                offsets = list(table.local_metadata.shard_offsets)
                shard = next(
                    shard.tensor
                    for shard in twin.state[name].local_shards()
                    if list(shard.metadata.shard_offsets) == offsets
                )
                used = torch.unique(ids)
                rows = Rows(used + offsets[0], offsets[1], shard.detach().index_select(0, used))
                twin.rows.setdefault((name, self._run), []).append(rows)

    def encode(self, tensor: torch.Tensor, keep: Keep, sink: TensorSink) -> JsonObject | None:
        """Returns the value of a twin's parameter: its parts, or all of it where every rank has it whole."""
        found = self._parameters.get(id(tensor))
        if found is None:
            return None
        twin, name = found
        live = twin.state[name]
        if dtensors.is_dtensor(live):
            return dtensors.shard_of(live, keep)
        if hasattr(live, "local_shards") and self._by_rows:
            details = {"table": name.split(".")[-2], "awaits_rows": [self.all.index(twin), name, self._run]}
            return shard_value("rows", live.size(), live.dtype, [], keep, **details)
        if hasattr(live, "local_shards"):
            blocks = [Block(list(part.metadata.shard_offsets), part.tensor.detach()) for part in live.local_shards()]
            return shard_value("sharded_tensor", live.size(), live.dtype, blocks, keep)
        return {"$t": "tensor", **sink.put(live.detach())}

    def in_order(self, module: nn.Module, value: Any) -> Any:
        """Returns an output with the keys of embeddings in the order of the unsharded collection."""
        twins = self._below(module)
        return _in_order(value, {frozenset(twin.keys): twin.keys for twin in twins}) if twins else value

    def _below(self, module: nn.Module) -> list[Twin]:
        if not self.all:
            return []
        if id(module) not in self._containing:
            found = [self._by_module[id(part)] for part in module.modules() if id(part) in self._by_module]
            self._containing[id(module)] = found
        return self._containing[id(module)]


def twins_of(model: nn.Module) -> Twins:
    """Finds every sharded embedding collection of the model."""
    if "torchrec.distributed.embeddingbag" not in sys.modules and "torchrec.distributed.embedding" not in sys.modules:
        return Twins([])
    twins: list[Twin] = []
    for module in model.modules():
        twin = _twin_of(module)
        if twin is not None:
            twins.append(twin)
    return Twins(twins)


def _twin_of(module: nn.Module) -> Twin | None:
    meta = torch.device("meta")
    modules = sys.modules["torchrec.modules.embedding_modules"]
    bags = sys.modules.get("torchrec.distributed.embeddingbag")
    if bags is not None and isinstance(module, bags.ShardedEmbeddingBagCollection):
        tables = [dataclasses.replace(table, init_fn=None) for table in module._embedding_bag_configs]
        plain = modules.EmbeddingBagCollection(tables=tables, is_weighted=module._is_weighted, device=meta)
        arguments = {"tables": tables, "is_weighted": module._is_weighted}
        return _finished(Twin(module, plain, list(plain._embedding_names)), arguments)
    sequences = sys.modules.get("torchrec.distributed.embedding")
    if sequences is not None and isinstance(module, sequences.ShardedEmbeddingCollection):
        tables = [dataclasses.replace(table, init_fn=None) for table in module._embedding_configs]
        plain = modules.EmbeddingCollection(tables=tables, need_indices=module._need_indices, device=meta)
        arguments = {"tables": tables, "need_indices": module._need_indices}
        names = [name for names in plain.embedding_names_by_table() for name in names]
        return _finished(Twin(module, plain, names), arguments)
    return None


def _finished(twin: Twin, arguments: dict[str, Any]) -> Twin:
    twin.plain.__dict__[RECORD_ATTRIBUTE] = InitRecord((), arguments)
    # The twin's tables are without memory, the module that is rebuilt from it is not.
    twin.plain._device = torch.device("cpu")  # type: ignore[assignment]
    twin.refresh()
    return twin


def _in_order(value: Any, orders: dict[frozenset[str], list[str]]) -> Any:
    value = arrived(value)
    if type(value) in (list, tuple):
        return type(value)(_in_order(item, orders) for item in value)
    jagged = sys.modules["torchrec.sparse.jagged_tensor"]
    if type(value) is dict:
        order = orders.get(frozenset(value))
        return value if order is None or order == list(value) else {key: value[key] for key in order}
    if not isinstance(value, jagged.KeyedTensor):
        return value
    keys = value.keys()
    order = orders.get(frozenset(keys))
    if order is None or order == keys:
        return value
    lengths = dict(zip(keys, value.length_per_key(), strict=True))
    parts = dict(zip(keys, value.values().split(value.length_per_key(), dim=value.key_dim()), strict=True))
    values = torch.cat([parts[key] for key in order], dim=value.key_dim())
    return jagged.KeyedTensor(order, [lengths[key] for key in order], values, key_dim=value.key_dim())
