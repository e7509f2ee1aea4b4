from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.recording.model import Labels, Recording
from isoscope.core.recording.tracks import Track
from isoscope.widgets.scene.marks import rod_strokes
from isoscope.widgets.scene.poses import apply
from isoscope.widgets.scene.resolve import resolve
from isoscope.widgets.scene.shapes import Kind, extend, shapes_of
from isoscope.widgets.scene.state import Intent, Pose
from tests.widgets.scene.build import actor_named, add_cube, empty, one_cube, real

ALL = [
    "rigid_contacts_all",
    "fp64_rigid_contacts_all",
    "soft_body",
    "create_destroy",
    "shared_cartpole_missed_restore",
    "no_state",
    "post_callback",
    "variable_steps",
]


@pytest.mark.parametrize("name", ALL)
def test_every_row_of_every_recording_resolves(name: str) -> None:
    recording = real(name)
    shapes = shapes_of(recording.actors)
    intent = Intent(contacts=True, trails=True)
    for row in range(len(recording)):
        state = resolve(recording, shapes, row, intent)
        assert state.row == row
        assert np.isfinite(state.transforms[state.drawn]).all()
        assert np.isnan(state.transforms[~state.drawn]).all()
        assert all(np.isfinite(p).all() for p in state.deformed.values())


def test_kinds_of_actors() -> None:
    kinds = {s.name: s.kind for s in shapes_of(real("soft_body").actors).all}
    assert kinds == {"Jelly": Kind.DEFORMABLE, "Ground": Kind.PLANE}
    kinds = {s.name: s.kind for s in shapes_of(real("no_state").actors).all}
    assert kinds == {"Crate": Kind.BARE, "BallA": Kind.BARE, "Ground": Kind.PLANE}
    shapes = shapes_of(real("shared_cartpole_2env").actors)
    assert [s.kind for s in shapes.all] == [Kind.ROOT, Kind.BODY, Kind.BODY]
    assert shapes.links == {0: (1, 2)}


def test_links_hang_on_what_is_nearest() -> None:
    shapes = shapes_of(real("shared_cartpole_2env").actors)
    root, pole, cart = range(3)
    assert shapes.bones == {root: ((root, cart), (cart, pole))}
    state = resolve(real("shared_cartpole_2env"), shapes, 50)
    at = state.transforms[:, :, 3]
    assert np.allclose(state.links, [[at[root], at[cart]], [at[cart], at[pole]]])


def late_articulation() -> Recording:
    """An articulation told after its links, and without a pose of its own."""
    at = np.zeros((3, 3))
    recording = empty(3)
    add_cube(recording, at, name="Arm/Base")
    add_cube(recording, at + np.array([0, 1, 0]), name="Arm/Hand")
    arm = add_cube(recording, at, name="Arm", type="Articulated", reference={})
    arm.fields.tracks.clear()
    return recording


def test_links_told_before_their_articulation_hang_on_it() -> None:
    recording = late_articulation()
    whole, grown = shapes_of(recording.actors), shapes_of(recording.actors[:2])
    assert grown.links == {}
    for shapes in (whole, extend(grown, recording.actors)):
        assert shapes.links == {2: (0, 1)}
        assert [shape.root for shape in shapes.all] == [2, 2, -1]


def test_an_articulation_without_a_pose_is_where_its_links_are() -> None:
    recording = late_articulation()
    state = resolve(recording, shapes_of(recording.actors), 1)
    assert state.poses.tolist() == [Pose.RECORDED, Pose.RECORDED, Pose.NONE]
    # the line between the two links, and none from where nothing is
    assert np.allclose(state.links, [[[0, 0, 0], [0, 1, 0]]])


def test_shapes_grow_without_making_the_known_ones_anew() -> None:
    actors = real("create_destroy").actors
    first = shapes_of(actors[:2])
    grown = extend(first, actors)
    assert grown.all[:2] == first.all
    assert len(grown) == len(actors)
    assert extend(grown, actors) is grown


def test_actors_come_and_go() -> None:
    recording = real("create_destroy")
    shapes = shapes_of(recording.actors)
    crate = actor_named(recording, "Crate").index
    late = actor_named(recording, "Late").index
    drawn = [resolve(recording, shapes, row).drawn for row in (9, 10, 19, 20)]
    assert [bool(d[late]) for d in drawn] == [False, True, True, True]
    assert [bool(d[crate]) for d in drawn] == [True, True, True, False]


def test_transforms_are_the_recorded_ones() -> None:
    recording = real("rigid_contacts_all")
    shapes = shapes_of(recording.actors)
    state = resolve(recording, shapes, 60)
    crate = actor_named(recording, "Crate")
    assert state.poses[crate.index] == Pose.RECORDED
    written = crate.fields["translation"].at(60)
    assert np.array_equal(state.transforms[crate.index][:, 3], written)


