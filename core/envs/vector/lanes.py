"""A group of environments stepped in turn, in a worker or in this process.

Observations and actions go through the batch's memory; what comes back otherwise are
the infos. The three ways to reset are Gymnasium's:

- NEXT_STEP: the step after an episode's end resets, whatever the action; its reward is
  0 and its flags are false.
- SAME_STEP: the step that ends an episode also resets. Its observation is the new
  episode's; the ended one's last is in `finals`, its info in `final_info`.
- DISABLED: nothing by itself; the caller resets before the next step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from isoscope.core.envs.vector.factories import make_environment
from isoscope.core.envs.vector.layout import read_row, write_row
from isoscope.core.envs.vector.memory import IDLE
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gymnasium import Env

    from isoscope.core.envs.vector.factories import EnvIndex, Factory
    from isoscope.core.envs.vector.memory import Memory
    from isoscope.core.envs.vector.seeds import Seed

    # of each lane: its info, and that of its episode's last step where one ended
    LaneInfo = tuple[dict[str, Any], dict[str, Any] | None]


class LaneError(Exception):
    """An environment raised; `lane` is its place in the group, the cause is chained."""

    def __init__(self, lane: int, doing: str, error: BaseException) -> None:
        super().__init__(doing)
        self.lane = lane
        self.doing = doing
        self.error = error


class LaneGroup:
    """K environments stepped in turn.

    Parameters
    ----------
    factories, indices
        One of each for every environment.
    mode
        How they reset.
    memory
        The group's own rows.

    Raises
    ------
    LaneError
        If one can't be made; those made before it are closed.
    """

    def __init__(
        self,
        factories: Sequence[Factory],
        indices: Sequence[EnvIndex],
        mode: AutoresetMode,
        memory: Memory,
    ) -> None:
        self.envs: list[Env[Any, Any]] = []
        self.mode = mode
        self._memory: Memory | None = memory
        self._ended = np.zeros(len(factories), dtype=np.bool_)
        for lane, (factory, index) in enumerate(zip(factories, indices, strict=True)):
            try:
                self._turn(lane, "making", self._make, factory, index)
            except LaneError as failed:
                for said in self.close():
                    failed.error.add_note(said)
                raise

    def step(self) -> list[LaneInfo] | None:
        """Take the actions in the memory; gives the infos, None if all are empty."""
        memory = self._there()
        memory.has_final[:] = False
        infos = [
            self._turn(lane, "stepping", self._step, memory, lane)
            for lane in range(len(self.envs))
        ]
        np.logical_or(memory.terminated, memory.truncated, out=self._ended)
        return _unless_empty(infos)

    def reset(
        self,
        seeds: Sequence[Seed],
        options: dict[str, Any] | None,
        mask: Sequence[bool],
    ) -> list[LaneInfo] | None:
        """Reset the environments of a mask; gives the infos, None if all are empty."""
        memory = self._there()
        memory.has_final[:] = False
        infos: list[LaneInfo] = [({}, None)] * len(self.envs)
        for lane in range(len(self.envs)):
            if not mask[lane]:
                continue
            own = None if options is None else dict(options)
            infos[lane] = self._turn(
                lane, "resetting", self._reset, memory, lane, seeds[lane], own
            )
            memory.rewards[lane] = 0.0
            memory.terminated[lane] = memory.truncated[lane] = False
            self._ended[lane] = False
        return _unless_empty(infos)

    def call(
        self,
        lanes: Sequence[int],
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> list[Any]:
        """Call a method, or read an attribute, of some lanes through their wrappers."""

        def ask(env: Env[Any, Any]) -> Any:
            found = env.get_wrapper_attr(name)
            return found(*args, **kwargs) if callable(found) else found

        return [
            self._turn(lane, f"calling {name} of", ask, self.envs[lane])
            for lane in lanes
        ]

    def set_attr(self, name: str, values: Sequence[Any]) -> None:
        """Set an attribute of every lane, where a wrapper has it, else of the base."""
        for lane, value in enumerate(values):
            setter = self.envs[lane].set_wrapper_attr
            self._turn(lane, f"setting {name} of", setter, name, value)

    def run(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Run a function on the list of environments."""
        return function(self.envs, *args)

    def close(self) -> list[str]:
        """Close every environment, and give up the memory; gives what went wrong."""
        failures = []
        while self.envs:
            lane = len(self.envs) - 1
            env = self.envs.pop()
            try:
                env.close()
            except Exception as error:  # noqa: BLE001  the others have to be closed
                failures.append(
                    f"lane {lane} raised {type(error).__name__}: {one_line(error)}"
                )
        self._memory = None
        return failures

    def _there(self) -> Memory:
        if self._memory is None:
            raise RuntimeError("the environments are closed")
        return self._memory

    def _turn(
        self, lane: int, doing: str, action: Callable[..., Any], *args: Any
    ) -> Any:
        """Do something in a lane, while the memory says that we are in it."""
        at = self._there().at
        at[0, 0] = lane
        try:
            return action(*args)
        # what exits is reported like what raises; an interrupt is the user's
        except (Exception, SystemExit) as error:
            raise LaneError(lane, doing, error) from error
        finally:
            at[0, 0] = IDLE

    def _make(self, factory: Factory, index: EnvIndex) -> None:
        self.envs.append(make_environment(factory, index))

    def _step(self, memory: Memory, lane: int) -> LaneInfo:
        if self.mode is AutoresetMode.NEXT_STEP and self._ended[lane]:
            memory.rewards[lane] = 0.0
            memory.terminated[lane] = memory.truncated[lane] = False
            return self._reset(memory, lane)
        # a copy: the environment may keep it, and the memory is written again
        result = self.envs[lane].step(read_row(memory.actions, lane))
        observation, reward, terminated, truncated, info = result
        info = _checked(info, "step")
        memory.rewards[lane] = reward
        memory.terminated[lane] = terminated
        memory.truncated[lane] = truncated
        if self.mode is AutoresetMode.SAME_STEP and (terminated or truncated):
            write_row(memory.finals, lane, observation)
            memory.has_final[lane] = True
            return self._reset(memory, lane)[0], info
        write_row(memory.observations, lane, observation)
        return info, None

    def _reset(
        self,
        memory: Memory,
        lane: int,
        seed: Seed = None,
        options: dict[str, Any] | None = None,
    ) -> LaneInfo:
        observation, info = self.envs[lane].reset(seed=seed, options=options)
        write_row(memory.observations, lane, observation)
        return _checked(info, "reset"), None


def _checked(info: Any, what: str) -> dict[str, Any]:
    if not isinstance(info, dict):
        raise TypeError(
            f"{what} gave {type(info).__name__} for its info, which has to be a dict"
        )
    return info


def _unless_empty(infos: list[LaneInfo]) -> list[LaneInfo] | None:
    return infos if any(info or final for info, final in infos) else None
