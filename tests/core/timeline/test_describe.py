from __future__ import annotations

import numpy as np

from isoscope.core.clock import TimeAxis, TimeKind
from isoscope.core.recording.model import Labels
from isoscope.core.recording.registry import load
from isoscope.core.timeline.describe import describe_row, owner_text, things_at
from isoscope.core.timeline.lanes import timeline_of
from isoscope.core.timeline.model import Arc, FindingMark, Taint, TimelineExtras


def axis_of(recording):
    return TimeAxis.recording(recording.steps.time_s, recording.steps.h_s)


def test_a_row_says_what_the_file_says(recordings):
    recording = load(recordings / "variable_steps.h5")
    timeline = timeline_of(recording)
    assert describe_row(recording, timeline, 4, axis_of(recording)) == [
        "native step 4, event 7",
        "h 1e-05 s (as long as a reset's own step)",
        "time: recording 0.05501 s",
        "gravity (0, -9.8, 0) m/s²",
    ]
    zero = describe_row(recording, timeline, 8, axis_of(recording))
    assert "h 0 s (no time passes)" in zero


def test_actors_that_come_and_go_are_told(recordings):
    recording = load(recordings / "create_destroy.h5")
    timeline = timeline_of(recording)
    assert "Late is new" in describe_row(recording, timeline, 10, axis_of(recording))
    assert "Crate is gone" in describe_row(recording, timeline, 20, axis_of(recording))


def test_a_row_that_is_not_there_yet(recordings):
    recording = load(recordings / "variable_steps.h5")
    timeline = timeline_of(recording, expected=50)
    assert describe_row(recording, timeline, 30, axis_of(recording)) == [
        "not yet indexed"
    ]


def test_another_time_is_told_beside_the_recordings(recordings):
    recording = load(recordings / "variable_steps.h5")
    axis = TimeAxis(TimeKind.CONTROL, np.full(9, 0.36), np.full(9, 0.02))
    lines = describe_row(recording, timeline_of(recording), 0, axis)
    assert "time: recording 0.02 s, control 0.360 s" in lines


def test_an_owner_in_words():
    labels = Labels.unknown(4)
    labels.env[:3] = [0, 1, 2]
    labels.episode[:3] = [1, 2, -1]
    labels.control_step[:3] = [9, 0, -1]
    labels.substep[0] = 1
    assert owner_text(labels, 0) == "env 0, episode 1, control step 9, substep 1"
    assert owner_text(labels, 1) == "env 1, episode 2, reset"
    assert owner_text(labels, 2) == "env 2, episode unknown, control step unknown"
    assert owner_text(labels, 3) == "env unknown"
    assert owner_text(None, 0) == ""


def test_what_is_marked_near_a_row_is_told_once(recordings):
    recording = load(recordings / "variable_steps.h5")
    extras = TimelineExtras(
        arcs=(Arc(1, 3, "error", "went on from elsewhere"),),
        findings=(FindingMark(3, "error", "missed restore"),),
        tainted=(Taint(3, 5, text="env 0 is tainted"),),
    )
    timeline = timeline_of(recording, extras, [(3, "look")])
    assert things_at(timeline, 3, 4) == [
        "missed restore",
        "bookmark: look",
        "went on from elsewhere (row 1 to row 3)",
        "env 0 is tainted",
    ]
    assert things_at(timeline, 0, 1) == []


def test_a_crowd_of_marks_is_counted(recordings):
    recording = load(recordings / "variable_steps.h5")
    timeline = timeline_of(recording, bookmarks=[(2, str(i)) for i in range(9)])
    assert things_at(timeline, 2, 3)[-1] == "and 5 more marks here in events"
