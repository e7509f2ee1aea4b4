"""A policy that chooses several control steps' actions at once, as chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from isoscope.core.envs.rollout.policies import Policy
    from isoscope.core.scene import Array


class ChunkedPolicy:
    """Asks another policy for a chunk of actions, then gives them one by one.

    Only for a policy that carries nothing on from step to step: what it would have
    carried is not known yet when the later actions are chosen.

    Parameters
    ----------
    inner
        What chooses.
    size
        Actions in a chunk, C.
    planned
        Called with the observation and the C actions as soon as they are chosen, before
        the first of them is taken.
    """

    state: Array | None = None

    def __init__(
        self,
        inner: Policy,
        size: int,
        planned: Callable[[Array, Sequence[Array]], object] = lambda *_: None,
    ) -> None:
        self.inner, self.size = inner, size
        self.seeded: np.ndarray[Any, Any] | None = inner.seeded  # the very same
        self._planned = planned
        self._plan: list[Array] = []
        self._at = 0

    def act(self, observation: Array) -> Array:
        """The next action of the chunk; chooses a chunk where there is none."""
        if self._at == len(self._plan):
            self._plan = [self.inner.act(observation) for _ in range(self.size)]
            self._at = 0
            self._planned(observation, self._plan)
        self._at += 1
        return self._plan[self._at - 1]

    def begin(self, began: Array) -> None:
        """Pass on."""
        self.inner.begin(began)

    def advance(self, acted: Array) -> None:
        """Pass on."""
        self.inner.advance(acted)

    def unseed(self, env: int) -> None:
        """Pass on; what is planned already stays as it is."""
        self.inner.unseed(env)
