# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""What the tracer costs a BERT-base model in inference: ratios of process time to the plain step, all in turn in one process.

A round runs every variant once; a ratio is the median over the rounds of variant by plain step of the same round. Bundles
are written after the block and are not part of the step; what capturing, hashing and writing tensors costs is.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "backend" / "python"))
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402
from modulelens import ModuleTracer  # noqa: E402

THREADS = 1
QUICK_ROUNDS = 9
FULL_ROUNDS = 3
BATCH, LENGTH = 8, 128

Result = dict[str, Any]


def bert_base() -> tuple[torch.nn.Module, Callable[[], Any]]:
    torch.manual_seed(0)
    model = transformers.BertModel(transformers.BertConfig()).eval()
    ids = torch.randint(0, 30000, (BATCH, LENGTH))

    def step() -> Any:
        with torch.no_grad():
            return model(input_ids=ids)

    return model, step


def seconds(step: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def result(name: str, value: float, target: float | None, unit: str, detail: str) -> Result:
    return {
        "name": f"tracer {name}",
        "value": round(value, 4),
        "unit": unit,
        "target": "" if target is None else f"<= {target}",
        "ok": target is None or value <= target,
        "detail": detail,
    }


def resident_bytes() -> int:
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def disk_bytes(folder: Path) -> int:
    files = {(status.st_dev, status.st_ino): status.st_blocks * 512 for status in map(os.stat, folder.rglob("*"))}
    return sum(files.values())


def seen_bytes(bundle: Path) -> int:
    """Bytes of all tensors that the captured calls and states refer to, each as often as it is referred to."""
    index = json.loads((bundle / "bundle.json").read_bytes())
    total = 0
    open_values: list[Any] = [json.loads((bundle / entry["file"]).read_bytes()) for entry in index["versions"]]
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict):
            if "ref" in value and "shape" in value:
                count = 1
                for size in value["shape"]:
                    count *= size
                total += count * getattr(torch, value["dtype"]).itemsize
            open_values.extend(value.values())
        elif isinstance(value, list):
            open_values.extend(value)
    return total


class Traced:
    """One variant: a tracer, and the step inside its block."""

    def __init__(self, model: torch.nn.Module, step: Callable[[], Any], folder: Path, **options: Any) -> None:
        self._step = step
        self.tracer = ModuleTracer(model, folder, "bert-base", programs=False, **options)

    def seconds(self) -> float:
        """The time of the step inside an open block, or of block and step when the tracer takes no sample."""
        with self.tracer:
            return seconds(self._step)


def rounds_of(count: int, plain: Callable[[], float], traced: Callable[[], float]) -> list[float]:
    ratios = []
    for _ in range(count):
        before = plain()
        ratios.append(traced() / min(before, plain()))
        gc.collect()
    return ratios


def spread(ratios: list[float]) -> str:
    return f"{len(ratios)} rounds, {min(ratios):.3g} to {max(ratios):.3g}"


def main() -> int:
    torch.set_num_threads(THREADS)
    model, step = bert_base()
    store = Path(tempfile.mkdtemp(prefix="modulelens-bench-"))
    results = []
    try:
        for _ in range(2):
            step()

        def plain() -> float:
            return seconds(step)

        idle_tracer = Traced(model, step, store / "idle", every=1_000_000)
        idle_tracer.seconds()
        shutil.rmtree(store / "idle", ignore_errors=True)
        idle = rounds_of(QUICK_ROUNDS, plain, idle_tracer.seconds)
        results.append(result("attached but idle", statistics.median(idle), 1.02, "ratio", spread(idle)))

        one = rounds_of(QUICK_ROUNDS, plain, Traced(model, step, store / "one", select=["encoder.layer.5"]).seconds)
        results.append(result("one layer", statistics.median(one), 1.05, "ratio", spread(one)))
        shutil.rmtree(store / "one")

        before = resident_bytes()
        ratios = []
        peaks = []
        for number in range(FULL_ROUNDS):
            full = Traced(model, step, store / f"full{number}")
            ratios += rounds_of(1, plain, full.seconds)
            peaks.append(resident_bytes() - before)
            if number:
                shutil.rmtree(store / f"full{number}")
        results.append(result("every module with weights", statistics.median(ratios), 2.5, "ratio", spread(ratios)))

        bundle = next((store / "full0").iterdir())
        stored, seen = disk_bytes(bundle), seen_bytes(bundle)
        detail = f"{stored / 1e6:.0f} MB stored of {seen / 1e6:.0f} MB seen"
        results.append(result("stored of seen bytes", stored / seen, 0.25, "ratio", detail))

        again = Traced(model, step, store / "full0")
        again.seconds()
        share = (disk_bytes(store / "full0") - stored) / stored
        detail = "another bundle of the same step in the same store"
        results.append(result("second capture stores", share, 0.01, "ratio", detail))
    finally:
        shutil.rmtree(store, ignore_errors=True)
    print(json.dumps({"results": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
