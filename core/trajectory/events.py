"""The life of a chunk as events, for a window, a recorder, or anybody.

What tells never waits for what listens: each listener has a queue of its own that holds
so many events, and when it is full the oldest go, and are counted. Without listeners
nothing is noted down; with some it is noted in the queues as it is, and the listener
makes events of it. No torch in here.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from isoscope.core.trajectory.keys import TrajectoryKey

CAPACITY = 65_536


class Stage(StrEnum):
    """What happened to a chunk.

    Attributes
    ----------
    POLICY_PART, ENV_PART
        Rows of one half came.
    JOINED
        Both halves are complete.
    ACCUMULATED
        It is stored in its scope.
    FLUSHED
        Its scope was complete, and went out.
    FAILED
        It was refused, or never completed; the text says why.
    REPEATED
        Rows came again after the chunk had been stored; they are ignored.
    WARNED
        Something about it is doubtful; the text says what.
    """

    POLICY_PART = "policy part"
    ENV_PART = "env part"
    JOINED = "joined"
    ACCUMULATED = "accumulated"
    FLUSHED = "flushed"
    FAILED = "failed"
    REPEATED = "repeated"
    WARNED = "warned"


class ChunkEvent(NamedTuple):
    """One event.

    Attributes
    ----------
    stage
        What happened.
    key
        To which chunk.
    first_row, rows
        To which rows of its source batch.
    at_s
        When, by the monotonic clock.
    output
        FLUSHED: the mode of the output.
    ranks
        FLUSHED: where the rows went, actor ranks or numbers of shards.
    text
        FAILED, REPEATED, WARNED: one line.
    """

    stage: Stage
    key: TrajectoryKey
    first_row: int
    rows: int
    at_s: float
    output: str = ""
    ranks: tuple[int, ...] = ()
    text: str = ""


# What an event is made of, in its order.
Told = tuple[Stage, "TrajectoryKey", int, int, float, str, tuple[int, ...], str]


class Listener:
    """One listener's queue. One thread takes from it, any may tell.

    Parameters
    ----------
    stream
        Where it listens.
    capacity
        How many events it holds; the oldest go when more come.
    """

    def __init__(self, stream: EventStream, capacity: int) -> None:
        self._stream = stream
        self._full = threading.Lock()
        self.capacity = capacity
        # The stream's: it appends, which is safe between threads.
        self.queue: deque[Told] = deque()
        self._dropped = 0

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def take(self, at_most: int = CAPACITY) -> list[ChunkEvent]:
        """Take what has come since, oldest first; doesn't wait.

        Parameters
        ----------
        at_most
            No more than this many; the rest stays.
        """
        told: list[Told] = []
        take = self.queue.popleft
        try:
            for _ in range(min(at_most, len(self.queue))):
                told.append(take())
        except IndexError:
            pass  # a full queue lets the oldest go while it is read
        new = tuple.__new__  # all that the constructor does
        return [new(ChunkEvent, values) for values in told]

    @property
    def dropped(self) -> int:
        """How many events went before they were taken."""
        return self._dropped

    def let_go(self) -> None:
        """Let the oldest go until no more are held than may be; for the stream."""
        with self._full:
            while len(self.queue) > self.capacity:
                try:
                    self.queue.popleft()
                except IndexError:  # they were taken meanwhile
                    return
                self._dropped += 1

    def close(self) -> None:
        """Stop listening."""
        self._stream.leave(self)


class EventStream:
    """Tells events to whoever listens.

    Parameters
    ----------
    clock
        Seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._listeners: tuple[Listener, ...] = ()
        self._lock = threading.Lock()  # who comes and goes

    @property
    def heard(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def listen(self, capacity: int = CAPACITY) -> Listener:
        """Listen from now on; close what is given when done."""
        listener = Listener(self, capacity)
        with self._lock:
            self._listeners = (*self._listeners, listener)
        return listener

    def leave(self, listener: Listener) -> None:
        """Stop telling a listener."""
        with self._lock:
            self._listeners = tuple(x for x in self._listeners if x is not listener)

    def tell(
        self,
        stage: Stage,
        key: TrajectoryKey,
        first_row: int,
        rows: int,
        output: str = "",
        ranks: tuple[int, ...] = (),
        text: str = "",
    ) -> None:
        """Tell one event to all listeners; free without any."""
        listeners = self._listeners
        if not listeners:
            return
        told = (stage, key, first_row, rows, self._clock(), output, ranks, text)
        for listener in listeners:
            listener.queue.append(told)
            if len(listener.queue) > listener.capacity:
                listener.let_go()

    def tell_all(
        self,
        stage: Stage,
        keys: Iterable[TrajectoryKey],
        rows: int,
        output: str,
        ranks: tuple[int, ...],
    ) -> None:
        """Tell the same of all rows of several chunks."""
        listeners = self._listeners
        if not listeners:
            return
        now_s = self._clock()
        told = [(stage, key, 0, rows, now_s, output, ranks, "") for key in keys]
        for listener in listeners:
            listener.queue.extend(told)
            if len(listener.queue) > listener.capacity:
                listener.let_go()
