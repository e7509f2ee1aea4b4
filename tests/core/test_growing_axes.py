"""Times that grow say what times that are made at once say."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.clock import Clock, TimeKind
from isoscope.core.controltime import control_axis, scene_axis
from isoscope.core.growing_axes import GrowingAxes
from isoscope.core.recording.model import StepTable
from isoscope.core.recording.spill import Spill
from isoscope.core.timeaxis import TimeAxis
from isoscope.core.timeline.ruler import goes_forward


def columns(rows):
    random = np.random.default_rng(3)
    h_s = np.where(random.random(rows) < 0.1, 1e-5, 0.02)
    h_s[5] = np.nan
    scene_s = (
        np.cumsum(np.nan_to_num(h_s)) - 0.3 * (np.arange(rows) % 40 == 39).cumsum()
    )
    control_s = np.where(np.arange(rows) % 7 == 0, 0.0, (np.arange(rows) % 7) * 0.02)
    control_s[:3] = np.nan
    return h_s, scene_s, control_s


@pytest.mark.parametrize("cuts", [[], [1, 2, 3], [700, 1023, 1025], [6, 400]])
@pytest.mark.parametrize("focused", [False, True])
def test_they_are_those_of_the_whole(cuts, focused):
    rows = 1500
    h_s, scene_s, control_s = columns(rows)
    own = np.arange(2, rows, 3) if focused else None
    steps, growing = StepTable(), GrowingAxes()
    start, found = 0, []
    for stop in [*cuts, rows]:
        part = slice(start, stop)
        gravity = np.zeros((stop - start, 3))
        time_s = np.cumsum(np.nan_to_num(h_s))[part]
        steps.append(np.arange(start, stop), time_s, h_s[part], gravity, scene_s[part])
        now = None if own is None else own[own < stop]
        found = growing.axes(steps, control_s[:stop], 1 if focused else None, now)
        start = stop
    wanted = [
        TimeAxis.recording(steps.time_s, steps.h_s),
        scene_axis(scene_s, h_s),
        control_axis(control_s, h_s, own),
        TimeAxis.native(steps.h_s),
    ]
    assert [axis.kind for axis in found] == [axis.kind for axis in wanted]
    for axis, other in zip(found, wanted, strict=True):
        assert np.array_equal(axis.stamps, other.stamps, equal_nan=True), axis.kind
        assert np.allclose(axis.durations_s, other.durations_s, rtol=0, atol=1e-15)
        assert np.allclose(axis.ends_s, np.cumsum(other.durations_s))
        assert axis.forward == goes_forward(other.stamps), axis.kind


def test_the_focus_may_change_on_the_way():
    h_s, _, control_s = columns(60)
    steps, growing = StepTable(), GrowingAxes()
    steps.append(np.arange(60), np.cumsum(h_s), h_s, np.zeros((60, 3)))
    growing.axes(steps, control_s, None, None)
    own = np.arange(1, 60, 2)
    found = growing.axes(steps, control_s, 1, own)
    axis = next(axis for axis in found if axis.kind is TimeKind.CONTROL)
    assert np.array_equal(
        axis.stamps, control_axis(control_s, h_s, own).stamps, equal_nan=True
    )


def test_marks_are_added_in_order_each_once():
    clock = Clock()
    clock.set_marks("control", [3, 9])
    clock.add_marks("control", np.array([9, 12, 11]))
    clock.add_marks("control", [])
    clock.add_marks("control", [4])
    assert clock.marks("control") == [3, 4, 9, 11, 12]
    clock.add_marks("event", [5])
    assert clock.marks("event") == [5]


def test_they_grow_where_the_steps_do(tmp_path):
    spill = Spill(tmp_path, 0)
    steps, growing = StepTable(), GrowingAxes()
    for track in steps.tracks:
        track.spill = spill
    rows = 1 << 14
    unknown = np.full((rows, 3), np.nan)
    steps.append(np.arange(rows), np.arange(rows) * 0.1, np.full(rows, 0.1), unknown)
    of_steps = spill.mapped_bytes
    axes = growing.axes(steps, np.zeros(rows))
    mine = sum(a.stamps.nbytes + a.durations_s.nbytes for a in axes)
    assert spill.mapped_bytes - of_steps >= mine > 0
