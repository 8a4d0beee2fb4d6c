# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""A DLRM whose embedding tables torchrec spreads over the ranks. Needs torchrec and fbgemm."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as td
import torchrec
from torch import nn
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.planner import EmbeddingShardingPlanner, ParameterConstraints, Topology
from torchrec.distributed.types import ShardingEnv
from torchrec.models.dlrm import DLRM
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from modulelens import InitCapture

TABLES = 3
ROWS = 100
DIMENSION = 16
DENSE = 5


def dlrm(rows: int) -> nn.Module:
    """The unsharded model, the same on every rank."""
    torch.manual_seed(0)
    tables = [
        torchrec.EmbeddingBagConfig(
            name=f"t{index}", embedding_dim=DIMENSION, num_embeddings=rows + 10 * index, feature_names=[f"f{index}"]
        )
        for index in range(TABLES)
    ]
    collection = torchrec.EmbeddingBagCollection(device=torch.device("cpu"), tables=tables)
    model: nn.Module = DLRM(
        embedding_bag_collection=collection,
        dense_in_features=DENSE,
        dense_arch_layer_sizes=[32, DIMENSION],
        over_arch_layer_sizes=[32, 1],
    )
    return model


def distributed_dlrm(kind: str, world: int, rows: int = ROWS) -> nn.Module:
    """The model under DistributedModelParallel, every table sharded as `kind` says."""

    class OneKind(EmbeddingBagCollectionSharder):
        def sharding_types(self, compute_device_type: str) -> list[str]:
            return [kind]

    with InitCapture():
        model = dlrm(rows)
    return _distributed(model, OneKind(), kind, world)


def _distributed(model: nn.Module, sharder: Any, kind: str, world: int) -> nn.Module:
    constraints = {f"t{index}": ParameterConstraints(sharding_types=[kind], min_partition=8) for index in range(TABLES)}
    planner = EmbeddingShardingPlanner(
        topology=Topology(world_size=world, compute_device="cpu"), constraints=constraints
    )
    sharders: list[Any] = [sharder]
    plan = planner.collective_plan(model, sharders, td.group.WORLD)
    distributed: nn.Module = DistributedModelParallel(
        model,
        env=ShardingEnv.from_process_group(td.group.WORLD),
        device=torch.device("cpu"),
        plan=plan,
        sharders=sharders,
    )
    return distributed


class Sequences(nn.Module):
    """Embeddings of each id, not pooled, and a projection of them."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        tables = [
            torchrec.EmbeddingConfig(
                name=f"t{index}", embedding_dim=DIMENSION, num_embeddings=rows + 10 * index, feature_names=[f"f{index}"]
            )
            for index in range(TABLES)
        ]
        self.embeddings = torchrec.EmbeddingCollection(device=torch.device("cpu"), tables=tables)
        self.project = nn.Linear(DIMENSION, 4)

    def forward(self, sparse: KeyedJaggedTensor) -> torch.Tensor:
        found = self.embeddings(sparse)
        projected: torch.Tensor = self.project(torch.cat([found[f"f{index}"].values() for index in range(TABLES)]))
        return projected


def distributed_sequences(kind: str, world: int, rows: int = ROWS) -> nn.Module:
    """`Sequences` under DistributedModelParallel, every table sharded as `kind` says."""

    class OneKind(EmbeddingCollectionSharder):
        def sharding_types(self, compute_device_type: str) -> list[str]:
            return [kind]

    torch.manual_seed(0)
    with InitCapture():
        model = Sequences(rows)
    return _distributed(model, OneKind(), kind, world)


def gathered_tables(model: nn.Module) -> dict[str, torch.Tensor]:
    """Every table as torchrec and torch put it together, by collectives: whole on rank 0."""
    tables: dict[str, torch.Tensor] = {}
    for name, value in sorted(model.state_dict().items()):
        if "embedding_bags" not in name and "embeddings.embeddings" not in name:
            continue
        if hasattr(value, "local_shards"):
            whole = torch.empty(value.size()) if td.get_rank() == 0 else None
            value.gather(0, whole)
            tables[name] = torch.empty(0) if whole is None else whole
        else:
            tables[name] = value.detach().clone()
    return tables


def sparse_batch(seed: int, rows: int = ROWS, size: int = 4) -> tuple[torch.Tensor, KeyedJaggedTensor]:
    """Dense features, and for each table up to three ids a sample."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, 4, (TABLES * size,), generator=generator)
    ids = torch.randint(0, rows, (int(lengths.sum()),), generator=generator)
    keys = [f"f{index}" for index in range(TABLES)]
    sparse = KeyedJaggedTensor.from_lengths_sync(keys=keys, values=ids, lengths=lengths)
    return torch.randn(size, DENSE, generator=generator), sparse
