# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Captures the cases of the matrix with the tracer, runs them in the program engine and compares bits.

`run_matrix.py [--fast] [--only FAMILY/NAME]... [--update]`. Each case gives rows: in evaluation and in training, with fixed
sizes and with a free batch, of which two sizes are run, and, architectures aside, decomposed to core operators; of some
families also as a strict export. A row is:

- `exact`: the engine's outputs and changed buffers have eager PyTorch's bits, and so has PyTorch's own exported program.
- `as_program`: PyTorch's own exported program differs from eager, and the engine has its bits.
- `no_program`: torch.export gives none. `static`: it gives none with a free batch.
- `refused`: the engine said at load what it cannot run.
- `different`, `failed`: faults.

A decomposed program rounds otherwise than eager: its row is `exact` when the engine has the bits of PyTorch's own run of it.

`golden.json` keeps every row that is not exact, with its cause, and the number of exact ones. A row that is worse fails, and so
does a cause that docs/exactness.md does not name.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import hashlib
import importlib
import json
import logging
import pkgutil
import re
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "backend/python"))

import torch
from cases import CASES, Case
from modulelens import ModuleTracer
from modulelens.attention_export import attention_as_operators
from modulelens.program_archive import archive_program
from safetensors.torch import load_file
from torch.utils import _pytree as pytree
from worker_process import DEVICE, BundleReader, WorkerProcess, worker_path

GOLDEN = Path(__file__).resolve().parent / "golden.json"
DOCUMENT = Path(__file__).resolve().parents[3] / "docs/exactness.md"
SEED = 20
# Families of which the program that `torch.export.export(strict=True)` gives is run too.
STRICT_FAMILIES = ("control_flow", "custom_operators", "flexible_attention", "higher_order", "mutation", "values")
GOOD = ("exact", "as_program", "static", "no_program", "refused")
# Cause -> what a row with it says. docs/exactness.md explains them.
CAUSES = {
    "python-operator": "no such operator is registered here",
    "gradient-inside": "storage of TensorWrapper",
    "unsaved-operator": "Failed serializing node",
    "random-branch": "stops there too",
    "lost-write": "does not write back either",
    "uncaptured": "UncapturedHigherOrderOp",
    "packed-parameters": "PackedParams",
    "data-dependent": "DataDependent|DynamicOutputShape|data-dependent",
    "torch-bug": "Unsupported|AssertionError|RuntimeError",
}


def main() -> int:
    options = parse()
    chosen = choose(options)
    torch.set_num_threads(1)
    torch.set_default_device(DEVICE)
    torch.use_deterministic_algorithms(False)
    # Export never takes the fused path of evaluation, which rounds differently.
    torch.backends.mha.set_fastpath_enabled(False)
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    worker = WorkerProcess(threads=1)
    results: dict[str, tuple[str, str]] = {}
    whole = not (options.only or options.fast or options.rows)
    started = time.monotonic()
    for case in chosen:
        for name, run in rows_of(case, options.fast):
            if options.rows and not name.endswith(f"/{options.rows}"):
                continue
            results[name] = run(worker)
            status, reason = results[name]
            if options.verbose or status in ("different", "failed"):
                print(name, status, reason, flush=True)
    worker.close()
    counts = Counter(status for status, _ in results.values())
    print(f"{len(chosen)} cases, {len(results)} rows in {time.monotonic() - started:.0f} s:", dict(counts))
    if options.update:
        update(results, whole)
        return 0
    return judge(results, whole)


