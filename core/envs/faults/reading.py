"""Faults of what is read: another's state, another order, another unit."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isoscope.core.envs.faults.fault import Need, SceneKind, StageFault, put_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.envs.faults.fault import Fault
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.records import ControlStep

SHARED: tuple[SceneKind, ...] = ("shared",)
DEGREES = 180.0 / np.pi


class StaleObservation(StageFault):
    """The observation is read when the scene holds another's state already."""

    NAME = "stale-observation"
    ABOUT = "an observation is read while the scene holds another environment's state"
    FINDS = ("stale-read",)
    SCENES = SHARED
    NEEDS: ClassVar[tuple[Need, ...]] = ("others",)

    def result(self, lanes: LaneGroup, step: ControlStep) -> ControlStep:
        """Look once more, in the other's state."""
        mask = self.here(lanes)
        others = self.switch.others(lanes)
        if mask is None or not others:
            return self.inner.result(lanes, step)
        with _state_of(others[0], lanes):
            seen = lanes.look()
        after = put_rows(mask, seen, step.after, lanes)
        self.note()
        return self.inner.result(lanes, replace(step, after=after))


class StaleRender(StageFault):
    """What is drawn is whatever the scene holds."""

    NAME = "stale-render"
    ABOUT = "what a sensor sees after the control step is another environment's state"
    FINDS = ("stale-read",)
    SCENES = SHARED
    NEEDS: ClassVar[tuple[Need, ...]] = ("others", "frames")

    def read(self, lanes: LaneGroup, actor: int, field: str) -> np.ndarray[Any, Any]:
        """Read without bringing the own state back."""
        place = self.place
        others = self.switch.others(lanes)
        if not others or lanes.envs[0] != place.env or lanes.place is not None:
            return self.inner.read(lanes, actor, field)
        episode = int(lanes.scene.to_host(lanes.episode, "fault")[0])
        count = int(lanes.scene.to_host(lanes.count, "fault")[0])
        if (episode, count) != (place.episode, place.control_step):
            return self.inner.read(lanes, actor, field)
        if self.waiting:
            self.note()
        if lanes.handle.resident is not lanes:
            return lanes.scene.read(actor, field)
        handle = lanes.handle
        mine, other = handle.capture(), others[0]
        assert other.own is not None
        handle.restore(other.own, env=other.envs[0])
        try:
            return lanes.scene.read(actor, field)
        finally:
            handle.restore(mine, env=lanes.envs[0], release_immediately=True)


class ObservationOrder(StageFault):
    """The numbers of an observation stand in another order."""

    NAME = "observation-order"
    ABOUT = "an observation comes with its numbers in reverse order"
    FINDS = ("observation-schema",)

    def result(self, lanes: LaneGroup, step: ControlStep) -> ControlStep:
        """Turn it round."""
        mask = self.here(lanes)
        if mask is None:
            return self.inner.result(lanes, step)
        reversed_ = lanes.xp.flip(step.after, axis=(1,))
        after = put_rows(mask, reversed_, step.after, lanes)
        self.note()
        return self.inner.result(lanes, replace(step, after=after))


class ObservationUnit(StageFault):
    """Angles, or all numbers where there are none, come in another unit."""

    NAME = "observation-unit"
    ABOUT = "an observation has degrees for radians (without angles: mm for m)"
    FINDS = ("observation-schema",)

    def result(self, lanes: LaneGroup, step: ControlStep) -> ControlStep:
        """Multiply."""
        mask = self.here(lanes)
        if mask is None:
            return self.inner.result(lanes, step)
        units = lanes.task.observation.units
        angles = any(unit.startswith("rad") for unit in units)
        start, factor = ("rad", DEGREES) if angles else ("m", 1000.0)
        factors = np.array(
            [factor if unit.startswith(start) else 1.0 for unit in units], np.float32
        )
        wrong = step.after * lanes.scene.to_device(factors, "fault")
        after = put_rows(mask, wrong, step.after, lanes)
        self.note()
        return self.inner.result(lanes, replace(step, after=after))


class FlagsSwapped(StageFault):
    """An end is told as the other kind of end."""

    NAME = "end-flags-swapped"
    ABOUT = "terminated and truncated change places at an episode's end"
    FINDS = ("end-flags",)
    WHEN = "end"

    def result(self, lanes: LaneGroup, step: ControlStep) -> ControlStep:
        """Swap them at the first end at or after the place, in its episode or later."""
        env = self.place.env
        if not self.waiting or env not in lanes.envs:
            return self.inner.result(lanes, step)
        xp, lane = lanes.xp, self.lane(lanes)
        read = lanes.scene.to_host
        flags = [step.terminated, step.truncated, step.valid]
        terminated, truncated, valid = (
            bool(read(flag[lane : lane + 1], "fault")[0]) for flag in flags
        )
        episode = int(read(step.episode[lane : lane + 1], "fault")[0])
        k = int(read(step.control_step[lane : lane + 1], "fault")[0])
        late = (episode, k) >= (self.place.episode, self.place.control_step)
        if not (late and valid and terminated != truncated):
            return self.inner.result(lanes, step)
        mask = lanes.env_numbers == env
        swapped = replace(
            step,
            terminated=xp.where(mask, step.truncated, step.terminated),
            truncated=xp.where(mask, step.terminated, step.truncated),
        )
        self.note(episode, k)
        return self.inner.result(lanes, swapped)


@contextmanager
def _state_of(other: LaneGroup, lanes: LaneGroup) -> Iterator[None]:
    """Have the scene hold another's state for a while, unseen and without a trace."""
    scene = lanes.scene
    assert other.own is not None
    mine = scene.capture()
    scene.restore(other.own)
    try:
        yield
    finally:
        scene.restore(mine, True)


FAULTS: tuple[type[Fault], ...] = (
    StaleObservation,
    StaleRender,
    ObservationOrder,
    ObservationUnit,
    FlagsSwapped,
)
