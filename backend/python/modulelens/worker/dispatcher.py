# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Requests in order on one thread, cancellation beside them, each answered exactly once."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from modulelens.worker.errors import METHOD_NOT_FOUND, PARSE_ERROR, Stopped, WorkerError, error_object
from modulelens.worker.framing import MessageWriter, parse_body

_PROGRESS_SECONDS = 0.034

Handler = Callable[[Any, "Job"], Any]


class Job:
    """One request under way: progress, and the way to stop it. Made on the reading thread, run on the executing one."""

    def __init__(self, request: int, method: str, params: Any, writer: MessageWriter) -> None:
        self.request = request
        self.method = method
        self.params = params
        self._writer = writer
        self._stop: str | None = None
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._last_progress = 0.0

    def progress(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Tells the client how far the request is, at most thirty times a second. Raises Stopped when it is to stop."""
        self.check()
        now = time.monotonic()
        if now - self._last_progress >= _PROGRESS_SECONDS:
            self._last_progress = now
            params = {"request_id": self.request, "stage": stage, "done": done, "total": total}
            self._writer.write({"jsonrpc": "2.0", "method": "$/progress", "params": params})

    def check(self) -> None:
        """Raises Stopped when the request is to stop."""
        if self._stop is not None:
            raise Stopped

    def stop(self, reason: str = "cancelled") -> None:
        """Asks to stop; code inside `interruptible` is interrupted between two steps of the interpreter."""
        with self._lock:
            self._stop = self._stop or reason
            if self._thread is not None:
                _raise_in(self._thread, Stopped)

    @property
    def stop_reason(self) -> str | None:
        """ "cancelled" or "timeout" when the request was asked to stop."""
        return self._stop

    @contextlib.contextmanager
    def interruptible(self, timeout_ms: int | None = None) -> Iterator[None]:
        """Around code of modules, which does not look whether it is to stop."""
        timer = None
        if timeout_ms is not None:
            timer = threading.Timer(timeout_ms / 1000, self.stop, ["timeout"])
            timer.daemon = True
            timer.start()
        try:
            with self._lock:
                self.check()
                self._thread = threading.get_ident()
            try:
                yield
            finally:
                with self._lock:
                    self._thread = None
                    # Not delivered yet: it must not hit code that comes later.
                    _raise_in(threading.get_ident(), None)
            self.check()
        finally:
            if timer is not None:
                timer.cancel()


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind) if kind else None)


class Dispatcher:
    """`receive` belongs to the reading thread, `run_next` to the executing one."""

    def __init__(self, writer: MessageWriter) -> None:
        self._writer = writer
        self._handlers: dict[str, Handler] = {}
        self._queue: collections.deque[Job] = collections.deque()
        self._running: Job | None = None
        self._changed = threading.Condition()
        self._closed = False

    def add(self, method: str, handler: Handler) -> None:
        """`handler(params, job)` returns the result or raises."""
        self._handlers[method] = handler

    def methods(self) -> list[str]:
        """Their names, in the order in which they were added."""
        return list(self._handlers)

    def receive(self, body: bytes) -> None:
        """Takes one message."""
        try:
            message = parse_body(body)
        except ValueError as error:
            self._refuse(None, PARSE_ERROR, f"the message is no JSON: {error}")
            return
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self._refuse(None, PARSE_ERROR, "the message is no request of JSON-RPC 2.0")
            return
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            self._refuse(None, PARSE_ERROR, "the message has no method")
        elif "id" not in message:
            if method == "$/cancelRequest":
                self._cancel(message.get("params"))
        elif not isinstance(number, int) or isinstance(number, bool):
            self._refuse(None, PARSE_ERROR, "the id of a request is an integer")
        else:
            self._accept(Job(number, method, message.get("params"), self._writer))

    def run_next(self) -> bool:
        """Waits for a request and runs it. Returns False when there will be none."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._queue)
            if not self._queue:
                return False
            job = self._running = self._queue.popleft()
        try:
            answer = {"result": self._handlers[job.method](job.params, job)}
        except BaseException as error:
            answer = {"error": error_object(_reason(error, job))}
        with self._changed:
            self._running = None
        self._writer.write({"jsonrpc": "2.0", "id": job.request, **answer})
        return True

    def close(self) -> None:
        """No more requests: those that wait are cancelled."""
        with self._changed:
            self._closed = True
            waiting = list(self._queue)
            self._queue.clear()
            self._changed.notify_all()
        for job in waiting:
            self._answer_cancelled(job)

    def _accept(self, job: Job) -> None:
        if job.method not in self._handlers:
            self._refuse(job.request, METHOD_NOT_FOUND, f"there is no method '{job.method}'")
            return
        refusal: WorkerError | None = None
        with self._changed:
            used = [other.request for other in self._queue]
            if self._running is not None:
                used.append(self._running.request)
            if self._closed:
                refusal = WorkerError("cancelled", f"the request '{job.method}' was cancelled")
            elif job.request in used:
                refusal = WorkerError("invalid_argument", f"the request id {job.request} is in use")
            else:
                self._queue.append(job)
                self._changed.notify()
        if refusal is not None:
            self._writer.write({"jsonrpc": "2.0", "id": job.request, "error": error_object(refusal)})

    def _cancel(self, params: Any) -> None:
        number = params.get("id") if isinstance(params, dict) else None
        removed = None
        with self._changed:
            if self._running is not None and self._running.request == number:
                self._running.stop()
            for job in self._queue:
                if job.request == number:
                    removed = job
            if removed is not None:
                self._queue.remove(removed)
        if removed is not None:
            self._answer_cancelled(removed)

    def _answer_cancelled(self, job: Job) -> None:
        error = WorkerError("cancelled", f"the request '{job.method}' was cancelled")
        self._writer.write({"jsonrpc": "2.0", "id": job.request, "error": error_object(error)})

    def _refuse(self, number: int | None, code: int, message: str) -> None:
        error = {"code": code, "message": message, "data": None}
        self._writer.write({"jsonrpc": "2.0", "id": number, "error": error})


def _reason(error: BaseException, job: Job) -> BaseException:
    """What a request that was stopped ends with, whatever its code made of that."""
    if job.stop_reason == "timeout":
        return WorkerError(
            "timeout", f"'{job.method}' did not end within its time limit", "Allow more time with --timeout."
        )
    if job.stop_reason is not None:
        return WorkerError("cancelled", f"'{job.method}' was cancelled")
    return error
