# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`with ModuleTracer(model, ...): model(batch)` adds one capture bundle to a folder."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType

from torch import nn

from modulelens.background import BackgroundWriter, write_sample
from modulelens.json_types import JsonObject
from modulelens.names import name_modules
from modulelens.problems import Problems, storage_sentence
from modulelens.sample import Sample, SampleOptions
from modulelens.selection import Predicate, Selector, select
from modulelens.sharding import SHARDED_CHOICES, Sharded, spread_over_ranks

_NOTHING_CALLED = (
    "no module of the model was called in the traced block; no bundle written "
    "(a CUDA graph that is replayed calls no module)"
)


class ModuleTracer:
    """Captures the calls of a model's modules while its `with` block is open.

    A block is one step; `step()` inside a block ends a step and begins the next. Each sampled step adds one bundle.

    Where it goes:
        store: the folder that gets the bundles; or
        registry: the folder of a registry, whose inbox gets them and which imports them by itself.
        model_name: the name under which the registry keeps the model.
        tags, attributes, run_id: go with every version; `run_id` is the attribute "run_id".

    What is kept:
        select, exclude: modules whose tensors are kept: globs ("encoder.layer.*"), "re:PATTERN", "class:NAME",
            "depth:N", classes, or predicates over (name, module). Every module call is in the call tree anyway.
        methods: methods besides `forward` whose calls count as calls of their module.
        every: samples the first step and each `every`-th after it; other steps run untouched.
        max_steps: sampled steps in all. max_calls: kept calls of each module in a step.
        max_bytes, max_tensor_bytes: budgets for tensor data; what exceeds them becomes a visible gap.

    What is made of it:
        programs: exports one program per kept module after the step; dynamic_batch makes dimension 0 dynamic where
            export proves it.
        flops: records what torch's own counter says of each kept call, replayed after the step.
        backward: keeps gradients too: those that a backward pass inside the step gave the outputs, and those that eager
            PyTorch, run again on a copy after the step, gives inputs and parameters.
        peak_memory: records the allocator's peak of each call; resets the peak statistics of the accelerator.

    How it runs:
        eager_step: compiled modules run eagerly in sampled steps, as only then their calls can be seen.
        background: bundles are written by another thread, and a process of its own makes programs, `flops` and
            `backward` of rebuilt modules; `wait()` waits for them, and so does the end of the process. A step that
            comes due while values are still being written is not sampled; over several ranks it waits, as all must
            sample the same steps. Classes that cannot be imported elsewhere (of the script itself, say) get no program.
            After a kill `python -m modulelens export STORE` completes what is left.

    Over several ranks (each traces the same block into the same store):
        sharded: "full" gives one bundle of whole modules, put together by the first rank after the step; "local" one
            bundle a rank, for `python -m modulelens merge`; "touched-rows" is "full" with only those rows of torchrec's
            embedding tables that the captured ids use, the ids renumbered. No rank waits for another inside the step.
        rank_timeout: seconds for which the first rank waits for the others after the step.

    Wrong arguments raise ValueError at once. Afterwards nothing of the tracer's raises: what it could not do is in
    `problems`, with one warning. The model is left as it was, also when the block raises.
    """

    def __init__(
        self,
        model: nn.Module,
        store: str | Path | None = None,
        model_name: str = "",
        select: Iterable[Selector] = ("**",),
        exclude: Iterable[Selector] = (),
        tags: Iterable[str] = (),
        attributes: Mapping[str, str | int | float | bool] | None = None,
        run_id: str | None = None,
        registry: str | Path | None = None,
        methods: Iterable[str] = (),
        every: int = 1,
        max_steps: int | None = None,
        max_calls: int = 16,
        max_bytes: int | None = None,
        max_tensor_bytes: int | None = None,
        programs: bool = True,
        dynamic_batch: bool = True,
        flops: bool = False,
        backward: bool = False,
        peak_memory: bool = False,
        eager_step: bool = True,
        background: bool = False,
        sharded: Sharded = "full",
        rank_timeout: float = 120.0,
    ) -> None:
        if every < 1 or (max_steps is not None and max_steps < 0):
            raise ValueError("every must be at least 1, and max_steps not negative")
        if isinstance(methods, str):
            raise ValueError("methods must be a list of names")
        if sharded not in SHARDED_CHOICES:
            raise ValueError(f"sharded must be one of {', '.join(map(repr, SHARDED_CHOICES))}")
        named = _checked_attributes({**(attributes or {}), **({} if run_id is None else {"run_id": run_id})})
        self._model = model
        name_modules(model)
        self._options = SampleOptions(
            store=_store_folder(store, registry),
            model_name=_checked_name(model_name),
            chosen=_predicate(select, exclude),
            methods=tuple(methods),
            tags=tuple(_checked_tags(tags)),
            attributes=named,
            programs=programs,
            flops=flops,
            dynamic_batch=dynamic_batch,
            max_calls=max_calls,
            max_bytes=max_bytes,
            max_tensor_bytes=max_tensor_bytes,
            backward=backward,
            peak_memory=peak_memory,
            eager_step=eager_step,
            background=background,
            sharded=sharded,
            rank_timeout=rank_timeout,
        )
        self._every = every
        self._left = max_steps
        self._steps = 0
        self._depth = 0
        self._sample: Sample | None = None
        self._may_be_empty = False
        self._problems = Problems()
        self._bundles: list[Path] = []
        self._failed = False
        self._writer: BackgroundWriter | None = None

    @property
    def bundle(self) -> Path | None:
        """The bundle of the last sampled step; None when it could not be written, is still being written, or is the
        first rank's."""
        is_busy = self._writer is not None and self._writer.is_alive()
        return self._bundles[-1] if self._bundles and not self._failed and not is_busy else None

    @property
    def bundles(self) -> list[Path]:
        """The bundles of all steps that were sampled, as far as they are written."""
        return list(self._bundles)

    @property
    def problems(self) -> list[JsonObject]:
        """What could not be done, as the bundles list it."""
        return self._problems.entries

    def __enter__(self) -> ModuleTracer:
        self._depth += 1
        if self._depth == 1:
            self._open_step(may_be_empty=False)
        else:
            self._problems.add("", "start", "the tracer's block is open already; the inner block adds nothing")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._close_step(error)

    def step(self) -> None:
        """Ends a step inside the block and begins the next."""
        if self._depth == 0:
            self._problems.add("", "step", "step() was called outside the tracer's block, where it does nothing")
            return
        self._close_step(None)
        self._open_step(may_be_empty=True)

    def wait(self) -> None:
        """Waits until everything is written. Only a tracer with `background` has anything to wait for."""
        if self._writer is not None:
            self._writer.join()

    def _open_step(self, may_be_empty: bool) -> None:
        number = self._steps
        self._steps += 1
        if number % self._every or self._left == 0:
            return
        if self._writer is not None and not self._writer.has_written(wait=spread_over_ranks()):
            text = f"step {number} was not sampled: the bundle of an earlier step was still being written"
            self._problems.add("", "start", text)
            return
        self._may_be_empty = may_be_empty
        problems = Problems(self._problems)
        self._failed = True
        try:
            # Named anew, since a model may get other modules between steps.
            self._sample = Sample(self._model, name_modules(self._model), self._options, problems, number)
            self._sample.attach()
        except OSError as error:
            self._problems.add("", "start", storage_sentence(self._options.store, error))
            self._drop_sample()
        except Exception as error:
            self._problems.add("", "start", error)
            self._drop_sample()

    def _close_step(self, error: BaseException | None) -> None:
        sample = self._sample
        if sample is None:
            return
        try:
            sample.detach()
            if sample.is_empty:
                if not self._may_be_empty:
                    self._problems.add("", "write", _NOTHING_CALLED)
                self._drop_sample()
                return
            sample.finish(error)
        except Exception as failure:
            self._problems.add("", "write", failure)
            self._drop_sample()
            return
        except BaseException:
            self._drop_sample()
            raise
        if self._left is not None:
            self._left -= 1
        self._sample = None
        if self._options.background:
            self._writer = BackgroundWriter(sample, self._problems, self._take, self._writer)
            self._writer.start()
        else:
            self._take(write_sample(sample, self._problems))

    def _take(self, bundle: Path | None) -> None:
        self._failed = bundle is None
        if bundle is not None:
            self._bundles.append(bundle)

    def _drop_sample(self) -> None:
        sample, self._sample = self._sample, None
        if sample is None:
            return
        try:
            sample.detach()
            sample.discard()
        except Exception as error:
            self._problems.add("", "stop", error)


def _store_folder(store: str | Path | None, registry: str | Path | None) -> Path:
    if (store is None) == (registry is None):
        raise ValueError("give either store, a folder for bundles, or registry, the folder of a registry")
    return Path(store).expanduser() if store is not None else Path(registry or "").expanduser() / "inbox"


def _predicate(selectors: Iterable[Selector], excluded: Iterable[Selector]) -> Predicate:
    return select(selectors, excluded)


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
