"""A channel in this process, for threads; `processes` lets spawned processes in.

Two locks. One serialises puts, so that the collector sees one item at a time; the other
is held for moments only, to add to the queues or take from them, so that consumers need
not wait while the collector works.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from isoscope.core.channel.base import (
    MAXSIZE,
    TIMEOUT_S,
    Channel,
    ChannelStatus,
    Loss,
    deadline,
    remaining_s,
)
from isoscope.core.channel.errors import (
    ChannelClosedError,
    ChannelEmptyError,
    ChannelFullError,
    ChannelValueError,
)
from isoscope.core.channel.hooks import (
    DEFAULT_QUEUE,
    ChannelContext,
    ConsumerId,
    QueueKey,
    iter_collected,
)
from isoscope.core.channel.members import Members
from isoscope.core.channel.queues import NOTHING, Queues
from isoscope.core.channel.resolving import resolve_collector, resolve_dispatcher
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

NOBODY = ""  # the consumer of a channel that has a single one


class LocalChannel(Channel):
    """A bounded channel in memory.

    Parameters
    ----------
    name
        For messages.
    collector, dispatcher
        Hooks: an instance, a class, a name or ``"module:Class"``. By default items
        stay as they are, in one shared queue a key.
    cfg, options
        What the hooks get to know.
    producers
        Names of producers that the stream is not over without.
    consumers
        Those that are dealt to from the beginning.
    maxsize
        Items that may wait for consumers before producers have to.
    timeout_s
        How long a call waits that isn't told how long.

    Raises
    ------
    ChannelValueError, ChannelTypeError
        If a hook can't be found or is none, or a size doesn't fit.
    """

    def __init__(
        self,
        name: str = "channel",
        *,
        collector: Any = None,
        dispatcher: Any = None,
        cfg: Any = None,
        options: Mapping[str, Any] | None = None,
        producers: Sequence[str] = (),
        consumers: Sequence[ConsumerId] = (),
        maxsize: int = MAXSIZE,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        if maxsize < 1:
            raise ChannelValueError(
                f"making the channel {name}: maxsize is {maxsize}; give 1 or more"
            )
        deadline(timeout_s, 0)
        self.name, self.timeout_s, self.maxsize = name, timeout_s, maxsize
        self.context = ChannelContext(
            name, cfg, tuple(producers), tuple(consumers), dict(options or {})
        )
        self.collector = resolve_collector(collector)
        self.collector.setup(self.context)
        self.dispatcher = resolve_dispatcher(dispatcher)
        self.dispatcher.setup(self.context)
        self._queues = Queues(self.dispatcher)
        self._members = Members(producers)
        self._putting = threading.Lock()
        self._lock = threading.Lock()
        self._came = threading.Condition(self._lock)
        self._went = threading.Condition(self._lock)
        self._puts = self._gets = 0
        self._closed = False

    # -- producers ---------------------------------------------------------------------

    def put(
        self,
        item: Any,
        *,
        key: QueueKey = DEFAULT_QUEUE,
        timeout_s: float | None = None,
    ) -> None:
        """Put an item, waiting for room first; see :meth:`Channel.put`."""
        self.put_as(None, item, key, timeout_s)

    def put_as(
        self, producer: str | None, item: Any, key: QueueKey, timeout_s: float | None
    ) -> None:
        """Put in the name of a registered producer."""
        end = deadline(timeout_s, self.timeout_s)
        while True:
            # Nobody holds up the others while it waits for room, so it may be gone
            # again when it is this one's turn.
            self._wait_for_room(key, producer, end)
            if not self._putting.acquire(timeout=remaining_s(end)):
                raise self._full(key)
            try:
                if self._has_room(producer):
                    self._collect(item, key, producer)
                    return
            finally:
                self._putting.release()

    def _wait_for_room(self, key: QueueKey, producer: str | None, end: float) -> None:
        with self._lock:
            while not self._room(producer):
                left = remaining_s(end)
                if not left:
                    raise self._full(key)
                self._went.wait(left)

    def _has_room(self, producer: str | None) -> bool:
        with self._lock:
            return self._room(producer)

    def _room(self, producer: str | None) -> bool:
        if self._closed:
            raise ChannelClosedError(
                f"putting into the channel {self.name}: it is closed"
            )
        if producer is not None:
            self._members.refuse_gone(producer)
        return self._queues.size < self.maxsize

    def _collect(self, item: Any, key: QueueKey, producer: str | None) -> None:
        ready: list[tuple[QueueKey, Any]] = []
        try:
            for pair in iter_collected(self.collector, item, key):
                ready.append(pair)
        finally:
            # also what was ready before a collector failed
            with self._lock:
                if producer is not None and self._members.is_open(producer):
                    self._members.has_put(producer, self.collector.sources_of(item))
                self._puts += 1
                try:
                    self._queues.add(ready)
                finally:
                    if ready:
                        self._came.notify_all()

    def _full(self, key: QueueKey) -> ChannelFullError:
        return ChannelFullError(
            f"putting into the channel {self.name}, queue {key!r}: no room in time, "
            f"{self.maxsize} items may wait; take items faster, or allow more by "
            "maxsize or timeout_s"
        )

    def _begin(self, producer: str) -> LocalSender:
        with self._lock:
            if self._closed:
                raise ChannelClosedError(f"joining the channel {self.name}: closed")
            self._members.begin(producer)
        return LocalSender(self, producer)

    def _end(self, producer: str, problem: str = "") -> None:
        """A producer finished, or was lost with this problem; a second time nothing."""
        with self._putting:  # what it is putting is taken before
            with self._lock:
                if not self._members.is_open(producer):
                    return
                sources = self._members.sources_of(producer)
            loss = self._loss(producer, problem, sources) if problem else None
            with self._lock:  # nobody sees the end without the loss
                self._members.end(producer, loss)
                self._came.notify_all()

    def _loss(self, producer: str, problem: str, sources: tuple[Hashable, ...]) -> Loss:
        try:
            waiting = tuple(self.collector.waiting(sources))
        except Exception as error:  # noqa: BLE001 a user's hook must not hide the loss
            waiting = (f"its collector could not say: {one_line(error)}",)
        return Loss(producer, problem, sources, waiting)

    # -- consumers ---------------------------------------------------------------------

    def get(
        self,
        *,
        key: QueueKey = DEFAULT_QUEUE,
        consumer: ConsumerId | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Take the oldest item for this consumer; see :meth:`Channel.get`."""
        end = deadline(timeout_s, self.timeout_s)
        with self._lock:
            who = self._meet(consumer)
            while True:
                item = self._queues.take(key, who)
                if item is not NOTHING:
                    self._gets += 1
                    self._went.notify_all()
                    return item
                if self._closed or self._members.over:
                    raise ChannelClosedError(self._nothing(key, "nothing more comes"))
                left = remaining_s(end)
                if not left:
                    raise ChannelEmptyError(self._nothing(key, "nothing came in time"))
                self._came.wait(left)

    def give_back(self, item: Any, key: QueueKey, consumer: ConsumerId | None) -> None:
        """Undo a get whose item could not be delivered."""
        with self._lock:
            self._queues.give_back(key, self._meet(consumer), item)
            self._gets -= 1
            self._came.notify_all()

    def _meet(self, consumer: ConsumerId | None) -> ConsumerId:
        """Say who asks, and deal to them from now on."""
        known = self.dispatcher.consumers
        if consumer is None:
            if self.dispatcher.deals and any(other != NOBODY for other in known):
                raise ChannelValueError(
                    f"taking from the channel {self.name}: it deals its items to "
                    f"{', '.join(map(str, known))}; say which consumer asks"
                )
            consumer = NOBODY
        if self.dispatcher.deals and consumer not in known:
            self.dispatcher.add_consumer(consumer)
        return consumer

    def _nothing(self, key: QueueKey, problem: str) -> str:
        return (
            f"taking from the channel {self.name}, queue {key!r}: {problem}; "
            f"{self._status()}"
        )

    def qsize(
        self, key: QueueKey = DEFAULT_QUEUE, consumer: ConsumerId | None = None
    ) -> int:
        """How many items wait under a key: all, or what this consumer could take."""
        with self._lock:
            return self._queues.depth(key, consumer)

    # -- both --------------------------------------------------------------------------

    def waiting(self, sources: Iterable[Hashable] | None = None) -> tuple[str, ...]:
        """What is incomplete in the collector, a line each."""
        with self._putting:
            return tuple(self.collector.waiting(sources))

    def summary(self) -> dict[str, Any]:
        """What the collector counted so far, by name."""
        with self._putting:
            return dict(self.collector.summary())

    def status(self) -> ChannelStatus:
        """What the channel is doing."""
        with self._lock:
            return self._status()

    def _status(self) -> ChannelStatus:
        return ChannelStatus(
            puts=self._puts,
            gets=self._gets,
            queued=self._queues.size,
            open_producers=self._members.ages_s(),
            losses=tuple(self._members.losses),
            closed=self._closed,
        )

    def close(self) -> None:
        """Take nothing more. What waits can still be taken."""
        with self._lock:
            self._closed = True
            self._came.notify_all()
            self._went.notify_all()


class LocalSender:
    """What the code of a producer in this process is given."""

    def __init__(self, channel: LocalChannel, name: str) -> None:
        self.channel = channel
        self.name = name

    def put(
        self,
        item: Any,
        *,
        key: QueueKey = DEFAULT_QUEUE,
        timeout_s: float | None = None,
    ) -> None:
        """Put an item; returns when the channel has taken it."""
        self.channel.put_as(self.name, item, key, timeout_s)
