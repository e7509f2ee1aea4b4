"""How items are dealt to consumers.

Both that count do so per queue key, over the life of the channel: an item that has been
taken still counts for who got it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from isoscope.core.channel.hooks import ConsumerId, Dispatcher, QueueKey, id_order

if TYPE_CHECKING:
    from collections.abc import Mapping


class Shared(Dispatcher):
    """One queue a key, from which any consumer takes."""


class RoundRobin(Dispatcher):
    """To each consumer in turn, in sorted order, beginning anew for every key."""

    def __init__(self) -> None:
        super().__init__()
        self._next: dict[QueueKey, int] = defaultdict(int)

    def route(self, item: Any, key: QueueKey) -> ConsumerId | None:
        """Give the consumer whose turn it is."""
        if not self.consumers:
            return None
        turn = self._next[key] % len(self.consumers)
        self._next[key] = turn + 1
        return self.consumers[turn]


class LeastLoaded(Dispatcher):
    """To the consumer that was given the fewest so far; of equals, the first.

    What counts is what was ever assigned under this key, not what waits now, so that a
    consumer which asks often does not get more than its peers.
    """

    def __init__(self) -> None:
        super().__init__()
        self._given: dict[QueueKey, Counter[ConsumerId]] = defaultdict(Counter)

    def route(self, item: Any, key: QueueKey) -> ConsumerId | None:
        """Give the consumer with the fewest assignments."""
        if not self.consumers:
            return None
        given = self._given[key]
        chosen = min(self.consumers, key=lambda consumer: given[consumer])
        given[chosen] += 1
        return chosen


class LeastLoadedStealing(LeastLoaded):
    """As `LeastLoaded`; who has nothing to do takes from the peer with the most."""

    def rebalance(
        self, consumer: ConsumerId, key: QueueKey, depths: Mapping[ConsumerId, int]
    ) -> ConsumerId | None:
        """Give the peer for whom most waits; of equals, the last."""
        waiting = [peer for peer, depth in depths.items() if depth and peer != consumer]
        if not waiting:
            return None
        return max(waiting, key=lambda peer: (depths[peer], id_order(peer)))
