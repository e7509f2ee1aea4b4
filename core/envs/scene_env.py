"""One environment as Gymnasium knows it, over a scene of its own or a shared one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np

from isoscope.core.envs.captured import LanesState, capture_lanes, restore_lanes
from isoscope.core.envs.errors import ActionError, SceneClosedError
from isoscope.core.envs.lane_options import LaneOptions
from isoscope.core.envs.lanes import LaneGroup
from isoscope.core.envs.making import SceneWish, lease_scene
from isoscope.core.envs.profiling import Profiler
from isoscope.core.envs.records import ControlStep, LastStep, last_step
from isoscope.core.envs.stages import Stages
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from isoscope.core.envs.task import Task
    from isoscope.core.scene import Scene

Observation = np.ndarray[Any, np.dtype[np.float32]]


class SceneEnv(gym.Env[Observation, Observation]):
    """One logical environment.

    Parameters
    ----------
    task
        What it is about.
    wish
        Where its scene comes from.
    scene
        ``shared``: environments of the same task in this process step one scene in
        turn, if they want it configured alike. ``independent``: a scene of its own.
    env_id
        Its number, in messages and recordings.
    seed
        Of its random streams until a reset brings another; None takes one from the
        operating system.
    stages
        The stages of the control step, if other than usual.

    Notes
    -----
    Both flags may be true. An invalid transition has ``info["valid"]`` false and
    `truncated` true, with the reason; it must not be used, and only a reset can follow.
    """

    def __init__(
        self,
        task: Task,
        wish: SceneWish,
        *,
        scene: Literal["shared", "independent"] = "shared",
        env_id: int = 0,
        seed: int | None = None,
        options: LaneOptions | None = None,
        stages: Stages | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.metadata = {
            "render_modes": ["ansi"],
            "render_fps": task.timing.control_hz,
        }
        if render_mode not in (None, "ansi"):
            raise gym.error.UnsupportedMode(
                f"making env {env_id}: there is no render mode {render_mode}; "
                "give ansi or none, and look at it in the window"
            )
        self.render_mode = render_mode
        self.task = task
        self.env_id = env_id
        self.observation_space: gym.spaces.Box = task.observation.box()  # type: ignore[assignment]
        self.action_space: gym.spaces.Box = task.action.box()  # type: ignore[assignment]
        options = options or LaneOptions()
        stages = stages or Stages()
        self.lease = lease_scene(
            task,
            wish,
            stages,
            worlds=1,
            shared=scene == "shared",
            env=env_id,
            persistent=options.persistent,
        )
        try:
            self.lanes = LaneGroup(
                self.lease.handle,
                task,
                (env_id,),
                shared=scene == "shared",
                stages=stages,
                options=options,
                seeds=(seed,),
            )
        except BaseException:
            self.lease.release()
            raise
        self._last: ControlStep | None = None
        self.profiler = Profiler((env_id,), self.lanes)

    # -- Gymnasium ---------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed
            Begins the random streams anew; without one they go on.
        options
            None are known; others are ignored, as Gymnasium's own environments do.
        """
        self._refuse_closed("resetting")
        super().reset(seed=seed)
        if seed is not None:
            self.lanes.seed(0, seed)
        self._last = None
        profiler = self.profiler
        with profiler.whole("reset"):
            seen = self.lanes.reset()
            with profiler.part("convert"):
                observation = self._host(seen, "observation")[0]
                begun = self._begun()
        return observation, begun

    def step(
        self, action: Observation
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one control step.

        Raises
        ------
        NotResetError, ActionError
            See `LaneGroup.step`; and for an action of the wrong shape.
        """
        self._refuse_closed("stepping")
        profiler = self.profiler
        with profiler.whole("step"):
            with profiler.part("convert"):
                row = self._row(action)
                given = self.lanes.scene.to_device(row, "action")
            step = self.lanes.step(given, finite=bool(np.isfinite(row).all()))
            self._last = step
            with profiler.part("convert"):
                return (
                    self._host(step.after, "observation")[0],
                    float(self._host(step.reward, "reward")[0]),
                    bool(self._host(step.terminated, "flags")[0]),
                    bool(self._host(step.truncated, "flags")[0]),
                    self._info(step),
                )

    def render(self) -> str | None:
        """Give its own bodies' places as text, whoever is in the scene now."""
        if self.render_mode is None:
            return None
        lines = [f"env {self.env_id}"]
        for row in self.lanes.scene.rows:
            if row.actor is None or "translation" not in row.fields:
                continue
            x, y, z = self.read(row.index, "translation").tolist()
            lines.append(f"{row.name}: {x:+.3f} {y:+.3f} {z:+.3f} m")
        return "\n".join(lines)

    def close(self) -> None:
        """Let go of the snapshot and of the share in the scene; may be called twice.

        Raises
        ------
        CleanupError
            If the scene could not be cleaned up; it is kept.
        """
        if not self.lease.released:
            self.lanes.close()
        self.lease.release()

    # -- more than Gymnasium asks ------------------------------------------------------

    @property
    def scene(self) -> Scene:
        """The scene; what it holds may be another environment's state."""
        return self.lanes.scene

    @property
    def resident(self) -> bool:
        """Whether the scene holds this environment's state now."""
        return self.lanes.handle.resident is self.lanes

    def last_step(self) -> LastStep | None:
        """Its own last control step, as owned copies; None before the first."""
        return None if self._last is None else last_step(self.lanes, self._last, 0)

    def read(self, row: int, field: str) -> np.ndarray[Any, Any]:
        """Read a recorded field of its own state, whoever is in the scene now.

        Raises
        ------
        SnapshotLostError
            If that is nowhere.
        """
        self._refuse_closed("reading")
        return np.array(self.lanes.read(row, field)[0])

    def capture(self) -> LanesState:
        """Everything that makes it go on as it would have, as plain data."""
        return capture_lanes(self.lanes)

    def restore(self, state: LanesState) -> Observation:
        """Go on from a captured state; the last observation.

        Raises
        ------
        StateError
            If it is not one of this task's, or damaged; nothing was changed.
        """
        restore_lanes(self.lanes, state)
        self._last = None
        observation: Observation = self._host(self.lanes.observation, "observation")[0]
        return observation

    def seed_action_space(self) -> None:
        """Seed the action space from the environment's own stream for that."""
        stream = self.lanes.streams[0]["action_space"]
        self.action_space.seed(int(stream.integers(2**31)))

    # -- helpers -----------------------------------------------------------------------

    def _row(self, action: Any) -> Observation:
        size = self.task.action.size
        try:
            row = np.asarray(action, np.float32)
        except (TypeError, ValueError) as error:
            raise ActionError(
                f"stepping env {self.env_id}: the action is no array of {size} "
                f"numbers: {one_line(error)}"
            ) from None
        if row.shape != (size,):
            raise ActionError(
                f"stepping env {self.env_id}: the action has the shape {row.shape}; "
                f"give ({size},): {', '.join(self.task.action.labels)}"
            )
        return row[None]

    def _host(self, array: Any, cause: str) -> np.ndarray[Any, Any]:
        return self.lanes.scene.to_host(array, cause)

    def _begun(self) -> dict[str, Any]:
        info: dict[str, Any] = {
            "control_step": 0,
            "valid": bool(self._host(self.lanes.valid, "info")[0]),
        }
        if self.lanes.draws.values:
            info["draws"] = {
                name: float(self._host(value, "info")[0])
                for name, value in self.lanes.draws.values.items()
            }
        return info

    def _info(self, step: ControlStep) -> dict[str, Any]:
        def first(array: Any) -> Any:
            return self._host(array, "info")[0]

        info: dict[str, Any] = {
            "control_step": int(first(step.control_step)),
            "valid": bool(first(step.valid)),
            "reward_terms": {
                name: float(first(term)) for name, term in step.terms.items()
            },
        }
        valid = info["valid"]
        ends = [n for n, m in step.terminations.items() if valid and bool(first(m))]
        limits = [n for n, m in step.truncations.items() if bool(first(m))]
        if ends:
            info["terminated_reason"] = ", ".join(ends)
        if limits:
            info["truncated_reason"] = ", ".join(limits)
        return info

    def _refuse_closed(self, doing: str) -> None:
        if self.lease.released:
            raise SceneClosedError(
                f"{doing} env {self.env_id}: it is closed; make it anew"
            )
