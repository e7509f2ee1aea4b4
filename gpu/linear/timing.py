"""The time of each part of a solve, without one part counted inside another."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import torch

from isoscope.gpu.linear.status import SolveTiming

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.gpu.transfer import Ledger

Part = Literal[
    "host_to_device", "preconditioner", "iterations", "read_back", "device_to_host"
]
TIMING_CAUSE = "solver-timing"


class PartTimer:
    """Lays marks where one part ends and the next begins, and sums between them.

    On CUDA the marks are events of the current stream, so that work is timed where it
    is done; elsewhere they are readings of a clock. Where it is not enabled, it does
    nothing.

    Parameters
    ----------
    device
        Where the work is done.
    enabled
        Whether to take any time.
    """

    def __init__(self, device: torch.device, enabled: bool) -> None:
        self._device = device
        self._enabled = enabled
        self._on_cuda = device.type == "cuda"
        self._part: Part | None = None
        self._marks: list[tuple[Part | None, float | torch.cuda.Event]] = []

    @contextmanager
    def part(self, name: Part) -> Iterator[None]:
        """Time what is inside as one part; a part around it pauses meanwhile."""
        if not self._enabled:
            yield
            return
        outer = self._part
        self._begin(name)
        try:
            yield
        finally:
            self._begin(outer)

    def finish(self, ledger: Ledger) -> SolveTiming | None:
        """Sum the parts up; None where no time was taken.

        On CUDA this waits for the device once, booked as ``"solver-timing"``.
        """
        if not self._enabled:
            return None
        if self._on_cuda:
            ledger.synchronize(self._device, TIMING_CAUSE)
        sums: dict[str, float] = {}
        for (part, begin), (_, end) in zip(self._marks, self._marks[1:], strict=False):
            if part is not None:
                name = f"{part}_s"
                sums[name] = sums.get(name, 0.0) + _seconds(begin, end)
        return SolveTiming(**sums)

    def _begin(self, part: Part | None) -> None:
        self._part = part
        if not self._on_cuda:
            self._marks.append((part, time.perf_counter()))
            return
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self._device))
        self._marks.append((part, event))


def _seconds(begin: float | torch.cuda.Event, end: float | torch.cuda.Event) -> float:
    if isinstance(begin, float) and isinstance(end, float):
        return end - begin
    assert isinstance(begin, torch.cuda.Event)
    assert isinstance(end, torch.cuda.Event)
    return float(begin.elapsed_time(end)) * 1e-3
