# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Misbehaviour on demand, for tests of clients: MODULELENS_WORKER_FAULT (docs/formats/worker-protocol.md)."""

from __future__ import annotations

import os
import resource
import signal

_GROWTH_BYTES = 48 << 20


class Faults:
    """What the environment asks for."""

    def __init__(self) -> None:
        self._list = [item for item in os.environ.get("MODULELENS_WORKER_FAULT", "").split(",") if item]
        garbage = [item.partition(":")[2] for item in self._list if item.startswith("garbage-after:")]
        self._garbage_after = int(garbage[0]) if garbage and garbage[0].isdigit() else 0
        self._sent = 0
        self._limited = False

    def on_method(self, method: str) -> None:
        """Called when a method begins."""
        limited = f"memory-limit-in:{method}" in self._list
        if limited != self._limited:
            self._limited = limited
            _limit_memory(limited)
        if f"crash-in:{method}" in self._list:
            os.abort()
        if f"exit-in:{method}" in self._list:
            os._exit(3)
        while f"hang-in:{method}" in self._list:
            signal.pause()

    def is_garbage_due(self) -> bool:
        """Called after each message that was sent."""
        self._sent += 1
        return self._sent == self._garbage_after


def _limit_memory(limited: bool) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if limited:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            soft = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") + _GROWTH_BYTES
    else:
        soft = hard
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
