# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`with ModuleTracer(model, ...): model(batch)` adds one capture bundle to a folder."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from modulelens.bundle_writer import BundleContents, BundleFolder
from modulelens.environment import describe_environment
from modulelens.flop_counting import count_flops
from modulelens.gradients import GradientReplayer, OutputGradients
from modulelens.json_types import JsonObject
from modulelens.names import NamedModule, name_modules
from modulelens.nodes import Documents, NodeDescriber
from modulelens.problems import Problems
from modulelens.programs import ProgramExporter
from modulelens.recorder import Recorder
from modulelens.selection import Selector, select
from modulelens.tensor_store import TensorStore


class ModuleTracer:
    """Captures the calls of a model's modules while its `with` block is open.

    `store` is the folder that gets the bundle, `model_name` the name under which the registry keeps it. `select` and
    `exclude` choose the modules whose tensors are kept (see `selection.predicate_of`); every module call is in the call
    tree anyway. `programs` exports one program per kept module after the block; `dynamic_batch` makes dimension 0
    dynamic where export proves it. `flops` records what torch's own counter says of each kept call, replayed after the
    block. `max_calls` limits the kept calls of each module, `max_bytes` and `max_tensor_bytes` the tensor data.
    `gradients` keeps the gradients of each kept call too: those that a backward pass inside the block gave its outputs,
    and those that eager PyTorch, run again on a copy after the block, gives inputs and parameters.

    Wrong arguments raise ValueError at once. Afterwards nothing of the tracer's raises: what it could not do is in
    `problems`, with one warning. The model is left as it was, also when the block raises.
    """

    def __init__(
        self,
        model: nn.Module,
        store: str | Path,
        model_name: str,
        select: Iterable[Selector] = ("**",),
        exclude: Iterable[Selector] = (),
        tags: Iterable[str] = (),
        attributes: Mapping[str, str | int | float | bool] | None = None,
        programs: bool = True,
        flops: bool = False,
        dynamic_batch: bool = True,
        max_calls: int = 16,
        max_bytes: int | None = None,
        max_tensor_bytes: int | None = None,
        gradients: bool = False,
    ) -> None:
        self._model = model
        self._store_folder = Path(store)
        self._model_name = _checked_name(model_name)
        self._modules = name_modules(model)
        self._chosen = _predicate(select, exclude)
        self._tags = _checked_tags(tags)
        self._attributes = _checked_attributes(attributes or {})
        self._wants_programs = programs
        self._wants_flops = flops
        self._dynamic_batch = dynamic_batch
        self._limits = (max_calls, max_bytes, max_tensor_bytes)
        self._wants_gradients = gradients
        self._handles: list[RemovableHandle] = []
        self._cleanup = contextlib.ExitStack()
        self._problems = Problems()
        self._bundle: Path | None = None
        self._folder: BundleFolder | None = None
        self._parts: tuple[TensorStore, NodeDescriber, Recorder] | None = None

    @property
    def bundle(self) -> Path | None:
        """The bundle folder once the block has ended; None when nothing was called or it could not be written."""
        return self._bundle

    @property
    def problems(self) -> list[JsonObject]:
        """What could not be done, as the bundle lists it."""
        return self._problems.entries

    def __enter__(self) -> ModuleTracer:
        try:
            self._start()
        except Exception as error:
            self._problems.add("", "start", error)
            self._stop()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        if self._folder is None or self._parts is None:
            return
        try:
            self._finish(self._folder, error)
        except Exception as failure:
            self._problems.add("", "write", failure)
        finally:
            if self._bundle is None:
                self._folder.discard()
            self._folder, self._parts = None, None

    def _start(self) -> None:
        max_calls, max_bytes, max_tensor_bytes = self._limits
        self._bundle = None
        self._folder = BundleFolder(self._store_folder)
        store = TensorStore(self._folder.tensors, max_bytes, max_tensor_bytes)
        describer = NodeDescriber(store, {named.module: named.name for named in self._modules})
        kept = {named.name for named in self._modules if self._chosen(named.name, named.module)}
        gradients = OutputGradients(store, self._problems) if self._wants_gradients else None
        recorder = Recorder(store, describer, self._problems, kept, max_calls, gradients)
        self._parts = (store, describer, recorder)
        if "torch._dynamo" in sys.modules:
            self._cleanup.enter_context(torch.compiler.set_stance("force_eager"))
        for named in self._modules:
            try:
                self._attach(named, recorder)
            except Exception as error:
                self._problems.add(named.name, "attach", error)

    def _attach(self, named: NamedModule, recorder: Recorder) -> None:
        """Hooks run inside the module's own hooks: after its pre-hooks and before its post-hooks."""
        before = functools.partial(_before_call, recorder, named)
        after = functools.partial(_after_call, recorder, named)
        self._handles.append(named.module.register_forward_pre_hook(before, with_kwargs=True))
        self._handles.append(
            named.module.register_forward_hook(after, with_kwargs=True, prepend=True, always_call=True)
        )

    def _stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._cleanup.close()
        if self._parts is not None:
            self._parts[2].close()

    def _finish(self, folder: BundleFolder, error: BaseException | None) -> None:
        assert self._parts is not None
        store, describer, recorder = self._parts
        if not recorder.runs:
            self._problems.add("", "write", "no module of the model was called in the traced block; no bundle written")
            return
        programs = Documents()
        interrupted = error is not None and not isinstance(error, Exception)
        if self._wants_gradients and not interrupted:
            replayer = GradientReplayer(store, self._problems)
            for record in recorder.records.values():
                replayer.replay(record)
        if self._wants_programs and not interrupted:
            exporter = ProgramExporter(store, describer.nodes, self._problems, self._dynamic_batch)
            programs = exporter.programs
            for record in recorder.records.values():
                exporter.export(record)
        else:
            why = "the traced block was interrupted" if interrupted else "the tracer was told to export no programs"
            for record in recorder.records.values():
                record.no_program = {"reason": why, "source": None}
        if self._wants_flops and not interrupted:
            for record in recorder.records.values():
                count_flops(record, store, self._problems)
        reason = None if error is None else f"the traced block raised {type(error).__name__}: {str(error)[:300]}"
        contents = BundleContents(
            model_name=self._model_name,
            environment=describe_environment(self._model, describer.class_names),
            tags=self._tags,
            attributes=self._attributes,
            records=recorder.records,
            runs=recorder.runs,
            nodes=describer.nodes,
            sources=describer.sources,
            store=store,
            programs=programs,
            problems=self._problems.entries,
            incomplete_reason=reason,
        )
        self._bundle = folder.finish(contents)


