from __future__ import annotations

import json

import numpy as np
import pytest

from isoscope.core.recording.model import Labels, Recording
from isoscope.widgets.scene.shapes import shapes_of
from isoscope.widgets.scene.state import Intent, Trail
from isoscope.widgets.scene.trails import rows_of_trail, trails_at
from tests.widgets.scene.build import RECORDINGS, actor_named, one_cube, real


def trails(recording: Recording, row: int, **wishes: object) -> tuple[Trail, ...]:
    intent = Intent(trails=True, **wishes)  # type: ignore[arg-type]  # passed through
    return trails_at(recording, shapes_of(recording.actors), row, intent)


def test_a_trail_is_the_way_of_the_centre_of_mass() -> None:
    recording = real("rigid_contacts_all")
    crate = actor_named(recording, "Crate")
    (trail,) = trails(recording, 79, selected=crate.index)
    assert trail.actor == crate.index
    assert trail.joined.tolist() == [False] + 79 * [True]
    way = crate.fields["translationCom"].read(0, 80)
    assert np.array_equal(trail.points, way.values)


def test_without_a_selection_all_that_move_have_trails() -> None:
    recording = real("rigid_contacts_all")
    assert [t.actor for t in trails(recording, 20)] == [0, 1]


def test_a_selected_articulation_shows_its_links() -> None:
    recording = real("independent_cartpole_env0")
    assert [t.actor for t in trails(recording, 20, selected=0)] == [1, 2]


def test_a_trail_breaks_where_a_state_was_restored() -> None:
    recording = real("restore_twice")
    (trail, _) = trails(recording, 44)
    assert np.flatnonzero(~trail.joined).tolist() == [0, 15, 30]


def test_a_trail_breaks_where_a_callback_moved_the_body() -> None:
    recording = real("post_callback")
    ball = actor_named(recording, "BallA").index
    # The callback puts the ball back every step, while its velocity says it falls.
    assert trails(recording, 9, selected=ball) == ()


def test_trails_do_not_jump_between_environments_of_a_shared_scene() -> None:
    recording = real("shared_cartpole_2env")
    path = RECORDINGS / "shared_cartpole_2env.truth.json"
    truth = json.loads(path.read_text())["native_steps"]
    envs = [step["env"] for step in truth]
    rows = rows_of_trail(recording, 60, 240)
    pole = actor_named(recording, "CartPole/Pole")
    (trail,) = trails(recording, 60, selected=pole.index)
    at = pole.fields["translationCom"].read(0, 61).values
    where = {tuple(p): int(row) for row, p in zip(rows, at, strict=True)}
    for i in np.flatnonzero(trail.joined):
        before = where[tuple(trail.points[i - 1])]
        after = where[tuple(trail.points[i])]
        assert after == before + 1
        assert envs[after] == envs[before]


def test_labelled_rows_keep_a_trail_to_its_environment() -> None:
    at = np.zeros((12, 3))
    at[0::2, 0] = np.arange(6) * 0.1
    at[1::2, 0] = 5 + np.arange(6) * 0.1
    recording = one_cube(at)
    track = recording.actors[0].fields.tracks["vcom"]
    track.values[:] = [0.1 / 0.02, 0, 0]
    recording.labels = Labels.unknown(12)
    recording.labels.env[:] = np.arange(12) % 2
    recording.labels.episode[:] = 1
    (trail,) = trails(recording, 11)
    assert trail.points[:, 0] == pytest.approx(at[1::2, 0])
    assert trail.joined.tolist() == [False] + 5 * [True]


def test_labelled_rows_keep_a_trail_to_its_episode() -> None:
    recording = one_cube(np.cumsum(np.full((10, 3), 0.01), axis=0))
    recording.labels = Labels.unknown(10)
    recording.labels.env[:] = 0
    recording.labels.episode[:] = [1] * 6 + [2] * 4
    assert rows_of_trail(recording, 9, 240).tolist() == [6, 7, 8, 9]
    assert rows_of_trail(recording, 5, 3).tolist() == [3, 4, 5]


def test_without_velocities_only_an_unusual_way_is_a_jump() -> None:
    at = np.cumsum(np.full((20, 3), 0.01), axis=0)
    at[10:] += 3
    (trail,) = trails(one_cube(at, velocity=False), 19)
    assert np.flatnonzero(~trail.joined).tolist() == [0, 10]


def test_numbers_that_are_not_finite_interrupt_a_trail() -> None:
    at = np.cumsum(np.full((6, 3), 0.01), axis=0)
    recording = one_cube(at)
    recording.actors[0].fields.tracks["translation"].values[3] = [np.nan, np.inf, 0]
    (trail,) = trails(recording, 5)
    assert np.isfinite(trail.points).all()
    assert trail.joined.tolist() == [False, True, True, False, True]


def test_one_row_has_no_trail() -> None:
    assert trails(real("rigid_contacts_all"), 0) == ()
