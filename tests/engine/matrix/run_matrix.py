# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Captures the cases of the matrix with the tracer, runs them in the program engine and compares bits.

`run_matrix.py [--fast] [--only FAMILY/NAME]... [--update]`. Each case gives rows: in evaluation and in training, with fixed
sizes and with a free batch, of which two sizes are run. A row is:

- `exact`: the engine's outputs and changed buffers have eager PyTorch's bits, and so has PyTorch's own exported program.
- `as_program`: PyTorch's own exported program differs from eager, and the engine has its bits.
- `no_program`: torch.export gives none. `static`: it gives none with a free batch.
- `refused`: the engine said at load what it cannot run.
- `different`, `failed`: faults.

`golden.json` keeps every row that is not exact, with its reason, and the number of exact ones. A row that is worse fails.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib
import json
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "backend/python"))

import torch
from cases import CASES, Case
from modulelens import ModuleTracer
from safetensors.torch import load_file
from torch.utils import _pytree as pytree
from worker_process import BundleReader, WorkerProcess

GOLDEN = Path(__file__).resolve().parent / "golden.json"
SEED = 20
GOOD = ("exact", "as_program", "static", "no_program", "refused")


def main() -> int:
    options = parse()
    chosen = choose(options)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(False)
    # Export never takes the fused path of evaluation, which rounds differently.
    torch.backends.mha.set_fastpath_enabled(False)
    warnings.filterwarnings("ignore")
    worker = WorkerProcess(threads=1)
    results: dict[str, tuple[str, str]] = {}
    started = time.monotonic()
    for case in chosen:
        for mode in case.modes[:1] if options.fast else case.modes:
            for free in (True,) if options.fast else (False, True):
                name = f"{case.family}/{case.name}/{mode}/{'free' if free else 'fixed'}"
                results[name] = row(worker, case, mode, free)
                status, reason = results[name]
                if options.verbose or status in ("different", "failed"):
                    print(name, status, reason, flush=True)
    worker.close()
    counts = Counter(status for status, _ in results.values())
    print(f"{len(chosen)} cases, {len(results)} rows in {time.monotonic() - started:.0f} s:", dict(counts))
    if options.update:
        update(results, whole=not options.only and not options.fast)
        return 0
    return judge(results, whole=not options.only and not options.fast)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--fast", action="store_true", help="the first case of each family, in evaluation with a free batch"
    )
    parser.add_argument("--only", action="append", default=[], help="FAMILY or FAMILY/NAME")
    parser.add_argument("--update", action="store_true", help="write golden.json")
    parser.add_argument("--verbose", action="store_true", help="a line for each row")
    return parser.parse_args()


def choose(options: argparse.Namespace) -> list[Case]:
    for file in ("program_cases", "function_cases", "module_cases", "architecture_cases"):
        importlib.import_module(file)
    names = [f"{case.family}/{case.name}" for case in CASES]
    assert len(set(names)) == len(names), "two cases have one name"
    if options.only:
        wanted = set(options.only)
        return [case for case, name in zip(CASES, names, strict=True) if {case.family, name} & wanted]
    return list({case.family: case for case in reversed(CASES)}.values()) if options.fast else CASES


def row(worker: WorkerProcess, case: Case, mode: str, free: bool) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            module, calls, tracer = capture(case, mode, free, Path(folder))
        except Exception as error:
            return "failed", f"the capture failed: {error!r}"
        if tracer.bundle is None:
            return "failed", f"no bundle: {tracer.problems}"
        bundle = BundleReader(tracer.bundle)
        version = bundle.version("")
        if not version["state"]["programs"]:
            return "no_program", sentence(version["state"]["no_program"]["reason"])
        if len({call["program"] for call in version["calls"]}) > 1 or (
            free and not version["state"]["programs"][0]["dynamic"]
        ):
            return "static", "torch.export gives no program with a free batch"
        unequal = any(problem["stage"] == "verify" for problem in tracer.problems)
        try:
            handle = worker.call("load", bundle.load_params(version))["handle"]
        except RuntimeError as error:
            return "refused" if "cannot run" in str(error) or "custom object" in str(error) else "failed", sentence(
                str(error)
            )
        try:
            return compare(worker, bundle, version, handle, unequal, module, calls)
        except RuntimeError as error:
            return "failed", sentence(str(error))
        finally:
            worker.call("unload", {"handle": handle})


