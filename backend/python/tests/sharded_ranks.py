# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""One rank of a captured job: python sharded_ranks.py CASE STORE RENDEZVOUS RANK WORLD_SIZE [OPTION=VALUE...].

Each case builds its model, wraps it, traces a block and returns the tracer.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as td
from sharded_models import Mlp, Net, Stage
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from modulelens import InitCapture, ModuleTracer

warnings.filterwarnings("ignore")


def batch(rank: int) -> torch.Tensor:
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(10 + rank))


def built(factory: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    with InitCapture():
        return factory()


def traced(model: nn.Module, store: Path, step: Callable[[], Any], **options: Any) -> ModuleTracer:
    with ModuleTracer(model, store, "model", **options) as tracer:
        output = step()
        if options.get("backward"):
            output.square().sum().backward()
    return tracer


def ddp(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    model = nn.parallel.DistributedDataParallel(built(Net))
    return traced(model, store, lambda: model(batch(rank)), **options)


def fsdp2(store: Path, rank: int, world: int, mixed: bool = False, **options: Any) -> ModuleTracer:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    model: Any = built(Net)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16) if mixed else MixedPrecisionPolicy()
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return traced(model, store, lambda: model(batch(rank)), **options)


def fsdp2_mixed(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    return fsdp2(store, rank, world, mixed=True, **options)


def fsdp2_training(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    from torch.distributed.fsdp import fully_shard

    model: Any = built(Net)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def steps() -> None:
        for _ in range(3):
            model(batch(rank)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    return traced(model, store, steps, **options)


def fsdp1(store: Path, rank: int, world: int, original: bool = True, **options: Any) -> ModuleTracer:
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    policy = ModuleWrapPolicy({Mlp})
    model = FullyShardedDataParallel(
        built(Net), auto_wrap_policy=policy, device_id=torch.device("cpu"), use_orig_params=original
    )
    return traced(model, store, lambda: model(batch(rank)), **options)


def fsdp1_flat(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    return fsdp1(store, rank, world, original=False, **options)


def fsdp1_hybrid(store: Path, rank: int, world: int, zero2: bool = False, **options: Any) -> ModuleTracer:
    """Sharded inside groups of two ranks, replicated over the groups."""
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    strategy = ShardingStrategy._HYBRID_SHARD_ZERO2 if zero2 else ShardingStrategy.HYBRID_SHARD
    model = FullyShardedDataParallel(
        built(Net),
        auto_wrap_policy=ModuleWrapPolicy({Mlp}),
        device_id=torch.device("cpu"),
        use_orig_params=True,
        sharding_strategy=strategy,
        device_mesh=init_device_mesh("cpu", (world // 2, 2), mesh_dim_names=("replicate", "shard")),
    )
    return traced(model, store, lambda: model(batch(rank)), **options)


def fsdp1_hybrid_zero2(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    return fsdp1_hybrid(store, rank, world, zero2=True, **options)


def fsdp2_hybrid(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    """As fsdp1_hybrid, by a mesh of two dimensions."""
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (world // 2, 2), mesh_dim_names=("replicate", "shard"))
    model: Any = built(Net)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return traced(model, store, lambda: model(batch(rank)), **options)


def tensor_parallel(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    return _tensor_parallel(store, world, lambda model: model(batch(0)), **options)


def _tensor_parallel(store: Path, world: int, step: Callable[[nn.Module], Any], **options: Any) -> ModuleTracer:
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("tp",))
    model: Any = built(Net)
    for block in model.blocks:
        parallelize_module(block, mesh, {"fc1": ColwiseParallel(), "fc2": RowwiseParallel()})
    tracer = ModuleTracer(model, store, "model", **options)
    with contextlib.suppress(RuntimeError), torch.set_grad_enabled(bool(options.get("backward"))), tracer:
        output = step(model)
        if options.get("backward"):
            output.square().sum().backward()
    return tracer


def fsdp2_by_tp(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("dp", "tp"))
    model: Any = built(Net)
    for block in model.blocks:
        parallelize_module(block, mesh["tp"], {"fc1": ColwiseParallel(), "fc2": RowwiseParallel()})
        fully_shard(block, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    replica = mesh.get_local_rank("dp")
    with torch.set_grad_enabled(bool(options.get("backward"))):
        return traced(model, store, lambda: model(batch(replica)), **options)


def pipeline(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    """Two stages with two micro-batches; each rank holds one block under the same class of its own."""
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    whole: Any = built(Net)
    model = Stage(whole.blocks[rank], whole.norm if rank == world - 1 else None, rank)
    stage = PipelineStage(model, rank, world, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=2)

    def step() -> None:
        schedule.step(*([batch(0)] if rank == 0 else []))

    with torch.no_grad():
        return traced(model, store, step, **options)


def killed(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    """Tensor parallel; rank 1 dies inside the traced block, after its part of the computation."""

    def step(model: nn.Module) -> None:
        model(batch(0))
        if rank == 1:
            os._exit(9)

    return _tensor_parallel(store, world, step, **options)


def raising(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    """Tensor parallel; the block of rank 1 raises after its part of the computation."""

    def step(model: nn.Module) -> None:
        model(batch(0))
        if rank == 1:
            raise RuntimeError("only here")

    return _tensor_parallel(store, world, step, **options)


def untraced(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    """Tensor parallel; rank 1 runs without a tracer."""
    if rank == 1:
        return _tensor_parallel(store, world, lambda model: model(batch(0)), max_steps=0, **options)
    return _tensor_parallel(store, world, lambda model: model(batch(0)), rank_timeout=1.0, **options)


def broken_tracer(store: Path, rank: int, world: int, **options: Any) -> ModuleTracer:
    """Tensor parallel; on rank 1 the tracer cannot store a single tensor."""
    if rank == 1:
        from modulelens.tensor_store import TensorStore

        def refuse(self: TensorStore, tensor: torch.Tensor) -> Any:
            raise OSError("no space left on device")

        TensorStore.put = refuse  # type: ignore[method-assign]
    return _tensor_parallel(store, world, lambda model: model(batch(0)), **options)


def recommender(store: Path, rank: int, world: int, kind: str = "table_wise", **options: Any) -> ModuleTracer:
    """A DLRM with three tables, sharded by torchrec as `kind` says; the tables as torchrec gathers them go beside."""
    from sharded_recommender import distributed_dlrm, gathered_tables, sparse_batch

    model = distributed_dlrm(kind, world)
    dense, sparse = sparse_batch(rank)
    with torch.no_grad():
        tracer = traced(model, store, lambda: model(dense, sparse), **options)
    tables = gathered_tables(model)
    if rank == 0:
        torch.save(tables, store.parent / "tables.pt")
    return tracer


def sequences(store: Path, rank: int, world: int, kind: str = "table_wise", **options: Any) -> ModuleTracer:
    """Embeddings that are not pooled, sharded by torchrec as `kind` says."""
    from sharded_recommender import distributed_sequences, gathered_tables, sparse_batch

    model = distributed_sequences(kind, world)
    _, sparse = sparse_batch(rank)
    with torch.set_grad_enabled(bool(options.get("backward"))):
        tracer = traced(model, store, lambda: model(sparse), **options)
    tables = gathered_tables(model)
    if rank == 0:
        torch.save(tables, store.parent / "tables.pt")
    return tracer


CASES: dict[str, Callable[..., ModuleTracer]] = {
    case.__name__: case
    for case in (
        *(ddp, fsdp2, fsdp2_mixed, fsdp2_training, fsdp1, fsdp1_flat),
        *(fsdp1_hybrid, fsdp1_hybrid_zero2, fsdp2_hybrid),
        *(tensor_parallel, fsdp2_by_tp, pipeline, recommender, sequences),
        *(killed, raising, untraced, broken_tracer),
    )
}


def main(arguments: list[str]) -> None:
    case, store, rendezvous, rank, world = arguments[0], Path(arguments[1]), arguments[2], *map(int, arguments[3:5])
    options: dict[str, Any] = dict(part.split("=", 1) for part in arguments[5:])
    for name in ("programs", "backward", "background"):
        if name in options:
            options[name] = options[name] == "yes"
    torch.set_num_threads(1)
    td.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=world)
    tracer = CASES[case](store, rank, world, **options)
    tracer.wait()
    print(f"bundle {tracer.bundle}")
    for problem in tracer.problems:
        print(f"problem {problem}")
    if case != "killed":
        td.barrier()


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # without the teardown of libraries that fail in it after everything is done
