"""The times of a document whose recording is still being read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from isoscope.core.recording.model import StepTable
from isoscope.widgets.times import axes_of


class Growing(StepTable):
    """Has more rows each time that somebody looks."""

    @property
    def h_s(self) -> Any:
        add(self, 3)
        return super().h_s


def add(steps: StepTable, rows: int) -> None:
    start = len(steps)
    numbers = np.arange(start, start + rows)
    gravity = np.zeros((rows, 3))
    steps.append(numbers, numbers * 0.02, np.full(rows, 0.02), gravity, numbers * 0.02)


def test_all_times_are_of_the_same_rows_however_fast_it_grows() -> None:
    steps = Growing()
    add(steps, 8)
    analysis = SimpleNamespace(
        attribution=SimpleNamespace(scene_time_s=np.zeros(5)),
        control_s=np.arange(5) * 0.02,
    )
    recording = SimpleNamespace(steps=steps)
    document: Any = SimpleNamespace(recording=recording, analysis=analysis, focus=None)
    axes = axes_of(document)
    assert len(axes) == 4
    assert {len(axis) for axis in axes} == {8}
