# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""What the tracer holds of the run until the bundle is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from modulelens.json_types import JsonObject


@dataclass
class CapturedCall:
    """One kept call: the document that goes into the version, and what only the exporter needs."""

    document: JsonObject
    training: list[bool]
    output_gradients: JsonObject = field(default_factory=dict)

    @property
    def mode(self) -> tuple[Any, ...]:
        """What a program bakes in: training flags, grad mode, autocast."""
        call = self.document
        return tuple(self.training), call["grad_mode"], call["inference_mode"], repr(call["autocast"])


@dataclass
class ModuleRecord:
    """One captured module: becomes one version."""

    name: str
    aliases: list[str]
    module: nn.Module
    class_name: str
    run: int
    node: str
    skeleton: str
    tensors: JsonObject
    parameter_bytes: int
    parameter_count: int
    calls: list[CapturedCall] = field(default_factory=list)
    programs: list[JsonObject] = field(default_factory=list)
    no_program: JsonObject | None = None
    digest: str | None = None
    restore: Callable[[CapturedCall], list[dict[str, Any]] | None] | None = None

    def attributes_at(self, captured: CapturedCall) -> list[dict[str, Any]] | None:
        """Returns what the attributes of each part were when the call began, as far as they differ from now."""
        return self.restore(captured) if self.restore is not None else None

    def node_of(self, captured: CapturedCall) -> str:
        """Returns the digest of the module's node as it was when the call began."""
        return str(captured.document.get("node", self.node))


@dataclass
class Run:
    """One top-level trace execution and every module call in it."""

    step: int
    started: str
    calls: list[JsonObject] = field(default_factory=list)
    duration_ns: int | None = None
