from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.widgets.scene.camera import Camera, between, first_camera, look_along

UPS = [(0, 1, 0), (0, 0, 1), (1, 0, 0), (0, -1, 0), (0, 0, -1), (-1, 0, 0)]
ups = st.sampled_from([np.array(u, float) for u in UPS])
angles = st.floats(-3, 3)
cameras = st.builds(
    Camera,
    target=st.tuples(*3 * [st.floats(-5, 5)]).map(np.array),
    distance=st.floats(0.1, 50),
    yaw=angles,
    pitch=st.floats(-1.5, 1.5),
    up=ups,
)


def seen(camera: Camera, points: np.ndarray, aspect: float) -> np.ndarray:
    """Where points [n, 3] are in the picture, from -1 to 1, and their depth."""
    clip = camera.projection(aspect) @ camera.view()
    out = np.c_[points, np.ones(len(points))] @ clip.T
    return out[:, :3] / out[:, 3:]


@given(cameras)
def test_the_axes_are_a_right_handed_frame(camera: Camera) -> None:
    right, upward, forward = camera.axes
    frame = np.array([right, upward, -forward])
    assert np.allclose(frame @ frame.T, np.eye(3))
    assert np.isclose(np.linalg.det(frame), 1)
    # the horizon stays level
    assert abs(float(right @ camera.up)) < 1e-12
    assert float(upward @ camera.up) > 0


@given(cameras, st.floats(0.3, 3))
def test_the_target_is_in_the_middle(camera: Camera, aspect: float) -> None:
    assert np.allclose(seen(camera, camera.target[None], aspect)[0, :2], 0, atol=1e-9)


@given(
    cameras,
    st.floats(0.3, 3),
    st.sampled_from([1e-3, 1.0, 1e3]),
    st.tuples(*3 * [st.floats(0.01, 1)]),
)
def test_what_is_framed_is_seen_whole(
    camera: Camera, aspect: float, scale: float, room: tuple[float, float, float]
) -> None:
    low = scale * np.array([3.0, -2, 1])
    high = low + scale * np.array(room)
    framed = camera.framed(low, high, aspect)
    corners = np.array(
        [[(low, high)[i >> a & 1][a] for a in range(3)] for i in range(8)]
    )
    at = seen(framed, corners, aspect)
    assert np.abs(at[:, :2]).max() <= 0.8
    assert np.abs(at[:, 2]).max() < 1


@given(cameras, st.floats(0.3, 3))
def test_what_is_framed_fills_the_picture(camera: Camera, aspect: float) -> None:
    framed = camera.framed(-np.ones(3), np.ones(3), aspect)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    at = seen(framed, corners.astype(float), aspect)
    assert np.abs(at[:, :2]).max() > 0.7


@given(cameras, st.floats(-50, 50), st.floats(-50, 50))
def test_orbiting_keeps_the_target_and_looking_keeps_the_eye(
    camera: Camera, dx: float, dy: float
) -> None:
    orbited, looked = camera.orbited(dx, dy), camera.looked(dx, dy)
    assert np.array_equal(orbited.target, camera.target)
    assert orbited.distance == camera.distance
    assert np.allclose(looked.eye, camera.eye, atol=1e-9 * camera.distance + 1e-9)


def test_dragging_to_the_right_turns_the_near_side_to_the_right() -> None:
    camera = Camera(yaw=0.0, pitch=0.0)
    near = np.array([[0.0, 0.0, 1.0]])  # between the eye, at +Z, and the target
    assert seen(camera.orbited(20, 0), near, 1.0)[0, 0] > 0
    assert seen(camera.orbited(0, 20), near, 1.0)[0, 1] < 0


@given(cameras, st.floats(-3, 3), st.floats(-0.9, 0.9), st.floats(-0.9, 0.9))
def test_zooming_keeps_what_is_under_the_pointer(
    camera: Camera, notches: float, x: float, y: float
) -> None:
    origin, direction = camera.ray(x, y)
    depth = camera.distance / float(direction @ camera.axes[2])
    point = origin + depth * direction
    at = seen(camera.zoomed(notches, x, y), point[None], 1.0)[0]
    assert np.allclose(at[:2], [x, y], atol=1e-6)


def test_panning_follows_the_pointer() -> None:
    camera = Camera()
    at = seen(camera.panned(30, -40, 400), camera.target[None], 1.0)[0]
    assert np.allclose(at[:2], [30 / 200, 40 / 200])


@given(cameras, st.lists(st.floats(0.001, 0.05), min_size=1, max_size=20))
def test_flying_is_as_far_at_any_frame_rate(
    camera: Camera, frames: list[float]
) -> None:
    there = camera
    for dt_s in frames:
        there = there.moved(1, 0, 1, dt_s, fast=False)
    once = camera.moved(1, 0, 1, sum(frames), fast=False)
    assert np.allclose(there.target, once.target)


def test_shift_is_faster_and_no_key_is_no_move() -> None:
    camera = Camera()
    slow = camera.moved(0, 0, 1, 0.1, fast=False).target - camera.target
    fast = camera.moved(0, 0, 1, 0.1, fast=True).target - camera.target
    assert np.linalg.norm(fast) > 2 * np.linalg.norm(slow)
    assert camera.moved(0, 0, 0, 0.1, fast=True) is camera


def test_it_never_turns_over() -> None:
    camera = Camera()
    for _ in range(100):
        camera = camera.orbited(0, 50)
    assert np.isfinite(camera.view()).all()
    assert camera.axes[1] @ camera.up > 0


@given(cameras, st.floats(-0.9, 0.9), st.floats(-0.9, 0.9))
def test_a_ray_goes_through_its_pixel(camera: Camera, x: float, y: float) -> None:
    origin, direction = camera.ray(x, y)
    point = origin + 2 * camera.distance * direction
    assert np.allclose(seen(camera, point[None], 1.0)[0, :2], [x, y], atol=1e-9)


@pytest.mark.parametrize("up", UPS)
def test_the_first_view_looks_down_from_the_side(up: tuple[int, int, int]) -> None:
    camera = first_camera(-np.ones(3), np.ones(3), np.array(up, float), 1.5)
    above = float((camera.eye - camera.target) @ camera.up)
    assert 0.2 * camera.distance < above < 0.6 * camera.distance


def test_something_long_is_seen_from_its_side() -> None:
    low, high = np.array([-1.0, 0, -0.1]), np.array([1.0, 0.5, 0.1])
    along_x = first_camera(low, high, np.array([0, 1.0, 0]), 1.5)
    along_z = first_camera(
        low[::-1].copy(), high[::-1].copy(), np.array([0, 1.0, 0]), 1
    )
    assert abs(along_x.axes[2][0]) < abs(along_x.axes[2][2])
    low, high = np.array([-0.1, 0, -1.0]), np.array([0.1, 0.5, 1.0])
    along_z = first_camera(low, high, np.array([0, 1.0, 0]), 1.5)
    assert abs(along_z.axes[2][2]) < abs(along_z.axes[2][0])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_looking_along_an_axis(axis: int, sign: int) -> None:
    camera = look_along(Camera(), axis, sign)
    assert -sign * camera.axes[2][axis] > 0.999


@given(cameras, cameras)
def test_a_flight_begins_here_and_ends_there(start: Camera, end: Camera) -> None:
    first, last = between(start, end, 0.0), between(start, end, 1.0)
    assert np.allclose(first.eye - first.target, start.eye - start.target) or not (
        np.array_equal(start.up, end.up)
    )
    assert np.allclose(last.eye, end.eye, atol=1e-6)
    assert np.allclose(first.target, start.target)
