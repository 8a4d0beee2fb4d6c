# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""What decides bits and speed on the traced machine."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import nn

from modulelens.json_types import JsonObject
from modulelens.version import __version__


def main_device(model: nn.Module) -> str:
    """Returns the device of the model's first parameter or buffer, `cpu` when it has none."""
    for tensor in [*model.parameters(), *model.buffers()]:
        if tensor.device.type != "meta":
            return str(tensor.device)
    return "cpu"


def describe_environment(model: nn.Module, class_names: Iterable[str]) -> JsonObject:
    """Returns the `environment` object of a bundle; what is unknown is null."""
    rank, world_size = _rank()
    return {
        "modulelens": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": f"{platform.system()}-{platform.machine()}",
        "cpu": {"name": _cpu_name(), "capability": torch.backends.cpu.get_cpu_capability(), "cores": os.cpu_count()},
        "device": main_device(model),
        "devices": _devices(),
        "threads": {"intra_op": torch.get_num_threads(), "inter_op": torch.get_num_interop_threads()},
        "rank": rank,
        "world_size": world_size,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "packages": _packages(class_names),
    }


def deciding_environment(environment: JsonObject) -> JsonObject:
    """Returns the subset that decides bits, as versions hold it."""
    return {
        "torch": environment["torch"],
        "cpu": {"capability": environment["cpu"]["capability"]},
        "device": environment["device"],
        "threads": environment["threads"],
        "float32_matmul_precision": environment["float32_matmul_precision"],
    }


def _cpu_name() -> str | None:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or None


def _devices() -> list[JsonObject]:
    memory = None
    with contextlib.suppress(OSError, ValueError):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    devices: list[JsonObject] = [{"type": "cpu", "index": None, "name": _cpu_name(), "memory_bytes": memory}]
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(index)
            devices.append(
                {"type": "cuda", "index": index, "name": properties.name, "memory_bytes": properties.total_memory}
            )
    return devices


def _rank() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


def _packages(class_names: Iterable[str]) -> JsonObject:
    tops = sorted({name.partition(":")[0].partition(".")[0] for name in class_names})
    versions: JsonObject = {}
    for top in tops:
        if top == "torch":
            versions[top] = torch.__version__
            continue
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[top] = importlib.metadata.version(top)
    return versions
