"""What waits in a channel: a shared queue a key, and a private one a consumer.

No locks and no waiting in here; the channel sees to both.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from isoscope.core.channel.errors import ChannelValueError
from isoscope.core.channel.hooks import ConsumerId, Dispatcher, QueueKey, id_order

if TYPE_CHECKING:
    from collections.abc import Iterable

Entry = tuple[int, Any]  # how many were put before it, and the item
NOTHING: Any = object()


class Queues:
    """Holds what was dealt until somebody takes it.

    Parameters
    ----------
    dispatcher
        Says whose an item is.

    Attributes
    ----------
    size
        How many items wait, in all queues together.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.dispatcher = dispatcher
        self.size = 0
        self._shared: dict[QueueKey, deque[Entry]] = {}
        self._private: dict[QueueKey, dict[ConsumerId, deque[Entry]]] = {}
        self._count = 0

    def add(self, pairs: Iterable[tuple[QueueKey, Any]]) -> None:
        """Deal items. If that fails, they wait in the shared queue and it raises."""
        failed: Exception | None = None
        for key, item in pairs:
            whose = None
            if failed is None:
                try:
                    whose = self._whose(item, key)
                except Exception as error:  # noqa: BLE001 a user's hook; told below
                    failed = error
            if whose is None:
                queue = self._shared.setdefault(key, deque())
            else:
                queue = self._private.setdefault(key, {}).setdefault(whose, deque())
            queue.append((self._count, item))
            self._count += 1
            self.size += 1
        if failed is not None:
            raise failed

    def take(self, key: QueueKey, consumer: ConsumerId) -> Any:
        """Take the oldest item that is for this consumer, or NOTHING.

        Shared items are anybody's. Where neither kind is there, the dispatcher may name
        a peer to take from.
        """
        shared = self._shared.get(key)
        private = self._private.get(key, {})
        own = private.get(consumer)
        if own and (not shared or own[0][0] < shared[0][0]):
            return self._pop(own)
        if shared:
            return self._pop(shared)
        if not private:
            return NOTHING
        depths = {peer: len(q) for peer, q in private.items() if peer != consumer}
        peer = self.dispatcher.rebalance(consumer, key, depths)
        if peer is None or not private.get(peer):
            return NOTHING
        return self._pop(private[peer])

    def give_back(self, key: QueueKey, consumer: ConsumerId, item: Any) -> None:
        """Put an item that could not be delivered first in its consumer's queue."""
        queue = self._private.setdefault(key, {}).setdefault(consumer, deque())
        queue.appendleft((-1, item))
        self.size += 1

    def depth(self, key: QueueKey, consumer: ConsumerId | None = None) -> int:
        """How many items wait under a key: all, or what this consumer could take."""
        private = self._private.get(key, {})
        if consumer is None:
            own = sum(len(queue) for queue in private.values())
        else:
            own = len(private.get(consumer, ()))
        return own + len(self._shared.get(key, ()))

    def depths(self) -> dict[QueueKey, dict[ConsumerId | None, int]]:
        """What waits, by key and consumer; None stands for the shared queue."""
        found: dict[QueueKey, dict[ConsumerId | None, int]] = {}
        for key, shared in self._shared.items():
            if shared:
                found.setdefault(key, {})[None] = len(shared)
        for key, private in self._private.items():
            for peer in sorted(private, key=id_order):
                if private[peer]:
                    found.setdefault(key, {})[peer] = len(private[peer])
        return found

    def _whose(self, item: Any, key: QueueKey) -> ConsumerId | None:
        whose = self.dispatcher.route(item, key)
        if whose is not None and whose not in self.dispatcher.consumers:
            raise ChannelValueError(
                f"dealing an item of {key!r}: {type(self.dispatcher).__name__}.route "
                f"names {whose!r}, which is no consumer of this channel"
            )
        return whose

    def _pop(self, queue: deque[Entry]) -> Any:
        self.size -= 1
        return queue.popleft()[1]
