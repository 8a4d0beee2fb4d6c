# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""What the tracer could not do. Nothing in here ever raises into the traced model."""

from __future__ import annotations

import contextlib
import sys
import warnings
from pathlib import Path

from modulelens.json_types import JsonObject

_OWN_FOLDER = str(Path(__file__).parent)


class Problems:
    """Collects the entries of a bundle's `problems` and warns once about the first."""

    def __init__(self, outer: Problems | None = None) -> None:
        """With `outer`, entries go there as well, and the warning counts for both."""
        self.entries: list[JsonObject] = []
        self._warned = False
        self._outer = outer

    def add(self, module: str, stage: str, error: BaseException | str) -> None:
        """Records one problem. An entry that is already there is not repeated."""
        message = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        entry = {"module": module, "stage": stage, "message": message[:1000]}
        if entry in self.entries:
            return
        self.entries.append(entry)
        if self._outer is not None:
            self._outer.add(module, stage, message)
            return
        if not self._warned:
            self._warned = True
            text = f"modulelens could not do everything in module '{module}' ({stage}): {message[:300]}"
            with contextlib.suppress(Warning):  # where warnings are errors, they still must not reach the model
                warnings.warn(text, RuntimeWarning, stacklevel=_callers_level())


def storage_sentence(store: Path, error: OSError) -> str:
    """What a store has refused, and what to do."""
    why = error.strerror or str(error)
    return f"nothing was written to {store}: {why}; free some space, or give another folder"


def _callers_level() -> int:
    """The stack level of the code that uses this package, as `warnings.warn` in the calling function counts."""
    level = 2
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN_FOLDER):
        frame = frame.f_back
        level += 1
    return level
