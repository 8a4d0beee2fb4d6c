# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Turns the begin and the end of every module call into run records and captured calls."""

from __future__ import annotations

import contextlib
import datetime
import functools
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import _disable_current_modes

from modulelens.gradients import OutputGradients
from modulelens.json_types import Json, JsonObject, pointer_token
from modulelens.measurements import DeviceMeter, DeviceSpan
from modulelens.names import NamedModule
from modulelens.nodes import NodeDescriber, class_of
from modulelens.problems import Problems
from modulelens.record import CapturedCall, ModuleRecord, Run
from modulelens.references import qualified_name
from modulelens.sharding import Sharding
from modulelens.state import changed, module_size, state_references
from modulelens.tensor_store import ShapeSink, TensorStore, dtype_name
from modulelens.values import Scope, ValueEncoder, can_change, gap, tensors_in, without_data


@dataclass
class _Frame:
    """One open module call."""

    named: NamedModule
    run: Run
    entry: JsonObject
    outer_error: BaseException | None
    captured: CapturedCall | None = None
    scope: Scope | None = None
    state: JsonObject = field(default_factory=dict)
    random_state: torch.Tensor | None = None
    begun: int = 0
    method: str = "forward"
    is_recompute: bool = False
    recomputed: CapturedCall | None = None
    span: DeviceSpan | None = None
    peak: int = 0
    held: dict[str, Any] = field(default_factory=dict)
    """Arguments by pointer that the call may put other values into: lists, dicts, caches."""


class _ThreadState(threading.local):
    """The open calls of one thread, and the time that the tracer itself has spent in it."""

    def __init__(self) -> None:
        self.frames: list[_Frame] = []
        self.overhead = 0
        self.device_overhead: list[tuple[Any, Any]] = []


@dataclass
class RecorderOptions:
    """What is kept of the calls."""

    kept: set[str]
    max_calls: int = 16
    step: int = 0
    peak_memory: bool = False


