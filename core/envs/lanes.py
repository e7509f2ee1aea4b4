"""The control step, once, for W environments that are side by side in one scene.

A *lane group* is W logical environments over a scene of W worlds: W = 1 for a scene of
one's own or one that is shared in turn, W = N for a resident batch. The same code runs
for all of them, on arrays of the scene's kind; which lanes take part is a mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from psygnal import Signal

from isoscope.core.envs.admission import not_finite, refuse_unready
from isoscope.core.envs.arrays import any_of, as_float32, choose, copied
from isoscope.core.envs.drawing import EpisodeDraws
from isoscope.core.envs.errors import SharedConfigurationError, SnapshotLostError
from isoscope.core.envs.lane_options import LaneOptions, LanePlace
from isoscope.core.envs.randomisation.disturbing import Disturbing
from isoscope.core.envs.records import (
    INVALID,
    NON_FINITE_ACTION,
    TIME_LIMIT,
    ControlStep,
    owned,
)
from isoscope.core.envs.stages import Stages
from isoscope.core.envs.task import TaskView
from isoscope.core.envs.timing import NO_LIMIT, RESET_STEP_S
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.envs.scene_handle import SceneHandle
    from isoscope.core.envs.task import Task
    from isoscope.core.scene import Array, Scene, Worlds


class LaneGroup:
    """W environments over one scene.

    Attributes
    ----------
    shared
        Whether other lane groups use the scene too, so that each step begins with a
        restore and ends with a capture.
    own
        The handle of the environment's own snapshot, in a shared scene.
    place
        Where it is now; None between steps.
    count, episode, ready, valid
        [W] on the device: control steps done; episodes begun; whether a step may
        follow; whether the state may be used.
    observation
        float32 [W, O]: the last one that was given back.
    interrupted
        Whether an exception ended a step half-way: only a reset can follow.
    """

    control_stepped: ClassVar[Signal] = Signal(object, ControlStep)
    was_reset: ClassVar[Signal] = Signal(object, object)

    def __init__(
        self,
        handle: SceneHandle,
        task: Task,
        envs: Sequence[int],
        *,
        shared: bool = False,
        stages: Stages | None = None,
        options: LaneOptions | None = None,
        seeds: Sequence[int | None] | None = None,
    ) -> None:
        self.handle = handle
        self.scene: Scene = handle.enter(envs[0], bind=False)
        self.task = task
        self.envs = tuple(envs)
        self.shared = shared
        self.stages = stages or Stages()
        self.options = options or LaneOptions()
        self.timing = task.timing
        self.xp = self.scene.xp
        task.bind(self.scene)
        plan = self.options.persistent
        if shared and plan.draws and plan.in_shared_scenes == "refuse":
            raise SharedConfigurationError(
                f"randomising {', '.join(plan.entries)} of env {envs[0]}: scene "
                f"{self.scene.name} is shared, and every environment in it would get "
                "the change; take independent scenes, or reapply"
            )
        seeds = [None] * len(envs) if seeds is None else list(seeds)
        self.streams = [
            self.stages.seed(e, s) for e, s in zip(self.envs, seeds, strict=True)
        ]
        self.draws = EpisodeDraws(
            handle,
            task,
            plan,
            self.options.noise or task.noise,
            self.streams,
            self.options.ahead,
            envs[0],
        )
        self.disturbing: Disturbing | None = None
        if not self.options.disturbances.empty:
            self.disturbing = Disturbing(
                self.options.disturbances,
                self.scene,
                task.action,
                task.observation,
                self.timing,
                self.streams,
                self.options.ahead,
            )
        self._begin_state()

    def _begin_state(self) -> None:
        def up(array: np.ndarray[Any, Any]) -> Array:
            return self.scene.to_device(array, "environment state")

        w = len(self.envs)
        self.env_numbers = up(np.array(self.envs, np.int64))
        self.action_low = up(self.task.action.low)
        self.action_high = up(self.task.action.high)
        self.count = up(np.zeros(w, np.int64))
        self.episode = up(np.zeros(w, np.int64))
        self.ready = up(np.zeros(w, np.bool_))
        self.valid = up(np.ones(w, np.bool_))
        self.observation = up(np.zeros((w, self.task.observation.size), np.float32))
        self.own: int | None = None
        self.place: LanePlace | None = None
        self.interrupted = False
        self.view = TaskView(self.scene, self.xp, None, self.draws.values, self.count)

    # -- random streams ----------------------------------------------------------------

    def settle(self) -> None:
        """Let all streams stand where nothing is drawn ahead."""
        self.draws.settle()
        if self.disturbing is not None:
            self.disturbing.settle()

    def seed(self, lane: int, seed: int | None) -> None:
        """Begin a lane's streams anew."""
        self.settle()
        self.streams[lane] = self.stages.seed(self.envs[lane], seed)

    # -- an episode's beginning --------------------------------------------------------

    def reset(self, worlds: Worlds = None) -> Array:
        """Begin new episodes; the observations, float32 [W, O].

        Rows of lanes that are not in `worlds` keep their last observation.
        """
        self.handle.enter(self.envs[0])
        xp, number = self.xp, choose(worlds, self.episode + 1, self.episode, self.xp)
        zero = choose(worlds, self.count * 0, self.count, xp)
        self.view.worlds = worlds
        self._stand("reset", worlds, number, zero, 0)
        try:
            self.stages.reset(self, worlds)
            self.episode, self.count = number, zero
            self.view.count = zero
            self.observation = self._see(worlds)
        except BaseException as error:
            self._interrupt("reset", error)
            raise
        finally:
            self._stand_down()
        if worlds is None:
            self.interrupted = False
        if len(self.was_reset):
            self.was_reset.emit(self, worlds)
        return self.observation

    def start_over(self, worlds: Worlds) -> None:
        """Initial state, draws, noise, one step of 1e-5 s, and capture."""
        handle, scene, xp = self.handle, self.scene, self.xp
        handle.restore(handle.initial, worlds, self.envs[0])
        handle.resident = self
        self.draws.draw(worlds)
        self.view.draws = self.draws.values
        self.draws.add_noise(worlds)
        report = scene.step(RESET_STEP_S, worlds)
        self.valid = copied(choose(worlds, report.valid, self.valid, xp))
        self.ready = choose(worlds, self.valid, self.ready, xp)
        if self.disturbing is not None:
            self.disturbing.begin(worlds)
        self.capture_own()

    # -- the control step --------------------------------------------------------------

    def step(
        self, action: Array, worlds: Worlds = None, *, finite: bool = False
    ) -> ControlStep:
        """Take one control step in the lanes of `worlds`.

        Parameters
        ----------
        action
            [W, A]; copied.
        finite
            Whether the caller has made sure that all numbers are finite.

        Raises
        ------
        NotResetError
            If a lane has not been reset since it ended, became invalid, or was
            interrupted. Where looking costs a crossing from the device, only the
            interrupted ones are known, and it is the caller's to know the others.
        ActionError
            If an action is not finite and the policy is to raise; nothing was touched.
        """
        self.handle.enter(self.envs[0])
        refuse_unready(self, worlds)
        raw = copied(as_float32(action, self.xp))
        acting, refused = worlds, None
        if not finite:
            refused = not_finite(self, raw, worlds)
            if refused is not None:
                stays = self.xp.logical_not(refused)
                acting = stays if worlds is None else self.xp.logical_and(worlds, stays)
        self.view.worlds = acting
        number = self.count + 1
        try:
            step = self._step(raw, worlds, acting, refused, number)
        except BaseException as error:
            self._interrupt("step", error)
            raise
        finally:
            self._stand_down()
        if len(self.control_stepped):
            self.control_stepped.emit(self, step)
        return step

    def _step(
        self, raw: Array, worlds: Worlds, acting: Worlds, refused: Array, number: Array
    ) -> ControlStep:
        stages, xp = self.stages, self.xp
        self._stand("substep", worlds, self.episode, number, 0)
        clipped = stages.clip(self, raw)
        through = clipped
        if self.disturbing is not None:
            through = self.disturbing.action(clipped, acting)
        before, valid = self.observation, self.valid
        stages.restore(self)
        self.handle.resident = self
        reports = []
        for substep in range(self.timing.substeps):
            self._stand("substep", worlds, self.episode, number, substep)
            applied = through
            if self.disturbing is not None:
                applied = self.disturbing.at_substep(
                    through, self.count, substep, acting
                )
            stages.apply(self, applied, substep)
            report = owned(stages.step(self, substep))
            valid = xp.logical_and(valid, report.valid)
            reports.append(report)
        if refused is not None:
            valid = xp.logical_and(valid, xp.logical_not(refused))
        stages.capture(self)

        self.count = choose(worlds, number, self.count, xp)
        self.view.count, self.view.worlds = self.count, worlds
        true = stages.observe(self)
        after = true
        if self.disturbing is not None:
            after = self.disturbing.observation(true, self.count, worlds)
        after = choose(worlds, after, before, xp)
        terms = stages.reward(self, clipped, true)
        # the state of an invalid world says nothing about the task
        terminations = {
            name: xp.logical_and(mask, valid)
            for name, mask in stages.stop(self, true).items()
        }
        terminated = any_of(terminations, valid, xp)
        truncations = self._truncations(valid, refused)
        truncated = any_of(truncations, valid, xp)
        ended = xp.logical_or(terminated, truncated)

        self.valid = choose(worlds, valid, self.valid, xp)
        self.ready = choose(worlds, xp.logical_not(ended), self.ready, xp)
        step = ControlStep(
            worlds=worlds,
            raw=raw,
            clipped=clipped,
            applied=through,
            before=before,
            after=after,
            true_after=true,
            reward=sum(terms.values()),
            terms=terms,
            terminated=terminated,
            truncated=truncated,
            terminations=terminations,
            truncations=truncations,
            valid=valid,
            episode=self.episode,
            control_step=number,
            reports=tuple(reports),
        )
        step = stages.result(self, step)
        self.observation = step.after
        return step

    def _truncations(self, valid: Array, refused: Array | None) -> dict[str, Array]:
        xp = self.xp
        found: dict[str, Array] = {}
        if self.timing.max_steps != NO_LIMIT:
            found[TIME_LIMIT] = self.count == self.timing.max_steps
        found[INVALID] = xp.logical_not(valid)
        if refused is not None:
            found[INVALID] = xp.logical_and(found[INVALID], xp.logical_not(refused))
            found[NON_FINITE_ACTION] = refused
        return found

    def look(self) -> Array:
        """What the task sees in the scene now: float32 [W, O] in key order."""
        seen = self.task.observe(self.view)
        return as_float32(self.task.observation.flatten(seen, self.xp), self.xp)

    def _see(self, worlds: Worlds) -> Array:
        seen = self.stages.observe(self)
        if self.disturbing is not None:
            seen = self.disturbing.observation(seen, self.count, worlds)
        return choose(worlds, seen, self.observation, self.xp)

    # -- one's own state in a shared scene ---------------------------------------------

    def restore_own(self) -> None:
        """Bring the own snapshot back, and what no snapshot covers; if shared."""
        if not self.shared:
            return
        if self.own is None:
            raise SnapshotLostError(
                f"restoring env {self.envs[0]} in scene {self.scene.name}: it has no "
                "snapshot of its own; reset it"
            )
        self.handle.restore(self.own, env=self.envs[0])
        self.draws.reapply(self.handle.resident is self)
        self.handle.resident = self

    def capture_own(self) -> None:
        """Take a new snapshot and let go of the last; if shared."""
        if not self.shared:
            return
        before, self.own = self.own, self.handle.capture(self.envs[0])
        if before is not None:
            self.handle.release(before)

    def read(self, actor: int, field: str) -> np.ndarray[Any, Any]:
        """Read a field of the own state by the stage for it, so that it is known."""
        self.handle.reading = self
        try:
            return self.stages.read(self, actor, field)
        finally:
            self.handle.reading = None

    def read_own(self, actor: int, field: str) -> np.ndarray[Any, Any]:
        """Read a field of one's own state, whoever is in the scene now.

        Where another's state is there, the own one is swapped in and out again.

        Raises
        ------
        SnapshotLostError
            If the scene holds another's state and there is no snapshot.
        """
        handle = self.handle
        scene = handle.enter(self.envs[0])
        other = handle.resident
        if other is self:
            return scene.read(actor, field)
        if self.own is None:
            raise SnapshotLostError(
                f"reading env {self.envs[0]} in scene {scene.name}: the scene holds "
                "another environment's state and there is no snapshot; reset it"
            )
        theirs = handle.capture()
        try:
            self.restore_own()
            return scene.read(actor, field)
        finally:
            whose = -1 if other is None else other.envs[0]
            handle.restore(theirs, env=whose, release_immediately=True)
            handle.resident = other
            if other is not None:
                other.draws.reapply(False)

    def close(self) -> None:
        """Let go of the own snapshot; refused from a foreign thread."""
        may_touch = self.handle.leave(self.envs[0])
        own, self.own = self.own, None
        if own is not None and may_touch:
            self.handle.release(own)
        if self.handle.resident is self:
            self.handle.resident = None

    # -- where it is, and who may step -------------------------------------------------

    def at(self, env: int, episode: int, control_step: int) -> Array:
        """The lane at this control step now, or about to take it: bool [W]."""
        here = self.place
        k = self.count + 1 if here is None else here.control_step
        number = self.episode if here is None else here.episode
        found = self.xp.logical_and(self.env_numbers == env, number == episode)
        return self.xp.logical_and(found, k == control_step)

    def _stand(
        self,
        kind: Literal["reset", "substep"],
        worlds: Worlds,
        episode: Array,
        control_step: Array,
        substep: int,
    ) -> None:
        self.place = LanePlace(kind, self.envs, worlds, episode, control_step, substep)
        self.handle.stepping = self

    def _interrupt(self, doing: str, error: BaseException) -> None:
        self.interrupted = True
        problem = one_line(error) or type(error).__name__
        self.handle.tell("failure", self.envs[0], doing=doing, problem=problem)

    def _stand_down(self) -> None:
        self.place = None
        self.handle.stepping = None
