# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`python -m modulelens merge RANK_BUNDLE...`: one bundle of whole modules from what `sharded="local"` has left."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from modulelens.distributed.merging import MergeOptions, absent_ranks, merge_ranks
from modulelens.distributed.parts import Part, PartError

_CORRUPT = 9
_STORAGE = 10
_NOT_FOUND = 3


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code: 0, 2 usage, 3 not found, 9 unusable bundles, 10 storage."""
    parser = argparse.ArgumentParser(prog="python -m modulelens merge", description=__doc__)
    parser.add_argument("bundles", nargs="+", type=Path, help="bundle folders of the ranks of one traced block")
    parser.add_argument("--into", type=Path, help="folder of the merged bundle; default: where the first one lies")
    parser.add_argument(
        "--programs", action="store_true", help="export programs: imports and runs the classes that the bundles name"
    )
    options = parser.parse_args(arguments)
    for folder in options.bundles:
        if not (folder / "bundle.json").is_file():
            print(f"merge: {folder} is no bundle folder: it holds no bundle.json", file=sys.stderr)
            return _NOT_FOUND
    try:
        missing, raised = _faults(options.bundles)
        store = options.into or options.bundles[0].absolute().parent
        bundle = merge_ranks(
            options.bundles, store, missing, raised, MergeOptions(programs=options.programs, if_seeded=options.programs)
        )
    except PartError as error:
        print(f"merge: {error}", file=sys.stderr)
        return _CORRUPT
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        print(f"merge: a bundle is not as its format says ({type(error).__name__}: {error})", file=sys.stderr)
        return _CORRUPT
    except OSError as error:
        print(f"merge: {error}", file=sys.stderr)
        return _STORAGE
    for rank, reason in sorted(missing.items()):
        print(f"merge: the bundle is marked incomplete: rank {rank} is missing: {reason}", file=sys.stderr)
    print(bundle)
    return 0


def _faults(folders: list[Path]) -> tuple[dict[int, str], dict[int, str]]:
    parts = [Part(folder) for folder in folders]
    try:
        size = max(int(part.ranks["world_size"]) for part in parts)
        raised = {part.rank: str(part.ranks["raised"]) for part in parts if part.ranks.get("raised")}
        return absent_ranks([part.rank for part in parts], size), raised
    finally:
        for part in parts:
            part.close()