class Recorder:
    """Records calls from any thread, one at a time under one lock. Its own errors go to `problems`."""

    def __init__(
        self,
        store: TensorStore,
        describer: NodeDescriber,
        problems: Problems,
        options: RecorderOptions,
        gradients: OutputGradients | None = None,
        meter: DeviceMeter | None = None,
        sharding: Sharding | None = None,
    ) -> None:
        self.runs: list[Run] = []
        self.records: dict[str, ModuleRecord] = {}
        self._store = store
        self._describer = describer
        self._problems = problems
        self._options = options
        self._gradients = gradients
        self._meter = meter
        self._sharding = sharding
        self._lock = threading.RLock()
        self._thread = _ThreadState()
        self._encoder = describer.encoder()
        self._shapes = ValueEncoder(ShapeSink(), sharding=sharding)
        self._open_run: Run | None = None
        self._run_started = 0
        self._counts: dict[str, int] = {}
        self._sizes: dict[str, tuple[int, int]] = {}
        self._unsized_records: list[ModuleRecord] = []
        self._unsized: list[tuple[JsonObject, NamedModule]] = []
        self._spans: list[tuple[JsonObject, DeviceSpan]] = []

    def is_open(self, named: NamedModule, method: str) -> bool:
        """Whether this thread is inside a call of the module: for `forward` any, for other methods that very one."""
        frames = self._thread.frames
        if method == "forward":
            return any(frame.named is named for frame in frames)
        return bool(frames) and frames[-1].named is named and frames[-1].method == method

    def begin(
        self,
        named: NamedModule,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        method: str = "forward",
        is_direct: bool = False,
    ) -> None:
        """Notes that a module call begins, and snapshots what it is given when its tensors are kept."""
        if _is_capturing_graph():
            self._problems.add(named.name, "begin", _GRAPH_REFUSAL)
            return
        entered = time.perf_counter_ns()
        mark = self._enter_device()
        frame = None
        with self._lock, _undisturbed():
            try:
                frame = self._open_frame(named, entered, method)
                if is_direct:
                    frame.entry["direct"] = True
                self._begin(frame, args, kwargs)
            except Exception as error:
                self._problems.add(named.name, "begin", error)
        if frame is not None:
            self._begin_measuring(frame, mark)
        self._thread.overhead += time.perf_counter_ns() - entered
        if frame is not None:
            frame.begun = time.perf_counter_ns() - self._thread.overhead
            frame.entry["start_ns"] = max(frame.begun - self._run_started, 0)

    def end(self, named: NamedModule, output: Any) -> None:
        """Notes that a module call has returned or raised, and snapshots what it gave."""
        entered = time.perf_counter_ns()
        finished = entered - self._thread.overhead
        mark = self._enter_device()
        with self._lock, _undisturbed():
            frame = self._close_frame(named)
            if frame is not None:
                frame.entry["host_ns"] = max(finished - frame.begun, 0)
                self._end_measuring(frame, mark)
                try:
                    self._end(frame, output, _raised(frame.outer_error, output))
                except Exception as error:
                    self._problems.add(named.name, "end", error)
                    if frame.captured is not None:
                        frame.captured.document["output"] = gap(output, f"{type(error).__name__}: {error}")
                self._leave_run(frame, finished)
        if frame is not None:
            self._leave_device(mark)
        self._thread.overhead += time.perf_counter_ns() - entered

    def settle(self) -> None:
        """Does after the step what need not be done in it: sizes, and the device's clock, for which it waits."""
        for entry, named in self._unsized:
            try:
                self._size(entry, named)
            except Exception as error:
                self._problems.add(named.name, "settle", error)
        self._unsized.clear()
        for record in self._unsized_records:
            try:
                record.parameter_bytes, record.parameter_count = module_size(record.module, None)
            except Exception as error:
                self._problems.add(record.name, "settle", error)
        self._unsized_records.clear()
        for entry, span in self._spans:
            try:
                entry["device_ns"] = span.nanoseconds()
            except Exception as error:
                self._problems.add(entry["module"], "measure", error)
        self._spans.clear()

    def _enter_device(self) -> Any:
        """Marks where the tracer's own work on the device begins, and notes the peak that the model has reached."""
        if self._meter is None:
            return None
        try:
            if self._options.peak_memory:
                peak = self._meter.take_peak()
                for frame in self._thread.frames:
                    frame.peak = max(frame.peak, peak)
            return self._meter.mark()
        except Exception as error:
            self._problems.add("", "measure", error)
            return None

    def _leave_device(self, mark: Any) -> None:
        if self._meter is None or mark is None:
            return
        try:
            self._thread.device_overhead.append((mark, self._meter.mark()))
            if self._options.peak_memory:
                self._meter.take_peak()
        except Exception as error:
            self._problems.add("", "measure", error)

    def _begin_measuring(self, frame: _Frame, mark: Any) -> None:
        if self._meter is None or mark is None:
            return
        try:
            frame.entry["allocated_bytes"] = frame.peak = self._meter.allocated()
            self._leave_device(mark)
            frame.span = DeviceSpan(self._meter, self._thread.device_overhead)
        except Exception as error:
            self._problems.add(frame.named.name, "measure", error)

    def _end_measuring(self, frame: _Frame, mark: Any) -> None:
        if frame.span is None or mark is None:
            return
        frame.span.close(mark)
        self._spans.append((frame.entry, frame.span))
        if self._options.peak_memory:
            frame.entry["peak_bytes"] = frame.peak

    def close(self) -> None:
        """Ends whatever a raised exception left open on this thread."""
        while self._thread.frames:
            self._abandon(self._thread.frames.pop())
        self._open_run = None
        if self._gradients is not None:
            self._gradients.close()

    def _open_frame(self, named: NamedModule, entered: int, method: str) -> _Frame:
        frames = self._thread.frames
        original = self._recomputed(named)
        if original is not None:
            run = self.runs[-1]
            above = frames[-1].entry["id"] if frames else original["parent"]
            entry = self._entry(named, len(run.calls), above or 0)
            entry["method"], entry["recompute"] = method, True
            run.calls.append(entry)
            frame = _Frame(named, run, entry, sys.exc_info()[1], method=method, is_recompute=True)
            frames.append(frame)
            return frame
        if self._open_run is None:
            self._store.clear_cache()
            self._counts = {}
            started = datetime.datetime.now(datetime.timezone.utc)
            text = started.isoformat(timespec="microseconds").replace("+00:00", "Z")
            self._open_run = Run(self._options.step, text)
            self._run_started = entered - self._thread.overhead
            self.runs.append(self._open_run)
        run = frames[-1].run if frames else self._open_run
        parent = frames[-1].entry["id"] if frames else (0 if run.calls else None)
        entry = self._entry(named, len(run.calls), parent)
        entry["method"] = method
        run.calls.append(entry)
        frame = _Frame(named, run, entry, sys.exc_info()[1], method=method)
        frames.append(frame)
        return frame

    def _recomputed(self, named: NamedModule) -> JsonObject | None:
        """The call that checkpointing computes again: a backward pass calls a module of the last run."""
        if torch._C._current_graph_task_id() == -1 or not self.runs:
            return None
        calls = (call for call in reversed(self.runs[-1].calls) if call["module"] == named.name)
        return next((call for call in calls if "recompute" not in call), None)

    def _entry(self, named: NamedModule, number: int, parent: int | None) -> JsonObject:
        count = self._counts.get(named.name, 0)
        self._counts[named.name] = count + 1
        entry: JsonObject = {
            "id": number,
            "parent": parent,
            "module": named.name,
            "class": self._class_name(named.module),
            "call": count,
            "method": "forward",
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
        if self._sharding is None:
            self._unsized.append((entry, named))
        else:  # parameters may be whole only now
            self._size(entry, named)
        return entry

    def _size(self, entry: JsonObject, named: NamedModule) -> None:
        if named.name not in self._sizes:
            own = module_size(named.module, self._sharding, recurse=False)[0]
            self._sizes[named.name] = (module_size(named.module, self._sharding)[0], own)
        entry["parameter_bytes"], entry["own_parameter_bytes"] = self._sizes[named.name]

    def _begin(self, frame: _Frame, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._sharding is not None:
            self._sharding.begin(frame.named.module, len(self.runs) - 1)
        record = None if frame.is_recompute else self._record_for(frame.named)
        if record is None:
            if frame.is_recompute and self._gradients is not None:
                self._find_recomputed(frame, args, kwargs)
            encoded = {"args": self._shapes.encode(list(args)), "kwargs": self._shapes.encode(dict(kwargs))}
            frame.entry["inputs"] = _shapes_of(encoded, "")
            return
        module = frame.named.module
        frame.scope = Scope()
        call = _conditions(module, frame.method)
        if "direct" in frame.entry:
            call["direct"] = True
        call["args"] = self._encoder.encode(list(args), frame.scope)
        call["kwargs"] = {key: self._encoder.encode(value, frame.scope) for key, value in kwargs.items()}
        frame.held = {
            **{f"/args/{i}": args[i] for i, value in enumerate(call["args"]) if can_change(value)},
            **{f"/kwargs{pointer_token(k)}": kwargs[k] for k, value in call["kwargs"].items() if can_change(value)},
        }
        if record.calls:
            with self._store.state():
                frame.state = self._state_of(module)
                if self._describer.skeleton(module) != record.skeleton:
                    call["node"] = self._describer.describe(module)[0]
        else:
            frame.state = record.tensors
        call["state_before"] = changed(record.tensors, frame.state)
        frame.random_state = torch.get_rng_state()
        frame.captured = CapturedCall(call, [part.training for part in module.modules()])
        frame.entry["inputs"] = _shapes_of({"args": call["args"], "kwargs": call["kwargs"]}, "")
        frame.entry["version_call"] = len(record.calls)
        frame.entry["version"] = frame.named.name
        record.calls.append(frame.captured)

    def _class_name(self, module: nn.Module) -> str:
        return qualified_name(class_of(module if self._sharding is None else self._sharding.plain(module)))

    def _state_of(self, module: nn.Module) -> JsonObject:
        return state_references(module, self._encoder, self._sharding)

    def _record_for(self, named: NamedModule) -> ModuleRecord | None:
        if named.name not in self._options.kept:
            return None
        record = self.records.get(named.name)
        if record is None:
            module = named.module
            total, count = module_size(module, self._sharding) if self._sharding is not None else (0, 0)
            with self._store.state():
                node, skeleton = self._describer.describe(module)
                tensors = self._state_of(module)
            record = self.records[named.name] = ModuleRecord(
                name=named.name,
                aliases=named.aliases,
                module=module,
                class_name=self._class_name(module),
                run=len(self.runs) - 1,
                node=node,
                skeleton=skeleton,
                tensors=tensors,
                parameter_bytes=total,
                parameter_count=count,
            )
            if self._sharding is None:
                self._unsized_records.append(record)
            record.restore = functools.partial(self._attributes_then, record)
        return record if len(record.calls) < self._options.max_calls else None

    def _attributes_then(self, record: ModuleRecord, captured: CapturedCall) -> list[dict[str, Any]] | None:
        changes = any("node" in call.document for call in record.calls)
        if not changes and self._describer.skeleton(record.module) == record.skeleton:
            return None
        return self._describer.attributes_then(record.module, record.node_of(captured))

    def _find_recomputed(self, frame: _Frame, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Reentrant checkpointing runs the call without gradients first: they come to what is computed again."""
        record = self.records.get(frame.named.name)
        if record is None or not torch.is_grad_enabled():
            return
        given = {
            "args": self._encoder.encode(list(args)),
            "kwargs": {key: self._encoder.encode(value) for key, value in kwargs.items()},
        }
        for captured in record.calls:
            call = captured.document
            if not call["grad_mode"] and _content(given) == _content({"args": call["args"], "kwargs": call["kwargs"]}):
                frame.recomputed = captured

    def _end(self, frame: _Frame, output: Any, error: BaseException | None) -> None:
        if error is not None:
            frame.entry["exception"] = _exception(error)
        captured, scope = frame.captured, frame.scope
        if captured is None or scope is None:
            if error is None:
                frame.entry["outputs"] = _shapes_of(self._shapes.encode(output), "/output")
                if frame.recomputed is not None and self._gradients is not None:
                    again = Scope()
                    encoded = self._shapes.encode(output, again)
                    self._gradients.watch(frame.recomputed, encoded, again, self._lock)
            return
        call = captured.document
        if self._sharding is not None and error is None:
            output = self._sharding.output(frame.named.module, output)
        if error is not None:
            call["exception"] = _exception(error)
        else:
            call["output"] = self._encoder.encode(output, scope)
            frame.entry["outputs"] = _shapes_of(call["output"], "/output")
            if self._gradients is not None:
                self._gradients.watch(captured, call["output"], scope, self._lock)
        call["mutated"] = self._mutated(call, scope)
        after = self._inputs_after(frame, call, scope)
        if after:
            call["inputs_after"] = after
        with self._store.state():
            call["state_after"] = changed(frame.state, self._state_of(frame.named.module))
        if frame.random_state is not None and not torch.equal(frame.random_state, torch.get_rng_state()):
            call["rng"] = {"cpu": self._store.put(frame.random_state)}

    def _mutated(self, call: JsonObject, scope: Scope) -> JsonObject:
        mutated: JsonObject = {}
        for key in ("args", "kwargs"):
            for pointer, before in tensors_in(call[key], f"/{key}"):
                after = self._encoder.encode(scope.tensors[before["obj"]], scope)
                if after != before:
                    mutated[pointer] = {name: value for name, value in after.items() if name != "$t"}
        return mutated

    def _inputs_after(self, frame: _Frame, call: JsonObject, scope: Scope) -> JsonObject:
        """The arguments that hold other values than before, as a cache does; what tensors hold is in `mutated`."""
        changed_inputs: JsonObject = {}
        for key in ("args", "kwargs"):
            items = enumerate(call[key]) if key == "args" else call[key].items()
            for name, before in items:
                pointer = f"/{key}{pointer_token(name)}"
                if pointer in frame.held:
                    after = self._encoder.encode(frame.held[pointer], scope)
                    if without_data(after) != without_data(before):
                        changed_inputs[pointer] = after
        return changed_inputs

    def _close_frame(self, named: NamedModule) -> _Frame | None:
        frames = self._thread.frames
        if not any(frame.named is named for frame in frames):
            return None
        while frames[-1].named is not named:
            self._abandon(frames.pop())
        return frames.pop()

    def _abandon(self, frame: _Frame) -> None:
        unseen = {"type": "BaseException", "message": "the call did not return"}
        frame.entry["exception"] = unseen
        if frame.captured is not None:
            frame.captured.document["exception"] = unseen

    def _leave_run(self, frame: _Frame, finished: int) -> None:
        if frame.entry["parent"] is None:
            frame.run.duration_ns = finished - self._run_started
            self._open_run = None


_GRAPH_REFUSAL = (
    "a CUDA graph is being captured: its kernels run later, so there are no values to keep; "
    "trace a step that runs eagerly"
)


def _is_capturing_graph() -> bool:
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


def _content(encoded: Json) -> list[Any]:
    """What an encoded value holds, whatever its tensors' objects, storages and need for gradients."""
    return [(path, reference.get("ref"), reference["shape"]) for path, reference in tensors_in(encoded, "")]


def _undisturbed() -> contextlib.AbstractContextManager[object]:
    """Keeps the tracer's own operators from whatever watches the model's (FLOP counters, profilers)."""
    if torch._C._len_torch_dispatch_stack() == 0:
        return contextlib.nullcontext()
    return _disable_current_modes()


def _raised(outer: BaseException | None, output: Any) -> BaseException | None:
    """The exception that the call raised: torch runs our hook inside its handler, with no output."""
    current = sys.exc_info()[1]
    return current if output is None and current is not outer else None


def _exception(error: BaseException) -> JsonObject:
    return {"type": type(error).__name__, "message": str(error)[:1000]}


def _shapes_of(encoded: Json, pointer: str) -> list[JsonObject]:
    return [
        {"path": path, "dtype": reference["dtype"], "shape": reference["shape"]}
        for path, reference in tensors_in(encoded, pointer, ("tensor", "shard"))
    ]


def _conditions(module: nn.Module, method: str) -> JsonObject:
    return {
        "method": method,
        "training": module.training,
        "grad_mode": torch.is_grad_enabled(),
        "inference_mode": torch.is_inference_mode_enabled(),
        "autocast": _autocast(),
        "args": [],
        "kwargs": {},
        "output": None,
        "exception": None,
        "mutated": {},
        "state_before": {},
        "state_after": {},
        "rng": None,
        "program": None,
        "gradients": None,
    }


def _autocast() -> list[JsonObject] | None:
    devices = ["cpu"]
    if torch.accelerator.is_available():
        accelerator = torch.accelerator.current_accelerator()
        devices += [accelerator.type] if accelerator is not None else []
    cache = torch.is_autocast_cache_enabled()
    active = [
        {
            "device": device,
            "dtype": dtype_name(torch.get_autocast_dtype(device)),
            "cache": cache,
        }
        for device in devices
        if torch.is_autocast_enabled(device)
    ]
    return active or None
