# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Writes one bundle of whole modules from the bundles of ranks, with programs where the modules can be rebuilt."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from modulelens.bundle_writer import BundleContents, BundleFolder
from modulelens.distributed.group_merger import GroupMerger
from modulelens.distributed.parts import Part, PartError
from modulelens.distributed.stages import joined_runs, named_by_stage
from modulelens.distributed.structure_builder import StructureBuilder
from modulelens.earlier_tensors import EarlierTensors
from modulelens.flop_counting import count_flops
from modulelens.gradients import GradientReplayer, take_seeds
from modulelens.nodes import Documents
from modulelens.pending import Request, write_pending
from modulelens.problems import Problems
from modulelens.programs import ProgramExporter
from modulelens.record import ModuleRecord, Run
from modulelens.tensor_store import TensorStore

_NO_PROGRAMS = "merged without programs; `python -m modulelens merge --programs` exports them"

_NO_GRADIENTS = "merged without gradients; `python -m modulelens merge --programs` makes them"


@dataclass
class MergeOptions:
    """What the merged bundle gets besides whole tensors. `classes` are used by name before anything is imported.

    With `if_seeded` gradients are made when backward passes in the traced blocks have left those of outputs. With
    `later` nothing is made yet: a pending folder is written for another process to complete.
    """

    programs: bool = True
    dynamic_batch: bool = True
    flops: bool = False
    backward: bool = False
    if_seeded: bool = False
    later: bool = False
    no_program: str = _NO_PROGRAMS
    classes: Mapping[str, type] = field(default_factory=dict)


def merge_ranks(
    folders: list[Path], store: Path, missing: dict[int, str], raised: dict[int, str], options: MergeOptions
) -> Path:
    """Merges the bundles of the ranks of one traced block into one bundle in `store`; returns its folder.

    It is a pending folder when anything is left for later.

    `missing` and `raised` say why a rank has left nothing, and what its block raised: the bundle is marked incomplete
    then. Raises PartError when the bundles do not belong together,
    OSError when the disk refuses.
    """
    parts = _opened(folders)
    target: BundleFolder | None = None
    try:
        target = BundleFolder(store)
        problems = Problems()
        contents = _contents(parts, store, target, missing, raised, problems, options)
        request = Request(
            options.programs, options.dynamic_batch, options.flops, options.backward, contents.incomplete_reason
        )
        if options.later and not request.is_empty:
            path = write_pending(target, contents, store, request)
        else:
            path = target.finish(contents)
        target = None
        return path
    finally:
        if target is not None:
            target.discard()
        for part in parts:
            part.close()


def _opened(folders: list[Path]) -> list[Part]:
    parts = sorted((Part(folder) for folder in folders), key=lambda part: part.rank)
    if not parts:
        raise PartError("no rank has left a bundle")
    captures = {str(part.ranks["capture"]) for part in parts}
    if len(captures) > 1:
        raise PartError(f"the bundles are of different traced blocks: {', '.join(sorted(captures))}")
    ranks = [part.rank for part in parts]
    if len(set(ranks)) != len(ranks):
        raise PartError("two of the bundles are of the same rank")
    return parts


