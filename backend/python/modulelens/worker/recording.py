# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""One run under PyTorch's profiler, read as rows: the outermost operators of each module call, in order."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd.profiler import record_function
from torch.profiler import ProfilerActivity, profile

from modulelens.worker.flops import TracedOperator
from modulelens.worker.scopes import ModuleScope, ScopeRecorder

_SCOPE = "modulelens:scope:"
_PHASE = "modulelens:phase:"
_SAVED = "modulelens:saved:"
_NODE = "autograd::engine::evaluate_function: "
_MEMORY = "[memory]"


@dataclass
class Row:
    """One outermost operator; `scope` is the module call that it ran in."""

    name: str
    scope: int
    begin_ns: int
    end_ns: int
    phase: str
    event: Any
    sequences: set[int] = field(default_factory=set)
    saved: list[int] = field(default_factory=list)
    flops: int | None = 0


@dataclass
class Allocation:
    """A change of allocated memory during a run; negative when it was released."""

    at_ns: int
    size: int
    address: int


@dataclass
class Recording:
    """What the profiler saw of one run."""

    rows: list[Row]
    scopes: list[ModuleScope]
    allocations: list[Allocation]
    phases: dict[str, tuple[int, int]]

    def phase_rows(self, phase: str) -> list[Row]:
        """The rows of one phase."""
        return [row for row in self.rows if row.phase == phase]


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """Marks a part of a run: "forward", "loss", "backward", "optimizer"."""
    with record_function(f"{_PHASE}{name}"):
        yield


def mark_saved(number: int) -> None:
    """Marks that autograd saves a tensor at this moment."""
    with record_function(f"{_SAVED}{number}"):
        pass


def record(scopes: ScopeRecorder, run: Callable[[], Any], with_memory: bool = False) -> tuple[Recording, Any]:
    """Runs once under the profiler. Returns what was seen and what `run` returned."""
    open_marks: list[Any] = []

    def begin(index: int) -> None:
        mark = record_function(f"{_SCOPE}{index}")
        mark.__enter__()  # type: ignore[no-untyped-call,unused-ignore]
        open_marks.append(mark)

    def end(_: int) -> None:
        open_marks.pop().__exit__(None, None, None)

    activities = [ProfilerActivity.CPU]
    with (
        profile(activities=activities, profile_memory=with_memory, acc_events=True) as profiler,
        scopes.recording(begin, end),
    ):
        result = run()
    reader = _Reader(list(profiler.events() or []), _first_ns(profiler))
    reader.read()
    allocations = _allocations(profiler) if with_memory else []
    return Recording(reader.rows, list(scopes.scopes), allocations, reader.phases), result


def _first_ns(profiler: Any) -> int:
    return int(profiler.profiler.kineto_results.trace_start_ns())


def _allocations(profiler: Any) -> list[Allocation]:
    found = []
    for event in profiler.profiler.kineto_results.events():
        if event.name() == _MEMORY:
            found.append(Allocation(int(event.start_ns()), int(event.nbytes()), 0))
    return sorted(found, key=lambda allocation: allocation.at_ns)


class _Reader:
    """Walks the profiler's tree of events."""

    def __init__(self, events: list[Any], origin_ns: int) -> None:
        self.rows: list[Row] = []
        self.phases: dict[str, tuple[int, int]] = {}
        self._tops = [event for event in events if event.cpu_parent is None and event.name != _MEMORY]
        self._origin = origin_ns

    def read(self) -> None:
        for event in sorted(self._tops, key=lambda event: event.time_range.start):
            self._visit(event, 0, "")

    def _visit(self, event: Any, scope: int, phase_name: str) -> None:
        name = event.name
        if name.startswith(_PHASE):
            phase_name = name[len(_PHASE) :]
            self.phases[phase_name] = (self._ns(event.time_range.start), self._ns(event.time_range.end))
        elif name.startswith(_SCOPE):
            scope = int(name[len(_SCOPE) :])
        elif name.startswith(_NODE) or ("::" in name and not name.startswith("autograd::")):
            if phase_name:
                self._add(event, scope, phase_name)
            return
        for child in _in_order(event):
            self._visit(child, scope, phase_name)

    def _add(self, event: Any, scope: int, phase_name: str) -> None:
        name = event.name.removeprefix(_NODE)
        begin, end = self._ns(event.time_range.start), self._ns(event.time_range.end)
        row = Row(name, scope, begin, end, phase_name, event)
        for inner in _below(event):
            if inner.sequence_nr >= 0:
                row.sequences.add(int(inner.sequence_nr))
            if inner.name.startswith(_SAVED):
                row.saved.append(int(inner.name[len(_SAVED) :]))
        self.rows.append(row)

    def _ns(self, microseconds: float) -> int:
        return self._origin + round(microseconds * 1000)


def _in_order(event: Any) -> list[Any]:
    return sorted(event.cpu_children, key=lambda child: child.time_range.start)


def _below(event: Any) -> Iterator[Any]:
    open_events = [event]
    while open_events:
        current = open_events.pop()
        yield current
        open_events.extend(current.cpu_children)


def assign_flops(rows: list[Row], trace: list[TracedOperator]) -> list[TracedOperator]:
    """Gives each row the FLOPs of the operators that it called, by their order. Returns those that found no row."""
    trace = [operator for operator in trace if operator.flops != 0]
    position = 0
    for row in rows:
        row.flops, position = _matched(row.event, trace, position)
    return trace[position:]


def _matched(event: Any, trace: list[TracedOperator], position: int) -> tuple[int | None, int]:
    total: int | None = 0
    open_events = [event]
    while open_events:
        current = open_events.pop()
        if position < len(trace) and current.name == trace[position].name:
            flops = trace[position].flops
            total = None if total is None or flops is None else total + flops
            position += 1
        else:
            open_events.extend(reversed(_in_order(current)))
    return total, position


def peak_by_row(recording: Recording, phases: tuple[str, ...]) -> tuple[int, dict[int, int], dict[int, int]]:
    """Returns the most bytes alive in the phases beyond those at their beginning, what each row had alive then, and the
    most that was alive while each row ran. Rows by index."""
    spans = [recording.phases[name] for name in phases if name in recording.phases]
    if not spans:
        return 0, {}, {}
    begin, end = min(span[0] for span in spans), max(span[1] for span in spans)
    rows = [(index, row) for index, row in enumerate(recording.rows) if row.phase in phases]
    alive = peak = 0
    by_row: dict[int, int] = {}
    at_peak: dict[int, int] = {}
    high: dict[int, int] = {}
    open_blocks: dict[int, list[int]] = {}
    position = 0
    for allocation in recording.allocations:
        if not begin <= allocation.at_ns <= end:
            continue
        while position < len(rows) and rows[position][1].end_ns < allocation.at_ns:
            position += 1
        inside = position < len(rows) and rows[position][1].begin_ns <= allocation.at_ns
        owner = rows[position][0] if inside else -1
        if allocation.size > 0:
            open_blocks.setdefault(allocation.size, []).append(owner)
        else:
            held = open_blocks.get(-allocation.size)
            if not held:
                continue  # It was there before.
            owner = held.pop()
        alive += allocation.size
        by_row[owner] = by_row.get(owner, 0) + allocation.size
        if inside:
            high[rows[position][0]] = max(high.get(rows[position][0], 0), alive)
        if alive > peak:
            peak, at_peak = alive, dict(by_row)
    return peak, at_peak, high


def wait(device: str) -> None:
    """Waits for the device."""
    if device != "cpu":
        torch.accelerator.synchronize()