def test_a_static_actor_stands_where_it_was_created() -> None:
    recording = real("create_destroy")
    state = resolve(recording, shapes_of(recording.actors), 5)
    ground = actor_named(recording, "Ground")
    assert state.poses[ground.index] == Pose.CREATION
    assert np.array_equal(
        state.transforms[ground.index][:, 3], ground.reference["translation"]
    )


def test_a_moving_actor_without_a_pose_is_told_apart() -> None:
    recording = real("no_state")
    state = resolve(recording, shapes_of(recording.actors), 3)
    moving = [a.index for a in recording.actors if not a.static]
    assert state.having(Pose.NOT_RECORDED) == moving
    crate = actor_named(recording, "Crate")
    assert np.array_equal(
        state.transforms[crate.index][:, 3], crate.reference["translation"]
    )


def test_an_actor_without_any_pose_is_not_drawn() -> None:
    recording = one_cube(np.zeros((2, 3)))
    actor = recording.actors[0]
    actor.fields.tracks.clear()
    del actor.reference["translation"]
    state = resolve(recording, shapes_of(recording.actors), 0)
    assert state.having(Pose.NOWHERE) == [0]
    assert not state.drawn.any()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("field", ["translation", "rotation"])
def test_a_pose_that_is_not_finite_is_not_drawn(field: str, value: float) -> None:
    recording = one_cube(np.zeros((3, 3)))
    track = recording.actors[0].fields.tracks[field]
    assert isinstance(track, Track)
    track.values[1, 2] = value
    shapes = shapes_of(recording.actors)
    assert resolve(recording, shapes, 1).having(Pose.NOT_FINITE) == [0]
    assert resolve(recording, shapes, 2).having(Pose.RECORDED) == [0]


def test_a_row_whose_field_is_absent_is_not_zero() -> None:
    recording = one_cube(np.ones((3, 3)))
    at = np.ones((3, 3))
    valid = np.array([True, False, True])
    recording.actors[0].fields.tracks["translation"] = Track.of(at, valid)
    shapes = shapes_of(recording.actors)
    assert resolve(recording, shapes, 1).having(Pose.NOT_RECORDED) == [0]
    assert resolve(recording, shapes, 2).having(Pose.RECORDED) == [0]


def test_hidden_actors_are_left_out() -> None:
    recording = real("rigid_contacts_all")
    shapes = shapes_of(recording.actors)
    state = resolve(recording, shapes, 60, Intent(hidden=frozenset({0})))
    assert not state.drawn[0]
    assert state.drawn[1]


@pytest.mark.parametrize("row", [-1, 80, 10**9])
def test_outside_of_the_recording_there_is_nothing(row: int) -> None:
    recording = real("rigid_contacts_all")
    shapes = shapes_of(recording.actors)
    state = resolve(recording, shapes, row)
    assert state.row == -1
    assert state.drawn.tolist() == [False] * len(shapes)
    assert state.transforms.shape == (len(shapes), 3, 4)


def test_labels_say_whose_step_it_is() -> None:
    recording = empty(4)
    recording.labels = Labels.unknown(4)
    recording.labels.env[2] = 1
    recording.labels.episode[2] = 3
    shapes = shapes_of([])
    assert resolve(recording, shapes, 0).whose.env == -1
    whose = resolve(recording, shapes, 2).whose
    assert (whose.env, whose.episode, whose.control_step) == (1, 3, -1)


# -- the soft body ------------------------------------------------------------------


def soft_surfaces() -> np.ndarray:
    recording = real("soft_body")
    shapes = shapes_of(recording.actors)
    jelly = actor_named(recording, "Jelly").index
    states = [resolve(recording, shapes, row) for row in range(len(recording))]
    return np.array([state.deformed[jelly] for state in states])


def test_a_soft_body_rests_on_the_ground() -> None:
    surfaces = soft_surfaces()
    assert surfaces[..., 1].min() > -0.01
    assert surfaces[-1, :, 1].min() < 0.05


def test_a_soft_body_moves_as_its_node_velocities_say() -> None:
    recording = real("soft_body")
    surfaces = soft_surfaces()
    jelly = actor_named(recording, "Jelly")
    for row in range(1, len(recording)):
        moved = (surfaces[row] - surfaces[row - 1]) / recording.steps.h_s[row]
        speed = jelly.fields["velocity"].at(row)
        assert speed is not None
        # The velocities are in the body's frame, turned by up to a few degrees.
        assert np.abs(moved - speed).max() < 0.2