def _contents(
    parts: list[Part],
    folder: Path,
    target: BundleFolder,
    missing: dict[int, str],
    raised: dict[int, str],
    problems: Problems,
    options: MergeOptions,
) -> BundleContents:
    store = TensorStore(target.tensors, earlier=EarlierTensors(folder, target.path / "earlier"))
    nodes, sources, programs = Documents(), Documents(), Documents()
    groups = _groups(parts)
    mergers = [GroupMerger(group, store, nodes, sources) for group in groups]
    records, renamed = named_by_stage([merger.records() for merger in mergers])
    runs = joined_runs([_runs(group[0]) for group in groups], renamed)
    for part in parts:
        for problem in part.index["problems"]:
            told = problem["message"] if part is parts[0] else f"rank {part.rank}: {problem['message']}"
            problems.entries.append({**problem, "message": told})
    if not options.programs:
        for record in records.values():
            record.no_program = {"reason": options.no_program, "source": None}
    if not options.backward:
        options = _with_seeds(options, records, problems)
    if not options.later and (options.programs or options.backward or options.flops):
        programs = _made(records, store, nodes, problems, options)
    first = parts[0]
    reason = _incomplete_reason(missing, raised, sum(merger.lacking for merger in mergers))
    ranks = {
        "capture": first.ranks["capture"],
        "world_size": first.ranks["world_size"],
        "sharded": first.ranks["sharded"],
        "rank": None,
        "merged": [part.rank for part in parts],
        "missing": [{"rank": rank, "reason": why} for rank, why in sorted(missing.items())],
    }
    return BundleContents(
        model_name=first.index["model"],
        environment=first.index["environment"],
        tags=first.index["tags"],
        attributes=first.index["attributes"],
        records=records,
        runs=runs,
        nodes=nodes,
        sources=sources,
        store=store,
        programs=programs,
        problems=problems.entries,
        incomplete_reason=reason,
        ranks=ranks,
    )


def _groups(parts: list[Part]) -> list[list[Part]]:
    """Parts of ranks with the same modules, in the order of their first ranks: several groups are pipeline stages."""
    groups: dict[frozenset[str], list[Part]] = {}
    for part in parts:
        names = {call["module"] for run in part.runs for call in run["calls"]}
        groups.setdefault(frozenset(names), []).append(part)
    return list(groups.values())


def _runs(part: Part) -> list[Run]:
    runs = []
    for document in part.runs:
        calls = copy.deepcopy(document["calls"])
        for call in calls:
            call["version"] = None if call["version"] is None else part.modules[call["version"]]
        runs.append(Run(document["step"], document["started"], calls, document["duration_ns"]))
    return runs


def _with_seeds(options: MergeOptions, records: dict[str, ModuleRecord], problems: Problems) -> MergeOptions:
    """Asks for gradients when there is what makes them; else lets no call say that it has some."""
    seeded = [call for record in records.values() for call in record.calls if call.document["gradients"] is not None]
    if seeded and options.if_seeded:
        return dataclasses.replace(options, backward=True)
    for call in seeded:
        call.document["gradients"] = None
    if seeded:
        problems.add("", "gradients", _NO_GRADIENTS)
    return options


def _made(
    records: dict[str, ModuleRecord], store: TensorStore, nodes: Documents, problems: Problems, options: MergeOptions
) -> Documents:
    """Makes of rebuilt modules what is asked for, and returns their programs."""
    builder = StructureBuilder(nodes.contents, store.bytes_of, options.classes)
    exporter = ProgramExporter(store, nodes, problems, options.dynamic_batch)
    replayer = GradientReplayer(store, problems)
    for record in records.values():
        for call in record.calls:
            if options.backward:
                take_seeds(call)
        try:
            record.module = builder.build(record.node)
        except Exception as error:
            reason = f"the module cannot be rebuilt: {type(error).__name__}: {error}"
            if options.programs:
                record.no_program = {"reason": reason[:600], "source": None}
            if options.backward:
                problems.add(record.name, "gradients", reason)
            continue
        parts = list(record.module.modules())
        for call in record.calls:
            changed = call.document["training"] != record.module.training
            call.training = [call.document["training"] if changed else part.training for part in parts]
        if options.backward:
            replayer.replay(record)
        if options.programs:
            exporter.export(record)
        if options.flops:
            count_flops(record, store, problems)
    return exporter.programs


def _incomplete_reason(missing: dict[int, str], raised: dict[int, str], lacking: int) -> str | None:
    reasons = [f"rank {rank} is missing: {why}" for rank, why in sorted(missing.items())]
    reasons += [f"rank {rank}: {why}" for rank, why in sorted(raised.items())]
    if lacking:
        reasons.append(f"{lacking} sharded tensors are not whole: parts of them are missing")
    return "; ".join(reasons)[:1000] or None


def absent_ranks(parts_ranks: list[int], world_size: int) -> dict[int, str]:
    """Returns the ranks of a job of which no bundle was given."""
    return {rank: "its bundle was not given" for rank in range(world_size) if rank not in parts_ranks}
