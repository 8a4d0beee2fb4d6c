# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The shapes of JSON that the tracer writes, and the one way in which it turns them into bytes."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]


def encode_json(document: Json) -> bytes:
    """Returns the UTF-8 bytes of a document. Key order is kept; NaN and Infinity raise ValueError.

    Lone surrogates, which no UTF-8 can hold, become question marks.
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", errors="replace") + b"\n"


def pointer_token(key: str | int) -> str:
    """Returns one reference token of a JSON Pointer (RFC 6901), with its leading slash."""
    return "/" + str(key).replace("~", "~0").replace("/", "~1")
