"""Snapshots: what they cover, what they don't, and handles that are good or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.gpu.scene.errors import SnapshotError
from tests.gpu.scene.models import H, bits, cartpole, everything, scatter, scene_of

if TYPE_CHECKING:
    from isoscope.core.scene import Scene
    from isoscope.gpu.scene.scene import SimulatedScene


def run(scene: SimulatedScene, steps: int, push: float) -> list[bytes]:
    seen = []
    for k in range(steps):
        scene.set_targets(0, np.full((scene.worlds, 1), push * (-1) ** k))
        scene.step(H)
        seen.append(bits(scene) + scene.time_s.tobytes())
    return seen


@pytest.mark.parametrize("worlds", [1, 7])
def test_restoring_twice_gives_the_same_bits(worlds: int) -> None:
    scene = scene_of(everything(), worlds)
    scatter(scene)
    run(scene, 20, 0.5)
    snapshot = scene.capture()
    run(scene, 5, 0.2)
    scene.restore(snapshot)
    touched = False

    def look(scene: Scene, h: float) -> None:
        nonlocal touched
        touched |= bool(scene.read(4, "contacts_active").any())

    remove = scene.on_recorded(look)
    first = run(scene, 60, 0.7)
    remove()
    assert touched
    run(scene, 10, 2.0)
    scene.restore(snapshot)
    assert run(scene, 60, 0.7) == first
    assert scene.valid.all()


def test_capturing_and_restoring_are_invisible() -> None:
    scene, plain = scene_of(everything(), 3), scene_of(everything(), 3)
    for each in (scene, plain):
        scatter(each)
    for _ in range(10):
        for each in (scene, plain):
            each.step(H)
        scene.restore(scene.capture(), release_immediately=True)
        scene.restore(scene.state_from_bytes(scene.state_to_bytes(scene.capture())))
        for row in scene.rows:
            for field in row.fields:
                one, other = (s.read(row.index, field) for s in (scene, plain))
                assert one.tobytes() == other.tobytes(), (row.name, field)
    assert scene.is_equal(scene.capture(), scene.capture())
    assert bits(scene) == bits(plain)


def test_a_snapshot_covers_what_the_protocol_says() -> None:
    """Control of all kinds, clock, history; changed after it, brought back by it."""
    scene = scene_of(everything(), 2)
    scatter(scene)
    ones = np.ones((2, 1))
    scene.set_targets(0, 0.5 * ones)
    scene.step(H)  # now 0.5 is the previous target too
    scene.set_targets(0, 0.7 * ones)
    scene.set_targets(3, 0.3 * ones)
    scene.set_dof_forces(1, np.full((2, 6), 0.1))
    scene.set_link_wrenches(3, np.full((2, 2, 6), 0.05))
    snapshot = scene.capture()
    target = scene.read(3, "targetPose")
    vcom = scene.read(1, "vcom")
    after = run(scene, 3, 0.1)
    scene.set_targets(3, -ones)
    scene.set_dof_forces(1, np.zeros((2, 6)))
    scene.set_link_wrenches(3, np.zeros((2, 2, 6)))
    scene.step(2 * H)
    assert not scene.is_equal(snapshot, scene.capture())
    scene.restore(snapshot)
    assert scene.is_equal(snapshot, scene.capture())
    assert scene.time_s.tolist() == [H, H]
    np.testing.assert_array_equal(scene.read(3, "targetPose"), target)
    np.testing.assert_array_equal(scene.read(1, "vcom"), vcom)
    assert run(scene, 3, 0.1) == after


@pytest.mark.parametrize("change", ["targets", "forces", "wrenches", "time", "history"])
def test_each_part_counts_when_snapshots_are_compared(change: str) -> None:
    scene = scene_of(everything(), 2)
    before = scene.capture()
    last = np.array([False, True])
    if change == "targets":
        scene.set_targets(0, np.ones((2, 1)), last)
    elif change == "forces":
        scene.set_dof_forces(0, np.ones((2, 2)), last)
    elif change == "wrenches":
        scene.set_link_wrenches(1, np.ones((2, 1, 6)), last)
    else:
        scene.step(0.0 if change == "history" else 1e-12, last)
        q = scene.to_host(scene.positions(0), "test")
        scene.set_state(0, q + 1, np.zeros((2, 2)))
        scene.set_state(0, q, np.zeros((2, 2)))
        if change == "history":
            changed = scene.capture()
            scene.step(1e-3, last)
            scene.step(0.0, last)
            assert not scene.is_equal(changed, scene.capture())
            return
    assert not scene.is_equal(before, scene.capture())


def test_nothing_persistent_is_covered() -> None:
    scene = scene_of(everything())
    snapshot = scene.capture()
    for name, value in scene.persistent_configuration().items():
        if value.dtype.kind == "f" and np.isfinite(value).all() and name != "inertia":
            scene.configure(name, value * 0.5 + 0.01)
    told = scene.persistent_configuration()
    scene.restore(snapshot)
    again = scene.persistent_configuration()
    assert told.keys() == again.keys()
    for name, value in told.items():
        np.testing.assert_array_equal(again[name], value)
    assert scene.is_equal(snapshot, scene.capture())


def test_restoring_some_worlds_leaves_the_others() -> None:
    scene = scene_of(everything(), 4)
    scatter(scene)
    scene.step(H)
    snapshot, at_snapshot = scene.capture(), [bits(scene, w) for w in range(4)]
    scene.set_targets(0, np.ones((4, 1)))
    scene.step(H)
    later, at_later = scene.capture(), [bits(scene, w) for w in range(4)]
    mask = np.array([True, False, False, True])
    scene.restore(snapshot, worlds=mask)
    for world in range(4):
        expected = at_snapshot if mask[world] else at_later
        assert bits(scene, world) == expected[world]
    assert scene.time_s.tolist() == [H, 2 * H, 2 * H, H]
    scene.restore(later, worlds=mask)
    assert scene.is_equal(later, scene.capture())
    scene.restore(snapshot, worlds=np.zeros(4, bool))
    assert scene.is_equal(later, scene.capture())


def test_snapshots_with_nan_are_equal_to_themselves() -> None:
    scene = scene_of(cartpole(), 2)
    plain = scene.capture()
    scene.set_state(0, np.array([[np.nan, 0], [0, 0]]), np.zeros((2, 2)))
    first, second = scene.capture(), scene.capture()
    assert scene.is_equal(first, second)
    assert not scene.is_equal(plain, first)
    scene.restore(plain)
    scene.restore(first)
    assert scene.valid.tolist() == [False, True]
    assert scene.is_equal(first, scene.capture())


def test_handles_are_refused_that_are_not_good() -> None:
    scene, other = scene_of(cartpole()), scene_of(cartpole())
    kept, foreign = scene.capture(), other.capture()
    released = scene.capture()
    scene.release(released)
    before = scene.capture()
    for handle, problem in (
        (released, "was released"),
        (foreign, "not one of this scene's"),
        (0, "not one of this scene's"),
        (-1, "not one of this scene's"),
        (kept + 1000, "never given out"),
        (True, "no snapshot's handle"),
        (1.0, "no snapshot's handle"),
        (None, "no snapshot's handle"),
    ):
        for refused in (
            lambda h: scene.restore(h),
            lambda h: scene.release(h),
            lambda h: scene.is_equal(kept, h),
            lambda h: scene.state_to_bytes(h),
        ):
            with pytest.raises(SnapshotError, match=problem):
                refused(handle)
    assert scene.is_equal(before, scene.capture())


def test_handles_are_never_used_again() -> None:
    scene = scene_of(cartpole())
    seen = set()
    for _ in range(20):
        handle = scene.capture()
        assert handle not in seen
        seen.add(handle)
        scene.restore(handle, release_immediately=True)
        with pytest.raises(SnapshotError, match="was released"):
            scene.restore(handle)


def test_a_restore_that_is_refused_keeps_its_snapshot() -> None:
    scene = scene_of(cartpole(), 2)
    handle = scene.capture()
    with pytest.raises(Exception, match=r"give bool \[2\]"):
        scene.restore(handle, release_immediately=True, worlds=np.ones(3, bool))
    scene.restore(handle)
