# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""One sampled step: what it puts on the model, what it records, and the bundle that comes of it."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from modulelens.bundle_writer import BundleContents, BundleFolder
from modulelens.earlier_tensors import EarlierTensors
from modulelens.environment import describe_environment
from modulelens.flop_counting import count_flops
from modulelens.gradients import GradientReplayer, OutputGradients, seed_document
from modulelens.hooks import WatchedMethods, attach, inside_script
from modulelens.json_types import JsonObject
from modulelens.measurements import accelerator_meter, how_measured
from modulelens.names import NamedModule, name_modules
from modulelens.nodes import Documents, NodeDescriber
from modulelens.pending import Request, write_pending
from modulelens.problems import Problems
from modulelens.programs import ProgramExporter
from modulelens.recorder import Recorder, RecorderOptions
from modulelens.selection import Predicate
from modulelens.sharding import Sharded, Sharding, capture_of_rank
from modulelens.tensor_store import TensorStore

_NO_PROGRAMS = "the tracer was told to export no programs"

if TYPE_CHECKING:
    from modulelens.distributed.rank_capture import RankCapture


@dataclass(frozen=True)
class SampleOptions:
    """What a tracer was asked for (see `ModuleTracer`)."""

    store: Path
    model_name: str
    chosen: Predicate
    methods: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    attributes: JsonObject = field(default_factory=dict)
    programs: bool = True
    flops: bool = False
    dynamic_batch: bool = True
    max_calls: int = 16
    max_bytes: int | None = None
    max_tensor_bytes: int | None = None
    backward: bool = False
    peak_memory: bool = False
    eager_step: bool = True
    background: bool = False
    sharded: Sharded = "full"
    rank_timeout: float = 120.0


