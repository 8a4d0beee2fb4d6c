# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`profile`: time, FLOPs and memory by module and operator, each in a run of its own."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import torch

from modulelens.json_types import JsonObject
from modulelens.worker.dispatcher import Job
from modulelens.worker.errors import WorkerError
from modulelens.worker.flops import Counted, OperatorTrace, count_flops
from modulelens.worker.loaded import BoundCall
from modulelens.worker.params import optional
from modulelens.worker.profile_file import OPERATOR, UNEXPLAINED
from modulelens.worker.recording import Recording, Row, assign_flops, mark_saved, peak_by_row, phase, record, wait
from modulelens.worker.scopes import ScopeRecorder
from modulelens.worker.training import TrainingStep, check_optimizer, optimizer_formula
from modulelens.worker.tree_building import ModuleTree, coverage_of, state_bytes

_FEWEST = 3
_ACCUMULATE = "AccumulateGrad"


def profile(bound: BoundCall, params: JsonObject, file: Path, job: Job) -> JsonObject:
    """The result of the method."""
    where = "profile"
    for key in ("warmup_runs", "repetitions", "budget_ms"):
        optional(params, key, int, where)
    optimizer = check_optimizer(optional(params, "train", str, where) or "")
    wants_backward = bool(optional(params, "backward", bool, where)) or bool(optimizer)
    return _Profile(bound, params, job).result(file, wants_backward, optimizer)


def record_forward(bound: BoundCall, scopes: ScopeRecorder, with_memory: bool = False) -> Recording:
    """One run of the call as captured, under the profiler."""
    bound.prepare()
    args, kwargs = bound.inputs()
    function = bound.function()

    def run() -> Any:
        with bound.conditions(), phase("forward"):
            output = function(*args, **kwargs)
            wait(bound.loaded.devices.device)
        return output

    recording, _ = record(scopes, run, with_memory)
    bound.note_writes()
    return recording


