"""A whole batch of environments that lives on the device: one scene of N worlds.

What is computed each step stays there. With ``results="lazy"`` a loop that never looks
causes no crossing at all: random numbers are drawn ahead on the host and uploaded every
`LaneOptions.ahead` steps, and which episodes ended is a mask on the device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym  # noqa: TC002 - read at run time
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from isoscope.core.envs.arrays import any_or_unknown, choose, on_host
from isoscope.core.envs.batch_results import BatchStep, BatchTeller, Results
from isoscope.core.envs.captured import LanesState, capture_lanes, restore_lanes
from isoscope.core.envs.errors import ActionError, NotResetError, SceneClosedError
from isoscope.core.envs.lane_options import LaneOptions
from isoscope.core.envs.lanes import LaneGroup
from isoscope.core.envs.making import SceneWish, lease_scene
from isoscope.core.envs.profiling import Profiler
from isoscope.core.envs.records import ControlStep, LastStep, last_step
from isoscope.core.envs.stages import Stages
from isoscope.core.errors import UsageError, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.envs.task import Task
    from isoscope.core.scene import Array, Scene

# Episodes that random numbers are drawn ahead for, unless the options say otherwise.
AHEAD = 64


class ResidentVectorEnv(VectorEnv[Any, Any, Any]):
    """N environments in one scene of N worlds.

    Parameters
    ----------
    autoreset_mode
        Gymnasium's rules. ``NEXT_STEP``: the step after the end only resets, its reward
        is 0 and its action ignored. ``SAME_STEP``: the observation is the new episode's
        first, the last one is ``info["final_obs"]``. ``DISABLED``: the caller resets,
        with ``options={"reset_mask": …}``.
    results
        ``numpy``: everything is read back, as Gymnasium's callers expect.
        ``lazy``: results are `OnDevice`, which cross over when looked at.
    first_env
        The number of the first environment.
    """

    def __init__(
        self,
        task: Task,
        wish: SceneWish,
        num_envs: int,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        results: Results = "numpy",
        first_env: int = 0,
        seed: int | Sequence[int | None] | None = None,
        options: LaneOptions | None = None,
        stages: Stages | None = None,
    ) -> None:
        super().__init__()
        # until it is whole there is nothing to close, as old Gymnasiums do at the end
        self.closed = True
        if num_envs < 1:
            raise UsageError(
                f"making a batch of {num_envs} environments: give 1 or more"
            )
        self.num_envs = num_envs
        self.task = task
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.results: Results = results
        self.metadata = {
            "autoreset_mode": self.autoreset_mode,
            "render_modes": [],
            "render_fps": task.timing.control_hz,
        }
        self.single_observation_space: gym.Space[Any] = task.observation.box()
        self.single_action_space: gym.Space[Any] = task.action.box()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        options = options or LaneOptions(ahead=AHEAD)
        stages = stages or Stages()
        self.lease = lease_scene(
            task,
            wish,
            stages,
            worlds=num_envs,
            shared=False,
            env=first_env,
            persistent=options.persistent,
        )
        try:
            self.lanes = LaneGroup(
                self.lease.handle,
                task,
                range(first_env, first_env + num_envs),
                stages=stages,
                options=options,
                seeds=self._expanded(seed),
            )
        except BaseException:
            self.lease.release()
            raise
        xp = self.lanes.xp
        # lanes whose next step only resets, in NEXT_STEP mode
        self._due: Array = xp.zeros_like(self.lanes.ready)
        self._last: ControlStep | None = None
        self._told = BatchTeller(self.lanes, results)
        lazy = results == "lazy"
        self.profiler = Profiler(self.lanes.envs, self.lanes, lazy=lazy)
        self.closed = False

    # -- Gymnasium ---------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begin episodes in all lanes, or in those of ``options["reset_mask"]``.

        Parameters
        ----------
        seed
            An int s gives lane i the seed s + i.
        """
        worlds = None
        if options is not None and "reset_mask" in options:
            worlds = self._mask(options["reset_mask"])
        with self.profiler.whole("reset"):
            observation = self.reset_device(worlds, self._expanded(seed))
            with self.profiler.part("convert"):
                lanes = self.lanes
                info = self._told.masked(
                    {
                        "control_step": lanes.count,
                        "valid": lanes.valid,
                    },
                    worlds,
                )
                if lanes.draws.values:
                    drawn = self._told.masked(dict(lanes.draws.values), worlds)
                    info |= self._told.masked({"draws": drawn}, worlds)
                return self._told.given(observation, "observation"), info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one control step in all lanes, by the rules of the autoreset mode.

        Parameters
        ----------
        actions
            [N, A]: NumPy's, or of the scene's kind, which then does not leave the
            device.
        """
        with self.profiler.whole("step"):
            result = self.step_device(actions)
            with self.profiler.part("convert"):
                return self._answered(result)

    def close_extras(self, **kwargs: Any) -> None:
        """Let go of the scene.

        Raises
        ------
        CleanupError
            If it could not be cleaned up; it is kept.
        """
        if not self.lease.released:
            self.lanes.close()
        self.lease.release()

    # -- on the device -----------------------------------------------------------------

    def reset_device(
        self, worlds: Array | None = None, seeds: Sequence[int | None] | None = None
    ) -> Array:
        """Begin episodes; the observations stay on the device, float32 [N, O]."""
        self._refuse_closed("resetting")
        if seeds is not None:
            host = None if worlds is None else self.scene.to_host(worlds, "reset mask")
            for lane, seed in enumerate(seeds):
                if seed is not None and (host is None or host[lane]):
                    self.lanes.seed(lane, seed)
        observation = self.lanes.reset(worlds)
        none = self.lanes.xp.zeros_like(self._due)
        self._due = choose(worlds, none, self._due, self.lanes.xp)
        self._last = None
        return observation

    def step_device(self, actions: Any) -> BatchStep:
        """Take one control step; nothing is read back.

        Raises
        ------
        NotResetError
            In DISABLED mode, if a lane has ended and was not reset (on CUDA this looks
            at one flag a step); before the first reset.
        ActionError
            For another shape, or numbers that are not finite if the policy is to raise.
        """
        self._refuse_closed("stepping")
        with self.profiler.whole("step"):
            return self._step_device(actions)

    def _step_device(self, actions: Any) -> BatchStep:
        lanes, xp, mode = self.lanes, self.lanes.xp, self.autoreset_mode
        with self.profiler.part("convert"):
            action, finite = self._actions(actions)
        if mode is AutoresetMode.DISABLED and not on_host(lanes.ready):
            self._look_for_ended()
        taking = xp.logical_not(self._due)
        worlds = taking if any_or_unknown(self._due) else None
        step = lanes.step(action, worlds, finite=finite)
        self._last = step
        ended = xp.logical_or(step.terminated, step.truncated)
        ended = ended if worlds is None else xp.logical_and(ended, worlds)
        observation, began = step.after, None
        due = self._due
        if mode is AutoresetMode.NEXT_STEP:
            if worlds is not None:
                observation, began = lanes.reset(due), due
            self._due = ended
        elif mode is AutoresetMode.SAME_STEP and any_or_unknown(ended):
            observation, began = lanes.reset(ended), ended

        def transitions_only(array: Array) -> Array:
            return choose(worlds, array, xp.zeros_like(array), xp)

        return BatchStep(
            observation=observation,
            reward=transitions_only(step.reward),
            terminated=transitions_only(step.terminated),
            truncated=transitions_only(step.truncated),
            transition=taking,
            usable=xp.logical_and(taking, step.valid),
            final_observation=step.after,
            began=began,
            step=step,
        )

    # -- more than Gymnasium asks ------------------------------------------------------

    @property
    def scene(self) -> Scene:
        """The scene of N worlds."""
        return self.lanes.scene

    def last_step(self, lane: int) -> LastStep | None:
        """A lane's last control step, as owned copies; None if it took none."""
        step = self._last
        if step is None:
            return None
        if step.worlds is not None and not bool(
            self.scene.to_host(step.worlds[lane : lane + 1], "last step")[0]
        ):
            return None
        return last_step(self.lanes, step, lane)

    def capture(self) -> LanesState:
        """Everything that makes the batch go on as it would have, as plain data.

        In NEXT_STEP mode, which lanes are due to be reset follows from `ready`.
        """
        return capture_lanes(self.lanes)

    def restore(self, state: LanesState) -> Any:
        """Go on from a captured state; the last observations."""
        restore_lanes(self.lanes, state)
        self._last = None
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            begun = self.lanes.episode > 0
            not_ready = self.lanes.xp.logical_not(self.lanes.ready)
            self._due = self.lanes.xp.logical_and(begun, not_ready)
        return self._told.given(self.lanes.observation, "observation")

    def seed_action_space(self) -> None:
        """Seed the action space from the first environment's stream for that."""
        stream = self.lanes.streams[0]["action_space"]
        self.action_space.seed(int(stream.integers(2**31)))

    # -- helpers -----------------------------------------------------------------------

    def _answered(self, result: BatchStep) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Turn a step into what Gymnasium's callers get."""
        step, began = result.step, result.began
        info = self._told.masked(
            {
                "control_step": self.lanes.count,
                "valid": self.lanes.valid,
            },
            None,
        )
        told = result.transition
        if self.autoreset_mode is AutoresetMode.SAME_STEP and began is not None:
            info |= self._told.final(result, began)
            # what is told of rows that were reset is the reset's
            told = self.lanes.xp.logical_and(told, self.lanes.xp.logical_not(began))
        terms = dict(step.terms)
        if began is not None:  # as Gymnasium has it, zeros where the mask is unset
            zeros = self.lanes.xp.zeros_like
            terms = {
                name: choose(told, value, zeros(value), self.lanes.xp)
                for name, value in terms.items()
            }
        terms = self._told.masked(terms, told)
        info |= self._told.masked({"reward_terms": terms}, told)
        info |= self._told.masked(
            {"transition": result.transition, "usable": result.usable}, None
        )
        return (
            self._told.given(result.observation, "observation"),
            self._told.given(result.reward, "reward", np.float64),
            self._told.given(result.terminated, "flags"),
            self._told.given(result.truncated, "flags"),
            info,
        )

    def _expanded(
        self, seed: int | Sequence[int | None] | None
    ) -> list[int | None] | None:
        if seed is None:
            return None
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + i for i in range(self.num_envs)]
        seeds = [None if s is None else int(s) for s in seed]
        if len(seeds) != self.num_envs:
            raise UsageError(
                f"seeding a batch: {len(seeds)} seeds for {self.num_envs} environments"
            )
        return seeds

    def _mask(self, mask: Any) -> Array:
        if (
            not isinstance(mask, np.ndarray)
            or mask.dtype != np.bool_
            or mask.shape != (self.num_envs,)
            or not mask.any()
        ):
            raise UsageError(
                "resetting a batch: reset_mask must be a NumPy array of bool, of shape "
                f"({self.num_envs},), with at least one True"
            )
        return self.scene.to_device(mask, "reset mask")

    def _actions(self, actions: Any) -> tuple[Array, bool]:
        shape = (self.num_envs, self.task.action.size)
        kind = type(actions)
        if kind is np.ndarray or kind is not type(self.lanes.count):
            try:
                host = np.asarray(actions, np.float32)
            except (TypeError, ValueError) as error:
                raise ActionError(
                    f"stepping a batch: the actions are no array of {shape}: "
                    f"{one_line(error)}"
                ) from None
            self._refuse_shape(host.shape, shape)
            return self.scene.to_device(host, "action"), bool(np.isfinite(host).all())
        self._refuse_shape(tuple(actions.shape), shape)
        return actions, False

    def _refuse_shape(self, got: tuple[int, ...], wanted: tuple[int, int]) -> None:
        if got != wanted:
            raise ActionError(
                f"stepping a batch: actions of shape {got}; give {wanted}: "
                + ", ".join(self.task.action.labels)
            )

    def _look_for_ended(self) -> None:
        ready = self.lanes.ready.all().reshape(1)
        if not bool(self.scene.to_host(ready, "ended environments")[0]):
            raise NotResetError(
                "stepping a batch: an environment has ended and was not reset; "
                "reset it with options={'reset_mask': ...} first"
            )

    def _refuse_closed(self, doing: str) -> None:
        if self.lease.released:
            raise SceneClosedError(f"{doing} a batch: it is closed; make it anew")
