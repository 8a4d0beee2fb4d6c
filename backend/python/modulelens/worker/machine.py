# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The machine: devices, and what benchmarks need to know of their surroundings."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from pathlib import Path

import torch

from modulelens.environment import _cpu_name
from modulelens.json_types import JsonObject
from modulelens.worker.errors import WorkerError

_SHORTEST_SECONDS = 0.02


def devices() -> list[JsonObject]:
    """The devices as `initialize` names them."""
    found: list[JsonObject] = [
        {
            "name": "cpu",
            "description": _cpu_name() or "",
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "capability": torch.backends.cpu.get_cpu_capability(),
        }
    ]
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(index)
            found.append(
                {
                    "name": f"cuda:{index}",
                    "description": properties.name,
                    "memory_bytes": properties.total_memory,
                    "capability": f"sm_{properties.major}{properties.minor}",
                }
            )
    return found


def checked_device(name: str) -> str:
    """Returns the name with its index. WorkerError: this machine has no such device."""
    there = ", ".join(device["name"] for device in devices())
    missing = WorkerError("environment_missing", f"there is no device '{name}' here", f"There are: {there}.")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise missing from error
    if device.type == "meta":
        raise missing
    return "cpu" if device.type == "cpu" else f"{device.type}:{device.index or 0}"


def last_level_cache_bytes() -> int | None:
    """The largest cache of the first processor."""
    sizes = []
    for index in range(8):
        text = _first_line(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size")
        found = re.match(r"(\d+)([KM]?)", text or "")
        if found:
            sizes.append(int(found[1]) * {"": 1, "K": 1024, "M": 1024**2}[found[2]])
    return max(sizes, default=None)


def environment(device: str) -> JsonObject:
    """Where and under what conditions is measured; what is unknown is null."""
    name = next((entry["description"] for entry in devices() if entry["name"] == device), None)
    load = _first_line("/proc/loadavg")
    return {
        "host": socket.gethostname(),
        "device": device,
        "device_name": name,
        "clock_hz_before": clock_hz(),
        "governor": _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "cpus": len(os.sched_getaffinity(0)),
        "load_average": float(load.split()[0]) if load else None,
        "memory_available_bytes": _available_bytes(),
        "last_level_cache_bytes": last_level_cache_bytes(),
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "torch_version": torch.__version__,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
    }


def clock_hz() -> int | None:
    """The processor's clock now."""
    text = _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")
    if text is not None:
        return int(float(text) * 1e3)
    megahertz = _number_after("/proc/cpuinfo", "cpu MHz")
    return None if megahertz is None else int(megahertz * 1e6)


class OtherLoad:
    """How many processors other processes keep busy from now on."""

    def __init__(self) -> None:
        self._busy, self._own, self._wall = _busy_seconds(), time.process_time(), time.monotonic()

    def busy_cpus(self) -> float | None:
        """Since the beginning; None when the time was too short to tell."""
        wall, busy = time.monotonic() - self._wall, _busy_seconds()
        if wall < _SHORTEST_SECONDS or self._busy is None or busy is None:
            return None
        return max((busy - self._busy - (time.process_time() - self._own)) / wall, 0.0)


def _busy_seconds() -> float | None:
    line = _first_line("/proc/stat")
    if line is None or not line.startswith("cpu "):
        return None
    ticks = [float(number) for number in line.split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def _available_bytes() -> int | None:
    kilobytes = _number_after("/proc/meminfo", "MemAvailable")
    return None if kilobytes is None else int(kilobytes * 1024)


def _first_line(path: str) -> str | None:
    with contextlib.suppress(OSError), Path(path).open(encoding="utf-8", errors="replace") as file:
        return file.readline().rstrip("\n") or None
    return None


def _number_after(path: str, key: str) -> float | None:
    with contextlib.suppress(OSError, ValueError), Path(path).open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(key):
                return float(line.partition(":")[2].split()[0])
    return None
