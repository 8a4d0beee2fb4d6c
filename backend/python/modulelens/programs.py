# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Exports the program of each captured module after the run, and checks that it reproduces the captured output."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import logging
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export import Dim, ExportedProgram, ShapesCollection
from torch.utils import _pytree as pytree

from modulelens.attention_export import attention_as_operators
from modulelens.decoding import DecodeError, ValueDecoder
from modulelens.export_cache import PROCESS_CACHE, Exported
from modulelens.isolation import captured_conditions, isolated_copy, seed_from
from modulelens.json_types import JsonObject
from modulelens.leaf_map import LeafMapError, input_pointers, output_pointers
from modulelens.nodes import Documents, class_of
from modulelens.problems import Problems
from modulelens.program_archive import archive_program, shorten_path, stand_in
from modulelens.record import CapturedCall, ModuleRecord
from modulelens.references import qualified_name
from modulelens.structure import StructureKeys
from modulelens.tensor_store import TensorStore

_MAX_PROGRAMS = 8
_MAX_REASON = 600
_SCRIPT = "TorchScript cannot be exported; save the module with torch.jit.save and import that file"
_TORCH_FOLDER = str(Path(torch.__file__).parent)
_OWN_FOLDER = str(Path(__file__).parent)


class ProgramExporter:
    """Exports from isolated copies: the live model, its buffers and the random state stay as they are."""

    def __init__(self, store: TensorStore, nodes: Documents, problems: Problems, dynamic_batch: bool) -> None:
        self.programs = Documents()
        self._structures = StructureKeys(nodes)
        self._store = store
        self._problems = problems
        self._dynamic_batch = dynamic_batch

    def export(self, record: ModuleRecord) -> None:
        """Fills the record's `programs` and `no_program` and each call's `program`. Never raises."""
        if isinstance(record.module, torch.jit.ScriptModule):
            record.no_program = {"reason": _SCRIPT, "source": None}
            return
        exported: list[Exported] = []
        failure: JsonObject | None = None
        for index, captured in enumerate(record.calls):
            if captured.document["exception"] is not None:
                failure = failure or {"reason": "the captured call raised an exception", "source": None}
                continue
            if captured.document["method"] != "forward":
                failure = failure or {"reason": "only calls of forward are exported", "source": None}
                continue
            try:
                failure = self._export_call(record, index, exported) or failure
            except Exception as error:
                failure = {"reason": _sentence(error), "source": _source_line(error)}
        if not record.programs:
            record.no_program = failure or {"reason": "no call was captured", "source": None}

    def _export_call(self, record: ModuleRecord, index: int, exported: list[Exported]) -> JsonObject | None:
        captured = record.calls[index]
        for entry in exported:
            if entry.mode == captured.mode and self._fits(record, index, entry):
                self._use(record, index, entry, exported)
                return None
        if len(exported) >= _MAX_PROGRAMS:
            return {"reason": f"more than {_MAX_PROGRAMS} programs would be needed", "source": None}
        key = f"{self._dynamic_batch}:{self._structures.key(record, captured)}"
        found = self._known(record, index, key) or self._ladder(record, index)
        if not isinstance(found, Exported):
            return found
        if not found.content:
            with _quiet():
                found.content = archive_program(found.program, found.sidecar)
        found.digest = self.programs.add(found.content)
        if found.exact:
            PROCESS_CACHE.put(key, found)
        else:
            text = f"the exported program does not reproduce the output of call {index} bit for bit"
            if found.error is not None:
                text = f"the exported program does not run on the inputs of call {index}: {found.error}"
            self._problems.add(record.name, "verify", text)
        self._use(record, index, found, exported)
        return None

    def _known(self, record: ModuleRecord, index: int, key: str) -> Exported | None:
        """Returns the program of an equal module that was called alike, if it computes this call too."""
        entry = PROCESS_CACHE.take(key)
        return entry if entry is not None and self._fits(record, index, entry) else None

    @staticmethod
    def _use(record: ModuleRecord, index: int, entry: Exported, exported: list[Exported]) -> None:
        call = record.calls[index].document
        call["program"] = entry.digest
        if any(other.digest == entry.digest for other in exported):
            return
        exported.append(entry)
        description = {"digest": entry.digest, "training": call["training"], "call": index}
        record.programs.append({**description, "how": entry.how, "dynamic": entry.dynamic})

    def _ladder(self, record: ModuleRecord, index: int) -> Exported | JsonObject:
        best: Exported | None = None
        failure: JsonObject | None = None
        for how, dynamic in (("non_strict", True), ("non_strict", False), ("strict", False), ("draft", False)):
            if dynamic and not self._dynamic_batch:
                continue
            if how == "draft" and best is not None:
                break
            try:
                with _quiet():
                    entry = self._attempt(record, index, how, dynamic)
            except Exception as error:
                failure = failure or {"reason": _sentence(error), "source": _source_line(error)}
                if isinstance(error, DecodeError | LeafMapError):
                    break
                continue
            if entry is None:
                continue
            best = best or entry
            if entry.exact:
                return entry
        return best or failure or {"reason": "export gave no program", "source": None}

    def _attempt(self, record: ModuleRecord, index: int, how: str, dynamic: bool) -> Exported | None:
        captured = record.calls[index]
        call = captured.document
        args, kwargs, _ = self._inputs(call)
        shapes = _batch_dimensions(args, kwargs) if dynamic else None
        if dynamic and shapes is None:
            return None
        attributes = record.attributes_at(captured)
        module = isolated_copy(record.module, self._tensors(record, captured), captured.training, attributes)
        if dynamic:
            _name_keywords(module, kwargs)
        with captured_conditions(call), attention_as_operators():
            if how == "draft":
                program = torch.export.draft_export(module, args, kwargs)
            else:
                program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=how == "strict")  # type: ignore[arg-type]
        spec = program.call_spec
        assert spec.in_spec is not None and spec.out_spec is not None
        sidecar = {
            "schema_version": 1,
            "inputs": input_pointers(spec.in_spec, call),
            "outputs": output_pointers(spec.out_spec, call),
            "modules": {
                name: qualified_name(class_of(part))
                for name, part in record.module.named_modules(remove_duplicate=False)
            },
        }
        if len(sidecar["inputs"]) != len(program.graph_signature.user_inputs):  # type: ignore[arg-type]
            raise LeafMapError("the program does not take the captured inputs one for one")
        entry = Exported(program, how, sidecar, captured.mode, _ranges(program))
        entry.exact = self._fits(record, index, entry)
        return entry

    def _inputs(self, call: JsonObject) -> tuple[tuple[Any, ...], dict[str, Any], ValueDecoder]:
        decoder = ValueDecoder(self._store.bytes_of, lambda _: True)
        decoder.prepare(call["args"], call["kwargs"])
        return tuple(decoder.decode(call["args"])), decoder.decode(call["kwargs"]), decoder

    def _tensors(self, record: ModuleRecord, captured: CapturedCall) -> dict[str, torch.Tensor]:
        """Decodes the state as it was before the call; tensors that were not kept are left out."""
        decoder = ValueDecoder(self._store.bytes_of, lambda _: True)
        references = {**record.tensors, **captured.document["state_before"]}
        tagged = {name: {"$t": "tensor", **reference} for name, reference in references.items()}
        decoder.prepare(tagged)
        tensors: dict[str, torch.Tensor] = {}
        for name, reference in tagged.items():
            with contextlib.suppress(DecodeError):
                tensors[name] = decoder.decode(reference)
        return tensors

    def _fits(self, record: ModuleRecord, index: int, entry: Exported) -> bool:
        """True when the program with the captured weights gives this call's output bit for bit."""
        captured = record.calls[index]
        call = captured.document
        program = entry.program
        constants = program._constants
        entry.error = None
        try:
            tensors = self._tensors(record, captured)
            program._state_dict = {name: tensors.get(name, old) for name, old in program.state_dict.items()}
            program._constants = {name: tensors.get(name, _private(old)) for name, old in constants.items()}
            with _quiet():
                runnable = program.module()
                args, kwargs, decoder = self._inputs(call)
                with captured_conditions(call):
                    seed_from(call, decoder)
                    output = runnable(*args, **kwargs)
                    expected = ValueDecoder(self._store.bytes_of, lambda _: True).decode(call["output"])
            if not _same_bits(output, expected):
                return False
            changed = dict(runnable.named_buffers(remove_duplicate=False))
            after = ValueDecoder(self._store.bytes_of, lambda _: True)
            return all(
                _same_bits(changed[name], after.tensor(reference))
                for name, reference in call["state_after"].items()
                if name in changed
            )
        except Exception as error:
            entry.error = _sentence(error)
            return False
        finally:
            program._constants = constants
            if entry.content:
                _weightless(program)


