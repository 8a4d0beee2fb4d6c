# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""What the tracer costs a BERT-base model in inference: a traced step by a plain one, in pairs in one process.

A ratio is the median over pairs of a plain and a traced step, one right after the other and now this, now that one first, so
that a drift of the machine's speed meets both; its 95 % interval comes from the order of the pairs. Documents are written
after the block and are no part of a sampled step; capturing, hashing and writing tensors are. An idle step includes its
block. Each detail says how much of the machine other processes took: a number from a busy machine is no result.
"""

from __future__ import annotations

import gc
import json
import math
import os
import shutil
import statistics
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
IDLE_PAIRS = 61
LAYER_PAIRS = 21
FULL_PAIRS = 5
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

    def seconds_with_block(self) -> float:
        begin = time.perf_counter()
        with self.tracer:
            self._step()
        return time.perf_counter() - begin


class OtherWork:
    """The share of the machine's processor time that other processes took since it was made."""

    def __init__(self) -> None:
        self._machine, self._own = self._now()

    def share(self) -> float:
        machine, own = self._now()
        busy, total = machine[0] - self._machine[0], machine[1] - self._machine[1]
        return max(busy - (own - self._own), 0.0) / max(total, 1e-9)

    @staticmethod
    def _now() -> tuple[tuple[float, float], float]:
        ticks = [int(field) for field in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
        rate = os.sysconf("SC_CLK_TCK")
        waiting = ticks[3] + ticks[4]
        times = os.times()
        return ((sum(ticks) - waiting) / rate, sum(ticks) / rate), times.user + times.system


def interval(values: list[float]) -> tuple[float, float]:
    """The 95 % interval of the median: between these two values in order it lies with that probability (binomial)."""
    ordered = sorted(values)
    count, outside, rank = len(ordered), 0.0, 0
    while True:
        outside += math.comb(count, rank) / 2**count
        if 2 * outside > 0.05 or rank >= (count - 1) // 2:
            break
        rank += 1
    rank = max(rank - 1, 0)
    return ordered[rank], ordered[count - 1 - rank]


def block_seconds(tracer: ModuleTracer) -> float:
    """What the block of a step that is not sampled takes by itself."""
    rounds = 1000
    begin = time.perf_counter()
    for _ in range(rounds):
        with tracer:
            pass
    return (time.perf_counter() - begin) / rounds


def compare(
    name: str,
    target: float,
    pairs: int,
    plain: Callable[[], float],
    traced: Callable[[int], Callable[[], float]],
    note: str = "",
) -> Result:
    ratios, plain_times = [], []
    others = OtherWork()
    for number in range(pairs):
        run = traced(number)
        gc.collect()
        if number % 2:
            traced_time, plain_time = run(), plain()
        else:
            plain_time, traced_time = plain(), run()
        plain_times.append(plain_time)
        ratios.append(traced_time / plain_time)
    low, high = interval(ratios)
    detail = (
        f"median of {pairs} pairs, interval {low:.3f} to {high:.3f}; a plain step {statistics.median(plain_times):.3f} s"
        f"{note}; other processes took {others.share():.0%} of the machine"
    )
    return result(name, statistics.median(ratios), target, "ratio", detail)


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
        note = f", the block itself {block_seconds(idle.tracer) * 1e6:.1f} us: no hook is on"
        results.append(compare("attached but idle", 1.02, IDLE_PAIRS, plain, lambda _: idle.seconds_with_block, note))
        one = Traced(model, step, store / "one", select=["encoder.layer.5"])
        results.append(compare("one layer", 1.05, LAYER_PAIRS, plain, lambda _: one.seconds))

        def whole(number: int) -> Callable[[], float]:
            shutil.rmtree(store / f"whole{number - 1}", ignore_errors=True)
            return Traced(model, step, store / f"whole{number}").seconds

        results.append(compare("every module with weights", 2.5, FULL_PAIRS, plain, whole))
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
        detail = (
            f"{stored / 1e6:.0f} MB on the disk of {seen / 1e6:.0f} MB seen: each tensor as often as a hook met it, that is inputs "
            "before and after each call, outputs, and the weights of each module once"
        )
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
