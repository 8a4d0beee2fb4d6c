# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The methods of the protocol on rebuilt modules. Confined to the executing thread."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import itertools
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from modulelens.decoding import DecodeError
from modulelens.json_types import JsonObject
from modulelens.safetensors_file import StoredTensor, write_safetensors
from modulelens.tensor_store import dtype_name
from modulelens.version import __version__
from modulelens.worker import machine
from modulelens.worker.benchmark import benchmark, check_settings
from modulelens.worker.comparison import tensors_of
from modulelens.worker.data import TensorData, parse_extent
from modulelens.worker.decoder import DeviceMap, SourceDecoder, no_module
from modulelens.worker.dispatcher import Job
from modulelens.worker.edited import EditedSource, install_edited, parse_edited, source_differences
from modulelens.worker.errors import WorkerError, is_out_of_memory
from modulelens.worker.gradient_check import check_gradients
from modulelens.worker.leaves import on_host
from modulelens.worker.loaded import BoundCall, LoadedModule
from modulelens.worker.params import optional, required, strings
from modulelens.worker.rebuild import RUNGS, Blueprint, nodes_below, rebuild
from modulelens.worker.trust import CodeResolver, NeededCode, needed_code, path_digest
from modulelens.worker.validation import validate

_PROTOCOL = 1
_MOST_THREADS = 4096
_LARGE = 256 << 20
_TORCH_FOLDER = str(Path(torch.__file__).parent)
_OWN_FOLDER = str(Path(__file__).parent.parent)


