# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Captures the modules of a running PyTorch model as bundles that can be rebuilt, checked and measured elsewhere."""

from modulelens.bundle_archive import pack_bundle
from modulelens.initializers import InitCapture
from modulelens.tracer import ModuleTracer
from modulelens.version import __version__

__all__ = ["InitCapture", "ModuleTracer", "__version__", "pack_bundle"]
