"""Faults of actions and of the native steps that they are applied in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.envs.arrays import copied
from isoscope.core.envs.faults.fault import StageFault, put_rows

if TYPE_CHECKING:
    from isoscope.core.envs.faults.fault import Fault
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.records import ControlStep
    from isoscope.core.scene import Array, StepReport

OUTSIDE = 1.5  # of the upper bound
MOVED_M = 1e-3
# far beyond what squares of it can be held in
HUGE = {"float32": 1e30, "float64": 1e200}


class _Outside(StageFault):
    """The action that is given at the place lies outside the Box."""

    def outside(self, lanes: LaneGroup, action: Array) -> Array | None:
        """Make it so, in the group's own copy; the lane, or None elsewhere."""
        mask = self.here(lanes)
        if mask is not None:
            action[self.lane(lanes)] = lanes.action_high * OUTSIDE
        return mask


class UnclippedAction(_Outside):
    """What is applied lies outside the Box."""

    NAME = "unclipped-action"
    ABOUT = "an action half as large again as the box allows is applied unclipped"
    FINDS = ("action-range",)

    def clip(self, lanes: LaneGroup, action: Array) -> Array:
        """Don't, in this lane."""
        mask = self.outside(lanes, action)
        clipped = self.inner.clip(lanes, action)
        if mask is None:
            return clipped
        self.note()
        return put_rows(mask, action, clipped, lanes)


class RawClippedSwap(_Outside):
    """What was given is told as what was applied, and the other way round."""

    NAME = "raw-clipped-swap"
    ABOUT = "of an action outside the box, raw and clipped are told the wrong way round"
    FINDS = ("action-range",)

    def clip(self, lanes: LaneGroup, action: Array) -> Array:
        """Clip an action that lies outside, as one should."""
        self.outside(lanes, action)
        return self.inner.clip(lanes, action)

    def result(self, lanes: LaneGroup, step: ControlStep) -> ControlStep:
        """Swap them."""
        mask = self.here(lanes)
        if mask is None:
            return self.inner.result(lanes, step)
        swapped = replace(
            step,
            raw=put_rows(mask, step.clipped, step.raw, lanes),
            clipped=put_rows(mask, step.raw, step.clipped, lanes),
        )
        self.note()
        return self.inner.result(lanes, swapped)


class _Force(StageFault):
    """A force on all degrees of freedom of the first actor that moves."""

    def apply(self, lanes: LaneGroup, action: Array, substep: int) -> None:
        """Apply, then set the force instead."""
        self.inner.apply(lanes, action, substep)
        mask = self.here(lanes) if substep == 0 else None
        if mask is None:
            return
        scene = lanes.scene
        actor = next(actor for actor in scene.actors if not actor.static)
        force = np.full((scene.worlds, actor.velocity_size), self.force_n(lanes))
        scene.set_dof_forces(actor.index, scene.to_device(force, "fault"), mask)
        self.note()

    def force_n(self, lanes: LaneGroup) -> float:
        """How large it is."""
        raise NotImplementedError


class NonFiniteForce(_Force):
    """A force that is no number."""

    NAME = "non-finite-force"
    ABOUT = "a native step applies a force that is not a number"
    FINDS = ("non-finite",)
    MAY_FIND = ("unconverged",)  # no solver converges on it

    def force_n(self, lanes: LaneGroup) -> float:
        """NaN."""
        return float("nan")


class DivergingSolve(_Force):
    """A force so large that the solver fails, though it is a number."""

    NAME = "diverging-solve"
    ABOUT = "a native step applies a finite force at which the solver diverges"
    FINDS = ("unconverged",)
    MAY_FIND = ("non-finite",)  # what it diverges to

    def force_n(self, lanes: LaneGroup) -> float:
        """So large that its square is not finite in the scene's precision."""
        return HUGE[lanes.scene.precision]


class CallbackMovedState(StageFault):
    """A callback of the scene moves a body after the dynamics."""

    NAME = "callback-moved-state"
    ABOUT = "a post-step callback moves a body by a millimetre (a joint by a mrad)"
    FINDS = ("callback-moved-state",)

    def step(self, lanes: LaneGroup, substep: int) -> StepReport:
        """Step with the callback in place."""
        mask = self.here(lanes) if substep == 0 else None
        if mask is None:
            return self.inner.step(lanes, substep)

        def move(scene: Any, h_s: float) -> None:
            actor = next(actor for actor in scene.actors if not actor.static)
            moved = copied(scene.positions(actor.index))
            moved[:, 0] += MOVED_M
            velocities = copied(scene.velocities(actor.index))
            scene.set_state(actor.index, moved, velocities, mask)

        take_off = lanes.scene.on_post_step(move)
        try:
            return self.inner.step(lanes, substep)
        finally:
            take_off()
            self.note()


class ZeroStep(StageFault):
    """A native step of no time."""

    NAME = "zero-step"
    ABOUT = "a native step of 0 s comes before those of the control step"
    FINDS = ("zero-step",)

    def step(self, lanes: LaneGroup, substep: int) -> StepReport:
        """Step by nothing first."""
        mask = self.here(lanes) if substep == 0 else None
        place = lanes.place
        if mask is not None and place is not None:
            lanes.place = replace(place, worlds=mask)
            try:
                lanes.scene.step(0.0, mask)
            finally:
                lanes.place = place
            self.note()
        return self.inner.step(lanes, substep)


FAULTS: tuple[type[Fault], ...] = (
    UnclippedAction,
    RawClippedSwap,
    NonFiniteForce,
    DivergingSolve,
    CallbackMovedState,
    ZeroStep,
)
