"""Where outputs go: taken from the channel, counted, handed on.

An actor has a place of its own to take from: in rollout and lerobot mode it is a
consumer of the shared queue key, in pipeline mode its queue has its name.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from isoscope.core.channel.errors import ChannelClosedError, ChannelEmptyError
from isoscope.core.channel.hooks import DEFAULT_QUEUE
from isoscope.core.trajectory.plan import TrajectoryMode
from isoscope.core.trajectory.preprocess.routing import CommMapper

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from isoscope.core.channel.base import Channel

LOOK_S = 0.01  # between looks where nothing was
PIPELINE_ACTOR = "pipeline_actor"


class Port(NamedTuple):
    """Where one actor takes its items from."""

    key: str
    consumer: int | None
    actor: int


def ports_of(mode: TrajectoryMode, actors: int) -> list[Port]:
    """One port an actor."""
    if mode is TrajectoryMode.PIPELINE:
        name = CommMapper.build_channel_key
        return [Port(name(a, a, PIPELINE_ACTOR), None, a) for a in range(actors)]
    return [Port(DEFAULT_QUEUE, a, a) for a in range(actors)]


class Sink:
    """Takes everything that comes out, in one thread.

    Parameters
    ----------
    channel
        Where from.
    mode
        What comes.
    actors
        How many there are.
    take
        Called with the port and the item, one at a time.

    Attributes
    ----------
    counts
        Items taken, by port.
    """

    def __init__(
        self,
        channel: Channel,
        mode: TrajectoryMode,
        actors: int,
        take: Callable[[Port, Any], object] = lambda port, item: None,
    ) -> None:
        self.channel, self.mode = channel, mode
        self.ports = ports_of(mode, actors)
        self.counts: Counter[Port] = Counter()
        self._take = take

    def drain(self) -> int:
        """Take what is there, without waiting; gives how many."""
        taken = 0
        for port in self.ports:
            while True:
                try:
                    item = self.channel.get(
                        key=port.key, consumer=port.consumer, timeout_s=0
                    )
                except (ChannelEmptyError, ChannelClosedError):
                    break
                self._accept(port, item)
                taken += 1
        return taken

    def take_until(self, over: threading.Event) -> None:
        """Take what comes until the event is set and nothing is left."""
        while True:
            last = over.is_set()
            if not self.drain():
                if last:
                    return
                over.wait(LOOK_S)

    def _accept(self, port: Port, item: Any) -> None:
        self._take(port, item)
        self.counts[port] += 1
