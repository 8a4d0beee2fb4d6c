# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Runs the benchmarks: `run.py [NAME...] [--json] [--list]`.

A benchmark is a program that prints {"results": [{"name", "value", "unit", "target", "ok", "detail"}]}: a script
tests/bench/bench_<name>.py, run with the environment's Python, or a built program bin/bench_<name> (see ml_bench).
`value` is a number or null, `target` a sentence such as "<= 0.6", `ok` says whether the value meets it. A benchmark that
fails counts as one result that is not ok. Ends with 0 when every result is ok, else 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def benchmarks() -> dict[str, list[str]]:
    """Name -> command."""
    found = {
        path.stem.removeprefix("bench_"): [sys.executable, str(path)]
        for path in sorted(Path(__file__).parent.glob("bench_*.py"))
    }
    programs = Path(os.environ.get("MODULELENS_BIN_DIR", "bin"))
    for path in sorted(programs.glob("bench_*")):
        if os.access(path, os.X_OK):
            found[path.name.removeprefix("bench_")] = [str(path)]
    return found


def run(name: str, command: list[str]) -> list[dict[str, Any]]:
    print(f"bench {name} ...", file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    try:
        results = json.loads(done.stdout)["results"] if done.returncode == 0 else None
    except (ValueError, KeyError, TypeError):
        results = None
    if results is None:
        detail = f"ended with {done.returncode} and printed no results"
        return [{"name": name, "value": None, "unit": "", "target": "", "ok": False, "detail": detail}]
    return list(results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    arguments = parser.parse_args()
    known = benchmarks()
    if arguments.list:
        print("\n".join(known))
        return 0
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known) or 'none'}", file=sys.stderr)
        return 2
    results = [result for name in arguments.names or known for result in run(name, known[name])]
    if arguments.json:
        print(json.dumps({"results": results}, indent=2))
    else:
        for result in results:
            value = "-" if result["value"] is None else f"{result['value']:.4g}"
            mark = "ok  " if result["ok"] else "MISS"
            print(
                f"{mark} {result['name']:<44} {value:>10} {result['unit']:<8} target {result['target'] or '-':<12} {result['detail']}"
            )
    return 0 if all(result["ok"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
