# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Messages on the worker's standard streams, framed as in the LSP base protocol."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

MAXIMUM_BODY = 256 << 20
_MAXIMUM_HEADER = 8192
_READ = 1 << 16
_DEEPEST = 200


class FramingError(ValueError):
    """What arrived cannot be read as messages; nothing after it can."""


class EndOfStreamError(EOFError):
    """The other side has closed the stream. `inside` a message says that its rest is missing."""

    def __init__(self, inside: bool) -> None:
        super().__init__()
        self.inside = inside


class MessageReader:
    """Reads bodies from a descriptor. Used by one thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()

    def read(self) -> bytes:
        """Blocks for the next body. Raises FramingError and EndOfStreamError."""
        while True:
            end = self._buffer.find(b"\r\n\r\n", 0, _MAXIMUM_HEADER)
            _check_header(bytes(self._buffer[: end if end >= 0 else _MAXIMUM_HEADER]))
            if end >= 0:
                break
            if len(self._buffer) >= _MAXIMUM_HEADER:
                raise FramingError(f"a message header is over {_MAXIMUM_HEADER} bytes")
            self._more()
        length = _body_length(bytes(self._buffer[:end]).decode("latin-1"))
        begin = end + 4
        while len(self._buffer) < begin + length:
            self._more()
        body = bytes(self._buffer[begin : begin + length])
        del self._buffer[: begin + length]
        return body

    def _more(self) -> None:
        data = os.read(self._descriptor, _READ)
        if not data:
            raise EndOfStreamError(bool(self._buffer))
        self._buffer += data


class MessageWriter:
    """Writes messages to a descriptor, whole ones. Any thread may use it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def write(self, message: dict[str, Any]) -> None:
        """Raises OSError when the other side is gone."""
        body = json.dumps(_finite(message), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        encoded = body.encode("utf-8", errors="replace")
        self.write_bytes(b"Content-Length: %d\r\n\r\n" % len(encoded) + encoded)

    def write_bytes(self, data: bytes) -> None:
        """Writes bytes as they are."""
        view = memoryview(data)
        with self._lock:
            while view:
                view = view[os.write(self._descriptor, view) :]


def parse_body(body: bytes) -> Any:
    """Returns the JSON of a body. Raises ValueError for anything else, and for deep nesting."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if _depth(value) > _DEEPEST:
        raise ValueError(f"nested deeper than {_DEEPEST} levels")
    return value


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def _depth(value: Any) -> int:
    deepest = 0
    level = [value]
    while level:
        deepest += 1
        if deepest > _DEEPEST:
            return deepest
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(child for child in item.values() if isinstance(child, dict | list))
            elif isinstance(item, list):
                inner.extend(child for child in item if isinstance(child, dict | list))
        level = inner
    return deepest


def _finite(value: Any) -> Any:
    """NaN and Infinity become null."""
    if isinstance(value, float):
        return value if value == value and value not in (float("inf"), float("-inf")) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _check_header(text: bytes) -> None:
    """A header begins with a letter and holds no control characters but CR LF: told from garbage early."""
    if text and not (65 <= text[0] <= 90 or 97 <= text[0] <= 122):
        raise FramingError("what arrived is not a message header")
    if any((byte < 32 and byte not in b"\r\n\t") or byte == 127 for byte in text):
        raise FramingError("what arrived is not a message header")
    if any(byte == 10 and text[index - 1] != 13 for index, byte in enumerate(text)):
        raise FramingError("what arrived is not a message header")


def _body_length(header: str) -> int:
    length: int | None = None
    for line in header.split("\r\n") if header else []:
        name, colon, value = line.partition(":")
        if not colon or not name:
            raise FramingError(f"'{line[:60]}' is not a message header")
        if name.strip().lower() != "content-length":
            continue
        digits = value.strip()
        if length is not None or not (digits.isascii() and digits.isdigit()) or int(digits) > MAXIMUM_BODY:
            raise FramingError(f"the message length '{digits[:60]}' is twice there, too large or no number")
        length = int(digits)
    if length is None:
        raise FramingError("a message header has no Content-Length")
    return length
