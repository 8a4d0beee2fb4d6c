# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Builds the fuzz targets with clang (preset fuzz) and runs them: `run.py [NAME...] [--seconds N]`, N of processor time.

Each target starts from tests/data/fuzz/NAME and keeps what it finds new in build/fuzz/corpus/NAME. A finding is left in
build/fuzz/findings. Prints one line a target: processor time, runs, edges, and when the last new edge came. Ends with 0, 1
(findings), or 77 where there is no clang with libFuzzer.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "fuzz"
COMPILERS = ["clang++", *(f"clang++-{version}" for version in range(30, 13, -1))]
SKIPPED = 77
# The code with which libFuzzer ends when it is interrupted.
INTERRUPTED = 72


def fuzzing_compiler() -> str | None:
    """Returns the first clang that can link a fuzz target."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.cpp"
        source.write_text('extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n')
        for name in COMPILERS:
            path = shutil.which(name)
            command = [path, "-std=c++20", "-fsanitize=fuzzer,address", str(source), "-o", f"{folder}/empty"]
            if path and subprocess.run(command, capture_output=True, check=False).returncode == 0:
                return path
    return None


def build(compiler: str, targets: list[str]) -> None:
    if not (BUILD / "build.ninja").is_file():
        command = ["cmake", "--preset", "fuzz", f"-DCMAKE_CXX_COMPILER={compiler}"]
        subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
    programs = [f"fuzz_{target}" for target in targets]
    subprocess.run(["cmake", "--build", str(BUILD), "--target", *programs], check=True, stdout=sys.stderr)


def processor_seconds(process: int) -> float | None:
    """The processor time that a running process has used, None when it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupt_after(process: int, seconds: int) -> None:
    """Interrupts the process once it has used `seconds` of processor time; returns then or when it has ended."""
    while (used := processor_seconds(process)) is not None:
        if used >= seconds:
            os.kill(process, signal.SIGINT)
            return
        time.sleep(min(1.0, seconds - used))


def fuzz(target: str, seconds: int) -> bool:
    """Fuzzes for `seconds` of processor time; False when something was found."""
    corpus, findings = BUILD / "corpus" / target, BUILD / "findings"
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(exist_ok=True)
    command = [
        str(BUILD / "bin" / f"fuzz_{target}"),
        "-max_len=65536",
        "-timeout=60",
        "-rss_limit_mb=2048",
        "-malloc_limit_mb=256",
        "-print_final_stats=1",
        f"-artifact_prefix={findings}/{target}-",
    ]
    dictionary = ROOT / "tests" / "fuzz" / f"{target}.dict"
    if dictionary.is_file():
        command.append(f"-dict={dictionary}")
    command += [str(corpus), str(ROOT / "tests" / "data" / "fuzz" / target)]
    # The leak check is on here, unlike in tests that link Qt.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    edges, last_edge, runs, tail = 0, 0.0, "?", []
    start = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace", env=environment) as process:
        assert process.stderr is not None
        threading.Thread(target=interrupt_after, args=(process.pid, seconds), daemon=True).start()
        for line in process.stderr:
            tail = [*tail[-60:], line]
            found = re.search(r"^#(\d+)\s.*cov: (\d+)", line)
            if found:
                runs = found.group(1)
                if int(found.group(2)) > edges:
                    edges, last_edge = int(found.group(2)), processor_seconds(process.pid) or last_edge
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"fuzz {target}: {used / 60:.1f} processor minutes in {wall / 60:.1f}, {runs} runs, {edges} edges, "
        f"the last new one after {last_edge / max(used, 1e-9):.0%} of the processor time",
        flush=True,
    )
    sound = process.returncode in (0, INTERRUPTED)
    if not sound:
        print("".join(tail), f"fuzz {target}: a finding, see {findings}", file=sys.stderr)
    return sound


def main() -> int:
    sources = sorted((ROOT / "tests" / "fuzz").glob("fuzz_*.cpp"))
    known = [source.stem.removeprefix("fuzz_") for source in sources]
    parser = argparse.ArgumentParser(description="Fuzzes the parsers of untrusted input.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--seconds", type=int, default=60, help="processor time for each target")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(known))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; the targets are {', '.join(known)}")
    compiler = fuzzing_compiler()
    if compiler is None:
        print("no clang with libFuzzer: install clang and its compiler-rt (clang, libclang-rt-14-dev)", file=sys.stderr)
        return SKIPPED
    targets = arguments.names or known
    build(compiler, targets)
    return 0 if all([fuzz(target, arguments.seconds) for target in targets]) else 1


if __name__ == "__main__":
    sys.exit(main())
