"""Environments and policy together: what puts parts into a channel, here or there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core.collection.loops import finish, synchronous, threaded
from isoscope.core.collection.making import make_policy, make_roles
from isoscope.core.collection.rollout_role import RolloutRole
from isoscope.core.collection.settings import Runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.channel.base import Sender
    from isoscope.core.collection.settings import CollectSettings


class Producer:
    """The producing half of a run.

    Parameters
    ----------
    settings
        The run.
    sender
        Where parts go; only its `put` is used.
    around
        See `making.make_roles`.

    Raises
    ------
    CollectionError
        If environments or policy can't be made.
    """

    def __init__(
        self,
        settings: CollectSettings,
        sender: Sender,
        around: Callable[[Any], Any] | None = None,
    ) -> None:
        self.settings = settings
        self.roles = make_roles(settings, around)
        self.policy = make_policy(settings, self.roles[0])
        self.rollout = RolloutRole(
            self.policy, sender.put, collect_transitions=settings.transitions
        )

    def run_step(
        self, step_id: int, between: Callable[[], object] = lambda: None
    ) -> None:
        """Run one training step in this thread."""
        synchronous(self.roles, self.rollout, step_id, between)

    def run_all(self) -> None:
        """Run all training steps by threads, asynchronously or decoupled."""
        merged = self.settings.runner is Runner.DECOUPLED
        threaded(
            self.roles,
            self.rollout,
            range(self.settings.training_steps),
            merge_at_most=len(self.roles) if merged else 1,
        )

    def finish(self, between: Callable[[], object] = lambda: None) -> None:
        """Say what is left after the last step."""
        finish(self.roles, self.rollout, between)

    def use_weights(self, version: int) -> None:
        """Act with the weights of this many training steps from now on."""
        self.policy.version = version

    def results(self) -> dict[str, Any]:
        """What the environments counted: ``transitions``, and ``returns``."""
        return {
            "transitions": sum(role.transitions for role in self.roles),
            "returns": [
                value for role in self.roles for value in role.slots.episodes.returns
            ],
        }

    def close(self) -> None:
        """Close the environments."""
        for role in self.roles:
            role.slots.envs.close()
