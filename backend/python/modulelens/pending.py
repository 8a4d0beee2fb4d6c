# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Captures whose values are on the disk, and whose programs are not: what a later process has to add to them.

Such a capture is a hidden folder in the store, `.pending-…`, with a bundle that is marked incomplete and
`request.json`. What completes it writes the whole bundle into the store and removes the folder, so that no reader ever
takes half for whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from modulelens.bundle_writer import BundleContents, BundleFolder, hidden_prefix, make_durable, sync
from modulelens.json_types import encode_json

_ANY_HOST = ".pending-"
_REQUEST = "request.json"


class PendingError(ValueError):
    """A pending capture that cannot be completed now, and why."""


@dataclass(frozen=True)
class Request:
    """What is still to be made of a capture. `incomplete_reason` is the whole bundle's own."""

    programs: bool
    dynamic_batch: bool
    flops: bool
    backward: bool
    incomplete_reason: str | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be made."""
        return not (self.programs or self.flops or self.backward)


class PendingFolder:
    """One pending capture. Used by one thread; `held` keeps other processes of this host out."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def is_one(path: Path) -> bool:
        """Whether a path is a pending folder and no bundle."""
        return path.name.startswith(_ANY_HOST)

    @property
    def store(self) -> Path:
        """The folder that gets the whole bundle."""
        return self.path.parent

    @property
    def bundle(self) -> Path | None:
        """The bundle as it was captured; None when the traced process ended before it was written."""
        found = [path for path in self.path.iterdir() if (path / "bundle.json").is_file()]
        return found[0] if found else None

    def request(self) -> Request:
        """Reads what is to be made. Raises PendingError."""
        try:
            document = json.loads((self.path / _REQUEST).read_bytes())
            return Request(**document)
        except (OSError, ValueError, TypeError) as error:
            raise PendingError(f"{self.path} does not say what is to be made of it: {error}") from error

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keeps others from completing it too. Raises PendingError when another process does."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            raise PendingError(f"{self.path} is gone: another process has completed it") from error
        try:
            with contextlib.suppress(OSError):  # where locks do not work
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise PendingError(f"{self.path} is being completed by another process") from error
            yield
        finally:
            os.close(descriptor)

    def remove(self) -> None:
        """Removes it, once the whole bundle is in the store."""
        shutil.rmtree(self.path, ignore_errors=True)


def write_pending(folder: BundleFolder, contents: BundleContents, store: Path, request: Request) -> Path:
    """Writes a bundle that is marked incomplete into a pending folder in `store` and returns that. Raises OSError."""
    _remove_empty(store)
    path = store / f"{hidden_prefix('pending')}{os.getpid()}-{secrets.token_hex(4)}"
    path.mkdir()
    try:
        (path / _REQUEST).write_bytes(encode_json(asdict(request)))
        make_durable(path)
        contents.incomplete_reason = f"what is made after the step is missing: run python -m modulelens export {path}"
        folder.finish(contents, path)
        sync(store)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    return path


def pending_in(path: Path) -> list[PendingFolder]:
    """Returns the pending captures that `path` names: itself, the one around it, or those of a store."""
    for candidate in (path, path.absolute().parent):
        if candidate.name.startswith(_ANY_HOST) and (candidate / _REQUEST).is_file():
            return [PendingFolder(candidate)]
    if not path.is_dir() or (path / "bundle.json").exists():
        return []
    found = sorted(entry for entry in path.glob(f"{_ANY_HOST}*") if (entry / _REQUEST).is_file())
    return [folder for folder in map(PendingFolder, found) if folder.bundle is not None]


def _remove_empty(store: Path) -> None:
    """Removes folders that got no bundle, since their processes died. Never raises."""
    for path in store.glob(f"{hidden_prefix('pending')}*"):
        with contextlib.suppress(OSError, PendingError):
            folder = PendingFolder(path)
            pid = int(path.name.rsplit("-", 2)[1])
            if folder.bundle is None and pid != os.getpid() and not _is_alive(pid):
                folder.remove()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
