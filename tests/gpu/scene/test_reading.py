"""Recorded fields: their meanings, their shapes, and that absent ones stay absent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.recording.schema import FIELDS
from isoscope.gpu.model.spec import Model, Shape
from isoscope.gpu.scene.errors import SceneError
from tests.gpu.scene.models import (
    H,
    ball,
    cartpole,
    crate,
    everything,
    scatter,
    scene_of,
)


def rotate(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    x, w = quaternion[..., :3], quaternion[..., 3:]
    t = 2 * np.cross(x, vector)
    return vector + w * t + np.cross(x, t)


def test_rows_are_those_of_a_recording() -> None:
    scene = scene_of(everything())
    told = [(row.name, row.type, row.static) for row in scene.rows]
    assert told == [
        ("CartPole", "Articulated", False),
        ("Crate", "Rigid", False),
        ("Pedestal", "Rigid", True),
        ("Arm", "Articulated", False),
        ("Ball", "Rigid", False),
        ("CartPole/Cart", "Rigid", False),
        ("CartPole/Pole", "Rigid", False),
        ("Arm/Upper", "Rigid", False),
        ("Arm/Lower", "Rigid", False),
        ("Ground", "Rigid", True),
    ]
    assert [row.index for row in scene.rows] == list(range(10))
    assert [row.name for row in scene.rows[:5]] == [a.name for a in scene.actors]


def test_actors_tell_their_degrees_of_freedom() -> None:
    cart, crate_, pedestal, arm, _ = scene_of(everything()).actors
    assert cart.links == ("CartPole/Cart", "CartPole/Pole")
    assert cart.dofs == ("slide", "hinge")
    assert cart.dof_units == ("m", "rad")
    assert cart.drives == ("push",)
    assert crate_.links == ("Crate",)
    assert crate_.dofs == tuple(f"Body.{p}" for p in ("x", "y", "z", "rx", "ry", "rz"))
    assert crate_.dof_units == ("m",) * 3 + ("rad",) * 3
    assert (pedestal.static, pedestal.dofs) == (True, ())
    assert arm.dofs == ("shoulder.rx", "shoulder.ry", "shoulder.rz", "elbow")
    assert (arm.position_size, arm.velocity_size) == (5, 4)


def test_shapes_and_dtypes() -> None:
    for precision in ("float32", "float64"):
        scene = scene_of(everything(), 3, precision=precision)
        scatter(scene)
        scene.step(H)
        for row in scene.rows:
            for field in row.fields:
                array = scene.read(row.index, field)
                assert len(array) == 3
                if array.dtype.kind == "f":
                    assert array.dtype == precision
                if field in FIELDS and row.type == "Rigid":
                    size = len(FIELDS[field].components)
                    assert not size or array.shape[-1] == size
        assert scene.read(0, "pose").shape == (3, 2)
        assert scene.read(0, "vcom").shape == (3, 2, 3)
        assert scene.read(3, "targetPose").shape == (3, 4)


def test_poses_are_those_of_the_joints() -> None:
    scene = scene_of(cartpole(), precision="float64")
    scene.set_state(0, np.array([[0.3, 0.5]]), np.array([[2.0, 0.7]]))
    np.testing.assert_allclose(scene.read(0, "pose"), [[0.3, 0.5]])
    np.testing.assert_allclose(scene.read(1, "translation"), [[0.3, 0, 0]])
    pole = 2
    np.testing.assert_allclose(
        scene.read(pole, "rotation"), [[0, np.sin(0.25), 0, np.cos(0.25)]]
    )
    com = [[0.3 + 0.5 * np.sin(0.5), 0, 0.5 * np.cos(0.5)]]
    np.testing.assert_allclose(scene.read(pole, "translationCom"), com)
    np.testing.assert_allclose(scene.read(pole, "omega"), [[0, 0.7, 0]])
    np.testing.assert_allclose(scene.read(0, "omega"), [[[0, 0, 0], [0, 0.7, 0]]])
    # before any step the mean velocity is the velocity
    speed = [[2 + 0.35 * np.cos(0.5), 0, -0.35 * np.sin(0.5)]]
    np.testing.assert_allclose(scene.read(pole, "vcom"), speed)


@settings(max_examples=25)
@given(
    st.integers(0, 10_000),
    st.floats(1e-5, 0.02),
    st.sampled_from(["float32", "float64"]),
    st.booleans(),
)
def test_the_mean_velocity_leads_back_to_where_the_step_began(
    seed: int, h: float, precision: str, far: bool
) -> None:
    scene = scene_of(everything(), 2, precision=precision)
    scatter(scene, seed)
    if far:
        q = scene.to_host(scene.positions(1), "test")
        q[:, :3] += 1000
        scene.set_state(1, q, scene.velocities(1))
    bodies = [
        row for row in scene.rows if "vcom" in row.fields and row.link is not None
    ]
    before = [scene.read(row.index, "translationCom") for row in bodies]
    scene.step(h)
    eps = np.finfo(precision).eps
    for row, start in zip(bodies, before, strict=True):
        end = scene.read(row.index, "translationCom").astype(np.float64)
        moved = h * scene.read(row.index, "vcom").astype(np.float64)
        scale = np.maximum(abs(moved).max(), abs(end).max())
        np.testing.assert_allclose(end - moved, start, rtol=0, atol=3 * eps * scale)


def test_a_callback_moves_the_pose_but_not_the_mean_velocity() -> None:
    scene = scene_of(everything())
    scene.step(H)
    mean = scene.read(1, "vcom")
    q = scene.to_host(scene.positions(1), "test")
    q[:, 0] += 1
    scene.set_state(1, q, np.zeros((1, 6)))
    np.testing.assert_array_equal(scene.read(1, "vcom"), mean)
    assert scene.read(1, "translation")[0, 0] == q[0, 0]
    assert (scene.read(1, "omega") == 0).all()


def test_principal_frames() -> None:
    scene = scene_of(everything(), precision="float64")
    inertia = scene.persistent_configuration()["inertia"][2]
    xx, yy, zz, xy, xz, yz = inertia
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    frame = scene.read(1, "rotationCom")[0]
    axes = np.stack([rotate(frame, axis) for axis in np.eye(3)], 1)
    principal = axes.T @ matrix @ axes
    np.testing.assert_allclose(principal, np.diag(np.diag(principal)), atol=1e-15)
    assert np.diag(axes).min() > 0.9
    scatter(scene)
    turned = scene.read(1, "rotationCom")[0]
    rotation = scene.read(1, "rotation")[0]
    for axis in np.eye(3):
        np.testing.assert_allclose(
            rotate(turned, axis), rotate(rotation, rotate(frame, axis)), atol=1e-12
        )
    np.testing.assert_array_equal(
        scene.read(4, "rotationCom"), scene.read(4, "rotation")
    )


def test_targets() -> None:
    scene = scene_of(everything(), 2)
    scene.set_targets(3, np.array([[0.5], [0.6]]))
    pose = scene.read(3, "targetPose")
    assert np.isnan(pose[:, :3]).all()
    np.testing.assert_allclose(pose[:, 3], [0.5, 0.6])
    with pytest.raises(SceneError, match="it has none; it has translation"):
        scene.read(0, "targetPose")  # its drive has a force, which is no pose


@pytest.mark.parametrize(
    ("row", "field"),
    [(0, "translationCom"), (2, "vcom"), (9, "omega"), (5, "contacts_force"), (4, "x")],
)
def test_absent_fields_are_refused_not_zero(row: int, field: str) -> None:
    with pytest.raises(SceneError, match="it has none"):
        scene_of(everything()).read(row, field)


@pytest.mark.parametrize("row", [-1, 10, True, "Ball", 1.0])
def test_rows_that_are_none_are_refused(row: object) -> None:
    with pytest.raises(SceneError):
        scene_of(everything()).read(row, "pose")  # type: ignore[arg-type]


def test_what_stands_still_can_be_read() -> None:
    scene = scene_of(everything(), 2)
    np.testing.assert_allclose(scene.read(2, "translation"), [[5, 0, 0]] * 2)
    np.testing.assert_allclose(scene.read(9, "rotation"), [[0, 0, 0, 1]] * 2)


def test_a_ball_that_rests_is_held_by_the_ground() -> None:
    model = Model(
        name="resting",
        gravity=(0.0, 0.0, -10.0),
        actors=(ball(height=0.11),),
        shapes=(Shape(name="Ground", type="plane"),),
    )
    scene = scene_of(model, 2, precision="float64")
    lifted = scene.to_host(scene.positions(0), "test")
    lifted[1, 2] += 1e3
    scene.set_state(0, lifted, np.zeros((2, 6)))
    # damped by hand, so that it rests soon
    scene.on_post_step(
        lambda s, h: s.set_state(0, s.positions(0), 0.9 * s.velocities(0))
    )
    for _ in range(400):
        scene.step(1e-3)
    assert scene.read(0, "contacts_active").tolist() == [[True], [False]]
    np.testing.assert_allclose(
        scene.read(0, "contacts_force")[0, 0], [0, 0, 10], atol=1e-3
    )
    assert scene.read(0, "contacts_normal")[0, 0].tolist() == [0, 0, 1]
    depth = scene.read(0, "contacts_distance")
    assert depth[0, 0] < 0 < depth[1, 0]
    low = scene.read(0, "contacts_posA")[0, 0, 2]
    assert low == pytest.approx(scene.read(0, "translation")[0, 2] - 0.1)
    assert scene.read(0, "contacts_posB")[0, 0, 2] == pytest.approx(0)
    assert np.isnan(scene.read(0, "contacts_force")[1]).all()
    assert scene.read(0, "contacts_actorA").tolist() == [[0], [0]]
    assert scene.read(0, "contacts_actorB").tolist() == [[1], [1]]


def test_two_that_touch_tell_opposite_forces() -> None:
    model = Model(
        name="two", actors=(ball(1.0), crate(height=1.0)), gravity=(0.0, 0.0, 0.0)
    )
    scene = scene_of(model, precision="float64")
    near = scene.to_host(scene.positions(0), "test")
    near[0, :3] = (0.2 - 0.19, 0.01, 1.0)
    scene.set_state(0, near, np.zeros((1, 6)))
    here, there = (
        {
            name: scene.read(row, f"contacts_{name}")[0]
            for name in ("active", "force", "normal", "posA", "posB", "distance")
        }
        for row in (0, 1)
    )
    assert here["active"].tolist() == there["active"].tolist() == [True]
    np.testing.assert_array_equal(here["force"], -there["force"])
    np.testing.assert_array_equal(here["normal"], -there["normal"])
    np.testing.assert_array_equal(here["posA"], there["posB"])
    np.testing.assert_array_equal(here["posB"], there["posA"])
    assert here["force"][0, 0] < 0 < here["normal"][0, 0] * -1
    assert scene.read(0, "contacts_actorB").tolist() == [[1]]
    assert scene.read(1, "contacts_actorB").tolist() == [[0]]
    assert here["posA"][0, 0] - here["posB"][0, 0] == pytest.approx(0.01)


def test_surfaces_are_in_the_rows_own_frame() -> None:
    ground = Shape(name="Ground", type="plane", position=(0.0, 0.0, -3.0))
    scene = scene_of(Model(name="seen", actors=(crate(), ball()), shapes=(ground,)))
    box, sphere, plane = (scene.surface(row) for row in range(3))
    assert box is not None
    assert sphere is not None
    assert plane is not None
    np.testing.assert_allclose(np.ptp(box.vertices, 0), [0.2, 0.3, 0.2], rtol=1e-6)
    np.testing.assert_allclose(abs(sphere.vertices).max(0), 0.1, rtol=1e-6)
    assert (plane.vertices[:, 2] == 0).all()
    assert scene.read(2, "translation").tolist() == [[0, 0, -3]]
    assert box.faces.max() < len(box.vertices)
    articulated = scene_of(cartpole())
    assert [articulated.surface(row) for row in range(3)] == [None] * 3


@pytest.mark.parametrize("worlds", [[2], [-1], [0, 5]])
def test_worlds_that_are_none_are_refused(worlds: list[int]) -> None:
    with pytest.raises(SceneError, match="they are 0 to 1"):
        scene_of(everything(), 2).read(2, "translation", worlds)
