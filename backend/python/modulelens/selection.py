# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Which modules keep their tensors: globs, regular expressions, classes, depths and predicates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from torch import nn

Selector: TypeAlias = str | type[nn.Module] | Callable[[str, nn.Module], bool]
Predicate: TypeAlias = Callable[[str, nn.Module], bool]


def predicate_of(selector: Selector) -> Predicate:
    """Turns a selector into a predicate over (name, module).

    Strings are globs over dotted names (`*` one segment, `**` any number of them), or `re:PATTERN`, `class:NAME`,
    `depth:N`.
    Raises ValueError when a string cannot be read.
    """
    if isinstance(selector, type):
        wanted_class = selector
        return lambda _, module: isinstance(module, wanted_class)
    if not isinstance(selector, str):
        return selector
    if selector.startswith("class:"):
        class_name = selector[len("class:") :]
        return lambda _, module: any(base.__name__ == class_name for base in type(module).__mro__)
    if selector.startswith("depth:"):
        return _depth_predicate(selector)
    if selector.startswith("re:"):
        return _pattern_predicate(selector[len("re:") :], selector)
    return _pattern_predicate(_glob_pattern(selector), selector)


def select(selectors: Iterable[Selector], excluded: Iterable[Selector]) -> Predicate:
    """Returns the predicate: any selector holds and no excluded one does."""
    wanted = [predicate_of(selector) for selector in selectors]
    unwanted = [predicate_of(selector) for selector in excluded]

    def chosen(name: str, module: nn.Module) -> bool:
        return any(test(name, module) for test in wanted) and not any(test(name, module) for test in unwanted)

    return chosen


def _depth_predicate(selector: str) -> Predicate:
    try:
        limit = int(selector[len("depth:") :])
    except ValueError:
        raise ValueError(f"the selector {selector!r} needs a whole number after 'depth:'") from None
    return lambda name, _: (name.count(".") + 1 if name else 0) <= limit


def _pattern_predicate(pattern: str, selector: str) -> Predicate:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"the selector {selector!r} is not a pattern: {error}") from None
    return lambda name, _: compiled.fullmatch(name) is not None


def _glob_pattern(glob: str) -> str:
    if glob in ("", "**"):
        return ".*" if glob else ""
    pattern = ""
    for segment in glob.split("."):
        if segment == "**":
            pattern += r"(?:(?:^|\.)[^.]+)*"
        else:
            pattern += r"(?:^|\.)(?=[^.])" + re.escape(segment).replace(r"\*", "[^.]*")
    return pattern
