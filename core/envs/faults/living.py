"""Faults around an environment: its thread, its process, its end."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any, ClassVar

from isoscope.core.envs.errors import SceneThreadError
from isoscope.core.envs.faults.fault import ONE_WORLD, EnvFault, Need, RunFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.envs.faults.fault import Fault, SceneKind, Whose
    from isoscope.core.envs.faults.switch import SwitchedEnv

TOO_MANY = 4  # times as many threads as cores, in every worker


class WrongThread(EnvFault):
    """A second thread tries to step; it is refused, and the right one steps."""

    NAME = "wrong-thread"
    ABOUT = "a second thread tries to step the environment, which its scene refuses"
    FINDS = ("thread-shared-scene",)
    SCENES: ClassVar[tuple[SceneKind, ...]] = ONE_WORLD

    def at_step(self, outside: SwitchedEnv, action: Any) -> Any:
        """Try from another thread first."""
        if not self.waiting or outside.place != self.place:
            return None
        refused: list[SceneThreadError] = []

        def step() -> None:
            try:
                outside.env.step(action)
            except SceneThreadError as error:
                refused.append(error)

        thread = threading.Thread(target=step, name="intruder")
        thread.start()
        thread.join()
        if refused:
            self.note()
        return None


class StepAfterDone(EnvFault):
    """The reset after an end is swallowed, and the next step follows all the same."""

    NAME = "step-after-done"
    ABOUT = "the reset after an episode's end is left out, and stepping goes on"
    FINDS = ("step-after-done",)
    SCENES: ClassVar[tuple[SceneKind, ...]] = ONE_WORLD
    WHEN = "end"

    def at_reset(
        self, outside: SwitchedEnv, episode: int, kwargs: dict[str, Any]
    ) -> Any:
        """Give the last observation again; the environment may be stepped on."""
        lanes = outside.env.unwrapped.lanes  # type: ignore[attr-defined]
        here = (outside.episode, outside.control_step)
        wanted = (self.place.episode, self.place.control_step)
        if not self.waiting or episode < 2 or here < wanted:
            return None
        if not bool(lanes.scene.to_host(lanes.valid, "fault")[0]) or lanes.interrupted:
            return None
        lanes.ready = lanes.xp.ones_like(lanes.ready)
        self.note(outside.episode, outside.control_step + 1)
        observation = lanes.scene.to_host(lanes.observation, "fault")[0]
        return observation, {"control_step": outside.control_step, "valid": True}


class WorkerDeath(EnvFault):
    """The process of a worker is gone from one moment to the next."""

    NAME = "worker-death"
    ABOUT = "the worker's process is killed in the middle of a control step"
    FINDS = ("incomplete-recording",)
    WHOSE: ClassVar[Whose] = "process"
    SCENES: ClassVar[tuple[SceneKind, ...]] = ONE_WORLD
    NEEDS: ClassVar[tuple[Need, ...]] = ("workers",)

    def at_step(self, outside: SwitchedEnv, action: Any) -> Any:
        """Die, without a word."""
        if outside.place == self.place:
            if hasattr(signal, "SIGKILL"):
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(137)
        return None


class ContextThreads(RunFault):
    """Workers take many more threads than there are cores for."""

    NAME = "context-threads"
    ABOUT = "every worker's libraries may take four times as many threads as cores"
    FINDS = ("context-threads",)
    WHOSE: ClassVar[Whose] = "run"
    SCENES: ClassVar[tuple[SceneKind, ...]] = ONE_WORLD
    NEEDS: ClassVar[tuple[Need, ...]] = ("workers",)

    def arrange(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Ask for them."""
        self.note()
        return {"threads_per_worker": TOO_MANY * (os.cpu_count() or 1)}


FAULTS: tuple[type[Fault], ...] = (
    WrongThread,
    StepAfterDone,
    WorkerDeath,
    ContextThreads,
)
