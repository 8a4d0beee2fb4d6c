# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The models of the sharded demo: a small decoder for FSDP2 with tensor parallelism, and torchrec's DLRM."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as functional
from torch import nn

WIDTH = 64
HEAD = 16
HIDDEN = 192
VOCABULARY = 512


class Attention(nn.Module):
    """Causal attention. The number of heads follows from the projections, so that it may run on some of them."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, WIDTH, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        query, key, value = (
            part(x).view(batch, length, -1, HEAD).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(WIDTH)
        self.attention = Attention()
        self.feed_forward_norm = nn.RMSNorm(WIDTH)
        self.feed_forward = FeedForward()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class Decoder(nn.Module):
    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(depth))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def fsdp2_by_tensor_parallel(world: int) -> tuple[nn.Module, int]:
    """The decoder over a mesh of two replicas by the other ranks in tensor parallel; also this rank's replica."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("data", "tensor"))
    model = Decoder()
    columns, rows = ColwiseParallel, RowwiseParallel
    plan: dict[str, Any] = {f"attention.{name}": columns() for name in ("query", "key", "value")}
    plan |= {"feed_forward.gate": columns(), "feed_forward.up": columns()}
    plan |= {"attention.output": rows(), "feed_forward.down": rows()}
    for block in model.blocks:
        parallelize_module(block, mesh["tensor"], plan)
        fully_shard(block, mesh=mesh["data"])
    fully_shard(model, mesh=mesh["data"])
    return model, mesh.get_local_rank("data")


TABLES = {"user": 3000, "item": 5000, "category": 400, "country": 200}
KINDS = {"user": "row_wise", "item": "table_wise", "category": "column_wise", "country": "data_parallel"}
DENSE = 13
DIMENSION = 32


def distributed_dlrm(world: int) -> nn.Module:
    """torchrec's DLRM with four tables, each sharded in another way."""
    import torch.distributed as distributed
    import torchrec
    from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
    from torchrec.distributed.model_parallel import DistributedModelParallel
    from torchrec.distributed.planner import EmbeddingShardingPlanner, ParameterConstraints, Topology
    from torchrec.distributed.types import ShardingEnv
    from torchrec.models.dlrm import DLRM

    class EveryKind(EmbeddingBagCollectionSharder):
        """The planner leaves row-wise out on CPUs; the constraints choose one kind a table."""

        def sharding_types(self, compute_device_type: str) -> list[str]:
            return sorted(set(KINDS.values()))

    tables = [
        torchrec.EmbeddingBagConfig(name=name, embedding_dim=DIMENSION, num_embeddings=rows, feature_names=[name])
        for name, rows in TABLES.items()
    ]
    model = DLRM(
        embedding_bag_collection=torchrec.EmbeddingBagCollection(tables=tables, device=torch.device("cpu")),
        dense_in_features=DENSE,
        dense_arch_layer_sizes=[64, DIMENSION],
        over_arch_layer_sizes=[64, 32, 1],
    )
    constraints = {name: ParameterConstraints(sharding_types=[kind], min_partition=16) for name, kind in KINDS.items()}
    planner = EmbeddingShardingPlanner(Topology(world_size=world, compute_device="cpu"), constraints=constraints)
    sharders = [EveryKind()]
    group = distributed.group.WORLD
    return DistributedModelParallel(
        model,
        env=ShardingEnv.from_process_group(group),
        device=torch.device("cpu"),
        plan=planner.collective_plan(model, sharders, group),
        sharders=sharders,
    )


def sparse_batch(seed: int, size: int = 16) -> tuple[torch.Tensor, Any]:
    """Dense features, and up to four ids a sample for each table."""
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, 5, (len(TABLES) * size,), generator=generator)
    counts = lengths.view(len(TABLES), size).sum(dim=1).tolist()
    ids = [
        torch.randint(0, rows, (count,), generator=generator)
        for rows, count in zip(TABLES.values(), counts, strict=True)
    ]
    sparse = KeyedJaggedTensor.from_lengths_sync(keys=list(TABLES), values=torch.cat(ids), lengths=lengths)
    return torch.randn(size, DENSE, generator=generator), sparse
