# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`benchmark`: one side, or two in interleaved pairs, by raw samples."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from modulelens.json_types import JsonObject
from modulelens.tensor_store import dtype_name
from modulelens.worker import machine
from modulelens.worker.comparison import tensors_of
from modulelens.worker.dispatcher import Job
from modulelens.worker.errors import WorkerError
from modulelens.worker.flops import count_flops
from modulelens.worker.leaves import compare_tensors
from modulelens.worker.loaded import BoundCall

_MODES = ("hot", "cold", "host_e2e")
_MOST_WARMUP = 100
_WINDOW = 5
_WINDOWS = 3
_STEADY = 0.05
_FEWEST = 3
_FLUSH_BYTES = 256 << 20
_MASK = (1 << 64) - 1
_WORST_FIRST = ("fail", "close", "exact", "none")


class _Random:
    """splitmix64."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def next(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def shuffle(self, items: list[Any]) -> None:
        for index in range(len(items) - 1, 0, -1):
            other = self.next() % (index + 1)
            items[index], items[other] = items[other], items[index]


class _Side:
    """One bound call with what was measured of it."""

    def __init__(self, bound: BoundCall, mode: str) -> None:
        self.bound = bound
        self._mode = mode
        self._had_run = bound.loaded.has_run
        self.samples: list[int] = []
        self.order: list[int] = []
        self.first_ns = 0
        self.warmup_runs = 0
        self.capped = False
        self._first: dict[str, torch.Tensor] | None = None
        self._last: Any = None

    def run(self) -> int:
        self._last = None
        begin = time.perf_counter_ns()
        outcome = self.bound.run()
        nanoseconds = outcome.host_ns
        if self._mode == "host_e2e":
            for _, tensor in tensors_of(outcome.output):
                if tensor.device.type != "cpu":
                    tensor.to("cpu")
            nanoseconds = time.perf_counter_ns() - begin
        self._last = outcome.output
        if self._first is None:
            self._first = {pointer: tensor.detach().clone() for pointer, tensor in tensors_of(outcome.output)}
        return nanoseconds

    def describe(self, count: bool, job: Job) -> JsonObject:
        verdict, place = self._outputs()
        description: JsonObject = {
            "samples_ns": self.samples,
            "device_ns": [],
            "order": self.order,
            "median_ns": int(statistics.median(self.samples)),
            "first_call_ns": None if self._had_run else self.first_ns,
            "warmup_runs": self.warmup_runs,
            "warmup_capped": self.capped,
            "operators": 0,
            "outputs": verdict,
            "outputs_pointer": place,
            "dtypes": self._dtypes(),
        }
        self._last = None
        if count:
            with job.interruptible():
                counted = count_flops(self.bound)
            description["operators"] = counted.operators
            description["unknown_operators"] = counted.unknown
            if counted.total or not counted.unknown:
                description["flops"] = counted.total
            description["bytes_least"] = counted.bytes_least
        return description

    def _outputs(self) -> tuple[str, str]:
        worst, place = "none", ""
        for pointer, tensor in tensors_of(self._last):
            first = (self._first or {}).get(pointer)
            if first is None:
                continue
            verdict = compare_tensors(first, tensor, pointer)["verdict"]
            if _WORST_FIRST.index(verdict) < _WORST_FIRST.index(worst):
                worst, place = verdict, "" if verdict == "exact" else pointer
        return worst, place

    def _dtypes(self) -> list[str]:
        tensors = [*self.bound.loaded.tensors.values(), *(tensor for _, tensor in tensors_of(self._last))]
        return sorted({dtype_name(tensor.dtype) for tensor in tensors if tensor.dtype.is_floating_point})


def check_settings(params: JsonObject) -> None:
    """WorkerError: a mode or a number that nothing can be measured with."""
    mode = params.get("mode") or "hot"
    if mode == "graph":
        reason = "the mode 'graph' replays a captured device graph, which the Python worker does not make"
        raise WorkerError("invalid_argument", reason, "Choose hot, cold or host_e2e.")
    if mode not in _MODES:
        raise WorkerError(
            "invalid_argument", f"there is no benchmark mode '{mode}'", "Modes are hot, cold, host_e2e and graph."
        )
    repetitions, budget, warmup = (
        params.get("repetitions", 50),
        params.get("budget_ms", 3000),
        params.get("warmup_runs"),
    )
    if repetitions < 1 or budget < 0 or (warmup is not None and warmup < 1):
        reason = "a benchmark needs at least one repetition, one warm-up run and no negative budget"
        raise WorkerError("invalid_argument", reason)


def benchmark(first: BoundCall, second: BoundCall | None, params: JsonObject, job: Job) -> JsonObject:
    """The result of the method."""
    mode = params.get("mode") or "hot"
    device = first.loaded.devices.device
    sides = [_Side(first, mode)]
    if second is not None:
        sides.append(sides[0] if second is first else _Side(second, mode))
    session = _Session(sides, params, mode, device, job)
    result: JsonObject = {
        "mode": mode,
        "environment": machine.environment(device),
        "timer_ns": _timer_ns(),
        "null_operator_ns": _null_operator_ns(device),
        "device_reason": "the Python worker takes host times, the device waited for",
        "flushed_bytes": session.flushed_bytes,
    }
    load = machine.OtherLoad()
    session.measure()
    result["environment"].update(other_cpus=load.busy_cpus(), clock_hz_after=machine.clock_hz())
    result["again_ns"], result["again_order"] = session.again, session.again_order
    result["sides"] = [side.describe(bool(params.get("count")), job) for side in sides]
    result["median_ns"] = result["sides"][0]["median_ns"]
    return result


class _Session:
    def __init__(self, sides: list[_Side], params: JsonObject, mode: str, device: str, job: Job) -> None:
        self._sides = sides
        self._mode = mode
        self._job = job
        self._repetitions = params.get("repetitions", 50)
        self._budget = params.get("budget_ms", 3000) / 1000
        self._warmup = params.get("warmup_runs")
        self._random = _Random(params.get("seed", 0))
        self._memory: torch.Tensor | None = None
        self.flushed_bytes: int | None = None
        if mode == "cold":
            self.flushed_bytes = max(2 * (machine.last_level_cache_bytes() or 0), _FLUSH_BYTES)
            self._memory = torch.empty(self.flushed_bytes, dtype=torch.uint8, device=device)
        self._last: _Side | None = None
        self._timed = 0
        self.again: list[int] = []
        self.again_order: list[int] = []

    def measure(self) -> None:
        for side in self._sides:
            self._warm_up(side)
        end = time.monotonic() + self._budget
        done = 0
        while done < self._repetitions and (done < _FEWEST or time.monotonic() < end):
            self._job.progress("timing", done, self._repetitions)
            turns = [0] if len(self._sides) == 1 else [0, 1, 2]
            self._random.shuffle(turns)
            for turn in turns:
                side = self._sides[turn % 2 if len(self._sides) == 2 else 0]
                nanoseconds = self._run(side)
                samples, order = (self.again, self.again_order) if turn == 2 else (side.samples, side.order)
                samples.append(nanoseconds)
                order.append(self._timed)
                self._timed += 1
            done += 1

    def _run(self, side: _Side) -> int:
        with self._job.interruptible():
            if self._memory is not None:
                self._memory.fill_(self._timed & 0xFF)
            elif self._mode == "hot" and self._last not in (None, side):
                # Each side is timed on the caches that a run of its own has left.
                side.run()
            self._last = side
            return side.run()

    def _warm_up(self, side: _Side) -> None:
        end = time.monotonic() + self._budget / 2 / len(self._sides)
        times: list[int] = []
        while True:
            self._job.progress("warm-up", side.warmup_runs, self._warmup or 0)
            nanoseconds = self._run(side)
            if side.warmup_runs == 0:
                side.first_ns = nanoseconds
            else:
                times.append(nanoseconds)
            side.warmup_runs += 1
            if self._warmup is not None:
                if side.warmup_runs >= self._warmup:
                    return
            elif _is_steady(times):
                return
            elif side.warmup_runs >= _MOST_WARMUP or time.monotonic() >= end:
                side.capped = True
                return


def _is_steady(times: list[int]) -> bool:
    if len(times) < _WINDOW * _WINDOWS:
        return False
    recent = times[-_WINDOW * _WINDOWS :]
    medians = [statistics.median(recent[index : index + _WINDOW]) for index in range(0, len(recent), _WINDOW)]
    return max(medians) - min(medians) <= _STEADY * min(medians)


def _timer_ns() -> int:
    samples = []
    for _ in range(101):
        begin = time.perf_counter_ns()
        samples.append(time.perf_counter_ns() - begin)
    return int(statistics.median(samples))


def _null_operator_ns(device: str) -> int:
    tensor = torch.zeros(1, device=device)
    samples = []
    for _ in range(101):
        begin = time.perf_counter_ns()
        torch.ops.aten.alias(tensor)
        samples.append(time.perf_counter_ns() - begin)
    return int(statistics.median(samples))
