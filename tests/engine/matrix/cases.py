# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""What a case of the matrix is, and the register of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

Inputs = Callable[[int], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """`make()` gives the module, `inputs(batch)` its arguments, a dictionary at the end being the keywords.

    `libraries` are files beside the worker whose operators the module calls.
    """

    family: str
    name: str
    make: Callable[[], nn.Module]
    inputs: Inputs
    modes: tuple[str, ...] = ("eval", "train")
    batches: tuple[int, int] = (3, 5)
    keywords: bool = field(default=False)
    libraries: tuple[str, ...] = ()

    def arguments(self, batch: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        values = self.inputs(batch)
        return (values[:-1], values[-1]) if self.keywords else (values, {})


class Function(nn.Module):
    """A function as a module. The name keeps the tracer from taking two of them for equal."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__()
        self.name = name
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


CASES: list[Case] = []


def functions(family: str, inputs: Inputs, /, libraries: tuple[str, ...] = (), **named: Callable[..., Any]) -> None:
    """Registers functions that take the same inputs. They behave alike in training, so that mode is left out."""
    for name, function in named.items():
        # The defaults bind the loop's variables.
        CASES.append(
            Case(
                family,
                name,
                lambda name=name, function=function: Function(name, function),
                inputs,
                modes=("eval",),
                libraries=libraries,
            )
        )


def modules(family: str, inputs: Inputs, /, **named: Callable[[], nn.Module]) -> None:
    for name, make in named.items():
        CASES.append(Case(family, name, make, inputs))


def rows(*shape: int, dtype: torch.dtype = torch.float32) -> Inputs:
    """One tensor with the batch before `shape`."""
    return lambda batch: (torch.randn(batch, *shape).to(dtype),)


def same(count: int, *shape: int) -> Inputs:
    return lambda batch: tuple(torch.randn(batch, *shape) for _ in range(count))
