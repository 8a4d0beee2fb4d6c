# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`memory`: what a call allocates, what autograd keeps, and a timeline of allocations."""

from __future__ import annotations

from pathlib import Path

import torch

from modulelens.json_types import JsonObject
from modulelens.worker.dispatcher import Job
from modulelens.worker.errors import WorkerError
from modulelens.worker.loaded import BoundCall
from modulelens.worker.params import optional
from modulelens.worker.profile_file import OPERATOR, write_columns
from modulelens.worker.profiler import record_forward, saved_by_row
from modulelens.worker.recording import Recording, peak_by_row, record
from modulelens.worker.scopes import ScopeRecorder
from modulelens.worker.training import TrainingStep, check_optimizer, optimizer_formula, optimizer_state_bytes
from modulelens.worker.tree_building import ModuleTree, state_bytes

_PHASES = ("forward", "loss", "backward", "optimizer")


def measure_memory(bound: BoundCall, params: JsonObject, file: Path, timeline: Path, job: Job) -> JsonObject:
    """The result of the method."""
    optimizer = check_optimizer(optional(params, "train", str, "memory") or "")
    if bound.loaded.devices.device != "cpu":
        raise WorkerError(
            "unsupported", "the Python worker follows allocations of the CPU alone", "Use the program engine."
        )
    job.progress("memory")
    scopes = ScopeRecorder(bound.loaded.module)
    bound.run()
    forward = record_forward(bound, scopes, with_memory=True)
    if not forward.allocations:
        raise WorkerError("unsupported", "a run of this module allocates nothing, so it has no history")
    reasons: JsonObject = {}
    peak, at_peak, high = peak_by_row(forward, ("forward",))
    result: JsonObject = {
        "file": str(file),
        "timeline_file": str(timeline),
        "peak_bytes": peak,
        "reasons": reasons,
        "loss": "",
    }
    saved: dict[int, int] = {}
    try:
        saved = saved_by_row(bound, scopes)
        result["activation_bytes"] = sum(saved.values())
    except RuntimeError as error:
        reasons["activation_bytes"] = f"the call does not run with autograd on: {error}"
    tree = ModuleTree(scopes, forward.scopes, optional(params, "name", str, "memory") or "")
    training = _training(bound, scopes, optimizer, result, reasons, tree)
    training_peak = {} if training is None else peak_by_row(training, _PHASES)[1]
    names = [] if training is None else [row.name for row in training.phase_rows("forward")]
    same = names == [row.name for row in forward.rows]
    first = 0
    if training is not None and training.rows:
        first = next(index for index, row in enumerate(training.rows) if row.phase == "forward")
    for index, row in enumerate(forward.rows):
        number = tree.add_row(row)
        tree.tree.add_self(number, "peak", at_peak.get(index, 0))
        tree.tree.add_self(number, "high_water", high.get(index, 0))
        if "activation_bytes" in result:
            tree.tree.add_self(number, "activation", saved.get(index, 0))
        if same:
            tree.tree.add_self(number, "training_peak", training_peak.pop(first + index, 0))
    if training is not None:
        others: dict[str, int] = {}
        for index, size in training_peak.items():
            row_name = training.rows[index].name if index >= 0 else "autograd engine"
            others[row_name] = others.get(row_name, 0) + size
        for row_name, size in others.items():
            if size > 0:
                tree.tree.add_self(tree.tree.add(0, OPERATOR, row_name, ""), "training_peak", size)
    _add_state(bound, tree, result)
    result["optimizer_state_bytes"] = {name: optimizer_state_bytes(name, bound) for name in ("sgd", "adam")}
    result["optimizer_state_formulas"] = {name: optimizer_formula(name) for name in ("sgd", "adam")}
    facts = {"device": "cpu", "threads": str(torch.get_num_threads()), "torch": torch.__version__, "engine": "source"}
    tree.tree.write(file, facts, {"counted": [], "zero": [], "unknown": []})
    result["events"] = _write_timeline(timeline, forward, training)
    return result


