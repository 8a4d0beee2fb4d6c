# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""A bundle folder as one uncompressed zip, each member's data at a multiple of 64 bytes."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

_ALIGNMENT = 64
_LOCAL_HEADER = 30
_PADDING_ID = 0x4D4C
_WIDE_SIZES = 20  # what zipfile adds to the header of a member near or above 2 GiB
_TIME = (1980, 1, 1, 0, 0, 0)
_SUFFIX = ".mlens"


def pack_bundle(bundle: str | Path, archive: str | Path | None = None) -> Path:
    """Packs a bundle folder as `.mlens` (beside the folder by default) and returns the archive's path.

    Members lie at the root of the zip, `bundle.json` first. Raises OSError, and ValueError for a folder that is no
    bundle.
    """
    folder = Path(bundle)
    if not (folder / "bundle.json").is_file():
        raise ValueError(f"{folder} holds no bundle.json; give the path of a bundle folder")
    target = Path(archive) if archive is not None else folder.with_name(folder.name + _SUFFIX)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    files.sort(key=lambda path: path.name != "bundle.json" or path.parent != folder)
    try:
        with partial.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as packed:
            for path in files:
                name = path.relative_to(folder).as_posix()
                member = zipfile.ZipInfo(name, _TIME)
                member.external_attr = 0o644 << 16
                member.file_size = path.stat().st_size
                wide = _WIDE_SIZES if member.file_size * 1.05 > zipfile.ZIP64_LIMIT else 0
                member.extra = _padding(file.tell() + _LOCAL_HEADER + len(name.encode("utf-8")) + wide)
                with path.open("rb") as source, packed.open(member, "w") as destination:
                    shutil.copyfileobj(source, destination, 1 << 20)
            packed.close()
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _padding(position: int) -> bytes:
    """Returns an extra field that makes data, which would begin at `position`, begin at a multiple of 64 bytes."""
    length = -(position + 4) % _ALIGNMENT
    return _PADDING_ID.to_bytes(2, "little") + length.to_bytes(2, "little") + b"\0" * length
