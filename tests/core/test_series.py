"""Series give one number a row, and none where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.recording.model import Recording
from isoscope.core.recording.registry import load
from isoscope.core.recording.tracks import RaggedTrack, Track
from isoscope.core.series import (
    FieldRows,
    component_names,
    is_numeric,
    track_of,
    unit_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.series import Measure


@dataclass(frozen=True)
class Ref:
    actor: int | None
    field: str
    component: int | None = None
    measure: Measure | None = None


def steps(recording: Recording, rows: int) -> Recording:
    n = np.arange(rows)
    recording.steps.append(n, n * 0.02, np.full(rows, 0.02), np.zeros((rows, 3)))
    return recording


def test_components_take_the_names_of_the_schema_where_they_fit() -> None:
    assert component_names("omega", (3,)) == ["x", "y", "z"]
    assert component_names("rotation", (4,)) == ["x", "y", "z", "w"]
    assert component_names("omega", (2, 3)) == [
        "0.x",
        "0.y",
        "0.z",
        "1.x",
        "1.y",
        "1.z",
    ]
    assert component_names("pose", (2,)) == ["0", "1"]
    assert component_names("timeStep", ()) == [""]


def test_one_component_of_a_fixed_field(recordings: Path) -> None:
    recording = load(recordings / "shared_cartpole_2env.h5")
    actor = recording.find_actors("CartPole/Pole")[0]
    ref = Ref(actor.index, "omega", 2)
    track = track_of(recording, ref)
    assert track is not None
    values, drawable = FieldRows(recording, track, "omega", 2).read(0, 125)
    assert drawable.all()
    assert values.dtype == np.float64
    assert np.array_equal(values, track.read(0, 125).values[:, 2])
    assert unit_of(ref, track) == "rad/s"
    empty = FieldRows(recording, track, "omega", 2).read(64, 64)
    assert [len(part) for part in empty] == [0, 0]


def test_rows_before_creation_and_after_the_end_have_no_number(
    recordings: Path,
) -> None:
    recording = load(recordings / "create_destroy.h5")
    late, crate = (recording.find_actors(name)[0] for name in ("Late", "Crate"))
    for actor, alive in ((late, np.arange(30) >= 10), (crate, np.arange(30) < 20)):
        track = actor.fields["translation"]
        rows = FieldRows(recording, track, "translation", 1)
        assert len(rows) == 30
        assert np.array_equal(rows.read(0, 30)[1], alive)
        assert rows.at(5 if actor is late else 25) is None


def test_measures_of_a_ragged_field_leave_absent_rows_out(recordings: Path) -> None:
    recording = load(recordings / "rigid_contacts_all.h5")
    ball = recording.find_actors("BallA")[0]
    track = ball.fields["contacts_force"]
    window = track.read(0, 80)
    for measure in ("count", "sum", "max"):
        values, drawable = FieldRows(
            recording, track, "contacts_force", 0, measure
        ).read(0, 80)
        assert np.array_equal(drawable, window.valid)
        for row in np.flatnonzero(drawable):
            points = np.asarray(track.at(int(row)), float).reshape(-1, 3)
            norms = np.linalg.norm(points, axis=1)
            expected = {"count": len(norms), "sum": norms.sum(), "max": norms.max()}
            assert values[row] == pytest.approx(expected[measure], rel=1e-12)
    assert unit_of(Ref(ball.index, "contacts_force"), track) == ""
    assert unit_of(Ref(ball.index, "contacts_force", None, "max"), track) == "N"


def test_an_empty_row_counts_nothing_but_has_no_largest_norm() -> None:
    recording = steps(Recording(None, "test"), 4)
    track = RaggedTrack(np.dtype(np.float32))
    track.append_value(np.array([3, 4, 0], np.float32))
    track.append_value(np.zeros((0, 3), np.float32))
    track.skip(1)
    track.append_value(np.ones(4, np.float32))  # not made of whole points

    def read(measure: Measure) -> tuple[list[float], list[bool]]:
        rows = FieldRows(recording, track, "contacts_force", 0, measure)
        values, drawable = rows.read(0, 4)
        return values[drawable].tolist(), drawable.tolist()

    assert read("count") == ([1, 0, 1], [True, True, False, True])
    assert read("sum") == ([5, 0], [True, True, False, False])
    assert read("max") == ([5], [True, False, False, False])
    largest = FieldRows(recording, track, "contacts_force", 0, "max")
    assert [largest.at(row) for row in (0, 1, 2)] == [5.0, None, None]


def test_a_recorded_nan_is_told_but_not_drawn(recordings: Path) -> None:
    recording = load(recordings / "post_callback.h5")
    track = recording.find_actors("BallA")[0].fields["translation"]
    track.read(0, 1).values[0, 1] = np.nan
    rows = FieldRows(recording, track, "translation", 1)
    assert not rows.read(0, 1)[1][0]
    assert np.isnan(rows.at(0))


def test_references_to_nothing_and_to_text(recordings: Path) -> None:
    recording = load(recordings / "no_state.h5")
    assert track_of(recording, Ref(0, "omega")) is None
    assert track_of(recording, Ref(99, "omega")) is None
    name, gravity = (
        track_of(recording, Ref(0, "name")),
        track_of(recording, Ref(None, "gravity")),
    )
    assert name is not None
    assert not is_numeric(name)
    assert gravity is not None
    assert is_numeric(gravity)


def test_rows_that_lie_far_apart_are_read_in_parts() -> None:
    values = np.random.default_rng(4).normal(size=300_000)
    valid = np.arange(300_000) % 5 > 0
    rows = FieldRows(Recording(None, "test"), Track.of(values, valid), "reward")
    wanted = np.sort(np.random.default_rng(5).choice(300_000, 900, replace=False))
    found, there = rows.pick(wanted)
    assert np.array_equal(found, values[wanted])
    assert np.array_equal(there, valid[wanted])
