"""What every channel can do, wherever it lives.

Nothing waits for ever: a call that may wait takes `timeout_s`, and what is left out is
the channel's own, a minute by default.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from isoscope.core.channel.errors import (
    ChannelClosedError,
    ChannelError,
    ChannelValueError,
)
from isoscope.core.channel.hooks import DEFAULT_QUEUE, ConsumerId, QueueKey
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

TIMEOUT_S = 60.0
SHOWN = 5  # lines of what is incomplete in one message
MAXSIZE = 256  # items that may wait before producers do


@dataclass(frozen=True, slots=True)
class Loss:
    """A producer that went away without saying that it had finished.

    Attributes
    ----------
    producer
        Its name.
    reason
        What is known about how it ended.
    sources
        The logical sources whose items it had put, (env_rank, stage_id) for parts.
    waiting
        What of these was incomplete at that moment, a line each: it stays so.
    """

    producer: str
    reason: str
    sources: tuple[Hashable, ...] = ()
    waiting: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = f"the producer {self.producer} was lost: {self.reason}"
        if not self.waiting:
            return f"{said}; nothing of it was incomplete"
        more = len(self.waiting) - SHOWN
        lines = [*self.waiting[:SHOWN], *([f"and {more} more"] if more > 0 else [])]
        return f"{said}; incomplete: {'; '.join(lines)}"


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    """What a channel is doing.

    Attributes
    ----------
    puts, gets
        Items taken from producers and given to consumers so far.
    queued
        Items that wait for a consumer.
    open_producers
        Producers that have neither ended nor been lost, and the seconds since each put
        something, or since it began.
    losses
        Producers that were lost.
    closed
        Whether nothing more is taken.
    """

    puts: int
    gets: int
    queued: int
    open_producers: dict[str, float]
    losses: tuple[Loss, ...]
    closed: bool

    def __str__(self) -> str:
        said = [f"{self.puts} put, {self.gets} taken, {self.queued} waiting"]
        if self.open_producers:
            named = ", ".join(
                f"{name} (last put {age:.0f} s ago)"
                for name, age in sorted(self.open_producers.items())
            )
            said.append(f"open producers: {named}")
        said += [str(loss) for loss in self.losses]
        return "; ".join(said)


class Sender(Protocol):
    """What a producer's code is given, in whatever thread or process it runs."""

    @property
    def name(self) -> str:
        """The producer's name."""

    def put(
        self,
        item: Any,
        *,
        key: QueueKey = DEFAULT_QUEUE,
        timeout_s: float | None = None,
    ) -> None:
        """Put an item; returns when the channel has taken it."""


class Channel(ABC):
    """Takes items from producers and gives them to consumers.

    Attributes
    ----------
    name
        The channel's name.
    timeout_s
        How long a call waits that isn't told how long.
    """

    name: str
    timeout_s: float

    @abstractmethod
    def put(
        self,
        item: Any,
        *,
        key: QueueKey = DEFAULT_QUEUE,
        timeout_s: float | None = None,
    ) -> None:
        """Put an item, waiting for room first.

        Room is what `maxsize` leaves: items that wait for consumers, over all queues.
        It is waited for before the collector sees the item, so that an item which was
        not taken in time left no trace; several that one put brings about are all
        taken.

        Parameters
        ----------
        item
            For the collector.
        key
            The queue, where the collector doesn't choose another.
        timeout_s
            How long to wait for room.

        Raises
        ------
        ChannelFullError
            If the consumers made no room in time.
        ChannelClosedError
            If the channel is closed.
        Exception
            Whatever the collector or the dispatcher raised. An item whose dispatcher
            failed waits in the shared queue.
        """

    @abstractmethod
    def get(
        self,
        *,
        key: QueueKey = DEFAULT_QUEUE,
        consumer: ConsumerId | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Take the oldest item that is for this consumer, waiting for one.

        Parameters
        ----------
        key
            The queue.
        consumer
            Who asks. Only a channel with a single consumer may leave it out.
        timeout_s
            How long to wait.

        Raises
        ------
        ChannelEmptyError
            If nothing came in time; it says what the channel is waiting for.
        ChannelClosedError
            If nothing will come: the channel is closed, or its producers have ended.
        """

    @abstractmethod
    def qsize(
        self, key: QueueKey = DEFAULT_QUEUE, consumer: ConsumerId | None = None
    ) -> int:
        """How many items wait under a key: all, or what this consumer could take."""

    @abstractmethod
    def waiting(self, sources: tuple[Hashable, ...] | None = None) -> tuple[str, ...]:
        """What is incomplete in the collector, a line each."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """What the collector counted so far, by name."""

    @abstractmethod
    def status(self) -> ChannelStatus:
        """What the channel is doing."""

    @abstractmethod
    def close(self) -> None:
        """Take nothing more. What waits can still be taken."""

    @abstractmethod
    def _begin(self, producer: str) -> Sender:
        """Register a producer."""

    @abstractmethod
    def _end(self, producer: str, problem: str = "") -> None:
        """A producer finished, or was lost with this problem."""

    @contextmanager
    def producer(self, name: str) -> Iterator[Sender]:
        """Take part as a producer, for as long as the block runs.

        When every producer has ended, and all that were named when the channel was
        made have been there, consumers are told that nothing more comes. A block that
        raises counts as a producer that was lost.
        """
        sender = self._begin(name)
        try:
            yield sender
        except BaseException as error:
            with suppress(ChannelError):  # the channel itself may be what failed
                self._end(name, one_line(f"{type(error).__name__}: {error}"))
            raise
        else:
            self._end(name)

    def items(
        self,
        *,
        key: QueueKey = DEFAULT_QUEUE,
        consumer: ConsumerId | None = None,
        timeout_s: float | None = None,
    ) -> Iterator[Any]:
        """Take items until nothing more comes."""
        while True:
            try:
                item = self.get(key=key, consumer=consumer, timeout_s=timeout_s)
            except ChannelClosedError:
                return
            yield item


def deadline(timeout_s: float | None, default_s: float) -> float:
    """When a call that may take this long has to be over, by the monotonic clock."""
    allowed = default_s if timeout_s is None else timeout_s
    if not allowed >= 0:
        raise ChannelValueError(
            f"waiting for a channel: a timeout of {allowed} s can't be; "
            "give seconds, 0 or more"
        )
    return time.monotonic() + allowed


def remaining_s(end: float) -> float:
    """Seconds until then, not below 0; at most what a lock can wait."""
    left = end - time.monotonic()
    return min(max(left, 0.0), 1e6) if math.isfinite(left) else 1e6
