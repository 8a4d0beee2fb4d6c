# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Exported programs as weightless, pickle-free archives whose bytes depend on nothing but the program."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from modulelens.json_types import JsonObject

_STEM = "program"
_SAMPLE_INPUTS = f"{_STEM}/data/sample_inputs/model.pt"
_FILE_IN_TRACE = re.compile(r'File "([^"]+)"')


class ArchiveError(ValueError):
    """The program cannot be stored without a pickle."""


def archive_program(program: ExportedProgram, sidecar: JsonObject) -> bytes:
    """Strips the program's weights and returns its archive. The program cannot be run afterwards.

    Raises ArchiveError when torch would have to pickle something, and what torch raises when it cannot serialise.
    """
    program._state_dict = {name: stand_in(tensor) for name, tensor in program.state_dict.items()}
    program._example_inputs = None  # type: ignore[assignment,unused-ignore]
    _shorten_paths(program)
    text = json.dumps(sidecar, ensure_ascii=False, separators=(",", ":"))
    with tempfile.TemporaryDirectory(prefix="modulelens-") as folder:
        path = Path(folder) / f"{_STEM}.pt2"
        with _storable_specs(program):
            torch.export.save(program, path, extra_files={"modulelens.json": text})
        _refuse_pickles(path)
        return path.read_bytes()


def shorten_path(path: str) -> str:
    """Returns a source path relative to the import root it lies under, so that it names no machine."""
    roots = sorted((root for root in sys.path if root and path.startswith(root.rstrip("/") + "/")), key=len)
    return path[len(roots[-1].rstrip("/")) + 1 :] if roots else Path(path).name


def stand_in(tensor: torch.Tensor) -> nn.Parameter:
    """Returns a parameter without data in the place of a weight or buffer; it keeps `requires_grad`."""
    empty = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    return nn.Parameter(empty, requires_grad=tensor.requires_grad)


def _shorten_paths(program: ExportedProgram) -> None:
    for graph_module in program.graph_module.modules():
        graph: Any = getattr(graph_module, "graph", None)
        for node in graph.nodes if graph is not None else ():
            trace = node.meta.get("stack_trace")
            if trace:
                node.meta["stack_trace"] = _FILE_IN_TRACE.sub(
                    lambda found: f'File "{shorten_path(found.group(1))}"', trace
                )


@contextlib.contextmanager
def _storable_specs(program: ExportedProgram) -> Iterator[None]:
    """Puts plain containers in the place of input and output classes that torch cannot name in a file.

    Named tuples and `torch.return_types` are such. The sidecar says where each value stands, so nothing is lost.
    """
    signature: Any = program.module_call_graph[0].signature
    kept = (signature.in_spec, signature.out_spec)
    if not _is_storable(signature.in_spec):
        signature.in_spec = pytree.tree_structure((tuple(range(signature.in_spec.num_leaves)), {}))
    if not _is_storable(signature.out_spec):
        signature.out_spec = pytree.tree_structure(list(range(signature.out_spec.num_leaves)))
    try:
        yield
    finally:
        signature.in_spec, signature.out_spec = kept


def _is_storable(spec: pytree.TreeSpec) -> bool:
    try:
        pytree.treespec_dumps(spec)
    except (NotImplementedError, TypeError, ValueError):
        return False
    return True


def _refuse_pickles(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.filename == _SAMPLE_INPUTS and member.file_size == 0:
                continue
            if member.filename.endswith((".pt", ".pkl")) or "custom_obj" in member.filename:
                raise ArchiveError(f"the program needs a pickled member, {member.filename}")
            if member.filename.endswith("_config.json") and b'"use_pickle": true' in archive.read(member):
                raise ArchiveError(f"the program holds pickled tensors, see {member.filename}")