def test_a_soft_body_touches_where_its_contacts_are() -> None:
    recording = real("soft_body")
    surfaces = soft_surfaces()
    jelly = actor_named(recording, "Jelly")
    points = jelly.fields["contacts_posA"].at(33)
    assert points is not None
    points = points.reshape(-1, 3)
    low, high = surfaces[33].min(axis=0), surfaces[33].max(axis=0)
    assert ((points > low - 1e-3) & (points < high + 1e-3)).all()
    assert abs(points[:, 1].min() - low[1]) < 2e-3


def test_a_soft_body_without_its_fit_is_drawn_as_created() -> None:
    recording = real("soft_body")
    shapes = shapes_of(recording.actors)
    jelly = actor_named(recording, "Jelly")
    kept = jelly.fields.tracks.pop("pivotEvalRotation")
    try:
        state = resolve(recording, shapes, 9)
    finally:
        jelly.fields.tracks["pivotEvalRotation"] = kept
    assert state.having(Pose.NOT_RECORDED) == [jelly.index]
    shape = shapes[jelly.index]
    assert shape.creation is not None
    assert shape.mesh is not None
    as_created = apply(shape.creation, shape.mesh.positions)
    assert np.array_equal(state.deformed[jelly.index], as_created)


def rod() -> Recording:
    """A rod of four nodes that is bent in row 1."""
    recording = empty(2)
    nodes = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]], np.float32)
    bent = np.zeros((2, 4, 4), np.float32)
    bent[1, 3] = [0, 1, 0, 7]  # the fourth number is a twist
    actor = add_cube(recording, np.zeros((2, 3)), name="Rope")
    actor.type = "Rod"
    actor.reference.pop("surfFaceIndices")
    actor.reference["surfRefPositions"] = nodes
    actor.reference["rigidTransformEvalPoint"] = np.zeros(3)
    tracks = actor.fields.tracks
    tracks["displacement"] = Track.of(bent)
    tracks["pivotEvalTranslation"] = Track.of(np.zeros((2, 3)))
    tracks["pivotEvalRotation"] = Track.of(np.tile([0, 0, 0, 1.0], (2, 1)))
    return recording


def test_a_rod_is_drawn_through_its_nodes() -> None:
    recording = rod()
    shapes = shapes_of(recording.actors)
    assert shapes[0].kind is Kind.DEFORMABLE
    state = resolve(recording, shapes, 1)
    assert state.deformed[0].tolist() == [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 1, 0]]
    strokes = rod_strokes(shapes, state, ["#ff0000"])
    assert strokes.ends[2].tolist() == [[2, 0, 0], [3, 1, 0]]


def test_nodes_told_in_the_frame_after_the_step_are_drawn_in_it() -> None:
    """As the tap tells them: without a fit, and what it is about."""
    recording = rod()
    actor = recording.actors[0]
    tracks = actor.fields.tracks
    del actor.reference["rigidTransformEvalPoint"]
    del tracks["pivotEvalTranslation"], tracks["pivotEvalRotation"]
    tracks["translation"] = Track.of(np.array([[0, 9.0, 0], [0, 2.0, 0]]))
    half = np.sqrt(0.5)  # a quarter turn about z
    tracks["rotation"] = Track.of(np.tile([0, 0, half, half], (2, 1)))
    state = resolve(recording, shapes_of(recording.actors), 1)
    assert state.having(Pose.RECORDED) == [0]
    expected = [[0, 2, 0], [0, 3, 0], [0, 4, 0], [-1, 5, 0]]
    np.testing.assert_allclose(state.deformed[0], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("displacement", np.zeros((2, 3, 4))),
        ("displacement", np.zeros((2, 12))),
        ("displacement", np.zeros((2, 4, 2))),
        ("pivotEvalRotation", np.zeros((2, 3))),
        ("pivotEvalTranslation", np.zeros((2, 3), int)),
    ],
)
def test_a_deformable_body_of_odd_shapes_is_drawn_as_created(
    field: str, values: np.ndarray
) -> None:
    recording = rod()
    recording.actors[0].fields.tracks[field] = Track.of(values)
    state = resolve(recording, shapes_of(recording.actors), 1)
    assert state.having(Pose.NOT_RECORDED) == [0]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_deformable_body_that_is_not_finite_is_not_drawn(value: float) -> None:
    recording = rod()
    track = recording.actors[0].fields.tracks["displacement"]
    assert isinstance(track, Track)
    track.values[1, 2, 0] = value
    state = resolve(recording, shapes_of(recording.actors), 1)
    assert state.having(Pose.NOT_FINITE) == [0]
    assert state.deformed == {}


def test_many_actors_keep_their_places() -> None:
    recording = empty(2)
    for i in range(100):
        add_cube(recording, np.full((2, 3), float(i)), name=f"Cube {i}")
    state = resolve(recording, shapes_of(recording.actors), 1)
    assert np.array_equal(state.transforms[:, 0, 3], np.arange(100))
