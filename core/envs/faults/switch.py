"""Puts faults into the environments of a process, also while they run.

A switch stands in front of the usual stages and wraps the environments' outside. With
no fault in it, it passes everything on. It can be pickled, so that the environments of
a worker share one, as those of this process do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import gymnasium as gym

from isoscope.core.envs.faults.fault import EnvFault, Fault, StageFault
from isoscope.core.envs.faults.order import Place
from isoscope.core.envs.stages import Stages, WrappedStages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.records import ControlStep
    from isoscope.core.scene import Worlds


class FaultSwitch(WrappedStages):
    """The faults of one process.

    Attributes
    ----------
    faults
        Those that were put in here.
    base
        The stages behind all faults.
    lanes
        The lane groups of this process by their first environment, from their first
        reset on.
    last
        The last control step of each of them.
    """

    def __init__(
        self, faults: Sequence[Fault] = (), base: Stages | None = None
    ) -> None:
        super().__init__(base or Stages())
        self.base = self.inner
        self.faults: list[StageFault | EnvFault] = []
        self.lanes: WeakValueDictionary[int, LaneGroup] = WeakValueDictionary()
        self.last: dict[int, ControlStep] = {}
        for fault in faults:
            self.put(fault)

    def put(self, fault: Fault) -> None:
        """Put a fault in; one that concerns no environment's inside is left out."""
        if not isinstance(fault, StageFault | EnvFault):
            return
        fault.switch = self
        if isinstance(fault, StageFault):
            fault.inner = self.inner
            self.inner = fault
        self.faults.append(fault)

    def happened(self) -> dict[str, list[Place]]:
        """Where each fault happened in this process, by what was ordered."""
        return {str(fault.order): list(fault.happened) for fault in self.faults}

    def others(self, lanes: LaneGroup) -> list[LaneGroup]:
        """Lane groups of the same scene, the one whose turn was before this one first.

        Only those that have a state of their own.
        """
        scene, mine = lanes.handle, lanes.envs[0]
        found = [
            (env, other)
            for env, other in self.lanes.items()
            if other.handle is scene and other is not lanes and other.own is not None
        ]
        found.sort(key=lambda pair: (mine - pair[0]) % (1 << 40))
        return [other for _, other in found]

    # -- what it has to see ------------------------------------------------------------

    def reset(self, lanes: LaneGroup, worlds: Worlds) -> None:
        """Pass on, and know the lanes."""
        self.lanes[lanes.envs[0]] = lanes
        self.inner.reset(lanes, worlds)

    def result(self, lanes: LaneGroup, step: ControlStep) -> ControlStep:
        """Pass on, and remember."""
        step = self.inner.result(lanes, step)
        self.last[lanes.envs[0]] = step
        return step

    def __getstate__(self) -> dict[str, Any]:
        return {"faults": self.faults, "inner": self.inner, "base": self.base}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lanes, self.last = WeakValueDictionary(), {}


class SwitchedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """The outside of an environment, where a switch's faults can take its turn.

    Parameters
    ----------
    env
        An environment of `core.envs`.
    env_id
        Its number.
    """

    def __init__(
        self, env: gym.Env[Any, Any], env_id: int, switch: FaultSwitch
    ) -> None:
        super().__init__(env)
        self.env_id = env_id
        self.switch = switch
        self.episode = 0
        self.control_step = 0
        self.first_seed: int | None = None

    @property
    def place(self) -> Place:
        """The control step that it is in, or took last."""
        return Place(self.env_id, self.episode, self.control_step)

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Reset, by whoever has a fault to show here."""
        episode = self.episode + 1
        if self.first_seed is None:
            self.first_seed = kwargs.get("seed")
        for fault in self._mine():
            answer = fault.at_reset(self, episode, kwargs)
            if answer is not None:
                return self._begun(answer)
        return self._begun(self.env.reset(**kwargs))

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, by whoever has a fault to show here."""
        self.control_step += 1
        for fault in self._mine():
            answer = fault.at_step(self, action)
            if answer is not None:
                return answer  # type: ignore[no-any-return]
        return self.env.step(action)

    def _begun(self, answer: tuple[Any, dict[str, Any]]) -> tuple[Any, dict[str, Any]]:
        self.episode += 1
        self.control_step = 0
        return answer

    def _mine(self) -> list[EnvFault]:
        return [
            fault
            for fault in self.switch.faults
            if isinstance(fault, EnvFault) and fault.place.env == self.env_id
        ]


def put_in_worker(envs: Sequence[Any], fault: Fault) -> None:
    """Put a fault into the environments of a worker; for `worker_call`."""
    _switch_of(envs).put(fault)


def happened_in_worker(envs: Sequence[Any]) -> dict[str, list[Place]]:
    """Ask a worker where faults happened; for `worker_call`."""
    return _switch_of(envs).happened()


def _switch_of(envs: Sequence[Any]) -> FaultSwitch:
    found: FaultSwitch = envs[0].get_wrapper_attr("switch")
    return found
