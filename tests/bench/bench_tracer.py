# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""What the tracer costs a BERT-base model in inference: a sampled step by a plain one, all in turn in one process.

A ratio is the least time of the traced steps by the least time of the plain ones, so that other work on the machine counts
little. Documents are written after the block and are no part of the step; capturing, hashing and writing tensors are.
"""

from __future__ import annotations

import gc
import json
import math
import os
import shutil
import sys
import tempfile
import threading
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
from modulelens import ModuleTracer, tensor_store  # noqa: E402

THREADS = 2
QUICK_ROUNDS = 7
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
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


class PeakMemory:
    """The most resident memory inside the block, looked at every 5 ms."""

    def __enter__(self) -> PeakMemory:
        self.peak = resident_bytes()
        self._end = threading.Event()
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._end.wait(0.005):
            self.peak = max(self.peak, resident_bytes())


def disk_bytes(folder: Path) -> int:
    """Bytes on the disk, of files with several names once."""
    files = {(status.st_dev, status.st_ino): status.st_blocks * 512 for status in map(os.stat, folder.rglob("*"))}
    return sum(files.values())


def seen_bytes(bundle: Path) -> int:
    """Bytes that the tracer looked at: inputs before and after each call, outputs, and the state of each module once."""
    index = json.loads((bundle / "bundle.json").read_bytes())
    total = 0
    for entry in index["versions"]:
        version = json.loads((bundle / entry["file"]).read_bytes())
        total += bytes_in(version["state"]["tensors"])
        for call in version["calls"]:
            total += 2 * bytes_in([call["args"], call["kwargs"]]) + bytes_in(call["output"])
    return total


def bytes_in(document: Any) -> int:
    total = 0
    open_values = [document]
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict):
            if "ref" in value and "shape" in value:
                total += math.prod(value["shape"]) * int(getattr(torch, value["dtype"]).itemsize)
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
        with self.tracer:
            return seconds(self._step)


def compare(
    name: str, target: float, rounds: int, plain: Callable[[], float], traced: Callable[[int], Callable[[], float]]
) -> Result:
    plain_times, traced_times = [], []
    for number in range(rounds):
        plain_times.append(plain())
        traced_times.append(traced(number)())
        plain_times.append(plain())
        gc.collect()
    ratio = min(traced_times) / min(plain_times)
    spread = f"{rounds} rounds, plain {min(plain_times):.3f} to {max(plain_times):.3f} s"
    return result(
        name, ratio, target, "ratio", f"{spread}, traced {min(traced_times):.3f} to {max(traced_times):.3f} s"
    )


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

        idle = Traced(model, step, store / "idle", every=1_000_000)
        with idle.tracer:  # the first step is sampled, the others are not
            model.pooler(torch.zeros(1, 1, 768))
        results.append(compare("attached but idle", 1.02, QUICK_ROUNDS, plain, lambda _: idle.seconds))
        one = Traced(model, step, store / "one", select=["encoder.layer.5"])
        results.append(compare("one layer", 1.05, QUICK_ROUNDS, plain, lambda _: one.seconds))

        def whole(number: int) -> Callable[[], float]:
            shutil.rmtree(store / f"whole{number - 1}", ignore_errors=True)
            return Traced(model, step, store / f"whole{number}").seconds

        results.append(compare("every module with weights", 2.5, FULL_ROUNDS, plain, whole))
        shutil.rmtree(store)

        with PeakMemory() as alone:
            step()
        full = Traced(model, step, store / "full")
        with PeakMemory() as together:
            full.seconds()
        growth = (together.peak - alone.peak) / tensor_store._SHARD_BYTES
        detail = f"{(together.peak - alone.peak) / 1e6:.0f} MB over a plain step, by the size of a tensor file"
        results.append(result("resident memory", growth, 5, "files", detail))
        assert full.tracer.bundle is not None
        stored, seen = disk_bytes(store), seen_bytes(full.tracer.bundle)
        detail = f"{stored / 1e6:.0f} MB stored of {seen / 1e6:.0f} MB seen"
        results.append(result("stored of seen bytes", stored / seen, 0.25, "ratio", detail))
        full.seconds()
        share = (disk_bytes(store) - stored) / stored
        results.append(result("second capture stores", share, 0.01, "ratio", "another bundle of the same step"))
    finally:
        shutil.rmtree(store, ignore_errors=True)
    print(json.dumps({"results": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