def rows_of(case: Case, fast: bool) -> Iterator[tuple[str, Callable[[WorkerProcess], tuple[str, str]]]]:
    for mode in case.modes[:1] if fast else case.modes:
        name = f"{case.family}/{case.name}/{mode}"
        if not fast:
            yield f"{name}/fixed", functools.partial(row, case=case, mode=mode, free=False)
        yield f"{name}/free", functools.partial(row, case=case, mode=mode, free=True)
        if not fast and case.family != "architecture" and mode == case.modes[-1]:
            yield f"{name}/decomposed", functools.partial(written_row, case=case, mode=mode, form="decomposed")
        if not fast and case.family in STRICT_FAMILIES and mode == case.modes[-1]:
            yield f"{name}/strict", functools.partial(written_row, case=case, mode=mode, form="strict")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--fast", action="store_true", help="the first case of each family, in evaluation with a free batch"
    )
    parser.add_argument("--only", action="append", default=[], help="FAMILY or FAMILY/NAME")
    parser.add_argument("--rows", choices=("fixed", "free", "decomposed", "strict"), help="these rows alone")
    parser.add_argument("--update", action="store_true", help="write golden.json")
    parser.add_argument("--verbose", action="store_true", help="a line for each row")
    return parser.parse_args()


def choose(options: argparse.Namespace) -> list[Case]:
    for file in ("program_cases", "operator_cases", "function_cases", "module_cases", "architecture_cases"):
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
            captured = capture(case, mode, free, Path(folder))
        except Exception as error:
            return "failed", f"the capture failed: {error!r}"
        tracer = captured.tracer
        if tracer.bundle is None:
            return "failed", f"no bundle: {tracer.problems}"
        bundle = BundleReader(tracer.bundle)
        version = bundle.version("")
        if not version["state"]["programs"]:
            return "no_program", sentence(version["state"]["no_program"]["reason"])
        unequal = any(problem["stage"] == "verify" for problem in tracer.problems)
        groups = [version]
        fixed = len({call["program"] for call in version["calls"]}) > 1
        if fixed:
            groups = [{**version, "calls": [call]} for call in version["calls"] if call["program"]]
        for group in groups:
            outcome = run_group(worker, case, bundle, group, captured if unequal else None)
            if outcome[0] != "exact":
                return outcome
        if fixed or (free and not version["state"]["programs"][0]["dynamic"]):
            return "static", "torch.export gives no program with a free batch"
        return "exact", ""


def load_params(case: Case, bundle: BundleReader, version: Any) -> Any:
    """Of the load request, with the user's consent to the libraries of the case."""
    files = [worker_path().parent / name for name in case.libraries]
    libraries = [
        {"file": str(file.resolve()), "sha256": hashlib.sha256(file.read_bytes()).hexdigest()} for file in files
    ]
    consent = [library["sha256"] for library in libraries]
    return {**bundle.load_params(version), **({"libraries": libraries, "consent": consent} if libraries else {})}


def run_group(
    worker: WorkerProcess, case: Case, bundle: BundleReader, version: Any, unequal: Captured | None
) -> tuple[str, str]:
    """Runs the calls of one program."""
    try:
        handle = worker.call("load", load_params(case, bundle, version))["handle"]
    except RuntimeError as error:
        return "refused" if "cannot run" in str(error) or "custom object" in str(error) else "failed", sentence(
            str(error)
        )
    try:
        return compare(worker, bundle, version, handle, unequal)
    except RuntimeError as error:
        if unequal is not None and "Runtime assertion failed" in str(error):
            return "as_program", "PyTorch's own program stops there too: " + sentence(str(error))
        return "failed", sentence(str(error))
    finally:
        worker.call("unload", {"handle": handle})


@dataclass
class Captured:
    """What a case was before it ran, and what the tracer made of the run."""

    module: Any
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]]
    random_state: torch.Tensor
    tracer: ModuleTracer

    def leaves(self, program: Any) -> list[torch.Tensor]:
        """The tensors that an exported program of the module gives for the first call."""
        args, kwargs = copy.deepcopy(self.calls[0])
        torch.set_rng_state(self.random_state)
        with torch.set_grad_enabled(self.module.training):
            output = program.module()(*args, **kwargs)
        return [leaf.detach() for leaf in pytree.tree_leaves(output) if isinstance(leaf, torch.Tensor)]

    def writes_back(self, program: Any) -> bool:
        """Whether an exported program leaves the buffers as the module does."""
        runs = []
        for module in (program.module(), copy.deepcopy(self.module)):
            args, kwargs = copy.deepcopy(self.calls[0])
            torch.set_rng_state(self.random_state)
            with torch.set_grad_enabled(self.module.training):
                module(*args, **kwargs)
            runs.append(dict(module.named_buffers()))
        return all(same_bits(buffer, runs[1][name]) for name, buffer in runs[0].items() if name in runs[1])

    def export(self, strict: bool = False) -> torch.export.ExportedProgram:
        args, kwargs = copy.deepcopy(self.calls[0])
        with torch.set_grad_enabled(self.module.training), attention_as_operators():
            return torch.export.export(copy.deepcopy(self.module), args, kwargs, strict=strict)