class Sample:
    """Attached to the model from `attach` to `detach`; then `finish` and `write` make the bundle.

    `write` may run in another thread; everything else belongs to the thread that runs the model.
    """

    def __init__(
        self, model: nn.Module, modules: list[NamedModule], options: SampleOptions, problems: Problems, step: int
    ) -> None:
        self._model = model
        self._rank = capture_of_rank(model, options.store, options.model_name, options.sharded)
        self._merged: Path | None = None
        if self._rank is not None:
            modules = name_modules(model, self._rank.sharding.hides)
        self._modules = modules
        self._options = options
        self._problems = problems
        self._handles: list[RemovableHandle] = []
        self._cleanup = contextlib.ExitStack()
        self._programs = Documents()
        self._incomplete: str | None = None
        self._interrupted = False
        self._request: Request | None = None
        self._folder = BundleFolder(options.store) if self._rank is None else self._rank.bundle_folder()
        earlier = EarlierTensors(options.store, self._folder.path / "earlier")
        self._store = TensorStore(self._folder.tensors, options.max_bytes, options.max_tensor_bytes, earlier)
        self._describer, sharding = self._describers({named.module: named.name for named in modules})
        self._meter = accelerator_meter()
        kept = {named.name for named in modules if options.chosen(named.name, named.module)}
        gradients = OutputGradients(self._describer.encoder(), problems) if options.backward else None
        recorded = RecorderOptions(kept, options.max_calls, step, options.peak_memory)
        self._recorder = Recorder(self._store, self._describer, problems, recorded, gradients, self._meter, sharding)
        self._watched = WatchedMethods(self._recorder, modules, options.methods)

    def _describers(self, paths: dict[nn.Module, str]) -> tuple[NodeDescriber, Sharding | None]:
        if self._rank is None:
            return NodeDescriber(self._store, paths), None
        sharding = self._rank.sharding
        describer = NodeDescriber(self._store, paths, sharding, self._rank.sink(self._store))
        sharding.keep_in(self._store, paths, describer.encoder().reference)
        return describer, sharding

    @property
    def store(self) -> Path:
        """The folder that gets the bundle."""
        return self._options.store

    @property
    def is_empty(self) -> bool:
        """Whether no module of the model was called."""
        return not self._recorder.runs

    def attach(self) -> None:
        """Puts the hooks on. What fails at one module is a problem and leaves the others."""
        if self._options.eager_step and "torch._dynamo" in sys.modules:
            self._cleanup.enter_context(torch.compiler.set_stance("force_eager"))
        hidden = inside_script(self._modules)
        for name, inner in hidden.items():
            more = f" and {len(inner) - 3} more" if len(inner) > 3 else ""
            text = f"{', '.join(inner[:3])}{more} run inside TorchScript, which shows no calls"
            self._problems.add(name, "attach", f"{text}: {name or 'the model'} is kept whole")
        unseen = {name for names in hidden.values() for name in names}
        for named in self._modules:
            if named.name in unseen:
                continue
            try:
                self._handles += attach(self._recorder, named)
            except Exception as error:
                self._problems.add(named.name, "attach", error)
        try:
            self._watched.install()
        except Exception as error:
            self._problems.add("", "attach", error)

    def detach(self) -> None:
        """Leaves the model as it was."""
        for handle in [*self._handles, *(self._rank.handles if self._rank is not None else [])]:
            handle.remove()
        self._handles.clear()
        self._watched.remove()
        self._cleanup.close()
        self._recorder.close()

    def finish(self, error: BaseException | None) -> None:
        """Does what needs the model: replays for gradients and FLOPs, and the export of programs.

        In the background nothing does: all of it is made later, from rebuilt modules.
        """
        interrupted = error is not None and not isinstance(error, Exception)
        if error is not None:
            self._incomplete = f"the traced block raised {type(error).__name__}: {str(error)[:300]}"
        records = list(self._recorder.records.values())
        self._recorder.settle()
        if self._rank is not None:
            self._interrupted = interrupted
            if not self._options.background:
                self._finish_ranks(self._rank)
            return
        if self._options.background and not interrupted:
            self._leave_for_later()
            return
        if self._options.backward and not interrupted:
            replayer = GradientReplayer(self._store, self._problems)
            for record in records:
                replayer.replay(record)
        if self._options.programs and not interrupted:
            dynamic = self._options.dynamic_batch
            exporter = ProgramExporter(self._store, self._describer.nodes, self._problems, dynamic)
            self._programs = exporter.programs
            for record in records:
                exporter.export(record)
        else:
            why = "the traced block was interrupted" if interrupted else _NO_PROGRAMS
            for record in records:
                record.no_program = {"reason": why, "source": None}
        if self._options.flops and not interrupted:
            for record in records:
                count_flops(record, self._store, self._problems)

    def _leave_for_later(self) -> None:
        """Notes what a process of its own is to make, and marks the bundle as what it is until then."""
        options = self._options
        request = Request(options.programs, options.dynamic_batch, options.flops, options.backward, self._incomplete)
        for record in self._recorder.records.values():
            record.no_program = {"reason": _NO_PROGRAMS, "source": None}
            for captured in record.calls:
                captured.document["gradients"] = seed_document(captured)
        if not request.is_empty:
            self._request = request

    def _finish_ranks(self, rank: RankCapture) -> None:
        """Writes this rank's bundle and, on the first rank, the merged one: its programs come from rebuilt modules."""
        from modulelens.distributed.merging import MergeOptions

        for record in self._recorder.records.values():
            record.no_program = {"reason": "programs are exported when the ranks are merged", "source": None}
            for captured in record.calls:
                captured.document["gradients"] = seed_document(captured)
        self._merged = rank.write(self._folder, self._contents(), self._incomplete)
        options = MergeOptions(
            self._options.programs,
            self._options.dynamic_batch,
            self._options.flops,
            self._options.backward,
            later=self._options.background,
            no_program=_NO_PROGRAMS,
        )
        timeout = 0.0 if self._interrupted else self._options.rank_timeout
        self._merged = rank.merge(timeout, options, self._problems) or self._merged

    def write(self) -> Path | None:
        """Writes the bundle and returns its folder, None where another rank writes it.

        What is to be completed later lies in a pending folder. Raises OSError when the disk refuses.
        """
        if self._rank is not None:
            if self._options.background:
                self._finish_ranks(self._rank)
            return self._merged
        if self._request is None:
            return self._folder.finish(self._contents())
        return write_pending(self._folder, self._contents(), self._options.store, self._request)

    def _contents(self) -> BundleContents:
        return BundleContents(
            model_name=self._options.model_name,
            environment=describe_environment(self._model, self._describer.class_names),
            tags=list(self._options.tags),
            attributes=self._options.attributes,
            records=self._recorder.records,
            runs=self._recorder.runs,
            nodes=self._describer.nodes,
            sources=self._describer.sources,
            store=self._store,
            programs=self._programs,
            problems=self._problems.entries,
            incomplete_reason=self._incomplete,
            measured=how_measured(self._meter, self._options.peak_memory),
        )

    def discard(self) -> None:
        """Removes what has been written so far."""
        if self._rank is not None:
            self._rank.leave("nothing was written")
        self._store.discard()
        self._folder.discard()
