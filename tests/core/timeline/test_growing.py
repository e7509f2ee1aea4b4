"""A timeline that grows shows what one that is made at once shows."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.following.own_steps import OwnSteps
from isoscope.core.following.told import Told
from isoscope.core.recording.model import Labels, Recording, StepKind
from isoscope.core.recording.spill import Spill
from isoscope.core.timeline.growing import GrowingTimeline
from isoscope.core.timeline.lanes import timeline_of
from isoscope.core.timeline.model import FindingMark, TimelineExtras
from isoscope.core.timeline.view import View

ENVS, EPISODE = 3, 9


def columns(rows: int) -> tuple[Labels, np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    turn = np.arange(rows) // 2
    env = (turn % ENVS).astype(np.int32)
    env[random.random(rows) < 0.03] = -1
    control = (turn // ENVS) % EPISODE
    labels = Labels(
        env,
        (turn // ENVS // EPISODE + 1).astype(np.int32),
        control.astype(np.int32),
        (np.arange(rows) % 2).astype(np.int32),
        np.where(control == 0, StepKind.RESET, StepKind.SUBSTEP).astype(np.int8),
    )
    h_s = np.where(control == 0, 1e-5, 0.02)
    h_s[random.random(rows) < 0.02] = 0.0
    gravity = np.tile([0.0, -9.8, 0.0], (rows, 1))
    gravity[rows // 2 :, 1] = -3.7
    return labels, h_s, gravity


def grown(
    rows: int, cuts: list[int], spill: Spill | None = None
) -> tuple[GrowingTimeline, Recording]:
    labels, h_s, gravity = columns(rows)
    made = Recording(None, "made")
    for track in made.steps.tracks:
        track.spill = spill
    steps, told = OwnSteps(made), Told(spill)
    timeline = GrowingTimeline(made, steps, told)
    start = 0
    for stop in [*cuts, rows]:
        made.labels = Labels(
            *(getattr(labels, n)[:stop] for n in Labels.__dataclass_fields__)
        )
        part = slice(start, stop)
        made.steps.append(
            np.arange(start, stop), np.cumsum(h_s)[part], h_s[part], gravity[part]
        )
        steps.take(stop)
        # Every lane is looked at each time, as when all are in sight.
        for lane in timeline.timeline().lanes:
            _ = lane.items, lane.marks.rows
        if spill is not None:
            spill.trim()
        start = stop
    return timeline, made


@pytest.mark.parametrize("cuts", [[], [1], [7, 8, 9, 333], list(range(40, 700, 41))])
@pytest.mark.parametrize("beyond", [False, True], ids=["in memory", "beyond it"])
def test_it_is_the_same_however_it_came(cuts, beyond, tmp_path, monkeypatch):
    rows = 700
    monkeypatch.setattr("isoscope.core.recording.spill.SMALLEST", 1)
    spill = Spill(tmp_path, 0) if beyond else None
    timeline, made = grown(rows, cuts, spill)
    assert (spill is not None and spill.mapped_bytes > 0) == beyond
    while timeline.rows < rows:
        timeline.timeline()
    found, wanted = timeline.timeline(), timeline_of(made)
    assert found.typical_h_s == wanted.typical_h_s
    names = [lane.key for lane in wanted.lanes if lane.key != "env:?"]
    assert [lane.key for lane in found.lanes] == names
    columns = View.fit(rows, 97).columns()
    edges = np.arange(0, rows + 20, 20)
    for lane in found.lanes:
        other = wanted.lane(lane.key)
        for name in ("start", "stop", "active_stop", "look", "number"):
            mine = getattr(lane.items, name)
            assert np.array_equal(mine, getattr(other.items, name)), (lane.key, name)
        assert np.array_equal(lane.marks.rows, other.marks.rows), lane.key
        assert np.array_equal(lane.marks.shapes, other.marks.shapes), lane.key
        assert np.array_equal(lane.marks.leaders(edges), other.marks.leaders(edges))
        assert lane.marks.kinds == other.marks.kinds
        said = [lane.marks.text(i) for i in range(len(lane.marks))]
        assert said == [other.marks.text(i) for i in range(len(other.marks))]
        if lane.rows is not None:
            assert np.array_equal(lane.rows.bits, other.rows.bits)
            for kind in ("union", "top"):
                mine = getattr(lane.rows, kind).over(columns.start, columns.stop)
                theirs = getattr(other.rows, kind).over(columns.start, columns.stop)
                assert np.array_equal(mine, theirs), (lane.key, kind)


def test_each_environments_rows_are_those_of_the_labels():
    timeline, made = grown(700, [10, 200, 201])
    for env in range(ENVS):
        own = np.flatnonzero(made.labels.env == env)
        assert np.array_equal(timeline.steps.rows_of(env), own)
        turns = timeline.steps.turns_of(env)
        episode = made.labels.episode[own]
        assert np.array_equal(turns.sequence[turns.sequence >= 0], own)
        assert np.count_nonzero(turns.sequence < 0) == np.count_nonzero(
            np.diff(episode)
        )
    there = made.labels.env >= 0
    env, episode = made.labels.env[there], made.labels.episode[there]
    pairs = set(zip(env.tolist(), episode.tolist(), strict=True))
    assert timeline.steps.analysis().attribution.episodes == len(pairs)


def test_what_is_found_on_the_way_is_marked_in_the_events_and_in_its_lane():
    timeline, _ = grown(700, [])
    found = TimelineExtras(findings=(FindingMark(40, "error", "error: it is so", 1),))
    while timeline.rows < 700:
        timeline.timeline()
    made = timeline.timeline(extras=found)
    for key in ("events", "env:1"):
        marks = made.lane(key).marks
        at = [marks.text(i) for i in marks.between(40, 41)]
        assert "error: it is so" in at, key
    other = made.lane("env:2").marks
    assert "error: it is so" not in [other.text(i) for i in other.between(40, 41)]