def capture(case: Case, mode: str, free: bool, folder: Path) -> Captured:
    torch.manual_seed(SEED)
    module = case.make().train(mode == "train")
    before = copy.deepcopy(module)
    calls = [case.arguments(batch) for batch in (case.batches if free else case.batches[:1])]
    kept = copy.deepcopy(calls)
    random_state = torch.get_rng_state()
    with (
        torch.set_grad_enabled(mode == "train"),
        ModuleTracer(module, store=folder, model_name=case.name, select=[""], dynamic_batch=free) as tracer,
    ):
        for args, kwargs in calls:
            module(*args, **kwargs)
    return Captured(before, kept, random_state, tracer)


def compare(
    worker: WorkerProcess, bundle: BundleReader, version: Any, handle: int, unequal: Captured | None
) -> tuple[str, str]:
    """`unequal` is given when the tracer found that PyTorch's own program differs from eager."""
    for index, call in enumerate(version["calls"]):
        request = {**bundle.call_params(version, handle, 1), "call": call, "tensors": bundle._extents(call)}
        result = worker.call("validate", request)
        # A second run must find everything as the first one did.
        again = worker.call("validate", request)
        if result["verdict"] != again["verdict"] or result.get("exact") != again.get("exact"):
            return "different", f"call {index}: the second run differs from the first"
        if result["verdict"] == "pass" and result["exact"]:
            continue
        if unequal is not None and (index > 0 or has_bits(worker, request, unequal.leaves(unequal.export()))):
            return "as_program", "PyTorch's own exported program differs from eager too"
        worst = [leaf for leaf in result.get("leaves", []) if leaf["verdict"] != "exact"]
        return "different", f"call {index}: {result['verdict']} {result.get('reason') or ''} {json.dumps(worst)[:300]}"
    return "exact", ""


def has_bits(worker: WorkerProcess, request: Any, expected: list[torch.Tensor]) -> bool:
    answer = worker.call("run", request)
    stored = load_file(answer["file"])
    actual = []
    for output in answer["outputs"]:
        tensor, dtype = stored[output["pointer"]], getattr(torch, output["dtype"])
        actual.append(tensor if tensor.dtype == dtype else tensor.view(dtype).reshape(output["shape"]))
    return len(actual) == len(expected) and all(same_bits(*pair) for pair in zip(actual, expected, strict=True))


