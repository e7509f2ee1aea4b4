from __future__ import annotations

import math

import numpy as np
import pytest

from isoscope.core.recording.model import Labels, Problem, Recording
from isoscope.core.recording.registry import load
from isoscope.core.timeline.lanes import (
    gravity_marks,
    problem_marks,
    residual_lane,
    timeline_of,
)
from isoscope.core.timeline.model import FindingMark, LaneKind, Taint, TimelineExtras
from isoscope.core.timeline.pieces import Shape


def keys(timeline):
    return [lane.key for lane in timeline.lanes]


def test_a_plain_recording_has_its_native_steps(recordings):
    timeline = timeline_of(load(recordings / "rigid_contacts_all.h5"))
    assert keys(timeline) == ["steps"]
    assert timeline.rows == timeline.expected == 80


def test_actors_that_come_or_go_have_a_lifetime_bar(recordings):
    recording = load(recordings / "create_destroy.h5")
    timeline = timeline_of(recording)
    bars = {lane.label: lane for lane in timeline.lanes if lane.actor is not None}
    assert set(bars) == {"Crate", "Late"}
    crate, late = bars["Crate"].items, bars["Late"].items
    assert (crate.start.tolist(), crate.stop.tolist()) == ([0], [20])
    assert (late.start.tolist(), late.stop.tolist()) == ([10], [30])
    assert recording.actors[bars["Late"].actor].name == "Late"
    assert bars["Crate"].about == (
        "Crate (Rigid): there from the beginning, gone from row 20"
    )


def test_a_change_of_gravity_is_marked_where_it_first_holds(recordings):
    recording = load(recordings / "shared_cartpole_leak_gravity.h5")
    gravity = recording.steps.gravity
    events = timeline_of(recording).lane("events")
    assert events.marks.shapes.tolist() == [Shape.GRAVITY]
    row = int(events.marks.rows[0])
    assert (gravity[row] != gravity[row - 1]).any()
    assert events.marks.text(0).startswith("gravity changes from (0, -9.8")


def test_unknown_gravity_is_no_change_and_hides_none():
    nan = [math.nan] * 3
    down, less = [0.0, -9.8, 0.0], [0.0, -3.0, 0.0]
    marks = gravity_marks(np.array([nan, down, nan, down, nan, less, nan]))
    assert marks.rows.tolist() == [5]
    assert marks.text(0) == "gravity changes from (0, -9.8, 0) to (0, -3, 0) m/s²"


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows_for_a_change_of_gravity(rows):
    assert len(gravity_marks(np.zeros((rows, 3)))) == 0


def test_a_problem_is_marked_on_the_step_that_it_lies_before():
    problems = [
        Problem("torn", "/events/12/actors/7", 3, "error"),
        Problem("odd", "/events/99999999999999999999999"),
        Problem("about the whole file"),
    ]
    marks = problem_marks(problems, np.array([3, 10, 13, 14]))
    assert marks.rows.tolist() == [2, 3]
    assert marks.shapes.tolist() == [Shape.ERROR, Shape.WARNING]
    assert "torn" in marks.text(0)
    assert "2 more like it" in marks.text(0)


def recording_of(rows: int) -> Recording:
    made = Recording(None, "test")
    h_s = np.full(rows, 0.02)
    made.steps.append(np.arange(rows), np.cumsum(h_s), h_s, np.zeros((rows, 3)))
    return made


def test_labels_bring_the_ribbon_and_a_lane_for_each_environment():
    recording = recording_of(6)
    recording.labels = Labels.unknown(6)
    recording.labels.env[:] = [0, 0, 1, 1, 0, 0]
    timeline = timeline_of(recording)
    assert keys(timeline) == ["owner", "steps", "env:0", "env:1"]


def test_labels_that_lag_behind_leave_the_rest_unknown():
    found = Labels.unknown(2)
    found.env[:] = 0
    timeline = timeline_of(recording_of(5), TimelineExtras(labels=found))
    assert timeline.labels.env.tolist() == [0, 0, -1, -1, -1]
    assert "env:?" in keys(timeline)


def test_labels_that_run_ahead_are_cut():
    timeline = timeline_of(recording_of(2), TimelineExtras(labels=Labels.unknown(9)))
    assert len(timeline.labels) == 2


def test_findings_lie_among_the_events_and_on_their_environments_lane():
    labels = Labels.unknown(6)
    labels.env[:] = [0, 0, 1, 1, 0, 0]
    found = (FindingMark(4, "error", "bad", env=0), FindingMark(99, "error", "beyond"))
    timeline = timeline_of(
        recording_of(6), TimelineExtras(labels=labels, findings=found)
    )
    events, own = timeline.lane("events"), timeline.lane("env:0")
    assert events.marks.rows.tolist() == [4]
    assert Shape.ERROR in own.marks.shapes
    assert Shape.ERROR not in timeline.lane("env:1").marks.shapes


def test_bookmarks_are_events():
    timeline = timeline_of(recording_of(6), bookmarks=[(3, "here"), (8, "beyond")])
    events = timeline.lane("events").marks
    assert (events.rows.tolist(), events.text(0)) == ([3], "bookmark: here")


def test_residuals_are_logarithmic_and_absent_is_not_zero():
    lane, (low, high) = residual_lane(np.array([1e-9, 1e-3, math.nan, 0.0]), 5)
    assert lane.kind is LaneKind.RESIDUAL
    assert (low, high) == pytest.approx((1e-9, 1e-3))
    level = lane.rows.level
    assert level[1] == 100
    assert level[0] == level[3] == 8
    assert level[2] == level[4] == 0
    assert lane.rows.bits.tolist() == [1, 1, 2, 1, 2]


def test_absurd_residuals_make_a_strip_all_the_same():
    lane, (low, high) = residual_lane(np.array([5e-324, 1e308, np.inf, -1.0]), 4)
    assert 0 < low < high
    assert lane.rows.level.tolist() == [8, 100, 0, 8]


def test_residuals_that_are_all_unknown_make_an_empty_strip():
    lane, _ = residual_lane(np.full(3, math.nan), 3)
    assert lane.rows.level.max() == 0


def test_taint_is_kept_by_environment():
    extras = TimelineExtras(tainted=(Taint(1, 2, 0), Taint(4, 4, 0), Taint(0, 5)))
    taints = timeline_of(recording_of(6), extras).taints
    assert [span.tolist() for span in taints[0]] == [[1, 4], [2, 4]]
    assert [span.tolist() for span in taints[None]] == [[0], [5]]


def test_the_overview_repeats_events_and_steps_of_zero(recordings):
    recording = load(recordings / "variable_steps.h5")
    timeline = timeline_of(recording, bookmarks=[(2, "b")])
    assert timeline.events.rows.tolist() == [2, 8]
    assert timeline.events.shapes.tolist() == [Shape.BOOKMARK, Shape.ZERO]


def test_a_recording_without_rows_has_lanes_without_rows():
    timeline = timeline_of(Recording(None, "test"), expected=100)
    assert (timeline.rows, timeline.expected) == (0, 100)
    assert keys(timeline) == ["steps"]