class _Profile:
    def __init__(self, bound: BoundCall, params: JsonObject, job: Job) -> None:
        self._bound = bound
        self._params = params
        self._job = job
        self._scopes = ScopeRecorder(bound.loaded.module)
        self._result: JsonObject = {"reasons": {}, "samples_ns": []}
        self._repetitions = max(int(params.get("repetitions") or 20), 1)
        self._budget = int(params.get("budget_ms") or 3000) / 1000

    def result(self, file: Path, wants_backward: bool, optimizer: str) -> JsonObject:
        result, job = self._result, self._job
        warmup = max(int(self._params.get("warmup_runs") or 3), 1)
        for index in range(warmup):
            job.progress("warm-up", index, warmup)
            self._bound.run()
        recording = self._time()
        self._count(recording)
        self._remember(recording)
        saved = self._keep_saved()
        tree = ModuleTree(self._scopes, recording.scopes, self._params.get("name") or "")
        numbers = self._add_operators(tree, recording, saved)
        if wants_backward:
            result["training"] = _Training(
                self._bound, self._scopes, optimizer, self._repetitions, self._budget, job
            ).add_to(tree, recording, numbers)
        self._finish(tree, recording)
        coverage = coverage_of(recording.rows)
        result.update(coverage, file=str(file))
        tree.tree.write(file, self._facts(), coverage)
        return result

    def _time(self) -> Recording:
        """Plain and profiled runs in turn, so that a drift of the machine's speed meets both."""
        durations: list[list[int]] = []
        timed: list[int] = []
        sums: list[int] = []
        first: Recording | None = None
        end = time.monotonic() + self._budget
        done = 0
        while done < self._repetitions and (done < _FEWEST or time.monotonic() < end):
            self._job.progress("timing", done, self._repetitions)
            self._result["samples_ns"].append(self._bound.run().host_ns)
            recording = record_forward(self._bound, self._scopes)
            rows = [row.end_ns - row.begin_ns for row in recording.rows]
            span = recording.phases.get("forward", (0, 0))
            timed.append(span[1] - span[0])
            sums.append(sum(rows))
            if first is None or len(rows) == len(first.rows):
                first = first or recording
                durations.append(rows)
            done += 1
        assert first is not None
        for index, row in enumerate(first.rows):
            row.end_ns = row.begin_ns + int(statistics.median(sample[index] for sample in durations))
        self._result["latency_ns"] = int(statistics.median(self._result["samples_ns"]))
        self._result["timed_run_ns"] = int(statistics.median(timed))
        self._result["operator_sum_ns"] = int(statistics.median(sums))
        return first

    def _count(self, recording: Recording) -> None:
        self._job.progress("flops", 0, 1)
        counted = count_flops(self._bound, self._scopes)
        self._unmatched = assign_flops(recording.rows, counted.trace)
        if counted.total or not counted.unknown:
            self._result["flops"] = counted.total
        else:
            self._result["reasons"]["flops"] = "no operator of this module has a FLOP formula"
        self._result["costs"] = _costs(recording, counted)

    def _remember(self, recording: Recording) -> None:
        self._job.progress("memory", 0, 1)
        remembered = record_forward(self._bound, self._scopes, with_memory=True)
        peak, at_peak, high = peak_by_row(remembered, ("forward",))
        self._peaks = (at_peak, high) if len(remembered.rows) == len(recording.rows) else ({}, {})
        if self._bound.loaded.devices.device == "cpu":
            self._result["peak_bytes"] = peak
        else:
            self._result["reasons"]["peak"] = "the Python worker follows allocations of the CPU alone"

    def _keep_saved(self) -> dict[int, int]:
        """Bytes that autograd keeps, by row; parameters and buffers apart, no view larger than its storage."""
        try:
            saved = saved_by_row(self._bound, self._scopes)
        except WorkerError:
            raise
        except Exception as error:
            self._result["reasons"]["activation"] = (
                f"the call does not run with autograd on: {type(error).__name__}: {error}"
            )
            return {}
        self._result["activation_bytes"] = sum(saved.values())
        return saved

    def _add_operators(self, tree: ModuleTree, recording: Recording, saved: dict[int, int]) -> list[int]:
        at_peak, high = self._peaks
        numbers = []
        if any(row.flops is None for row in recording.rows):
            tree.tree.mark_unknown("flops")
        for index, row in enumerate(recording.rows):
            number = tree.add_row(row)
            numbers.append(number)
            tree.tree.add_self(number, "latency", row.end_ns - row.begin_ns)
            tree.tree.add_self(number, "flops", row.flops)
            tree.tree.add_self(number, "peak", at_peak.get(index, 0))
            tree.tree.add_self(number, "high_water", high.get(index, 0))
            if "activation_bytes" in self._result:
                tree.tree.add_self(number, "activation", saved.get(index, 0))
        for operator in self._unmatched:
            if operator.flops:
                number = tree.tree.add(tree.scope(operator.scope), OPERATOR, operator.name, "")
                tree.tree.add_self(number, "flops", operator.flops)
        return numbers

    def _finish(self, tree: ModuleTree, recording: Recording) -> None:
        own = state_bytes(self._bound.loaded)
        tree.tree.add_self(0, "parameters", 0)
        for module, size in own.parameters.items():
            tree.tree.add_self(tree.owner(module), "parameters", size)
        self._result["parameter_bytes"] = sum(own.parameters.values())
        explained = sum(row.end_ns - row.begin_ns for row in recording.rows)
        rest = self._result["latency_ns"] - explained
        if rest > 0:
            scope = tree.tree.add(0, UNEXPLAINED, "not in any operator", "")
            tree.tree.add_self(scope, "latency", rest)
        tree.tree.samples["latency", "forward"] = self._result["samples_ns"]

    def _facts(self) -> dict[str, str]:
        loaded = self._bound.loaded
        facts = {str(key): str(value) for key, value in (self._params.get("facts") or {}).items()}
        facts.update(
            device=loaded.devices.device,
            threads=str(torch.get_num_threads()),
            torch=torch.__version__,
            engine="source",
            rebuilt_from=loaded.how,
            repetitions=str(len(self._result["samples_ns"])),
            mode="hot",
            flops_convention="2 per multiply-add, matrix products only",
            causal_convention="dense",
        )
        if "training" in self._result:
            facts["loss"] = self._result["training"]["loss"]
        for metric, reason in self._result["reasons"].items():
            facts[f"unknown.{metric}"] = reason
        return facts