def _training(
    bound: BoundCall, scopes: ScopeRecorder, optimizer: str, result: JsonObject, reasons: JsonObject, tree: ModuleTree
) -> Recording | None:
    step = TrainingStep(bound, optimizer)
    try:
        step.prepare()
        recording, _ = record(scopes, step.run, with_memory=True)
    except WorkerError as error:
        if error.name != "unsupported":
            raise
        reasons["training_peak_bytes"] = reasons["gradient_bytes"] = error.message
        return None
    finally:
        gradients = step.parameter_gradients()
        step.finish()
    result["loss"] = step.loss
    result["gradient_bytes"] = sum(gradients.values())
    for module, size in gradients.items():
        tree.tree.add_self(tree.owner(module), "gradients", size)
    result["training_peak_bytes"] = peak_by_row(recording, ("forward", "loss", "backward"))[0]
    if optimizer:
        result["step_peak_bytes"] = peak_by_row(recording, _PHASES)[0]
    return recording


def _add_state(bound: BoundCall, tree: ModuleTree, result: JsonObject) -> None:
    own = state_bytes(bound.loaded)
    for metric, owners in (("parameters", own.parameters), ("buffers", own.buffers)):
        tree.tree.add_self(0, metric, 0)
        for module, size in owners.items():
            tree.tree.add_self(tree.owner(module), metric, size)
        result[f"{metric.removesuffix('s')}_bytes"] = sum(owners.values())


def _write_timeline(file: Path, forward: Recording, training: Recording | None) -> int:
    """Writes docs/formats/memory-timeline.md and returns how many events it holds."""
    rows: list[JsonObject] = []
    columns: dict[str, tuple[str, list[int]]] = {}
    runs: JsonObject = {}
    total = 0
    for name, recording in (("forward", forward), ("training", training)):
        if recording is None:
            continue
        base = len(rows)
        for row in recording.rows:
            scope = recording.scopes[row.scope] if row.scope < len(recording.scopes) else None
            place = {"module": scope.path if scope else "", "call": scope.call if scope else 0}
            rows.append({**place, "name": row.name})
        rows.append({"module": "", "call": 0, "name": "not in any operator"})
        table, peak_event, peak = _events(recording, base)
        for key, values in table.items():
            dtype = {"row": "I32", "block": "I32", "phase": "U8"}.get(key, "I64")
            columns[f"{name}.{key}"] = (dtype, values)
        runs[name] = {"peak_bytes": peak, "peak_event": peak_event}
        total += len(table["bytes"])
    timeline = {"rows": rows, "runs": runs}
    write_columns(file, columns, {"format": "modulelens.memory", "schema_version": "1", "timeline": timeline})
    return total


def _events(recording: Recording, base: int) -> tuple[dict[str, list[int]], int | None, int]:
    table: dict[str, list[int]] = {key: [] for key in ("time_ns", "bytes", "alive", "row", "block", "phase")}
    spans = [(name, *recording.phases[name]) for name in _PHASES if name in recording.phases]
    begin, end = spans[0][1], spans[-1][2]
    open_blocks: dict[int, list[int]] = {}
    alive = peak = blocks = position = 0
    peak_event: int | None = None
    for allocation in recording.allocations:
        if not begin <= allocation.at_ns <= end:
            continue
        while position < len(recording.rows) and recording.rows[position].end_ns < allocation.at_ns:
            position += 1
        inside = position < len(recording.rows) and recording.rows[position].begin_ns <= allocation.at_ns
        if allocation.size > 0:
            block = blocks
            blocks += 1
            open_blocks.setdefault(allocation.size, []).append(block)
        elif open_blocks.get(-allocation.size):
            block = open_blocks[-allocation.size].pop()
        else:
            continue
        alive += allocation.size
        phase = max((index for index, span in enumerate(spans) if span[1] <= allocation.at_ns), default=0)
        row = base + (position if inside else len(recording.rows))
        values = (allocation.at_ns - begin, allocation.size, alive, row, block, _PHASES.index(spans[phase][0]))
        for key, value in zip(table, values, strict=True):
            table[key].append(value)
        if alive > peak:
            peak, peak_event = alive, len(table["bytes"]) - 1
    return table, peak_event, peak
