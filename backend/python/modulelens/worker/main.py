# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`python -m modulelens worker`: the worker protocol (docs/formats/worker-protocol.md) on the standard streams."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from modulelens.worker.dispatcher import Dispatcher, Job
from modulelens.worker.engine import Engine
from modulelens.worker.errors import WorkerError
from modulelens.worker.faults import Faults
from modulelens.worker.framing import EndOfStreamError, FramingError, MessageReader, MessageWriter

_METHODS = (
    "initialize",
    "code",
    "load",
    "unload",
    "run",
    "validate",
    "gradients",
    "benchmark",
    "profile",
    "memory",
    "shutdown",
)


class _Worker:
    def __init__(self, reader: MessageReader, writer: MessageWriter, python_path: list[str]) -> None:
        self._reader = reader
        self._faults = Faults()
        self._engine = Engine(python_path)
        self._initialized = False
        self._dispatcher = Dispatcher(writer)
        for method in _METHODS:
            self._dispatcher.add(method, self._handler(method))

    def run(self) -> int:
        threading.Thread(target=self._read, daemon=True).start()
        while self._dispatcher.run_next():
            pass
        return 0

    def _read(self) -> None:
        try:
            while True:
                self._dispatcher.receive(self._reader.read())
        except EndOfStreamError as end:
            _leave(1 if end.inside else 0)
        except FramingError as error:
            print(f"modulelens worker: {error}", file=sys.stderr)
            _leave(1)
        except OSError:
            _leave(0)

    def _handler(self, method: str) -> Callable[[Any, Job], Any]:
        def handle(params: Any, job: Job) -> Any:
            self._faults.on_method(method)
            if method == "initialize":
                result = self._engine.initialize(params, self._dispatcher.methods())
                self._initialized = True
                return result
            if method == "shutdown":
                self._dispatcher.close()
                return None
            if not self._initialized:
                raise WorkerError("invalid_argument", "the worker was not initialized", "Send initialize first.")
            return getattr(self._engine, method)(params, job)

        return handle


class _Writer(MessageWriter):
    """Ends the process when nobody reads any more."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._faults = Faults()

    def write_bytes(self, data: bytes) -> None:
        try:
            super().write_bytes(data)
            if self._faults.is_garbage_due():
                super().write_bytes(b"this is no message\r\n\r\n")
        except OSError:
            _leave(0)


def _leave(code: int) -> None:
    sys.stderr.flush()
    os._exit(code)


def _take_streams() -> tuple[int, int]:
    """The protocol keeps both streams to itself: modules print to standard error and read nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # A terminal sends it to the client as well, which decides.
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing


def main(arguments: list[str]) -> int:
    """Serves requests until the client is gone or asks to end."""
    parser = argparse.ArgumentParser(prog="python -m modulelens worker", description=__doc__)
    parser.add_argument(
        "--python-path", action="append", default=[], metavar="DIR", help="import from this folder first"
    )
    options = parser.parse_args(arguments)
    incoming, outgoing = _take_streams()
    code = _Worker(MessageReader(incoming), _Writer(outgoing), options.python_path).run()
    _leave(code)
    return code