def saved_by_row(bound: BoundCall, scopes: ScopeRecorder) -> dict[int, int]:
    """Bytes of the distinct views that autograd saves, by the index of the row that first saved each."""
    own = {tensor.untyped_storage()._cdata for tensor in bound.loaded.tensors.values() if _has_memory(tensor)}
    sizes: list[int] = []
    seen: dict[int, dict[Any, int]] = {}
    kept: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if _has_memory(tensor) and tensor.untyped_storage()._cdata not in own:
            storage = tensor.untyped_storage()
            views = seen.setdefault(storage._cdata, {})
            view = (tensor.storage_offset(), tensor.shape, tensor.stride())
            if view not in views:
                size = min(tensor.numel() * tensor.element_size(), storage.nbytes() - sum(views.values()))
                views[view] = max(size, 0)
                kept.append(tensor)
                sizes.append(views[view])
                mark_saved(len(sizes) - 1)
        return tensor

    bound.prepare()
    args, kwargs = bound.inputs()

    def run() -> Any:
        hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
        with bound.conditions(grad=True), phase("forward"), hooks:
            return bound.function()(*args, **kwargs)

    recording, _ = record(scopes, run)
    bound.note_writes()
    by_row: dict[int, int] = {}
    for index, row in enumerate(recording.rows):
        for number in row.saved:
            by_row[index] = by_row.get(index, 0) + sizes[number]
    missing = sum(sizes) - sum(by_row.values())
    if missing and recording.rows:
        by_row[0] = by_row.get(0, 0) + missing
    return by_row


