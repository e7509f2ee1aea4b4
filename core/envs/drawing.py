"""What is drawn for each episode of W environments: task, parameters, noise."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any

from isoscope.core.envs.arrays import choose, like
from isoscope.core.envs.pool import Pool
from isoscope.core.envs.randomisation.distributions import draw_all
from isoscope.core.envs.randomisation.persistent import PersistentParameters
from isoscope.core.envs.randomisation.reset_noise import NoisyStart
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from isoscope.core.envs.randomisation.distributions import AnyDistribution
    from isoscope.core.envs.randomisation.persistent import PersistentPlan
    from isoscope.core.envs.randomisation.reset_noise import ResetNoise
    from isoscope.core.envs.scene_handle import SceneHandle
    from isoscope.core.envs.streams import Streams
    from isoscope.core.envs.task import Task
    from isoscope.core.scene import Array, Worlds


log = logging.getLogger(__name__)


class EpisodeDraws:
    """The draws of one lane group.

    What is clipped so that values pile up at a bound is logged, once a process.

    Attributes
    ----------
    piled_up
        Draws whose distribution is clipped: the probability of being at the lower and
        at the upper bound because of that.
    values
        What was drawn, by name: [W]. Replaced as a whole when something is drawn.
    """

    def __init__(
        self,
        handle: SceneHandle,
        task: Task,
        plan: PersistentPlan,
        noise: ResetNoise,
        streams: Sequence[Streams],
        ahead: int,
        env: int = -1,
    ) -> None:
        self._env = env
        self._handle = handle
        self._scene = scene = handle.scene
        self.plan = plan
        self._names = {
            "task": tuple(task.draws),
            "randomisation": tuple(d.name for d in plan.draws),
        }
        both = set(self._names["task"]) & set(self._names["randomisation"])
        if both:
            raise UsageError(
                f"randomising parameters: {', '.join(sorted(both))} are names of the "
                "task's own draws"
            )
        shares = {name: d.piled_up() for name, d in task.draws.items()}
        self.piled_up = plan.piled_up() | {
            name: share for name, share in shares.items() if max(share) > 0.0
        }
        for name, share in self.piled_up.items():
            tell_piled_up(name, *share)
        self.values: dict[str, Array] = {}
        self._pools: dict[str, Pool] = {}
        drawn: dict[str, tuple[AnyDistribution, ...]] = {
            "task": tuple(task.draws.values()),
            "randomisation": plan.distributions,
        }
        if drawn["task"]:
            self._pools["task"] = Pool(
                scene, streams, "task", _drawer(drawn["task"]), ahead
            )
        self._parameters: PersistentParameters | None = None
        self._configured: dict[str, Array] = {}
        if plan.draws:
            self._pools["randomisation"] = Pool(
                scene, streams, "randomisation", _drawer(drawn["randomisation"]), ahead
            )
            self._parameters = PersistentParameters(plan, scene, handle.nominal)
        self._start = NoisyStart(noise, scene) if noise.dofs else None
        if self._start is not None:
            self._pools["position"] = Pool(
                scene, streams, "reset_position", noise.draw_positions, ahead
            )
            self._pools["velocity"] = Pool(
                scene, streams, "reset_velocity", noise.draw_velocities, ahead
            )

    def settle(self) -> None:
        """Let the streams stand where nothing is drawn ahead."""
        for pool in self._pools.values():
            pool.settle()

    def draw(self, worlds: Worlds) -> None:
        """Draw for new episodes and set the persistent parameters."""
        values = dict(self.values)
        scene = self._scene
        for kind in ("task", "randomisation"):
            if kind not in self._pools:
                continue
            rows = like(self._pools[kind].take(worlds), scene.velocities(0))
            for column, name in enumerate(self._names[kind]):
                new = rows[:, column]
                old = values.get(name)
                values[name] = (
                    new if old is None else choose(worlds, new, old, scene.xp)
                )
            if kind == "randomisation" and self._parameters is not None:
                self._configured = self._parameters.values(self._stacked(values))
                self._configure(worlds)
        self.values = values

    def put_back(self, values: dict[str, Array]) -> None:
        """Take drawn values over, from a captured state, and configure by them."""
        self.values = values
        if self._parameters is not None and values:
            self._configured = self._parameters.values(self._stacked(values))
            self._configure(None)

    def add_noise(self, worlds: Worlds) -> None:
        """Add reset noise to the state in the scene."""
        if self._start is not None:
            self._start.add(
                self._pools["position"].take(worlds),
                self._pools["velocity"].take(worlds),
                worlds,
            )

    def reapply(self, unchanged: bool) -> None:
        """Set the own persistent parameters again, unless nobody else was there."""
        if not unchanged and self._configured:
            self._configure(None)

    def _stacked(self, values: dict[str, Array]) -> Array:
        columns = [values[name] for name in self._names["randomisation"]]
        return self._scene.xp.stack(columns, 1)

    def _configure(self, worlds: Worlds) -> None:
        for name, value in self._configured.items():
            self._scene.configure(name, value, worlds)
            self._handle.tell("configure", self._env, entry=name)


@cache
def tell_piled_up(name: str, low: float, high: float) -> None:
    """Log once how likely a clipped draw is at its lower and its upper bound."""
    log.warning(
        "drawing %s: %.3g %% of the values are its lower bound and %.3g %% its upper, "
        "since it is clipped; a truncated_normal piles up nothing",
        name,
        100 * low,
        100 * high,
    )


def _drawer(distributions: tuple[AnyDistribution, ...]) -> Any:
    def draw(generator: np.random.Generator, k: int) -> Any:
        return draw_all(distributions, generator, k)

    return draw
