# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Captures the two sharded demo models, each by four processes over gloo, into a folder of bundles.

Usage: python demo/capture_sharded.py OUT_DIR [--only fsdp2-tp|torchrec]
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # waiting threads leave a busy machine to others
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend" / "python"))

import torch
from modulelens import InitCapture, ModuleTracer

import sharded_demo_models as models

_WORLD = 4
_NAMES = {"fsdp2-tp": "decoder-fsdp2-tp", "torchrec": "dlrm-torchrec"}


def _trace(what: str, store: Path, rank: int) -> ModuleTracer:
    torch.manual_seed(0)
    with InitCapture():
        if what == "torchrec":
            model = models.distributed_dlrm(_WORLD)
            inputs = models.sparse_batch(rank)
        else:
            model, replica = models.fsdp2_by_tensor_parallel(_WORLD)
            tokens = torch.Generator().manual_seed(replica)
            inputs = (torch.randint(0, models.VOCABULARY, (2, 24), generator=tokens),)
    model.eval()
    tags, attributes = ["sharded"], {"ranks": _WORLD, "sharding": what}
    with ModuleTracer(model, store, _NAMES[what], tags=tags, attributes=attributes) as tracer, torch.no_grad():
        model(*inputs)
    return tracer


def _run_rank(what: str, store: Path, rendezvous: str, rank: int) -> None:
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=_WORLD)
    begun = time.perf_counter()
    tracer = _trace(what, store, rank)
    torch.distributed.barrier()
    if rank == 0:
        if tracer.bundle is None:
            raise SystemExit(f"{_NAMES[what]}: no bundle was written: {tracer.problems}")
        index = json.loads((tracer.bundle / "bundle.json").read_text(encoding="utf-8"))
        counts = f"{len(index['versions'])} modules, {len(index['programs'])} programs"
        seconds = time.perf_counter() - begun
        print(f"{_NAMES[what]}: {tracer.bundle.name}: {counts} of {_WORLD} ranks, {seconds:.1f} s", flush=True)
    sys.stdout.flush()
    os._exit(0)  # without the teardown of libraries that may fail in it after everything is done


def _capture(what: str, store: Path) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "ignore", __file__, str(store), "--only", what]
        command += ["--rendezvous", f"{folder}/rendezvous", "--rank"]
        ranks = [subprocess.Popen([*command, str(rank)], env=environment) for rank in range(_WORLD)]
        codes = [rank.wait() for rank in ranks]
    if any(codes):
        raise SystemExit(f"{_NAMES[what]}: the ranks ended with {codes}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--only", choices=list(_NAMES))
    parser.add_argument("--rendezvous", help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    store = options.store.absolute()
    if options.rank is not None:
        _run_rank(options.only, store, options.rendezvous, options.rank)
        return
    for what in [options.only] if options.only else list(_NAMES):
        _capture(what, store)


if __name__ == "__main__":
    main()
