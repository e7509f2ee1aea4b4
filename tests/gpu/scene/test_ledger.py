"""What a scene copies between host and device, and that stepping copies nothing."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.gpu.traffic import Traffic
from tests.gpu.scene.models import H, everything, scatter, scene_of


@pytest.mark.parametrize("masked", [False, True])
def test_steps_cross_nothing(masked: bool) -> None:
    scene = scene_of(everything(), 6)
    scatter(scene)
    targets = scene.to_device(np.full((6, 1), 0.1, np.float32), "action")
    mask = scene.to_device(np.arange(6) < 4, "mask") if masked else None
    for _ in range(3):
        scene.set_targets(0, targets)
        snapshot = scene.capture()
        scene.step(H, mask)
        step = scene.ledger.last_step()
        assert step is not None
        assert step.total == Traffic()
        assert step.by_cause == {}
        scene.restore(snapshot, release_immediately=True, worlds=mask)


def test_every_crossing_is_told_with_its_cause() -> None:
    scene = scene_of(everything(), 6)
    scene.step(H)
    scene.read(0, "pose")
    _ = scene.time_s
    scene.set_targets(0, np.zeros((6, 1)))
    scene.step(H, np.ones(6, bool))
    scene.state_from_bytes(scene.state_to_bytes(scene.capture()))
    causes = scene.ledger.by_cause()
    assert causes["read"].d2h_bytes == 6 * 2 * 4
    assert causes["time"].d2h_bytes == 6 * 8
    assert causes["control"].h2d_bytes == 6 * 8
    assert causes["worlds"].h2d_bytes == 6
    size = scene._layout.total_bytes
    assert causes["snapshot bytes"].d2h_bytes == size
    assert causes["snapshot bytes"].h2d_bytes == size
    assert causes["capture"].d2d_bytes == size
    assert scene.ledger.totals().d2d_bytes == size


def test_what_is_read_is_owned() -> None:
    scene = scene_of(everything(), 3)
    for row in scene.rows:
        for field in row.fields:
            array = scene.read(row.index, field)
            assert array.flags.owndata or array.base.flags.owndata
            assert array.flags.writeable
            again = scene.read(row.index, field)
            before = again.copy()
            array[...] = 7
            np.testing.assert_array_equal(scene.read(row.index, field), before)
            scene.step(H)
            np.testing.assert_array_equal(again, before)


def test_what_is_given_is_not_kept() -> None:
    scene = scene_of(everything(), 2)
    forces = scene.to_device(np.zeros((2, 2), np.float32), "test")
    scene.set_dof_forces(0, forces)
    forces += 1e6
    mine = np.zeros((2, 1))
    scene.set_targets(0, mine)
    mine += 1e6
    snapshot = scene.capture()
    fresh = scene_of(everything(), 2)
    assert fresh.state_to_bytes(fresh.capture()) == scene.state_to_bytes(snapshot)
