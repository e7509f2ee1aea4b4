"""A disturbance plan at work on W environments: queues, correlated noise, biases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.envs.arrays import choose, copied, like
from isoscope.core.envs.pool import Pool
from isoscope.core.envs.randomisation.distributions import draw_all
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.envs.quantities import Layout
    from isoscope.core.envs.randomisation.disturbances import (
        Disturbance,
        DisturbancePlan,
    )
    from isoscope.core.envs.streams import Streams
    from isoscope.core.envs.timing import Timing
    from isoscope.core.scene import Scene


class _Columns:
    """The constants of a list of disturbances, by column of what they disturb."""

    def __init__(
        self,
        scene: Scene,
        layout: Layout,
        disturbances: tuple[Disturbance, ...],
        timing: Timing,
    ) -> None:
        n = layout.size
        noise, bias, memory = np.zeros(n), np.zeros(n), np.zeros(n)
        self.substeps = np.zeros(n, np.bool_)
        frames = np.ones(n, np.int64)
        for disturbance in disturbances:
            columns = [
                i
                for i, label in enumerate(layout.labels)
                if label.split("[")[0] == disturbance.quantity
            ]
            if not columns:
                raise UsageError(
                    f"disturbing {disturbance.quantity}: there is no such quantity; "
                    f"there are {', '.join(layout.names)}"
                )
            unit = layout.units[columns[0]]
            if unit != disturbance.unit:
                raise UsageError(
                    f"disturbing {disturbance.quantity}: it is in {unit}, the "
                    f"disturbance in {disturbance.unit}"
                )
            noise[columns] = disturbance.noise_std
            bias[columns] = disturbance.bias_std
            memory[columns] = disturbance.memory(timing.h_s, timing.control_s)
            self.substeps[columns] = disturbance.every == "substep"
            if disturbance.every == "frame":
                frames[columns] = disturbance.frame_steps

        def up(array: np.ndarray[Any, Any]) -> Any:
            return scene.to_device(array, "disturbances")

        self.any_noise = bool(noise.any())
        self.any_substep = bool(self.substeps.any())
        self.any_bias = bool(bias.any())
        self.noise, self.bias = up(noise), up(bias)
        self.memory = up(memory)
        self.fresh = up(noise * np.sqrt(1.0 - memory**2))
        self.frames = up(frames)
        self.by_substep = up(self.substeps)


class Disturbing:
    """What disturbs one lane group.

    The state is in `state`: plain arrays by name, so that it can be captured.
    """

    def __init__(
        self,
        plan: DisturbancePlan,
        scene: Scene,
        actions: Layout,
        observations: Layout,
        timing: Timing,
        streams: Sequence[Streams],
        ahead: int,
    ) -> None:
        self._xp = scene.xp
        worlds = len(streams)
        self._action = _Columns(scene, actions, plan.actions, timing)
        self._observation = _Columns(scene, observations, plan.observations, timing)
        self._index = scene.to_device(np.arange(worlds), "disturbances")
        n_a, n_o = actions.size, observations.size
        delays = (plan.action_delay, plan.observation_delay)
        self._depths = tuple(0 if d is None else round(d.bounds()[1]) for d in delays)

        def normals(n: int) -> Any:
            return lambda generator, k: generator.standard_normal((k, n))

        def delay_draw(generator: np.random.Generator, k: int) -> Any:
            drawn = draw_all(tuple(d for d in delays if d is not None), generator, k)
            both = np.zeros((k, 2))
            both[:, [d is not None for d in delays]] = np.rint(drawn)
            return both

        self._pools = {
            "action": Pool(scene, streams, "action_noise", normals(n_a), ahead),
            "observation": Pool(
                scene, streams, "observation_noise", normals(n_o), ahead
            ),
            "bias": Pool(scene, streams, "bias", normals(n_a + n_o), ahead),
            "delay": Pool(scene, streams, "delay", delay_draw, ahead),
        }
        self._sizes = (n_a, n_o)

        def zeros(*shape: int) -> Any:
            return scene.to_device(np.zeros((worlds, *shape)), "disturbances")

        self.state: dict[str, Any] = {
            "action_noise": zeros(n_a),
            "observation_noise": zeros(n_o),
            "action_bias": zeros(n_a),
            "observation_bias": zeros(n_o),
            "delays": zeros(2),
            "action_queue": zeros(self._depths[0] + 1, n_a),
            "observation_queue": zeros(self._depths[1] + 1, n_o),
        }

    def settle(self) -> None:
        """Let the streams stand where nothing is drawn ahead."""
        for pool in self._pools.values():
            pool.settle()

    def begin(self, worlds: Any) -> None:
        """Begin an episode: draw biases and delays, empty the queue of actions."""
        state, xp = self.state, self._xp
        n_a = self._sizes[0]
        if self._action.any_bias or self._observation.any_bias:
            drawn = self._pools["bias"].take(worlds)
            for name, part, columns in (
                ("action_bias", drawn[:, :n_a], self._action),
                ("observation_bias", drawn[:, n_a:], self._observation),
            ):
                state[name] = choose(worlds, part * columns.bias, state[name], xp)
        if any(self._depths):
            drawn = self._pools["delay"].take(worlds)
            state["delays"] = choose(worlds, drawn, state["delays"], xp)
        queue = state["action_queue"]
        state["action_queue"] = choose(worlds, queue * 0.0, queue, xp)

    def action(self, clipped: Any, worlds: Any) -> Any:
        """Queue an action [W, A]; the one that comes through now."""
        if not self._depths[0]:
            return clipped
        return self._through("action_queue", 0, clipped, worlds)

    def at_substep(self, action: Any, count: Any, substep: int, worlds: Any) -> Any:
        """Disturb what comes through; `count` is of control steps done, [W]."""
        c, state, xp = self._action, self.state, self._xp
        if c.any_noise and (substep == 0 or c.any_substep):
            due = c.by_substep
            if substep == 0:
                due = xp.logical_or(due, count[:, None] % c.frames == 0)
            begun = count > 0 if substep == 0 else count >= 0
            self._move("action", c, due, begun, worlds)
        if not (c.any_noise or c.any_bias):
            return action
        added = state["action_noise"] + state["action_bias"]
        return action + like(added, action)

    def observation(self, true: Any, count: Any, worlds: Any) -> Any:
        """Disturb an observation [W, O] made after `count` control steps [W]."""
        c, state, xp = self._observation, self.state, self._xp
        seen = true
        if self._depths[1]:
            queue = state["observation_queue"]
            first = xp.stack([like(true, queue)] * queue.shape[1], 1)
            state["observation_queue"] = choose(count == 0, first, queue, xp)
            if worlds is not None:
                state["observation_queue"] = choose(
                    worlds, state["observation_queue"], queue, xp
                )
            seen = self._through("observation_queue", 1, true, worlds)
        if c.any_noise:
            due = count[:, None] % c.frames == 0
            self._move("observation", c, due, count > 0, worlds)
        if not (c.any_noise or c.any_bias):
            return seen
        added = state["observation_noise"] + state["observation_bias"]
        return seen + like(added, seen)

    def _through(self, name: str, which: int, entry: Any, worlds: Any) -> Any:
        xp, queue = self._xp, self.state[name]
        pushed = xp.concatenate([like(entry, queue)[:, None], queue[:, :-1]], 1)
        self.state[name] = choose(worlds, pushed, queue, xp)
        delay = like(self.state["delays"][:, which], self._index)
        return like(self.state[name][self._index, delay], entry)

    def _move(self, name: str, c: _Columns, due: Any, begun: Any, worlds: Any) -> None:
        xp = self._xp
        old = self.state[f"{name}_noise"]
        n = self._pools[name].take(worlds)
        new = xp.where(begun[:, None], old * c.memory + n * c.fresh, n * c.noise)
        moved = xp.where(due, new, old)
        self.state[f"{name}_noise"] = choose(worlds, moved, old, xp)

    def capture(self) -> dict[str, Any]:
        """Copies of all state, on the device."""
        return {name: copied(array) for name, array in self.state.items()}
