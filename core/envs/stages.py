"""The stages of a control step and of a scene's life, each of which can be replaced.

Whoever wants another behaviour at one place (a fault that is to be shown, a probe)
wraps the stages it changes and passes the others on:

    class MissedRestore(WrappedStages):
        def restore(self, lanes):
            if not lanes.at(0, episode=1, control_step=9).any():
                self.inner.restore(lanes)

Stages are called in this order: `key`, `cleanups`, `seed` when an environment is made
and seeded; `reset`; then for each control step `clip`, `restore`, M times (`apply`,
`step`), `capture`, `observe`, `reward`, `stop`, `result`; `read` when the state is
looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core.envs.streams import Streams

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.records import ControlStep
    from isoscope.core.envs.scene_handle import SceneHandle
    from isoscope.core.envs.scene_key import SceneKey
    from isoscope.core.scene import Array, StepReport, Worlds


class Stages:
    """Every stage as it should be."""

    # -- when an environment is made ---------------------------------------------------

    def key(self, key: SceneKey) -> SceneKey:
        """What the scene is shared under."""
        return key

    def cleanups(self, handle: SceneHandle) -> None:
        """Add cleanups to a scene that was just made."""

    def seed(self, env: int, seed: int | None) -> Streams:
        """Begin the random streams of an environment."""
        return Streams(seed)

    # -- an episode's beginning --------------------------------------------------------

    def reset(self, lanes: LaneGroup, worlds: Worlds) -> None:
        """Initial state, draws, noise, one short native step, capture."""
        lanes.start_over(worlds)

    # -- a control step ----------------------------------------------------------------

    def clip(self, lanes: LaneGroup, action: Array) -> Array:
        """Clip to the Box; NaN stays NaN."""
        return lanes.xp.clip(action, lanes.action_low, lanes.action_high)

    def restore(self, lanes: LaneGroup) -> None:
        """Bring the environment's own state back into a shared scene."""
        lanes.restore_own()

    def apply(self, lanes: LaneGroup, action: Array, substep: int) -> None:
        """Set the control input of one native step."""
        lanes.task.apply(lanes.view, lanes.task.action.structure(action), substep)

    def step(self, lanes: LaneGroup, substep: int) -> StepReport:
        """Take one native step."""
        return lanes.scene.step(lanes.timing.h_s, lanes.view.worlds)

    def capture(self, lanes: LaneGroup) -> None:
        """Take the environment's own state out of a shared scene."""
        lanes.capture_own()

    def observe(self, lanes: LaneGroup) -> Array:
        """See the scene: float32 [W, O], in key order, undisturbed."""
        return lanes.look()

    def reward(
        self, lanes: LaneGroup, action: Array, seen: Array
    ) -> Mapping[str, Array]:
        """Reward terms by name, [W]."""
        task = lanes.task
        return task.rewards(
            lanes.view, task.action.structure(action), task.observation.structure(seen)
        )

    def stop(self, lanes: LaneGroup, seen: Array) -> Mapping[str, Array]:
        """Reasons to terminate, bool [W]; the time limit is not among them."""
        task = lanes.task
        return task.terminations(lanes.view, task.observation.structure(seen))

    def result(self, lanes: LaneGroup, step: ControlStep) -> ControlStep:
        """Have the last word on what is given back."""
        return step

    # -- looking at the state ----------------------------------------------------------

    def read(self, lanes: LaneGroup, actor: int, field: str) -> np.ndarray[Any, Any]:
        """Read a field of an actor, [W, …] on the host: the environment's own."""
        return lanes.read_own(actor, field)


class WrappedStages(Stages):
    """Stages that pass everything on; subclasses change what they are about.

    Parameters
    ----------
    inner
        The stages around which these are laid.
    """

    def __init__(self, inner: Stages) -> None:
        self.inner = inner

    def key(self, key: SceneKey) -> SceneKey:
        """See `Stages.key`; so for the others."""
        return self.inner.key(key)

    def cleanups(self, handle: SceneHandle) -> None:
        """Pass on."""
        self.inner.cleanups(handle)

    def seed(self, env: int, seed: int | None) -> Streams:
        """Pass on."""
        return self.inner.seed(env, seed)

    def reset(self, lanes: LaneGroup, worlds: Worlds) -> None:
        """Pass on."""
        self.inner.reset(lanes, worlds)

    def clip(self, lanes: LaneGroup, action: Array) -> Array:
        """Pass on."""
        return self.inner.clip(lanes, action)

    def restore(self, lanes: LaneGroup) -> None:
        """Pass on."""
        self.inner.restore(lanes)

    def apply(self, lanes: LaneGroup, action: Array, substep: int) -> None:
        """Pass on."""
        self.inner.apply(lanes, action, substep)

    def step(self, lanes: LaneGroup, substep: int) -> StepReport:
        """Pass on."""
        return self.inner.step(lanes, substep)

    def capture(self, lanes: LaneGroup) -> None:
        """Pass on."""
        self.inner.capture(lanes)

    def observe(self, lanes: LaneGroup) -> Array:
        """Pass on."""
        return self.inner.observe(lanes)

    def reward(
        self, lanes: LaneGroup, action: Array, seen: Array
    ) -> Mapping[str, Array]:
        """Pass on."""
        return self.inner.reward(lanes, action, seen)

    def stop(self, lanes: LaneGroup, seen: Array) -> Mapping[str, Array]:
        """Pass on."""
        return self.inner.stop(lanes, seen)

    def result(self, lanes: LaneGroup, step: ControlStep) -> ControlStep:
        """Pass on."""
        return self.inner.result(lanes, step)

    def read(self, lanes: LaneGroup, actor: int, field: str) -> np.ndarray[Any, Any]:
        """Pass on."""
        return self.inner.read(lanes, actor, field)