def same_bits(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    expected = expected.resolve_conj().resolve_neg()
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    return torch.equal(actual, expected) or torch.equal(actual.nan_to_num(0.5), expected.nan_to_num(0.5))


def written_row(worker: WorkerProcess, case: Case, mode: str, form: str) -> tuple[str, str]:
    """The program in a form that the tracer does not write.

    `decomposed`: in core operators. Changes of buffers and inputs are outputs there, which the engine must write back.
    `strict`: as torch.compile reads the module, which keeps operators that other programs do not have.
    """
    with tempfile.TemporaryDirectory() as folder:
        captured = capture(case, mode, False, Path(folder))
        bundle = BundleReader(captured.tracer.bundle)
        version = bundle.version("")
        if not version["state"]["programs"]:
            return "no_program", sentence(version["state"]["no_program"]["reason"])
        request = load_params(case, bundle, version)
        with zipfile.ZipFile(request["program"]["file"]) as archive:
            sidecar = json.loads(archive.read("program/extra/modulelens.json"))
        path = Path(folder) / "written.pt2"
        try:
            program = captured.export(strict=form == "strict")
            if form == "decomposed":
                program = program.run_decompositions()
            whole = copy.deepcopy(program)
            expected = captured.leaves(copy.deepcopy(program))
            path.write_bytes(archive_program(program, sidecar))
        except Exception as error:
            return "no_program", sentence(f"{type(error).__name__}: {error}")
        request["program"].update(file=str(path), length=path.stat().st_size)
        try:
            handle = worker.call("load", request)["handle"]
        except RuntimeError as error:
            return "refused", sentence(str(error))
        try:
            call = bundle.call_params(version, handle, 1)
            if not has_bits(worker, call, expected):
                return "different", "the outputs are not those of PyTorch's own run"
            leaves = worker.call("validate", call)["leaves"]
            wrong = [leaf for leaf in leaves if leaf["verdict"] == "fail" and not leaf["pointer"].startswith("/output")]
            if wrong and not captured.writes_back(copy.deepcopy(whole)):
                return "as_program", "PyTorch's own program does not write back either"
            return ("different", f"not written back: {json.dumps(wrong)[:300]}") if wrong else ("exact", "")
        except RuntimeError as error:
            return "failed", sentence(str(error))
        finally:
            worker.call("unload", {"handle": handle})


def sentence(text: str) -> str:
    text = re.sub(r"0x[0-9a-f]+", "0x…", text.strip().split("\n")[0])
    return re.sub(r"/\S*/", "", text)[:300]


def cause_of(status: str, reason: str) -> str:
    if status == "static":
        return "fixed-batch"
    found = [cause for cause, pattern in CAUSES.items() if re.search(pattern, reason)]
    return found[0] if found else "unknown"


def update(results: dict[str, tuple[str, str]], whole: bool) -> None:
    golden: dict[str, Any] = {"exact": 0, "other": {}}
    if GOLDEN.exists() and not whole:
        golden = json.loads(GOLDEN.read_text())
        golden["other"] = {name: value for name, value in golden["other"].items() if name not in results}
    for name, (status, reason) in results.items():
        if status != "exact":
            golden["other"][name] = {"status": status, "cause": cause_of(status, reason)}
    if whole:
        golden["exact"] = sum(status == "exact" for status, _ in results.values())
    golden["other"] = dict(sorted(golden["other"].items()))
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")


def judge(results: dict[str, tuple[str, str]], whole: bool) -> int:
    golden = json.loads(GOLDEN.read_text())
    document = DOCUMENT.read_text()
    named = set(re.findall(r"^\| `([a-z-]+)` \|", document, re.MULTILINE))
    faults = [
        f"{name}: docs/exactness.md does not name the cause '{row['cause']}'"
        for name, row in golden["other"].items()
        if row["cause"] not in named
    ]
    if f"{golden['exact']} of" not in document:
        faults.append(f"docs/exactness.md does not say that {golden['exact']} rows are equal")
    faults += [
        f"docs/exactness.md does not name the operator {name}" for name in higher_order_names() - quoted(document)
    ]
    for name, (status, reason) in results.items():
        allowed = golden["other"].get(name, {"status": "exact"})["status"]
        if rank(status) > rank(allowed):
            faults.append(f"{name} was {allowed}, is {status}: {reason}")
    exact = sum(status == "exact" for status, _ in results.values())
    if whole and exact < golden["exact"]:
        faults.append(f"{exact} rows are exact, {golden['exact']} were")
    print(*faults, sep="\n")
    return 1 if faults else 0


def higher_order_names() -> set[str]:
    """Every higher-order operator that this torch registers."""
    for part in pkgutil.iter_modules(torch._higher_order_ops.__path__):
        with contextlib.suppress(ImportError):
            importlib.import_module(f"torch._higher_order_ops.{part.name}")
    return set(torch._ops._higher_order_ops)


def quoted(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def rank(status: str) -> int:
    return GOOD.index(status) if status in GOOD else len(GOOD)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
