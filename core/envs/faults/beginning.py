"""Faults of an episode's beginning, its seeds and what environments own together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from isoscope.core.envs.arrays import copied
from isoscope.core.envs.faults.fault import (
    ONE_WORLD,
    EnvFault,
    Need,
    RunFault,
    StageFault,
    When,
    Whose,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.envs.faults.fault import Fault, SceneKind
    from isoscope.core.envs.faults.switch import SwitchedEnv
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.scene import Worlds

RESET: When = "reset"
OTHERS: tuple[Need, ...] = ("others",)


class DuplicateSeeds(EnvFault):
    """An environment is reset with the seed that its neighbour began with."""

    NAME = "duplicate-seeds"
    ABOUT = "a reset gets the seed of the environment before (of the next, for env 0)"
    FINDS = ("duplicate-seeds",)
    SCENES: ClassVar[tuple[SceneKind, ...]] = ONE_WORLD
    WHEN = RESET
    NEEDS = OTHERS

    def at_reset(
        self, outside: SwitchedEnv, episode: int, kwargs: dict[str, Any]
    ) -> Any:
        """Reset with another's seed."""
        if not self.waiting or episode != self.place.episode:
            return None
        first = outside.first_seed if kwargs.get("seed") is None else kwargs["seed"]
        if first is None:
            return None
        self.note()
        env = self.place.env
        return outside.env.reset(**{**kwargs, "seed": first + (-1 if env else 1)})


class SameSeedEveryReset(EnvFault):
    """Every reset begins the random streams anew."""

    NAME = "same-seed-every-reset"
    ABOUT = "from an episode on, every reset gets the seed of the first one"
    FINDS = ("same-seed-every-reset",)
    SCENES: ClassVar[tuple[SceneKind, ...]] = ONE_WORLD
    WHEN = RESET
    LASTS = True

    def at_reset(
        self, outside: SwitchedEnv, episode: int, kwargs: dict[str, Any]
    ) -> Any:
        """Reset with the first seed."""
        first = outside.first_seed
        if episode < max(self.place.episode, 2) or first is None:
            return None
        if kwargs.get("seed") is not None:
            return None
        if self.waiting:
            self.note(episode)
        return outside.env.reset(**{**kwargs, "seed": first})


class DoubleSeedExpansion(RunFault):
    """Seeds are expanded by workers, and then by their environments once more."""

    NAME = "double-seeds"
    ABOUT = "seeds are expanded twice: environment j of worker p gets s + p + j"
    FINDS = ("duplicate-seeds",)
    WHOSE: ClassVar[Whose] = "run"
    SCENES: ClassVar[tuple[SceneKind, ...]] = ONE_WORLD
    NEEDS: ClassVar[tuple[Need, ...]] = ("workers", "others")

    def arrange(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Have them expanded twice."""
        self.note()
        return {"seed_expansion": "twice"}


class IdenticalStart(StageFault):
    """An episode begins in the very state that another one did."""

    NAME = "identical-start"
    ABOUT = "an episode begins in the state that another environment's began in"
    FINDS = ("identical-start",)
    WHEN = RESET
    WHOSE: ClassVar[Whose] = "pair"
    NEEDS = OTHERS

    def __init__(self, order: Any) -> None:
        super().__init__(order)
        self._starts: dict[int, dict[int, tuple[Any, Any]]] = {}

    def reset(self, lanes: LaneGroup, worlds: Worlds) -> None:
        """Reset, and take the other's start instead."""
        mask = self.here(lanes)
        self.inner.reset(lanes, worlds)
        scene = lanes.scene
        mine = {
            actor.index: (
                copied(scene.positions(actor.index)),
                copied(scene.velocities(actor.index)),
            )
            for actor in scene.actors
            if not actor.static
        }
        wanted = self.place.env
        if mask is None:
            self._starts[lanes.envs[0]] = mine
            return
        single = len(lanes.envs) == 1
        start, lane = mine, self.lane(lanes) - 1
        if single:
            known = sorted((wanted - env) % (1 << 40) for env in self._starts)
            others = [(wanted - k) % (1 << 40) for k in known if k]
            if not others:
                return
            start, lane = self._starts[others[0]], 0
        for actor, (q, v) in start.items():
            row = slice(lane, lane + 1 or None)
            zeros = lanes.xp.zeros_like
            scene.set_state(actor, zeros(q) + q[row], zeros(v) + v[row], mask)
        self.note()
        lanes.capture_own()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_starts": {}}


class SharedRng(StageFault):
    """Two environments draw from the same generators.

    Not in a batch: there numbers are drawn ahead from where each stream stood.
    """

    NAME = "shared-rng"
    ABOUT = "from an episode on, an environment draws from its neighbour's generators"
    FINDS = ("shared-task-state",)
    SCENES: ClassVar[tuple[SceneKind, ...]] = ONE_WORLD
    WHEN = RESET
    NEEDS = OTHERS
    LASTS = True

    def reset(self, lanes: LaneGroup, worlds: Worlds) -> None:
        """Exchange the generators, then reset."""
        if self.here(lanes) is not None:
            lane, single = self.lane(lanes), len(lanes.envs) == 1
            others = [] if single else [lanes]
            if single:
                known = self.switch.lanes.items()
                others = [other for _, other in known if other is not lanes]
            if others:
                lanes.settle()
                lanes.streams[lane] = others[0].streams[0 if single else lane - 1]
                self.note()
        self.inner.reset(lanes, worlds)


class SharedTaskState(StageFault):
    """Two environments count their control steps on one counter."""

    NAME = "shared-task-state"
    ABOUT = "an environment's count of control steps jumps to its neighbour's, plus one"
    FINDS = ("shared-task-state",)
    NEEDS = OTHERS

    def result(self, lanes: LaneGroup, step: Any) -> Any:
        """Take the other's count over for what follows."""
        mask = self.here(lanes)
        step = self.inner.result(lanes, step)
        if mask is None or self._ends(lanes, step):
            return step  # it would show in nothing
        if len(lanes.envs) > 1:
            lane = self.lane(lanes)
            theirs = lanes.count[lane - 1 : lane or None]
        else:
            known = [o for _, o in self.switch.lanes.items() if o is not lanes]
            if not known:
                return step
            theirs = known[0].count
        lanes.count = lanes.xp.where(mask, theirs + 1, lanes.count)
        lanes.view.count = lanes.count
        # it shows in what follows
        lane = self.lane(lanes)
        now = int(lanes.scene.to_host(lanes.count[lane : lane + 1], "fault")[0])
        if now != self.place.control_step:
            self.note(control_step=now + 1)
        return step

    def _ends(self, lanes: LaneGroup, step: Any) -> bool:
        """Whether the episode of the place ends with this step."""
        ended = lanes.xp.logical_or(step.terminated, step.truncated)
        lane = self.lane(lanes)
        return bool(lanes.scene.to_host(ended[lane : lane + 1], "fault")[0])


FAULTS: tuple[type[Fault], ...] = (
    DuplicateSeeds,
    SameSeedEveryReset,
    DoubleSeedExpansion,
    IdenticalStart,
    SharedRng,
    SharedTaskState,
)
