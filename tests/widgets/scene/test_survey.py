from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.recording.tracks import Track
from isoscope.widgets.scene.shapes import shapes_of
from isoscope.widgets.scene.survey import Survey, survey, up_axis
from tests.widgets.scene.build import add_cube, empty, one_cube, real


def look(recording: object) -> Survey:
    return survey(recording, shapes_of(recording.actors))  # type: ignore[attr-defined, arg-type]  # any recording


@pytest.mark.parametrize(
    ("gravity", "up"),
    [
        ((0, -9.8, 0), (0, 1, 0)),
        ((0, 0, -9.81), (0, 0, 1)),
        ((0, 3.7, 0), (0, -1, 0)),
        ((1.0, -9.7, 0.5), (0, 1, 0)),
        ((0, 0, 0), (0, 1, 0)),
        ((np.nan, 0, 0), (0, 1, 0)),
    ],
)
def test_up_is_the_axis_against_gravity(
    gravity: tuple[float, float, float], up: tuple[float, float, float]
) -> None:
    assert up_axis(empty(3, gravity)).tolist() == list(up)


def test_a_change_of_gravity_does_not_turn_the_world_over() -> None:
    recording = empty(3)
    recording.steps.gravity[1:] = [0, 0, -9.8]
    assert up_axis(recording).tolist() == [0, 1, 0]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_the_box_holds_the_bodies_at_any_scale(scale: float, offset: float) -> None:
    way = np.linspace(0, 1, 50)[:, None] * np.array([1.0, 2.0, 3.0])
    recording = one_cube(scale * way + offset, scale=scale)
    found = look(recording)
    low, high = (found.low - offset) / scale, (found.high - offset) / scale
    assert np.allclose(low, -0.1, atol=0.15)
    assert np.allclose(high, [1.1, 2.1, 3.1], atol=0.15)


def test_a_body_that_flies_off_does_not_decide() -> None:
    recording = empty(50)
    for i in range(10):
        add_cube(recording, np.full((50, 3), 0.3 * i), name=f"Cube {i}")
    add_cube(recording, np.linspace(0, 1e7, 50)[:, None] * np.ones(3), name="Lost")
    assert look(recording).size_m < 10


def test_numbers_that_are_not_finite_do_not_count() -> None:
    recording = one_cube(np.zeros((20, 3)))
    track = recording.actors[0].fields.tracks["translation"]
    assert isinstance(track, Track)
    track.values[5:9] = np.nan
    track.values[9] = np.inf
    found = look(recording)
    assert np.allclose(found.low, -0.1)
    assert np.allclose(found.high, 0.1)


def test_a_single_point_still_has_a_box() -> None:
    recording = one_cube(np.zeros((1, 3)), scale=0.0)
    assert look(recording).size_m > 0


def test_drifting_is_told_from_moving() -> None:
    at = np.zeros((50, 3))
    at[:, 0] = np.linspace(0, 40, 50)
    found = look(one_cube(at))
    assert found.drifts
    assert found.scale_m < 2 < found.size_m
    for name in ("rigid_contacts_all", "shared_cartpole_2env", "soft_body"):
        found = look(real(name))
        assert not found.drifts
        assert found.scale_m == found.size_m


def test_nothing_at_all_has_a_box() -> None:
    assert look(empty(0)).size_m > 0
    assert look(empty(3)).size_m > 0


def test_the_ground_is_where_the_plane_is() -> None:
    found = look(real("rigid_contacts_all"))
    assert found.grounds == (2,)
    assert found.ground_m == 0.0


def test_without_a_plane_the_grid_is_below_everything() -> None:
    found = look(real("shared_cartpole_2env"))
    assert found.grounds == ()
    assert found.ground_m == found.low[1] < 0