class Engine:
    """Holds what is loaded. Every method takes the parameters of its request and the job, and returns the result."""

    def __init__(self, python_path: list[str]) -> None:
        self._python_path = python_path
        self._loaded: dict[int, LoadedModule] = {}
        self._blueprints: dict[int, Blueprint] = {}
        self._variants: dict[tuple[int, str], LoadedModule] = {}
        self._handles = itertools.count(1)
        self._files = itertools.count(1)
        self._scratch = Path()
        self._threads = torch.get_num_threads()

    def initialize(self, params: Any, capabilities: list[str]) -> JsonObject:
        where = "initialize"
        version = required(params, "protocol_version", int, where)
        if version != _PROTOCOL:
            raise WorkerError(
                "invalid_argument", f"the client speaks protocol version {version}, this worker {_PROTOCOL}"
            )
        required(params, "client", str, where)
        scratch = Path(required(params, "scratch_folder", str, where))
        if not scratch.is_dir():
            raise WorkerError("not_found", f"there is no scratch folder {scratch}")
        self._scratch = scratch
        threads = optional(params, "threads", int, where)
        if threads is not None:
            self._threads = _checked_threads(threads)
        torch.set_num_threads(self._threads)
        return {
            "host": machine.environment("cpu")["host"],
            "protocol_version": _PROTOCOL,
            "worker": f"modulelens-python-worker {__version__} ({sys.executable})",
            "engine": "source",
            "torch_version": torch.__version__,
            "threads": torch.get_num_threads(),
            "devices": machine.devices(),
            "capabilities": capabilities,
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
        }

    def code(self, params: Any, job: Job) -> JsonObject:
        """Which code loading would run, without running any of it."""
        source = required(params, "source", dict, "code")
        needed = self._needed(source)
        return {
            "sha256": needed.sha256,
            "names": sorted(needed.names),
            "packages": needed.packages,
            "sentence": needed.sentence(),
        }

    def load(self, params: Any, job: Job) -> JsonObject:
        where = "load"
        begin = time.perf_counter_ns()
        job.progress("load")
        name = required(params, "name", str, where)
        state = required(params, "state", dict, where)
        data = TensorData(required(params, "tensors", list, where))
        device = machine.checked_device(required(params, "device", str, where))
        source = optional(params, "source", dict, where)
        if source is None:
            raise WorkerError(
                "unsupported",
                "the Python worker rebuilds modules from their state, and this request names a program alone",
                "Use the program engine.",
            )
        needed = self._needed(source)
        consent = strings(params, "consent", where)
        if needed.sha256 is not None and needed.sha256 not in consent:
            raise WorkerError(
                "consent_needed",
                f"'{name}' runs code of {needed.sentence()} (sha256 {needed.sha256[:12]})",
                "If you trust where it comes from, repeat the command with --trust.",
            )
        loaded, blueprint, reasons, differences = self._rebuild(name, params, source, state, data, device, needed, job)
        handle = next(self._handles)
        self._loaded[handle] = loaded
        self._blueprints[handle] = blueprint
        return {
            "handle": handle,
            "load_ns": time.perf_counter_ns() - begin,
            "operator_count": 0,
            "warnings": loaded.warnings,
            "how": loaded.how,
            "reasons": reasons,
            "differences": differences,
        }

    def _needed(self, source: JsonObject) -> NeededCode:
        nodes = required(source, "nodes", dict, "source")
        values = optional(source, "values", list, "source") or []
        needed = needed_code(nodes, values)
        edited = parse_edited(optional(source, "edited", dict, "source"))
        if edited is not None:
            needed.files.append(f"edited source {edited.file.name} {edited.sha256}")
        for folder in self._python_path:
            needed.files.append(f"Python files {path_digest(Path(folder))}")
        return needed

    def _rebuild(
        self, name: str, params: Any, source: JsonObject, state: JsonObject, data: TensorData, device: str,
        needed: NeededCode, job: Job,
    ) -> tuple[LoadedModule, Blueprint, list[str], list[JsonObject]]:  # fmt: skip
        nodes = required(source, "nodes", dict, "source")
        root = required(source, "root", str, "source")
        resolver = CodeResolver(needed.packages)
        for folder in reversed(self._python_path):
            if folder not in sys.path:
                sys.path.insert(0, folder)
        devices = DeviceMap(device, optional(source, "captured_device", str, "source") or "cpu")
        edited = parse_edited(optional(source, "edited", dict, "source"))
        replaced: set[str] = set()
        with job.interruptible():
            if edited is not None:
                replaced = self._install(edited, nodes, root, resolver)
            program = optional(params, "program", dict, "load")
            blueprint = Blueprint(
                root=root,
                name=optional(source, "module", str, "source") or "",
                nodes=nodes,
                state=state,
                resolver=resolver,
                decoder=lambda find: SourceDecoder(data.bytes_of, resolver, devices, find or no_module),
                program=None if program is None or edited is not None else parse_extent(program, "the program's place"),
                edited=replaced,
            )
            rungs = tuple(strings(source, "rungs", "source")) or RUNGS
            if not set(rungs) <= set(RUNGS):
                raise WorkerError("invalid_argument", f"there is no way of rebuilding called {', '.join(rungs)}")
            built = rebuild(blueprint, rungs)
        # What became of torch's own classes, the version of torch tells; but an edit takes the place of any class.
        classes = {
            node["class"]: node["source"]
            for node in nodes_below(nodes, root)
            if isinstance(node.get("source"), str)
            and (not node["class"].startswith("torch.") or node["class"] in replaced)
        }
        differences = source_differences(classes, optional(source, "sources", dict, "source") or {}, resolver)
        warnings = list(built.warnings)
        for entry in differences:
            if entry["class"] not in replaced:
                warnings.append(
                    f"The source of {entry['class']} is not the captured one: results may differ for that reason."
                )
        loaded = LoadedModule(
            name=name,
            module=built.module,
            how=built.how,
            tensors=built.tensors,
            state=state,
            data=data,
            resolver=resolver,
            devices=devices,
            node=blueprint.node(root),
            module_name=blueprint.name,
            warnings=warnings,
        )
        return loaded, blueprint, built.reasons, differences

    def _install(self, edited: EditedSource, nodes: JsonObject, root: str, resolver: CodeResolver) -> set[str]:
        below = nodes_below(nodes, root)
        if not below:
            raise WorkerError("corrupt", "the version's own node is missing")
        return install_edited(edited, nodes[root]["class"], {node["class"] for node in below}, resolver)

    def unload(self, params: Any, job: Job) -> None:
        self._find(required(params, "handle", int, "unload"))
        handle = params["handle"]
        loaded = self._loaded.pop(handle)
        del self._blueprints[handle]
        self._variants = {key: variant for key, variant in self._variants.items() if key[0] != handle}
        size = sum(tensor.numel() * tensor.element_size() for tensor in loaded.tensors.values())
        del loaded
        if size > _LARGE:
            gc.collect()

    def run(self, params: Any, job: Job) -> JsonObject:
        with self._bound(params, "run", job) as bound:
            job.progress("run")
            outcome = bound.run()
            tensors: dict[str, StoredTensor] = {}
            outputs: list[JsonObject] = []
            for pointer, tensor in tensors_of(outcome.output):
                key = f"{len(outputs)}"
                stored = on_host(tensor)
                tensors[key] = StoredTensor(stored, list(stored.shape), stored.dtype)
                outputs.append(
                    {"pointer": pointer, "dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape), "key": key}
                )
            file = self._file("run")
            write_safetensors(file, tensors)
            return {"file": str(file), "outputs": outputs, "host_ns": outcome.host_ns}

    def validate(self, params: Any, job: Job) -> JsonObject:
        repeats = optional(params, "repeats", int, "validate")
        if repeats is not None and not 1 <= repeats <= 1000:
            raise WorkerError("invalid_argument", "the number of repeats must be from 1 to 1000")
        oracle = bool(optional(params, "oracle", bool, "validate"))
        same_calls = [call for call in optional(params, "same_calls", list, "validate") or [] if isinstance(call, dict)]
        with self._bound(params, "validate", job) as bound:
            if bound.call.get("exception") is not None:
                reason = f"the captured call raised {bound.call['exception'].get('type')}"
                result: JsonObject = {"verdict": "not_comparable", "exact": False, "leaves": [], "reason": reason}
            else:
                result = validate(bound, repeats, oracle, same_calls, job)
            return {**result, "threads": torch.get_num_threads()}

    def gradients(self, params: Any, job: Job) -> JsonObject:
        with self._bound(params, "gradients", job) as bound:
            return {**check_gradients(bound, job), "threads": torch.get_num_threads()}

    def benchmark(self, params: Any, job: Job) -> JsonObject:
        call = required(params, "call", dict, "benchmark")
        against = optional(params, "against", dict, "benchmark")
        for key in ("warmup_runs", "repetitions", "budget_ms", "seed"):
            optional(params, key, int, "benchmark")
        check_settings(params)
        with self._bound(call, "benchmark", job) as first, contextlib.ExitStack() as stack:
            second = None
            if against is not None:
                other = required(against, "handle", int, "benchmark")
                if other == call["handle"]:
                    if against.get("call") != call.get("call"):
                        raise WorkerError(
                            "invalid_argument", "both sides name one handle and different calls", "Load it twice."
                        )
                    second = first
                else:
                    second = stack.enter_context(self._opened(against, "benchmark", job))
            return benchmark(first, second, params, job)

    def profile(self, params: Any, job: Job) -> JsonObject:
        from modulelens.worker.profiler import profile

        call = required(params, "call", dict, "profile")
        with self._bound(call, "profile", job) as bound:
            return profile(bound, params, self._file("profile"), job)

    def memory(self, params: Any, job: Job) -> JsonObject:
        from modulelens.worker.memory import measure_memory

        call = required(params, "call", dict, "memory")
        with self._bound(call, "memory", job) as bound:
            return measure_memory(bound, params, self._file("memory"), self._file("timeline"), job)

    def _find(self, handle: int) -> LoadedModule:
        if handle not in self._loaded:
            raise WorkerError("not_found", f"no module is loaded under the handle {handle}", "Load it first.")
        return self._loaded[handle]

    def _file(self, kind: str) -> Path:
        return self._scratch / f"python-{kind}-{next(self._files)}.safetensors"

    @contextlib.contextmanager
    def _bound(self, params: Any, where: str, job: Job) -> Iterator[BoundCall]:
        """The call of a request with its thread count and time limit; errors of the module's own code get words."""
        threads = optional(params, "threads", int, where)
        timeout = optional(params, "timeout_ms", int, where)
        with self._opened(params, where, job) as bound:
            torch.set_num_threads(_checked_threads(threads) if threads is not None else self._threads)
            try:
                with job.interruptible(timeout):
                    yield bound
            finally:
                torch.set_num_threads(self._threads)

    @contextlib.contextmanager
    def _opened(self, params: Any, where: str, job: Job) -> Iterator[BoundCall]:
        handle = required(params, "handle", int, where)
        loaded = self._find(handle)
        call = _complete(required(params, "call", dict, where))
        for key, kind in (("args", list), ("kwargs", dict)):
            required(call, key, kind, "the call")
        data = TensorData(required(params, "tensors", list, where), loaded.data)
        if isinstance(call.get("node"), str) and loaded.how == "structure":
            loaded, call = self._variant(handle, loaded, call, data)
        bound = BoundCall(loaded, call, data)
        try:
            yield bound
        except (WorkerError, OSError):
            raise
        except DecodeError as error:
            raise WorkerError("unsupported", f"a captured value cannot be given back: {error}") from error
        except Exception as error:
            if is_out_of_memory(error):
                error.__traceback__ = None
                raise
            raise WorkerError("unsupported", _sentence(error, loaded), _ADVICE) from error
        finally:
            bound.release()

    def _variant(
        self, handle: int, loaded: LoadedModule, call: JsonObject, data: TensorData
    ) -> tuple[LoadedModule, JsonObject]:
        """The module as it was when a call began, where more than its tensors had changed by then."""
        key = (handle, call["node"])
        if key not in self._variants:
            blueprint = self._blueprints[handle]
            state = {**loaded.state, **(call.get("state_before") or {})}
            changed = dataclasses.replace(
                blueprint,
                root=call["node"],
                state=state,
                decoder=lambda find: SourceDecoder(
                    data.bytes_of, blueprint.resolver, loaded.devices, find or no_module
                ),
            )
            built = rebuild(changed, ("structure",))
            node = changed.node(changed.root)
            self._variants[key] = dataclasses.replace(
                loaded, module=built.module, tensors=built.tensors, state=state, node=node, data=data
            )
        return self._variants[key], {**call, "state_before": {}}


_ADVICE = "The module's own code raised this; look at its source and at the captured inputs."


def _complete(call: JsonObject) -> JsonObject:
    """A call with the keys that older captures may lack."""
    defaults: JsonObject = {"grad_mode": False, "inference_mode": False, "autocast": None, "rng": None, "output": None}
    return {**defaults, **call}


def _checked_threads(threads: int) -> int:
    if not 1 <= threads <= _MOST_THREADS:
        raise WorkerError("invalid_argument", "the number of threads must be from 1 to 4096")
    return threads


def _sentence(error: BaseException, loaded: LoadedModule) -> str:
    text = f"'{loaded.name}' raised {type(error).__name__}: {str(error).strip()[:800]}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((_TORCH_FOLDER, _OWN_FOLDER, "<")):
            return f"{text} (at {frame.filename}:{frame.lineno}: {frame.line or ''})"
    return text
