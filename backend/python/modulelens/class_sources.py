# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Source text of classes. Each file is parsed once, where `inspect.getsource` parses it for every class."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import linecache
import sys


def class_source(kind: type) -> str | None:
    """Returns the class statement with its decorators, or None where there is no source."""
    with contextlib.suppress(OSError, TypeError, SyntaxError, ValueError, RecursionError):
        file = inspect.getsourcefile(kind)
        module = sys.modules.get(kind.__module__)
        if file is None:
            return None
        lines = linecache.getlines(file, module.__dict__ if module is not None else None)
        extent = _extents(file, len(lines), hash(tuple(lines))).get(kind.__qualname__) if lines else None
        if extent is not None:
            return "".join(lines[extent[0] : extent[1]])
        return inspect.getsource(kind)
    return None


@functools.lru_cache(maxsize=256)
def _extents(file: str, count: int, content: int) -> dict[str, tuple[int, int]]:
    """Returns first line and end of each class by qualified name; names that stand twice are left out."""
    found: dict[str, tuple[int, int]] = {}
    twice: set[str] = set()

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                name = prefix + child.name
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                if name in found:
                    twice.add(name)
                found[name] = (first - 1, child.end_lineno or child.lineno)
                visit(child, f"{name}.")
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                visit(child, f"{prefix}{child.name}.<locals>.")
            elif isinstance(child, ast.stmt | ast.excepthandler):
                visit(child, prefix)

    visit(ast.parse("".join(linecache.getlines(file))), "")
    return {name: extent for name, extent in found.items() if name not in twice}
