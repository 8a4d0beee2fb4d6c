# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Says in one line which torch a pip report would fetch: its version, its kind, and how much in all.

With --packages: only how many packages and how much. Reads the report of `pip install --dry-run --report -` on standard input.
"""

from __future__ import annotations

import json
import sys
import urllib.parse
import urllib.request
from pathlib import Path


def size_bytes(url: str) -> int | None:
    """The size of a wheel, without fetching it; None when nobody says."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file":
        return Path(urllib.parse.unquote(parts.path)).stat().st_size
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=20) as answer:
            length = answer.headers.get("Content-Length")
            return int(length) if length else None
    except OSError:
        return None


def main() -> int:
    packages = json.load(sys.stdin)["install"]
    if sys.argv[1:] == ["--packages"]:
        found = [size_bytes(package["download_info"]["url"]) for package in packages]
        total = sum(size for size in found if size is not None) / 1e6
        print(f"{len(packages)} packages,{' at least' if None in found else ''} {total:.0f} MB to fetch")
        return 0
    names = [package["metadata"]["name"].lower() for package in packages]
    if "torch" not in names:
        print("torch is already there; nothing to fetch")
        return 0
    version = packages[names.index("torch")]["metadata"]["version"]
    has_cuda = "+cu" in version or any(name.startswith("nvidia-") or name == "triton" for name in names)
    kind = "a CUDA build with its CUDA libraries" if has_cuda else "a CPU build"
    sizes = [size_bytes(package["download_info"]["url"]) for package in packages]
    known = sum(size for size in sizes if size is not None) / 1e9
    more = " at least" if None in sizes else ""
    print(f"torch {version}: {kind}; {len(packages)} packages,{more} {known:.2f} GB to fetch")
    return 0


if __name__ == "__main__":
    sys.exit(main())
