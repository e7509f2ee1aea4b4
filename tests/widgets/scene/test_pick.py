from __future__ import annotations

import numpy as np

from isoscope.widgets.scene.camera import Camera
from isoscope.widgets.scene.pick import pick, ray_hits
from isoscope.widgets.scene.resolve import resolve
from isoscope.widgets.scene.shapes import shapes_of
from isoscope.widgets.scene.state import Intent
from tests.widgets.scene.build import CUBE, CUBE_FACES, add_cube, empty, real

FORWARD = np.array([0.0, 0.0, -1.0])


def test_a_ray_hits_the_near_face() -> None:
    assert np.isclose(
        ray_hits(CUBE[CUBE_FACES], np.array([0.01, 0.02, 3.0]), FORWARD), 2.9
    )
    assert ray_hits(CUBE[CUBE_FACES], np.array([0.2, 0, 3.0]), FORWARD) == np.inf
    behind = ray_hits(CUBE[CUBE_FACES], np.array([0, 0.01, -3.0]), FORWARD)
    assert behind == np.inf


def test_the_nearest_actor_is_picked_unless_it_is_hidden() -> None:
    recording = empty(1)
    add_cube(recording, np.array([[0, 0, -2.0]]), name="far")
    add_cube(recording, np.array([[0, 0, 2.0]]), name="near")
    shapes = shapes_of(recording.actors)
    eye = np.array([0.0, 0.0, 10.0])
    state = resolve(recording, shapes, 0)
    assert pick(shapes, state, eye, FORWARD) == 1
    state = resolve(recording, shapes, 0, Intent(hidden=frozenset({1})))
    assert pick(shapes, state, eye, FORWARD) == 0
    assert pick(shapes, state, eye, -FORWARD) is None


def test_a_turned_body_is_hit_where_it_is() -> None:
    eighth = np.array([[0, 0, np.sin(np.pi / 8), np.cos(np.pi / 8)]])
    recording = empty(1)
    add_cube(recording, np.zeros((1, 3)), rotation=eighth)
    shapes = shapes_of(recording.actors)
    state = resolve(recording, shapes, 0)
    corner = np.array([0.13, 0.0, 5.0])  # beyond the upright cube's side
    assert pick(shapes, state, corner, FORWARD) == 0
    assert pick(shapes, state, np.array([0.09, 0.09, 5.0]), FORWARD) is None


def test_every_body_of_a_real_recording_can_be_picked() -> None:
    for name, row in (("rigid_contacts_all", 5), ("soft_body", 33)):
        recording = real(name)
        shapes = shapes_of(recording.actors)
        state = resolve(recording, shapes, row)
        for shape in shapes.all:
            if shape.mesh is None:
                continue
            surface = state.deformed.get(shape.index)
            target = (
                state.transforms[shape.index][:, 3]
                if surface is None
                else surface.mean(axis=0)
            )
            camera = Camera(target=target, distance=3.0)
            origin, direction = camera.ray(0, 0)
            assert pick(shapes, state, origin, direction) == shape.index


def test_an_actor_without_a_mesh_is_picked_near_its_origin() -> None:
    recording = real("no_state")
    shapes = shapes_of(recording.actors)
    state = resolve(recording, shapes, 0)
    at = state.transforms[0][:, 3]
    assert pick(shapes, state, at + np.array([0.02, 0, 5]), FORWARD, 0.05) == 0
    assert pick(shapes, state, at + np.array([0.2, 0, 5]), FORWARD, 0.05) is None
