# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""What is measured of each call while the traced run goes on: device time and the allocator's peak."""

from __future__ import annotations

from typing import Any, Protocol

import torch

from modulelens.json_types import JsonObject


class DeviceMeter(Protocol):
    """Reads an accelerator's clock and allocator. Marks cost little; reading them waits for the device."""

    def mark(self) -> Any:
        """Puts a mark on the device's current stream."""

    def elapsed_ns(self, first: Any, last: Any) -> int:
        """Returns the device time between two marks, once the device has passed them."""

    def allocated(self) -> int:
        """Returns the bytes that the allocator has given out."""

    def take_peak(self) -> int:
        """Returns the most bytes that were given out since the last time, and starts anew."""


class AcceleratorMeter:
    """The current accelerator of torch: CUDA, and what stands in for it."""

    def __init__(self) -> None:
        self._device = torch.accelerator.current_accelerator()

    def mark(self) -> Any:
        event = torch.Event(device=self._device, enable_timing=True)
        event.record()
        return event

    def elapsed_ns(self, first: Any, last: Any) -> int:
        last.synchronize()
        return max(int(first.elapsed_time(last) * 1e6), 0)

    def allocated(self) -> int:
        return int(torch.accelerator.memory_allocated())

    def take_peak(self) -> int:
        peak = int(torch.accelerator.max_memory_allocated())
        torch.accelerator.reset_peak_memory_stats()
        return peak


def accelerator_meter() -> DeviceMeter | None:
    """Returns the meter of an accelerator that is in use, or None: on a CPU host time is all there is."""
    if not torch.accelerator.is_available():
        return None
    device = torch.accelerator.current_accelerator()
    if device is None or (device.type == "cuda" and not torch.cuda.is_initialized()):
        return None
    return AcceleratorMeter()


class DeviceSpan:
    """Device time of one call without what the tracer itself did in it. Used from one thread."""

    def __init__(self, meter: DeviceMeter, own: list[tuple[Any, Any]]) -> None:
        self._meter = meter
        self._own = own
        self._skipped = len(own)
        self._first = meter.mark()
        self._last: Any = None
        self._inside: list[tuple[Any, Any]] = []

    def close(self, mark: Any) -> None:
        """Ends the call at a mark."""
        self._last = mark
        self._inside = self._own[self._skipped :]

    def nanoseconds(self) -> int | None:
        """Waits for the device. None for a call that did not end."""
        if self._last is None:
            return None
        own = sum(self._meter.elapsed_ns(*pair) for pair in self._inside)
        return max(self._meter.elapsed_ns(self._first, self._last) - own, 0)


def how_measured(meter: DeviceMeter | None, peak_memory: bool) -> JsonObject:
    """Says what the measured values of a run are, or why there are none."""
    no_device = None if meter is not None else "no accelerator was in use"
    no_peak = no_device if no_device or peak_memory else "not asked for: it resets the allocator's peak statistics"
    return {
        "host_ns": {"source": "clock of the host in the traced run, the tracer's own time taken off", "reason": None},
        "device_ns": {"source": "marks on the device's stream in the traced run", "reason": no_device},
        "peak_bytes": {"source": "torch's allocator in the traced run", "reason": no_peak},
    }
