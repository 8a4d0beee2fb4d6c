# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Counts the programs of the matrix three ways: from the graph alone, in a run, and by PyTorch's own counter.

`run_costs.py [--fast] [--only FAMILY/NAME]...`. A case fails when the graph and the run differ and the reason is not one that
only a run can know, when a FLOP of difference from PyTorch's counter has no reason, or when the run gives no bytes.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import run_matrix
import torch
from cases import Case
from modulelens import ModuleTracer
from worker_process import BundleReader, WorkerProcess

REASONS = ("known in a run only", "does not show which operators it calls")


def main() -> int:
    options = run_matrix.parse()
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    warnings.filterwarnings("ignore")
    worker = WorkerProcess(threads=1)
    started = time.monotonic()
    faults, counted = 0, 0
    for case in run_matrix.choose(options):
        name = f"{case.family}/{case.name}"
        costs = measure(worker, case)
        if costs is None:
            continue
        counted += 1
        for fault in faults_of(costs):
            faults += 1
            print(f"{name}: {fault}", flush=True)
        if options.verbose:
            print(name, costs["result"].get("flops"), costs["result"]["unknown"], flush=True)
    worker.close()
    print(f"{counted} programs counted in {time.monotonic() - started:.0f} s, {faults} faults")
    return 1 if faults else 0


def measure(worker: WorkerProcess, case: Case) -> dict[str, Any] | None:
    """What the worker and PyTorch count of the case in evaluation; None without a program that it runs."""
    torch.manual_seed(run_matrix.SEED)
    module = case.make().eval()
    args, kwargs = case.arguments(case.batches[0])
    with tempfile.TemporaryDirectory() as folder:
        with (
            torch.no_grad(),
            ModuleTracer(module, store=folder, model_name=case.name, select=[""], flops=True) as tracer,
        ):
            module(*args, **kwargs)
        assert tracer.bundle is not None, tracer.problems
        bundle = BundleReader(Path(tracer.bundle))
        version = bundle.version("")
        if not version["state"]["programs"]:
            return None
        try:
            handle = worker.call("load", run_matrix.load_params(case, bundle, version))["handle"]
        except RuntimeError:
            return None
        call = bundle.call_params(version, handle, 1)
        result = worker.call("profile", {"call": call, "warmup_runs": 1, "repetitions": 1})
        worker.call("unload", {"handle": handle})
        return {"result": result, "torch": version["calls"][0].get("torch_flops")}


def faults_of(costs: dict[str, Any]) -> list[str]:
    result = costs["result"]
    summary = result["costs"]
    faults = [
        f"{difference['name']} counts {difference.get('observed')} in the run and {difference.get('other')} in the graph"
        for difference in summary["static_difference"]
        if not any(reason in difference["reason"] for reason in REASONS)
    ]
    if costs["torch"] is not None and "flops" in result:
        differences = summary["torch_difference"]
        explained = sum(d.get("observed", 0) - d.get("other", 0) for d in differences)
        if result["flops"] - summary["torch_flops"] != explained:
            faults.append(f"{result['flops']} FLOPs, PyTorch {summary['torch_flops']}, explained {explained}")
        faults += [f"no reason for {d}" for d in differences if d["reason"] == "not known"]
    if "bytes" not in summary and not result["unknown"]:
        lacking = [row["name"] for row in summary["operators"] if "bytes" not in row]
        faults.append(f"no bytes for {lacking}")
    return faults


if __name__ == "__main__":
    sys.exit(main())
