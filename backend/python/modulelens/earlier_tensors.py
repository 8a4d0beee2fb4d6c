# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Tensor files of earlier bundles in the same store, which a new bundle links instead of storing the same again."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import torch

from modulelens.safetensors_file import read_tensor_bytes, tensor_sizes

_BUNDLES = 4
_MIN_SHARE = 0.5


@dataclass
class EarlierFile:
    """One tensor file of an earlier bundle, and what the new bundle uses of it."""

    path: Path
    sha256: str
    size: int
    keys: list[str]
    link: Path | None = None
    used: set[str] = field(default_factory=set)


@functools.lru_cache(maxsize=4 * _BUNDLES)
def _tensor_files(bundle: Path) -> list[tuple[Path, str, int, list[str]]]:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        index = json.loads((bundle / "bundle.json").read_bytes())
        return [
            (bundle / entry["file"], entry["sha256"], entry["size"], entry["keys"])
            for entry in index["tensors"]
            if entry["file"] == f"tensors/{Path(entry['file']).name}"
        ]
    return []


class EarlierTensors:
    """The tensors of the newest bundles in a store. Files are linked into `folder` when first used, so that they stay.

    Used under the tracer's lock.
    """

    def __init__(self, store: Path, folder: Path) -> None:
        self._folder = folder
        self._files: list[EarlierFile] = []
        self._by_digest: dict[str, EarlierFile] = {}
        with contextlib.suppress(OSError):
            paths = sorted((path for path in store.iterdir() if not path.name.startswith(".")), reverse=True)
            bundles = [path for path in paths[: 4 * _BUNDLES] if (path / "bundle.json").is_file()]
            for bundle in bundles[:_BUNDLES]:
                for entry in _tensor_files(bundle):
                    file = EarlierFile(*entry)
                    for digest in file.keys:
                        self._by_digest.setdefault(digest, file)

    def use(self, digest: str) -> bool:
        """Whether an earlier bundle holds the tensor and its file could be linked."""
        file = self._by_digest.get(digest)
        if file is None:
            return False
        if file.link is None and not self._linked(file):
            for key in file.keys:
                if self._by_digest.get(key) is file:
                    del self._by_digest[key]
            return False
        file.used.add(digest)
        return True

    def bytes_of(self, digest: str) -> torch.Tensor:
        """Returns a private copy of a used tensor's bytes. Raises KeyError when it is not used."""
        file = self._by_digest[digest]
        if file.link is None:
            raise KeyError(digest)
        return read_tensor_bytes(file.link, digest)

    def settle(self, tensors: Path) -> tuple[list[EarlierFile], list[str]]:
        """Moves the files that are mostly used to `tensors`; returns them and the used digests of the others."""
        kept: list[EarlierFile] = []
        covered: set[str] = set()
        for file in sorted(self._files, key=lambda file: -len(file.used)):
            if covered.isdisjoint(file.keys) and _share(file) >= _MIN_SHARE and file.link is not None:
                tensors.mkdir(parents=True, exist_ok=True)
                target = tensors / f"e{len(kept):03d}.safetensors"
                file.link.rename(target)
                file.link = target
                kept.append(file)
                covered.update(file.keys)
        left = [digest for file in self._files if file not in kept for digest in file.used if digest not in covered]
        return kept, left

    def close(self) -> None:
        """Lets go of the links that were not moved."""
        for file in self._files:
            if file.link is not None and file.link.parent == self._folder:
                file.link.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def _linked(self, file: EarlierFile) -> bool:
        with contextlib.suppress(OSError):
            if file.path.is_symlink() or file.path.stat().st_size != file.size:
                return False
            self._folder.mkdir(parents=True, exist_ok=True)
            link = self._folder / f"{len(self._files)}.safetensors"
            os.link(file.path, link)
            file.link = link
            self._files.append(file)
            return True
        return False


def _share(file: EarlierFile) -> float:
    """The part of the file's tensor data that is used; 0 when nothing would say what the bytes of the rest are."""
    if file.link is None or not file.used:
        return 0.0
    tensors = tensor_sizes(file.link)
    if any(tensors[key][0] == "U8" for key in file.keys if key not in file.used):
        return 0.0
    used = sum(tensors[key][1] for key in file.used)
    return used / max(sum(tensors[key][1] for key in file.keys), 1)
