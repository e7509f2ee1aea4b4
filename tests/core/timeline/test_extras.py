"""From an analysis to what the timeline draws of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.analysis import Analyser
from isoscope.core.recording.registry import load
from isoscope.core.timeline.extras import extras_of
from isoscope.core.timeline.lanes import timeline_of
from isoscope.core.timeline.pieces import Shape

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.timeline.model import TimelineExtras


def extras(path: Path) -> TimelineExtras:
    return extras_of(Analyser(load(path)).run())


def test_a_missed_restore_is_an_arc_a_mark_and_tainted_rows(recordings: Path) -> None:
    found = extras(recordings / "shared_cartpole_missed_restore.h5")
    (arc,) = found.arcs
    assert (arc.source, arc.target, arc.severity) == (33, 34, "error")
    assert arc.text == "env 0 went on from env 1's state"
    (mark,) = found.findings
    assert (mark.row, mark.env, mark.severity) == (34, 0, "error")
    (taint,) = found.tainted
    assert (taint.low, taint.high, taint.env) == (34, 39, 0)


def test_usual_restores_are_no_arcs(recordings: Path) -> None:
    found = extras(recordings / "shared_cartpole_2env.h5")
    assert found.arcs == ()
    assert found.findings == ()


def test_a_rewind_is_a_quiet_arc(recordings: Path) -> None:
    found = extras(recordings / "restore_twice.h5")
    assert [(a.target, a.severity) for a in found.arcs] == [(15, "note"), (30, "note")]


def test_taint_is_of_the_environment_that_was_reached(recordings: Path) -> None:
    found = extras(recordings / "shared_cartpole_leak_gravity.h5")
    (mark,) = found.findings
    assert (mark.row, mark.env) == (66, 1)
    (taint,) = found.tainted
    assert (taint.low, taint.env) == (68, 0)


def test_lanes_come_of_them(recordings: Path) -> None:
    recording = load(recordings / "shared_cartpole_missed_restore.h5")
    made = timeline_of(recording, extras_of(Analyser(recording).run()))
    keys = [lane.key for lane in made.lanes]
    assert keys[:2] == ["owner", "residual"]
    assert keys[-2:] == ["env:0", "env:1"]
    lane = made.lane("env:0")
    assert lane is not None
    assert Shape.ERROR in lane.marks.kinds
