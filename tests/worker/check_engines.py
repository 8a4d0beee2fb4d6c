# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""The program engine and the source engine on the same versions: equal trees of module calls, equal FLOPs, both bit-exact.

A module call counts where an operator ran in it: export keeps no trace of one that did nothing. A module with several names
stands under the first, wherever the program has it. Operators are compared by the FLOPs of their module call, since the two
engines call the same work by different names.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "backend" / "python"), str(ROOT / "backend" / "python" / "tests")]

import torch  # noqa: E402
from modulelens import InitCapture, ModuleTracer  # noqa: E402
from safetensors import safe_open  # noqa: E402
from torch import nn  # noqa: E402
from worker_client import BundleRequests, WorkerProcess  # noqa: E402
from worker_modules import Aliased, Block, Repeated, Tied  # noqa: E402

MODULE, OPERATOR = 0, 1


def convolution() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=2))


def encoder() -> nn.Module:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 2)


# Attention in training mode: in evaluation it takes a fused path, which export never does.
CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]]]] = {
    "block": (lambda: Block(8, 2).train(), lambda: (torch.randn(2, 3, 8),)),
    "perceptron": (
        lambda: nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.ReLU(), nn.Linear(16, 8)).eval(),
        lambda: (torch.randn(5, 8),),
    ),
    "convolution": (lambda: convolution().eval(), lambda: (torch.randn(2, 3, 8, 8),)),
    "repeated": (lambda: Repeated(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), 3).eval(), lambda: (torch.randn(2, 4),)),
    "aliased": (lambda: Aliased(6).eval(), lambda: (torch.randn(2, 6),)),
    "tied": (lambda: Tied().eval(), lambda: (torch.tensor([[1, 2, 3]]),)),
    "recurrent": (lambda: nn.LSTM(8, 16, batch_first=True).eval(), lambda: (torch.randn(2, 5, 8),)),
    "encoder": (lambda: encoder().train(), lambda: (torch.randn(2, 5, 16),)),
}

Call = tuple[str, int, str, int]


def module_calls(file: str, model: nn.Module) -> list[Call]:
    """(name, call, name of the calling module, FLOPs) of the module calls in which an operator ran, in order."""
    with safe_open(file, "np") as profile:
        parent, kind = profile.get_tensor("tree.parent"), profile.get_tensor("tree.kind")
        path, ends = profile.get_tensor("tree.path"), profile.get_tensor("strings.ends")
        text = profile.get_tensor("strings.bytes").tobytes()
        flops = profile.get_tensor("flops.forward.self").copy()
    begins = [0, *ends[:-1]]
    strings = [text[begin:end].decode() for begin, end in zip(begins, ends, strict=True)]
    first = {id(part): name for name, part in reversed(list(model.named_modules(remove_duplicate=False)))}
    parts = dict(model.named_modules(remove_duplicate=False))
    # Containers are not called: which of them a module stands in depends on the name it is called by.
    is_called = [
        kind[scope] == MODULE and not isinstance(parts[strings[path[scope]]], nn.ModuleList)
        for scope in range(len(parent))
    ]
    flops[flops < 0] = 0
    ran = kind == OPERATOR
    for scope in range(len(parent) - 1, 0, -1):
        flops[parent[scope]] += flops[scope]
        ran[parent[scope]] |= ran[scope]
    counts: dict[str, int] = {}
    calls: list[Call] = []
    for scope in range(len(parent)):
        if not is_called[scope] or not ran[scope]:
            continue
        name = first[id(parts[strings[path[scope]]])]
        above = parent[scope]
        while above >= 0 and not is_called[above]:
            above = parent[above]
        caller = "" if above < 0 else first[id(parts[strings[path[above]]])]
        calls.append((name, counts.get(name, 0), caller, int(flops[scope])))
        counts[name] = counts.get(name, 0) + 1
    return calls


def compare(name: str, workers: dict[str, WorkerProcess], folder: Path) -> list[str]:
    build, inputs = CASES[name]
    torch.manual_seed(0)
    with InitCapture():
        model = build()
    with torch.no_grad(), ModuleTracer(model, folder / name, name, select=[""]) as tracer:
        model(*inputs())
    assert tracer.bundle is not None, tracer.problems
    bundle = BundleRequests(tracer.bundle)
    trees, problems = {}, []
    for engine, worker in workers.items():
        params = bundle.consented(worker) if engine == "source" else bundle.load()
        loaded = worker.call("load", params)
        if engine == "source" and loaded["how"] != "structure":
            problems.append(f"{name}: rebuilt from {loaded['how']}: {loaded['reasons']}")
        call = bundle.call(loaded["handle"])
        if not worker.call("validate", {**call, "repeats": 2})["exact"]:
            problems.append(f"{name}: the {engine} engine is not bit-exact")
        result = worker.call("profile", {"call": call, "repetitions": 3, "budget_ms": 200})
        trees[engine] = module_calls(result["file"], model)
    if trees["program"] != trees["source"]:
        problems.append(f"{name}: the program engine sees {trees['program']}, the source engine {trees['source']}")
    return problems


def main() -> int:
    program = [str(Path(os.environ["MODULELENS_BIN_DIR"]) / "modulelens-worker")]
    problems = []
    with tempfile.TemporaryDirectory() as folder, WorkerProcess(program) as first, WorkerProcess() as second:
        workers = {"program": first, "source": second}
        for worker in workers.values():
            worker.initialize(torch.get_num_threads())
        for name in sys.argv[1:] or CASES:
            problems += compare(name, workers, Path(folder))
    print("\n".join(problems) or f"{len(CASES)} modules agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
