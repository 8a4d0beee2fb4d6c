# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Writes bundles behind the step. What runs the model's code does so in a process of its own.

In the traced one it would take the interpreter from the model, and change warnings, logging and random numbers for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from modulelens.pending import PendingFolder
from modulelens.problems import Problems, storage_sentence

if TYPE_CHECKING:
    from modulelens.sample import Sample

# The paths come first, so that the child imports what this process imports, and nothing from where it happens to stand.
_CHILD = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from modulelens.offline_export import main; sys.exit(main(sys.argv[2:]))"
)
_UNIMPORTABLE = "; a tracer without background=True exports it in the traced process"


class BackgroundWriter(threading.Thread):
    """Writes the bundle of one sampled step and has it completed, behind the writer of the step before.

    Not a daemon: the interpreter waits for it before it ends. `take` gets the bundle, or None when there is none.
    """

    def __init__(
        self,
        sample: Sample,
        problems: Problems,
        take: Callable[[Path | None], None],
        before: BackgroundWriter | None,
    ) -> None:
        super().__init__(name="modulelens-bundle")
        self._sample: Sample | None = sample
        self._problems = problems
        self._take = take
        self._before = before
        self._written = threading.Event()

    def has_written(self, wait: bool = False) -> bool:
        """Whether the captured values are on the disk. The rest takes nothing from the model."""
        if wait:
            self._written.wait()
        return self._written.is_set()

    def run(self) -> None:
        bundle: Path | None = None
        try:
            if self._sample is not None:
                bundle = write_sample(self._sample, self._problems)
        finally:
            self._sample = None
            self._written.set()
            before, self._before = self._before, None
            if before is not None:
                before.join()
            if bundle is not None and PendingFolder.is_one(bundle):
                bundle = _completed(PendingFolder(bundle), self._problems)
            self._take(bundle)


def write_sample(sample: Sample, problems: Problems) -> Path | None:
    """Writes what a sample has captured. What fails is a problem, and None comes back."""
    try:
        return sample.write()
    except OSError as failure:
        problems.add("", "write", storage_sentence(sample.store, failure))
        sample.discard()
        return None
    except Exception as failure:
        problems.add("", "write", failure)
        sample.discard()
        return None
    except BaseException:
        sample.discard()
        raise


def _completed(pending: PendingFolder, problems: Problems) -> Path | None:
    """Never raises: without the other process the bundle says why it has no programs."""
    try:
        try:
            bundle = pending.store / complete_elsewhere(pending).name
        except CompletionError as error:
            problems.add("", "export", str(error))
            from modulelens.offline_export import complete_without

            bundle = complete_without(pending, str(error))
        for problem in json.loads((bundle / "bundle.json").read_bytes())["problems"]:
            problems.add(problem["module"], problem["stage"], problem["message"])
        return bundle
    except Exception as error:
        text = f"{error}; what was captured is in {pending.path}, python -m modulelens export completes it"
        problems.add("", "export", text)
        return None


class CompletionError(RuntimeError):
    """The other process gave no bundle, and why."""


def complete_elsewhere(pending: PendingFolder) -> Path:
    """Starts the process, waits for it and returns the whole bundle. It outlives this process, if that is killed.

    Raises CompletionError.
    """
    paths = [str(Path(path).absolute()) for path in sys.path]
    arguments = [json.dumps(paths), "--trust", "--nice", "--hint", _UNIMPORTABLE, str(pending.path.absolute())]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}  # the devices are the model's
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            start_new_session=True,  # an interrupt from the keyboard is meant for the model
        )
    except (OSError, ValueError) as error:
        raise CompletionError(f"no process could be started to export programs: {error}") from error
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines and (Path(lines[-1]) / "bundle.json").is_file():
        return Path(lines[-1])
    if done.returncode < 0:
        raise CompletionError(f"the process that exported programs was ended by signal {-done.returncode}")
    said = done.stderr.strip().splitlines()
    raise CompletionError(f"the process that exported programs failed: {said[-1] if said else 'it said nothing'}")