def capture(case: Case, mode: str, free: bool, folder: Path) -> tuple[Any, list[Any], ModuleTracer]:
    """The module as it was before, and its calls."""
    torch.manual_seed(SEED)
    module = case.make().train(mode == "train")
    before = copy.deepcopy(module)
    calls = [case.arguments(batch) for batch in (case.batches if free else case.batches[:1])]
    kept = copy.deepcopy(calls)
    with (
        torch.set_grad_enabled(mode == "train"),
        ModuleTracer(module, store=folder, model_name=case.name, select=[""], dynamic_batch=free) as tracer,
    ):
        for args, kwargs in calls:
            module(*args, **kwargs)
    return before, kept, tracer


def compare(
    worker: WorkerProcess, bundle: BundleReader, version: Any, handle: int, unequal: bool, module: Any, calls: Any
) -> tuple[str, str]:
    for index, call in enumerate(version["calls"]):
        request = {**bundle.call_params(version, handle, 1), "call": call, "tensors": bundle._extents(call)}
        result = worker.call("validate", request)
        # A second run must find everything as the first one did.
        again = worker.call("validate", request)
        if result["verdict"] != again["verdict"] or result.get("exact") != again.get("exact"):
            return "different", f"call {index}: the second run differs from the first"
        if result["verdict"] == "pass" and result["exact"]:
            continue
        worst = [leaf for leaf in result.get("leaves", []) if leaf["verdict"] != "exact"]
        reason = f"call {index}: {result['verdict']} {result.get('reason') or ''} {json.dumps(worst)[:300]}"
        if unequal and has_bits_of_program(worker, request, module, calls[index], index):
            return "as_program", "PyTorch's own exported program differs from eager too"
        return "different", sentence(reason)
    return "exact", "PyTorch's own exported program differs from eager" if unequal else ""


def has_bits_of_program(worker: WorkerProcess, request: Any, module: Any, call: Any, index: int) -> bool:
    """Whether the engine's outputs are those of torch.export's own program."""
    if index:
        return True
    args, kwargs = call
    with torch.set_grad_enabled(module.training):
        program = torch.export.export(
            copy.deepcopy(module), copy.deepcopy(args), copy.deepcopy(kwargs), strict=False
        ).module()
        expected = [leaf for leaf in pytree.tree_leaves(program(*args, **kwargs)) if isinstance(leaf, torch.Tensor)]
    answer = worker.call("run", request)
    stored = load_file(answer["file"])
    actual = [stored[output["pointer"]] for output in answer["outputs"]]
    return len(actual) == len(expected) and all(
        a.shape == e.shape and torch.equal(a.nan_to_num(), e.detach().nan_to_num())
        for a, e in zip(actual, expected, strict=True)
    )


def sentence(text: str) -> str:
    text = re.sub(r"0x[0-9a-f]+", "0x…", text.strip().split("\n")[0])
    return re.sub(r"/\S*/", "", text)[:300]


def update(results: dict[str, tuple[str, str]], whole: bool) -> None:
    golden: dict[str, Any] = {"exact": 0, "other": {}}
    if GOLDEN.exists() and not whole:
        golden = json.loads(GOLDEN.read_text())
        golden["other"] = {name: value for name, value in golden["other"].items() if name not in results}
    for name, (status, reason) in results.items():
        if status != "exact":
            golden["other"][name] = {"status": status, "reason": reason}
    if whole:
        golden["exact"] = sum(status == "exact" for status, _ in results.values())
    golden["other"] = dict(sorted(golden["other"].items()))
    GOLDEN.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n")


def judge(results: dict[str, tuple[str, str]], whole: bool) -> int:
    golden = json.loads(GOLDEN.read_text())
    faults = 0
    for name, (status, reason) in results.items():
        allowed = golden["other"].get(name, {"status": "exact"})["status"]
        rank = GOOD.index(status) if status in GOOD else len(GOOD)
        if rank > (GOOD.index(allowed) if allowed in GOOD else len(GOOD)):
            print(f"worse: {name} was {allowed}, is {status}: {reason}")
            faults += 1
    exact = sum(status == "exact" for status, _ in results.values())
    if whole and exact < golden["exact"]:
        print(f"{exact} rows are exact, {golden['exact']} were")
        faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
