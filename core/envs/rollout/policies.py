"""What acts in a demo: nothing, at random, or smoothly at random.

Every environment has its own random numbers, from its own seed, so that the same
actions come out however many environments there are and wherever they run. They are
drawn ahead on the host and go to the device a block at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from isoscope.core.envs.streams import Streams
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.envs.quantities import Layout
    from isoscope.core.scene import Array

AHEAD = 64  # steps that are drawn at a time
KEPT = 0.9  # of the smooth policy's state from step to step
UNBOUNDED = 1.0  # what an action without a bound is drawn within


class Policy(Protocol):
    """What acts.

    Attributes
    ----------
    state
        What it carries on from step to step, [N, n] of the environments' kind; None for
        nothing.
    seeded
        bool [N], on the host: whether the space that an environment's actions are drawn
        from was seeded; None where nothing is drawn.
    """

    state: Array | None
    seeded: np.ndarray[Any, Any] | None

    def act(self, observation: Array) -> Array:
        """Actions for all environments, float32 [N, A]."""
        ...

    def begin(self, began: Array) -> None:
        """Forget what was carried on, where an episode begins: bool [N]."""
        ...

    def advance(self, acted: Array) -> None:
        """Carry on, where an action was really taken: bool [N]."""
        ...

    def unseed(self, env: int) -> None:
        """Draw from a generator that nobody seeded, from now on; for faults."""
        ...


class Zero:
    """No action."""

    state: Array | None = None
    seeded: np.ndarray[Any, Any] | None = None

    def __init__(
        self, action: Layout, seeds: Sequence[int], up: Callable[[Any], Array], xp: Any
    ) -> None:
        self._zeros = up(np.zeros((len(seeds), action.size), np.float32))

    def act(self, observation: Array) -> Array:
        """Zero."""
        return self._zeros

    def begin(self, began: Array) -> None:
        """Nothing is carried on."""

    def advance(self, acted: Array) -> None:
        """Nothing is carried on."""

    def unseed(self, env: int) -> None:
        """Nothing is drawn."""


class Random(Zero):
    """Uniform within the Box, from every environment's own action space."""

    def __init__(
        self, action: Layout, seeds: Sequence[int], up: Callable[[Any], Array], xp: Any
    ) -> None:
        super().__init__(action, seeds, up, xp)
        self._up = up
        self._low = np.where(np.isfinite(action.low), action.low, -UNBOUNDED)
        self._high = np.where(np.isfinite(action.high), action.high, UNBOUNDED)
        self._spaces = []
        for seed in seeds:
            space = action.box()
            space.seed(int(Streams(seed)["action_space"].integers(2**31)))
            self._spaces.append(space)
        self.seeded = np.ones(len(seeds), np.bool_)
        self._block: np.ndarray[Any, Any] = np.zeros((0, 0, 0), np.float32)
        self._there: Array = None
        self._at = 0

    def act(self, observation: Array) -> Array:
        """The next of those drawn ahead."""
        if self._at == len(self._block):
            self._block = np.stack([self._drawn(g) for g in range(len(self._spaces))])
            self._block = np.ascontiguousarray(self._block.swapaxes(0, 1))
            self._there = self._up(self._block)
            self._at = 0
        self._at += 1
        return self._there[self._at - 1]

    def unseed(self, env: int) -> None:
        """Let its action space take what the operating system gives."""
        space = self._spaces[env]
        space.seed(None)  # as one that was never seeded
        assert self.seeded is not None
        self.seeded[env] = False
        if self._at < len(self._block):
            self._block[self._at :, env] = self._drawn(env)[self._at :]
            self._there = self._up(self._block)

    def _drawn(self, env: int) -> np.ndarray[Any, Any]:
        shape = (AHEAD, len(self._low))
        drawn = self._spaces[env].np_random.uniform(self._low, self._high, shape)
        return drawn.astype(np.float32)


class Smooth(Random):
    """Correlated noise: a state that goes on from step to step within an episode."""

    def __init__(
        self, action: Layout, seeds: Sequence[int], up: Callable[[Any], Array], xp: Any
    ) -> None:
        super().__init__(action, seeds, up, xp)
        self._xp = xp
        self.state: Array = up(np.zeros((len(seeds), action.size), np.float32))
        self._next = self.state

    def act(self, observation: Array) -> Array:
        """A little of the new, much of what was."""
        fresh = super().act(observation)
        # (1 - k) of a number within the Box and k of another one are within it again
        self._next = KEPT * self.state + (1.0 - KEPT) * fresh
        return self._next

    def begin(self, began: Array) -> None:
        """Begin at zero."""
        zeros = self._xp.zeros_like(self.state)
        self.state = self._xp.where(began[:, None], zeros, self.state)

    def advance(self, acted: Array) -> None:
        """Keep the new state; a row that only resets leaves it as it is."""
        self.state = self._xp.where(acted[:, None], self._next, self.state)


POLICIES: dict[str, type[Zero]] = {"zero": Zero, "random": Random, "smooth": Smooth}


def make_policy(
    name: str,
    action: Layout,
    seeds: Sequence[int],
    up: Callable[[Any], Array] = np.asarray,
    xp: Any = np,
) -> Policy:
    """Make a policy.

    Parameters
    ----------
    seeds
        One for each environment.
    up, xp
        Take an array to the environments' kind, and its namespace.

    Raises
    ------
    UsageError
        If there is none of this name.
    """
    kind = POLICIES.get(name)
    if kind is None:
        raise UsageError(
            f"choosing a policy: there is no {name!r}; there are {', '.join(POLICIES)}"
        )
    return kind(action, seeds, up, xp)
