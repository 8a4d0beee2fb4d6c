# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Programs of this process by structure key: a job that captures every hundredth step exports each structure once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from torch.export import ExportedProgram

from modulelens.json_types import JsonObject

_LIMIT = 256


@dataclass
class Exported:
    """One program. `exact` says that it was seen to compute its call bit for bit, `error` why it last ran on no inputs,
    `content` is its archive."""

    program: ExportedProgram
    how: str
    sidecar: JsonObject
    mode: tuple[Any, ...]
    dynamic: JsonObject
    exact: bool = False
    error: str | None = None
    content: bytes = b""
    digest: str = ""


class ExportCache:
    """The programs used last, by key. Any thread may use it; a program itself belongs to one thread at a time."""

    def __init__(self, limit: int = _LIMIT) -> None:
        self._limit = limit
        self._entries: OrderedDict[str, Exported] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str) -> Exported | None:
        """Returns the program and removes it, so that nobody else uses it meanwhile; None when there is none."""
        with self._lock:
            return self._entries.pop(key, None)

    def put(self, key: str, entry: Exported) -> None:
        """Keeps the program and drops the one that was not used for longest when there are too many."""
        with self._lock:
            self._entries[key] = entry
            while len(self._entries) > self._limit:
                self._entries.popitem(last=False)


PROCESS_CACHE = ExportCache()
