# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""The top modules of the demo models in the program engine: sums of operators, FLOPs and parameters against PyTorch."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
sys.path.insert(0, str(Path(__file__).parent))

import capture_demo
import torch
from modulelens import ModuleTracer
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count
from worker_process import BundleReader, WorkerProcess

THREADS = 1
ROUNDS = 5

Demo = tuple[str, torch.nn.Module, Callable[[], object]]


def first_captures() -> list[Demo]:
    """Each demo model as it is at its first capture, and the step that calls it."""
    demos: list[Demo] = []

    class ReachedError(Exception):
        pass

    def note(_store: Path, model: torch.nn.Module, name: str, step: Callable[[], object], *_: object) -> None:
        demos.append((name, model, step))
        raise ReachedError

    capture_demo._capture = note
    for make in capture_demo._MODELS.values():
        try:
            make(Path())
        except ReachedError:
            continue
    return demos


def counted_flops(step: Callable[[], object]) -> int:
    def sdpa(query: Any, key: Any, value: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
        return sdpa_flop_count(query, key, value)

    mapping = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: sdpa}
    with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        step()
    return counter.get_total_flops()


def calls_of(model: torch.nn.Module, step: Callable[[], object]) -> int:
    calls = []
    handle = model.register_forward_hook(lambda *_: calls.append(1))
    with torch.no_grad():
        step()
    handle.remove()
    return len(calls)


def equality(name: str, value: int, expected: int) -> dict[str, Any]:
    return {
        "name": name,
        "value": value - expected,
        "unit": "difference",
        "target": "= 0",
        "ok": value == expected,
        "detail": f"engine {value}, PyTorch {expected}",
    }


def measure(name: str, model: torch.nn.Module, step: Callable[[], object]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        with torch.no_grad(), ModuleTracer(model, store=folder, model_name=name, select=[""]) as tracer:
            step()
        assert tracer.bundle is not None
        bundle = BundleReader(tracer.bundle)
        version = bundle.version("")
        worker = WorkerProcess(THREADS)
        handle = worker.call("load", bundle.load_params(version))["handle"]
        call = bundle.call_params(version, handle, THREADS)
        verdict = worker.call("validate", call)
        profiles = [worker.call("profile", {"call": call, "repetitions": 50}) for _ in range(ROUNDS)]
        worker.close()
    off = sorted(abs(profile["operator_sum_ns"] / profile["latency_ns"] - 1) for profile in profiles)
    storages = {parameter.untyped_storage().data_ptr(): parameter for parameter in model.parameters()}
    parameter_bytes = sum(parameter.untyped_storage().nbytes() for parameter in storages.values())
    flops = counted_flops(step) // calls_of(model, step)
    return [
        {
            "name": f"operator sum off plain {name}",
            "value": round(off[ROUNDS // 2], 4),
            "unit": "ratio",
            "target": "<= 0.1",
            "ok": off[ROUNDS // 2] <= 0.1 and verdict["exact"],
            "detail": f"{ROUNDS} profiles, {off[0]:.3f} to {off[-1]:.3f}; validation {verdict['verdict']}",
        },
        equality(f"FLOPs {name}", profiles[0].get("flops") or 0, flops),
        equality(f"parameter bytes {name}", profiles[0]["parameter_bytes"], parameter_bytes),
    ]


def main() -> None:
    torch.set_num_threads(THREADS)
    results = [result for demo in first_captures() for result in measure(*demo)]
    print(json.dumps({"results": results}))


if __name__ == "__main__":
    main()
