# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Where the ranks of one job leave what each has captured, and how the first of them learns who is done."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import time
from pathlib import Path

import torch

from modulelens.json_types import JsonObject, encode_json

_POLL_SECONDS = 0.02
_GRACE_SECONDS = 5.0
_TOKEN_KEY = "modulelens/capture"


class RankFolder:
    """One traced block's folder in the store, `.ranks-<job>-<number>`, with one report file a rank.

    Ranks meet through files alone and no rank but the first ever waits, so that a rank that fails, or was never traced,
    does not hold up the others. The store must be one folder for all ranks.
    """

    def __init__(self, store: Path, model_name: str) -> None:
        self.rank = torch.distributed.get_rank()
        self.world_size = torch.distributed.get_world_size()
        job = _job_token()
        key = (str(store.absolute()), model_name)
        number = _BLOCKS.get(key, 0)
        _BLOCKS[key] = number + 1
        self.capture = f"{job}-{number}"
        self.path = store / f".ranks-{self.capture}"
        self._lock: int | None = None

    @property
    def own(self) -> Path:
        """The folder that gets this rank's bundle."""
        return self.path / f"rank-{self.rank}"

    def begin(self) -> None:
        """Shows the others that this rank is at work, while its process lives. Raises OSError."""
        self.own.mkdir(parents=True, exist_ok=True)
        made = self.path / f".lock-{self.rank}-{secrets.token_hex(4)}"
        self._lock = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        with contextlib.suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        made.rename(self._lock_file(self.rank))

    def report(self, document: JsonObject) -> None:
        """Says that this rank is done, and with what. Raises OSError."""
        partial = self.path / f".report-{self.rank}"
        partial.write_bytes(encode_json(document))
        partial.rename(self._report_file(self.rank))
        self.end()

    def end(self) -> None:
        """Shows that this rank is no longer at work."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def is_open(self) -> bool:
        """Whether this rank has begun and not reported yet."""
        return self._lock is not None

    def is_first(self) -> bool:
        """Whether no lower rank captures this block. A higher rank that is early gives the lower ones a moment."""
        deadline = time.monotonic() + _GRACE_SECONDS
        while self.rank > 0:
            if any(self._lock_file(rank).exists() for rank in range(self.rank)):
                return False
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL_SECONDS)
        return True

    def gather(self, timeout: float) -> tuple[dict[int, JsonObject], dict[int, str], bool]:
        """Waits for the reports of all ranks; returns them, for the ranks without one the reason, and whether one of
        these is still at work.
        """
        late_ranks = False
        reports: dict[int, JsonObject] = {}
        missing: dict[int, str] = {}
        begun = time.monotonic()
        while True:
            waited = time.monotonic() - begun
            for rank in range(self.world_size):
                if rank in reports or rank in missing:
                    continue
                report = self._read_report(rank)
                if report is not None:
                    reports[rank] = report
                elif self._lock_file(rank).exists():
                    if not self._is_alive(rank):
                        late = self._read_report(rank)
                        if late is not None:
                            reports[rank] = late
                        else:
                            missing[rank] = "the process ended before its part was written"
                    elif waited > timeout:
                        missing[rank] = f"it was not done after {timeout:g} s"
                        late_ranks = True
                elif waited > min(_GRACE_SECONDS, timeout):
                    missing[rank] = "it captured nothing into this store"
            if len(reports) + len(missing) == self.world_size:
                return reports, missing, late_ranks
            time.sleep(_POLL_SECONDS)

    def _read_report(self, rank: int) -> JsonObject | None:
        with contextlib.suppress(OSError, ValueError):
            report: JsonObject = json.loads(self._report_file(rank).read_bytes())
            return report
        return None

    def _is_alive(self, rank: int) -> bool:
        try:
            descriptor = os.open(self._lock_file(rank), os.O_RDWR)
        except OSError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _lock_file(self, rank: int) -> Path:
        return self.path / f"rank-{rank}.lock"

    def _report_file(self, rank: int) -> Path:
        return self.path / f"rank-{rank}.json"


_BLOCKS: dict[tuple[str, str], int] = {}
_JOBS: dict[int, str] = {}


def _job_token() -> str:
    """A name that all ranks of this job, and no other job, agree on: whoever comes first sets it, nobody waits."""
    from torch.distributed import distributed_c10d

    store = distributed_c10d._get_default_store()
    if id(store) not in _JOBS:
        found = store.compare_set(_TOKEN_KEY, "", secrets.token_hex(6))
        _JOBS.clear()
        _JOBS[id(store)] = found.decode() if isinstance(found, bytes) else str(found)
    return _JOBS[id(store)]
