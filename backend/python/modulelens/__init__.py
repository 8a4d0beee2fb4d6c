# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Captures the modules of a running PyTorch model as bundles that can be rebuilt, checked and measured elsewhere."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from modulelens.version import __version__

if TYPE_CHECKING:
    from modulelens.bundle_archive import pack_bundle
    from modulelens.capture import Capture, CapturedModule
    from modulelens.initializers import InitCapture
    from modulelens.tracer import ModuleTracer

__all__ = ["Capture", "CapturedModule", "InitCapture", "ModuleTracer", "__version__", "pack_bundle"]

# Imported on first use: a worker or a command pays only for what it needs.
_HOMES = {
    "Capture": "modulelens.capture",
    "CapturedModule": "modulelens.capture",
    "InitCapture": "modulelens.initializers",
    "ModuleTracer": "modulelens.tracer",
    "pack_bundle": "modulelens.bundle_archive",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'modulelens' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