def _has_memory(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and tensor.device.type != "meta" and not tensor.is_nested


def _costs(recording: Recording, counted: Counted) -> JsonObject:
    totals: dict[str, JsonObject] = {}
    for row in recording.rows:
        entry = totals.setdefault(
            row.name, {"name": row.name, "coverage": "zero", "calls": 0, "flops": 0, "latency_ns": 0}
        )
        entry["calls"] += 1
        entry["latency_ns"] += row.end_ns - row.begin_ns
        entry["flops"] += row.flops or 0
        if row.flops is None:
            entry["coverage"] = "unknown"
        elif row.flops and entry["coverage"] == "zero":
            entry["coverage"] = "counted"
    return {
        "is_lower_bound": bool(counted.unknown),
        "causal_convention": "dense",
        "static_difference": [],
        "operators": sorted(totals.values(), key=lambda entry: str(entry["name"])),
        "torch_difference": [],
    }


class _Training:
    """The backward pass, and the optimizer's step, as columns and rows of the tree."""

    def __init__(
        self, bound: BoundCall, scopes: ScopeRecorder, optimizer: str, repetitions: int, budget: float, job: Job
    ) -> None:
        self._bound = bound
        self._scopes = scopes
        self._optimizer = optimizer
        self._repetitions = repetitions
        self._budget = budget
        self._job = job
        self._step = TrainingStep(bound, optimizer)
        self._accumulated: list[str | None] = []
        self._rows: dict[tuple[str, str], int] = {}
        self._result: JsonObject = {
            "loss": "",
            "optimizer": optimizer,
            "reasons": {},
            "counted": [],
            "zero": [],
            "unknown": [],
        }

    def add_to(self, tree: ModuleTree, forward: Recording, numbers: list[int]) -> JsonObject:
        result = self._result
        try:
            self._time()
            recording = self._record()
        except WorkerError as error:
            if error.name != "unsupported":
                raise
            self._step.finish()
            result["reasons"]["backward"] = error.message
            return result
        rows = recording.phase_rows("backward") + recording.phase_rows("loss")
        owners = self._owners(recording, forward, numbers)
        modules = self._modules_of_accumulation(rows)
        nodes = 0
        for row in rows:
            nanoseconds = row.end_ns - row.begin_ns
            nodes += nanoseconds if row.phase == "backward" else 0
            scope = self._scope_of(tree, row, owners, modules)
            tree.tree.add_self(scope, "latency", nanoseconds, "backward")
            tree.tree.add_self(scope, "flops", row.flops, "backward")
        result["node_sum_ns"] = nodes
        known = sum(row.end_ns - row.begin_ns for row in rows)
        if result["backward_ns"] > known:
            scope = tree.tree.add(0, UNEXPLAINED, "autograd engine", "")
            tree.tree.add_self(scope, "latency", result["backward_ns"] - known, "backward")
        if self._optimizer:
            scope = tree.tree.add(0, OPERATOR, f"optimizer {self._optimizer}", "")
            tree.tree.add_self(scope, "latency", result["optimizer_ns"], "backward")
        tree.tree.samples["latency", "backward"] = result["backward_samples_ns"]
        result.update(coverage_of(rows))
        return result

    def _time(self) -> None:
        forward: list[int] = []
        backward: list[int] = []
        optimizer: list[int] = []
        steps: list[int] = []
        end = time.monotonic() + self._budget
        while len(steps) < self._repetitions and (len(steps) < _FEWEST or time.monotonic() < end):
            self._job.progress("backward", len(steps), self._repetitions)
            self._step.prepare()
            begin = time.perf_counter_ns()
            self._step.run()
            steps.append(time.perf_counter_ns() - begin)
            forward.append(self._step.forward_ns)
            backward.append(self._step.backward_ns)
            optimizer.append(self._step.optimizer_ns)
        self._step.finish()
        result = self._result
        result.update(loss=self._step.loss, backward_samples_ns=backward, step_samples_ns=steps)
        result["forward_ns"], result["backward_ns"] = int(statistics.median(forward)), int(statistics.median(backward))
        if self._optimizer:
            result["optimizer_ns"], result["step_ns"] = int(statistics.median(optimizer)), int(statistics.median(steps))
            result["optimizer_state_bytes"] = self._step.state_bytes
            result["optimizer_state_formula"] = optimizer_formula(self._optimizer)

    def _record(self) -> Recording:
        self._step.prepare()
        self._accumulated = self._step.watch_accumulation()
        recording, _ = record(self._scopes, self._step.run, with_memory=True)
        self._accumulated = list(self._accumulated)
        self._result["gradient_bytes"] = sum(self._step.parameter_gradients().values())
        phases = ("forward", "loss", "backward")
        self._result["peak_bytes"] = peak_by_row(recording, phases)[0]
        if self._optimizer:
            self._result["step_peak_bytes"] = peak_by_row(recording, (*phases, "optimizer"))[0]
        self._step.prepare()
        trace = OperatorTrace(None, set())
        with trace:
            self._step.run()
        self._step.finish()
        rows = [row for row in recording.rows if row.phase in ("forward", "loss", "backward")]
        assign_flops(rows, trace.counted.trace)
        backward = [row.flops for row in rows if row.phase != "forward"]
        self._result["flops"] = sum(flops or 0 for flops in backward)
        return recording

    def _owners(self, recording: Recording, forward: Recording, numbers: list[int]) -> dict[int, int]:
        """Autograd's sequence number of each forward operator -> its row in the tree."""
        rows = recording.phase_rows("forward")
        if len(rows) != len(forward.rows):
            return {}
        return {
            sequence: number for row, number in zip(rows, numbers, strict=True) for sequence in sorted(row.sequences)
        }

    def _modules_of_accumulation(self, rows: list[Row]) -> dict[int, str]:
        """The module of the parameter by the identity of each row that accumulates a gradient; what is no parameter's,
        or does not come in the order that was seen, is left out.
        """
        found = [row for row in rows if _ACCUMULATE in row.name]
        if len(found) != len(self._accumulated):
            return {}
        return {id(row): module for row, module in zip(found, self._accumulated, strict=True) if module is not None}

    def _scope_of(self, tree: ModuleTree, row: Row, owners: dict[int, int], modules: dict[int, str]) -> int:
        known = [owners[sequence] for sequence in row.sequences if sequence in owners]
        if known and id(row) not in modules and row.phase == "backward" and not row.name.startswith("aten::"):
            return known[0]
        name = "loss" if row.phase == "loss" else row.name
        name = f"autograd::{_ACCUMULATE}" if _ACCUMULATE in name else name
        module = modules.get(id(row), "")
        if (module, name) not in self._rows:
            self._rows[module, name] = tree.tree.add(tree.owner(module), OPERATOR, name, module)
        return self._rows[module, name]
