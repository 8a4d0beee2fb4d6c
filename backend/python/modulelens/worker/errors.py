# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The errors of the protocol (docs/formats/worker-protocol.md), and which of them an exception stands for."""

from __future__ import annotations

import errno
from typing import Any

import torch

CODES = {
    "cancelled": -32800,
    "invalid_argument": -32602,
    "not_found": -32001,
    "already_exists": -32002,
    "permission_denied": -32003,
    "corrupt": -32004,
    "unsupported": -32005,
    "unavailable": -32006,
    "timeout": -32007,
    "worker_crashed": -32008,
    "out_of_memory": -32009,
    "storage_full": -32010,
    "consent_needed": -32011,
    "environment_missing": -32012,
    "internal": -32603,
}
PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
_OUT_OF_MEMORY = ("can't allocate memory", "out of memory", "Cannot allocate memory", "not enough memory")
_LONGEST = 2000


class WorkerError(Exception):
    """What a request ends with when it has no result: a name of CODES, one sentence, and what to do about it."""

    def __init__(self, name: str, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.message = message
        self.fix = fix


class Stopped(BaseException):
    """Raised where a request runs when it is to stop. No module catches it by accident."""


def error_object(error: BaseException) -> dict[str, Any]:
    """Returns the error object of the answer for an exception of a request."""
    known = error if isinstance(error, WorkerError) else _translated(error)
    data = {"name": known.name}
    if known.fix:
        data["fix"] = known.fix
    return {"code": CODES[known.name], "message": known.message[:_LONGEST], "data": data}


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch or Python had no memory left."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError | OSError) and any(text in str(error) for text in _OUT_OF_MEMORY)
    )


def _translated(error: BaseException) -> WorkerError:
    if isinstance(error, Stopped):
        return WorkerError("cancelled", "the request was cancelled")
    if is_out_of_memory(error):
        return WorkerError(
            "out_of_memory", "there is not enough memory for this", "Use a smaller call or another device."
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WorkerError("storage_full", f"the result could not be written: {error}", "Free some space.")
    if isinstance(error, FileNotFoundError):
        return WorkerError("not_found", f"there is no file {error.filename}")
    if isinstance(error, PermissionError) and error.filename is not None:
        return WorkerError("permission_denied", f"{error.filename} cannot be read")
    return WorkerError("internal", f"{type(error).__name__}: {error}")