def _private(constant: Any) -> Any:
    """A copy that the check may write to. Results of autograd (old weight norm has one) cannot be deep-copied."""
    return constant.detach().clone() if isinstance(constant, torch.Tensor) else copy.deepcopy(constant)


def _weightless(program: ExportedProgram) -> None:
    """Lets go of the weights that a check has bound."""
    program._state_dict = {name: stand_in(tensor) for name, tensor in program.state_dict.items()}


def _name_keywords(module: nn.Module, kwargs: dict[str, Any]) -> None:
    """Gives the module a `forward` that names each keyword: export cannot make what arrives in `**kwargs` dynamic."""
    forward = module.forward
    signature = inspect.signature(forward)
    declared = [part for part in signature.parameters.values() if part.kind is not part.VAR_KEYWORD]
    names = {part.name for part in declared}
    extra = [name for name in kwargs if name not in names]
    if not extra:
        return

    def named_forward(*args: Any, **keywords: Any) -> Any:
        return forward(*args, **keywords)

    added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in extra]
    named_forward.__signature__ = signature.replace(parameters=[*declared, *added])  # type: ignore[attr-defined]
    module.forward = named_forward


def _batch_dimensions(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ShapesCollection | None:
    shapes = ShapesCollection()
    for leaf in pytree.tree_leaves((args, kwargs)):
        if isinstance(leaf, torch.Tensor) and leaf.dim() > 0 and leaf.shape[0] > 1:
            shapes[leaf] = {0: Dim.AUTO}
    return shapes if len(shapes) else None


def _ranges(program: ExportedProgram) -> JsonObject:
    ranges: JsonObject = {}
    for symbol, interval in program.range_constraints.items():
        lower, upper = (int(bound) if bound.is_Integer else None for bound in (interval.lower, interval.upper))
        ranges[str(symbol)] = {"min": lower, "max": upper}
    return ranges


def _same_bits(actual: Any, expected: Any) -> bool:
    actual_leaves, expected_leaves = pytree.tree_leaves(actual), pytree.tree_leaves(expected)
    if len(actual_leaves) != len(expected_leaves):
        return False
    return all(_same_leaf(*pair) for pair in zip(actual_leaves, expected_leaves, strict=True))


def _same_leaf(actual: Any, expected: Any) -> bool:
    if not isinstance(expected, torch.Tensor):
        return bool(actual == expected) or (actual != actual and expected != expected)
    if not isinstance(actual, torch.Tensor) or (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        return False
    if actual.layout != torch.strided or actual.is_quantized:
        return bool(torch.equal(actual, expected))
    first, second = (t.detach().resolve_conj().resolve_neg().contiguous().reshape(-1) for t in (actual, expected))
    return bool(torch.equal(first.view(torch.uint8), second.view(torch.uint8))) if first.numel() else True


def _sentence(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return f"{type(error).__name__}: {text}"[:_MAX_REASON].replace(f"{_TORCH_FOLDER}/", "torch/")


def _source_line(error: BaseException) -> str | None:
    """Returns `file:line: code` of the innermost frame that is neither torch's nor ours."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((_TORCH_FOLDER, _OWN_FOLDER, "<")):
            return f"{shorten_path(frame.filename)}:{frame.lineno}: {frame.line or ''}"
    return None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps torch.export's warnings, logs and reports off the training job's output."""
    disabled = logging.root.manager.disable
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(disabled)
