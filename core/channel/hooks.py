"""What a collector and a dispatcher are: the two hooks of a channel.

On every put, one after the other and never two at once: the collector turns the item
into pairs (queue key, item), none or more; for each pair the dispatcher names the
consumer whose private queue it goes to, or leaves it in the shared queue of its key.
The names and the order are those of section 3.5 of the trajectory contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoscope.core.channel.errors import ChannelTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator

QueueKey = Hashable
ConsumerId = str | int
DEFAULT_QUEUE = "default_queue"


@dataclass(frozen=True)
class ChannelContext:
    """What a hook gets to know about its channel, once, before the first item.

    Attributes
    ----------
    name
        The channel's name.
    cfg
        The run's configuration; None where the channel was made without one.
    producers, consumers
        Who takes part, as far as it is known beforehand. A consumer that is not named
        here is added when it first asks for an item.
    options
        Settings of this channel's hooks, by name.
    """

    name: str
    cfg: Any = None
    producers: Sequence[Any] = ()
    consumers: Sequence[ConsumerId] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


class Collector(ABC):
    """Turns what producers put into what consumers get.

    Attributes
    ----------
    ctx
        What is known of the channel; None before `setup`.
    """

    ctx: ChannelContext | None = None

    def setup(self, ctx: ChannelContext) -> None:
        """Get ready; called once, before the first item."""
        self.ctx = ctx

    @abstractmethod
    def collect(self, item: Any, key: QueueKey) -> Iterable[tuple[QueueKey, Any]]:
        """Take one item; gives what is ready for the consumers, none or more.

        Parameters
        ----------
        item
            What a producer put.
        key
            The queue that it was put into.

        Returns
        -------
        iterable of (queue key, item)
            If the iteration raises, the pairs before it still go to the consumers and
            the producer gets the error.
        """

    def sources_of(self, item: Any) -> Iterable[Hashable]:
        """Say which logical sources an item is of, so that a loss can be told."""
        return ()

    def waiting(self, sources: Iterable[Hashable] | None = None) -> Sequence[str]:
        """Say what is incomplete, a line each: of these sources, or all of it."""
        return ()

    def summary(self) -> Mapping[str, Any]:
        """Count what was done so far: plain values by name."""
        return {}


class PassThrough(Collector):
    """Gives every item as it came, into the queue that it was put into."""

    def collect(self, item: Any, key: QueueKey) -> Iterable[tuple[QueueKey, Any]]:
        """One item in, the same one out."""
        return ((key, item),)


class Dispatcher:
    """Deals items to consumers. This one leaves everything in the shared queue.

    Attributes
    ----------
    consumers
        The known ones, sorted.
    """

    def __init__(self) -> None:
        self.consumers: list[ConsumerId] = []

    def setup(self, ctx: ChannelContext) -> None:
        """Get ready; called once, before the first item."""
        self.consumers = sorted(set(ctx.consumers), key=id_order)

    @property
    def deals(self) -> bool:
        """Whether items go to private queues: if `route` is overridden."""
        return type(self).route is not Dispatcher.route

    def add_consumer(self, consumer: ConsumerId) -> None:
        """Meet a consumer; called when it first asks for an item."""
        if consumer not in self.consumers:
            self.consumers = sorted([*self.consumers, consumer], key=id_order)

    def route(self, item: Any, key: QueueKey) -> ConsumerId | None:
        """Name the consumer that gets this item; None leaves it in the shared queue."""
        return None

    def rebalance(
        self, consumer: ConsumerId, key: QueueKey, depths: Mapping[ConsumerId, int]
    ) -> ConsumerId | None:
        """Name a peer whose oldest item a consumer with nothing to do may take.

        Parameters
        ----------
        consumer
            Who asks; its own queue and the shared one are empty.
        key
            The queue key that it asks for.
        depths
            How many items wait for each of its peers.
        """
        return None


def id_order(consumer: ConsumerId) -> tuple[bool, ConsumerId]:
    """Sort consumers: numbers before names."""
    return isinstance(consumer, str), consumer


def iter_collected(
    collector: Collector, item: Any, key: QueueKey
) -> Iterator[tuple[QueueKey, Any]]:
    """Go through what a collector gives for one item.

    Raises
    ------
    ChannelTypeError
        If it gives anything but pairs (queue key, item).
    """
    name = type(collector).__name__
    # A collector may be a user's, so what it gives is looked at.
    given: Any = collector.collect(item, key)
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, Mapping)):
        raise ChannelTypeError(
            f"collecting: {name}.collect must give pairs (queue key, item), not "
            f"{type(given).__name__}; give an empty tuple where nothing is ready"
        )
    for pair in given:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ChannelTypeError(
                f"collecting: {name}.collect must give pairs (queue key, item), not "
                f"{type(pair).__name__}"
            )
        yield pair
