# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Pipeline stages: ranks that hold different modules, joined into one capture under one top."""

from __future__ import annotations

from modulelens.json_types import JsonObject
from modulelens.record import ModuleRecord, Run


def named_by_stage(stages: list[dict[str, ModuleRecord]]) -> tuple[dict[str, ModuleRecord], list[dict[str, str]]]:
    """Returns all records by names of their own, and for each stage its old names and the new ones that differ.

    The top of each stage becomes `stage_N`. Where two stages share another name, every name gets its stage before it.
    """
    if len(stages) == 1:
        return stages[0], [{}]
    inner = [name for stage in stages for name in stage if name]
    clash = len(set(inner)) != len(inner)
    taken = set(inner)
    joined: dict[str, ModuleRecord] = {}
    renamed: list[dict[str, str]] = []
    for number, stage in enumerate(stages):
        top = f"stage_{number}"
        while not clash and top in taken:
            top += "_"
        names = {name: top if not name else f"{top}.{name}" for name in stage if clash or not name}
        for name, record in stage.items():
            record.name = names.get(name, name)
            record.aliases = [f"{top}.{alias}" if clash else alias for alias in record.aliases]
            joined[record.name] = record
        renamed.append({"": top, **names} if clash else {"": top})
    return joined, renamed


def joined_runs(stages: list[list[Run]], renamed: list[dict[str, str]]) -> list[Run]:
    """Returns one run for each micro-batch: the stages' calls one after the other, below one top for all of them."""
    if len(stages) == 1:
        return stages[0]
    runs: list[Run] = []
    for number in range(max(len(stage) for stage in stages)):
        present = [(stage[number], names) for stage, names in zip(stages, renamed, strict=True) if number < len(stage)]
        first = present[0][0]
        run = Run(number, first.started, [_top(first.calls[0])], None)
        for part, names in present:
            prefix = names[""] if len(names) > 1 else ""
            _append(run.calls, part.calls, names, prefix)
        run.calls[0]["parameter_bytes"] = sum(call["parameter_bytes"] for call in run.calls if call["parent"] == 0)
        runs.append(run)
    return runs


def _append(calls: list[JsonObject], added: list[JsonObject], names: dict[str, str], prefix: str) -> None:
    shift = len(calls)
    for call in added:
        module = names.get(call["module"], f"{prefix}.{call['module']}" if prefix else call["module"])
        call["id"] += shift
        call["parent"] = 0 if call["parent"] is None else call["parent"] + shift
        call["module"] = module
        if call["version"] is not None:
            call["version"] = module
        # Times of another rank's clock, and of another start, do not line up.
        call["start_ns"] = None
        calls.append(call)


def _top(stage: JsonObject) -> JsonObject:
    return {
        **stage,
        "id": 0,
        "parent": None,
        "module": "",
        "call": 0,
        "inputs": [],
        "outputs": [],
        "parameter_bytes": 0,
        "own_parameter_bytes": 0,
        "start_ns": None,
        "host_ns": None,
        "version": None,
        "version_call": None,
        "exception": None,
    }
