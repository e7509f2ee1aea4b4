"""A batch of worlds is as many scenes of one: any calls, in any order, same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from tests.gpu.scene.models import everything, scatter, scene_of

WORLDS = 4
masks = st.none() | st.lists(st.booleans(), min_size=WORLDS, max_size=WORLDS).map(
    np.array
)
small = st.floats(-2, 2, width=32)
numbers = st.lists(small, min_size=WORLDS, max_size=WORLDS).map(
    lambda values: np.array(values, np.float32)
)


class Batch(RuleBasedStateMachine):
    """Does everything to a batch and to scenes of one world."""

    def __init__(self) -> None:
        super().__init__()
        self.batch = scene_of(everything(), WORLDS, block_worlds=3)
        self.alone = [scene_of(everything()) for _ in range(WORLDS)]
        self.snapshots: list[tuple[int, list[int]]] = []

    def each(self, mask: Any) -> list[tuple[int, Any]]:
        return [
            (w, scene) for w, scene in enumerate(self.alone) if mask is None or mask[w]
        ]

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        scatter(self.batch, seed)
        for w, scene in self.each(None):
            for actor in scene.actors:
                scene.set_state(
                    actor.index,
                    self.batch.positions(actor.index)[w : w + 1],
                    self.batch.velocities(actor.index)[w : w + 1],
                )

    @rule(mask=masks, h=st.sampled_from([0.0, 1e-5, 0.004]))
    def step(self, mask: Any, h: float) -> None:
        report = self.batch.step(h, mask)
        stepped = self.each(mask)
        statuses = {w: int(scene.step(h).status[0]) for w, scene in stepped}
        for w in range(WORLDS):
            assert int(report.status[w]) == statuses.get(w, -1)

    @rule(mask=masks, values=numbers)
    def push(self, mask: Any, values: Any) -> None:
        forces = np.stack([values, -values], 1)
        self.batch.set_dof_forces(0, forces, mask)
        for w, scene in self.each(mask):
            scene.set_dof_forces(0, forces[w : w + 1])

    @rule(mask=masks, values=numbers, actor=st.sampled_from([0, 3]))
    def aim(self, mask: Any, values: Any, actor: int) -> None:
        self.batch.set_targets(actor, values[:, None], mask)
        for w, scene in self.each(mask):
            scene.set_targets(actor, values[w : w + 1, None])

    @rule(mask=masks, values=numbers, bad=st.booleans())
    def place(self, mask: Any, values: Any, bad: bool) -> None:
        q, v = np.stack([values, values], 1), np.stack([values, -values], 1)
        if bad:
            v[0, 1] = np.nan
        self.batch.set_state(0, q, v, mask)
        for w, scene in self.each(mask):
            scene.set_state(0, q[w : w + 1], v[w : w + 1])

    @rule(mask=masks, values=numbers)
    def weigh(self, mask: Any, values: Any) -> None:
        masses = self.alone[0].persistent_configuration()["mass"]
        every = masses * (2.5 + values[:, None]) / 2
        self.batch.configure("mass", every, mask)
        for w, scene in self.each(mask):
            scene.configure("mass", every[w])

    @rule()
    def capture(self) -> None:
        self.snapshots.append(
            (self.batch.capture(), [scene.capture() for scene in self.alone])
        )

    @precondition(lambda self: self.snapshots)
    @rule(mask=masks, which=st.integers(0, 100))
    def restore(self, mask: Any, which: int) -> None:
        batch, alone = self.snapshots[which % len(self.snapshots)]
        self.batch.restore(batch, worlds=mask)
        for w, scene in self.each(mask):
            scene.restore(alone[w])

    @precondition(lambda self: self.snapshots)
    @rule(which=st.integers(0, 100))
    def write_and_read(self, which: int) -> None:
        batch, alone = self.snapshots[which % len(self.snapshots)]
        copy = self.batch.state_from_bytes(self.batch.state_to_bytes(batch))
        assert self.batch.is_equal(batch, copy)
        self.snapshots.append((copy, alone))

    @invariant()
    def same(self) -> None:
        for name in ("time_s", "valid"):
            batch = np.asarray(getattr(self.batch, name))
            one = [np.asarray(getattr(scene, name))[0] for scene in self.alone]
            assert batch.tolist() == one
        for row, field in ((0, "pose"), (1, "vcom"), (4, "translation"), (7, "omega")):
            batch = self.batch.read(row, field)
            for w, scene in enumerate(self.alone):
                assert scene.read(row, field)[0].tobytes() == batch[w].tobytes()
        for w, scene in enumerate(self.alone):
            for array in ("q", "v", "q_start", "q_end", "targets", "dof_forces"):
                one = getattr(scene._state, array)[:, 0]
                many = getattr(self.batch._state, array)[:, w]
                assert one.numpy().tobytes() == many.contiguous().numpy().tobytes()

    def teardown(self) -> None:
        for scene in (self.batch, *self.alone):
            scene.close()


@pytest.mark.filterwarnings("ignore:invalid value encountered")
class TestBatch(Batch.TestCase):  # type: ignore[misc,name-defined]
    settings = settings(max_examples=12, stateful_step_count=20)