def _predicate(selectors: Iterable[Selector], excluded: Iterable[Selector]) -> Any:
    return select(selectors, excluded)


def _before_call(
    recorder: Recorder, named: NamedModule, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    if not _is_traced_by_torch():
        recorder.begin(named, args, kwargs)


def _after_call(
    recorder: Recorder,
    named: NamedModule,
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    output: Any,
) -> None:
    if not _is_traced_by_torch():
        recorder.end(named, output)


def _is_traced_by_torch() -> bool:
    return torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None


def _is_text(value: object) -> bool:
    """Whether a string can be written as UTF-8; everything else can."""
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def _checked_name(model_name: str) -> str:
    if not model_name or "\0" in model_name:
        raise ValueError("model_name must hold at least one character and no NUL")
    if not _is_text(model_name):
        raise ValueError("model_name must be valid Unicode, without lone surrogates")
    return model_name


def _checked_tags(tags: Iterable[str]) -> list[str]:
    checked = list(dict.fromkeys(tags))
    if isinstance(tags, str) or not all(isinstance(tag, str) and tag and _is_text(tag) for tag in checked):
        raise ValueError("tags must be a list of non-empty strings of valid Unicode")
    return checked


def _checked_attributes(attributes: Mapping[str, str | int | float | bool]) -> JsonObject:
    for key, value in attributes.items():
        finite = isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
        if not isinstance(key, str) or not finite or not _is_text(key) or not _is_text(value):
            raise ValueError(f"the attribute {key!r} must be a string, a finite number or a boolean, in valid Unicode")
    return dict(attributes)
