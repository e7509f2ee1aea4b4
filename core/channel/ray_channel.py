"""A channel on Ray, for producers and consumers on any node of a cluster.

The channel is an actor. An item goes into Ray's object store as one array of bytes
(`wire`) and the actor gets a reference to it; a large item comes back the same way. Ray
itself pickles what it transports: here that is arrays, text and numbers.

A producer says every now and then that it is there. One that has not been heard of for
its lease counts as lost, whatever became of it; what it puts later is refused.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from isoscope.core.channel.base import (
    TIMEOUT_S,
    Channel,
    ChannelStatus,
    deadline,
    remaining_s,
)
from isoscope.core.channel.errors import (
    ChannelClosedError,
    ChannelError,
    ChannelTimeoutError,
    ChannelValueError,
)
from isoscope.core.channel.hooks import DEFAULT_QUEUE, ConsumerId, QueueKey
from isoscope.core.channel.local import LocalChannel
from isoscope.core.channel.ray_actor import AGAIN, DONE, ChannelActor
from isoscope.core.channel.ray_cluster import NAMESPACE, join_cluster, ray_module
from isoscope.core.channel.told import raised
from isoscope.core.channel.wire import decode, encode
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from isoscope.core.channel.base import Sender

SLICE_S = 0.5  # how long the actor itself waits before it wants to be asked again
MARGIN_S = 30.0  # how much longer an answer may be on its way
LEASE_S = 10.0
THREADS = {"puts": 8, "gets": 8, "calls": 4}


class RayChannel(Channel):
    """A handle on a channel actor; made by `create` or `connect`.

    It may be sent to Ray tasks and actors.
    """

    def __init__(self, actor: Any, name: str, timeout_s: float, lease_s: float) -> None:
        self.actor = actor
        self.name, self.timeout_s, self.lease_s = name, timeout_s, lease_s

    @classmethod
    def create(
        cls,
        name: str = "channel",
        *,
        lease_s: float = LEASE_S,
        timeout_s: float = TIMEOUT_S,
        **settings: Any,
    ) -> RayChannel:
        """Start a channel; it lives as long as the process that made it.

        Parameters
        ----------
        name
            Under which others connect.
        lease_s
            A producer that nothing was heard of for so long is lost.
        timeout_s, **settings
            As :class:`~isoscope.core.channel.local.LocalChannel` takes them. Hooks are
            given by name or as ``"module:Class"``, which has to be importable on the
            node that the channel is on; the configuration is plain values.

        Raises
        ------
        MissingExtraError
            If Ray is not installed.
        ChannelError
            If the channel can't be made: a hook, its settings, or Ray.
        """
        if not 0 < lease_s < 1e6:
            raise ChannelValueError(
                f"making the channel {name}: a lease of {lease_s} s can't be; give "
                "seconds, above 0"
            )
        ray = ray_module()
        LocalChannel(name, timeout_s=timeout_s, **settings)  # refuses what does not fit
        join_cluster()
        packet = encode({"name": name, "timeout_s": timeout_s, **settings})
        made = ray.remote(num_cpus=0, concurrency_groups=THREADS)(ChannelActor)
        doing = f"making the channel {name} on Ray"
        with told_shortly(doing, name):
            actor = made.options(name=_actor_name(name), namespace=NAMESPACE).remote(
                packet, float(lease_s)
            )
            ray.get(actor.about.remote(), timeout=timeout_s + MARGIN_S)
        return cls(actor, name, timeout_s, lease_s)

    @classmethod
    def connect(cls, name: str = "channel", address: str | None = None) -> RayChannel:
        """Find a channel that another process made.

        Raises
        ------
        MissingExtraError
            If Ray is not installed.
        ChannelError
            If the cluster can't be joined, or has no channel of this name.
        """
        join_cluster(address)
        ray = ray_module()
        try:
            actor = ray.get_actor(_actor_name(name), namespace=NAMESPACE)
        except ValueError:
            raise ChannelValueError(
                f"connecting to the channel {name}: this Ray cluster has none of that "
                "name; start the process that makes it first"
            ) from None
        with told_shortly(f"connecting to the channel {name}", name):
            about = ray.get(actor.about.remote(), timeout=TIMEOUT_S)
        return cls(actor, *about)

    # -- the interface -----------------------------------------------------------------

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
        packet = encode(item)
        with told_shortly(f"putting into the channel {self.name}", self.name):
            stored = ray_module().put(packet)
        self._until(
            lambda wait_s: self.actor.put.options(concurrency_group="puts").remote(
                stored, key, producer, wait_s
            ),
            "putting into",
            timeout_s,
        )

    def get(
        self,
        *,
        key: QueueKey = DEFAULT_QUEUE,
        consumer: ConsumerId | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Take the oldest item for this consumer; see :meth:`Channel.get`."""
        packet = self._until(
            lambda wait_s: self.actor.get.options(concurrency_group="gets").remote(
                key, consumer, wait_s
            ),
            "taking from",
            timeout_s,
        )
        return decode(packet)

    def qsize(
        self, key: QueueKey = DEFAULT_QUEUE, consumer: ConsumerId | None = None
    ) -> int:
        """How many items wait under a key: all, or what this consumer could take."""
        size: int = self._call("qsize", key, consumer)
        return size

    def waiting(self, sources: tuple[Hashable, ...] | None = None) -> tuple[str, ...]:
        """What is incomplete in the collector, a line each."""
        lines: tuple[str, ...] = self._call("waiting", sources)
        return lines

    def summary(self) -> dict[str, Any]:
        """What the collector counted so far, by name."""
        counted: dict[str, Any] = self._call("summary")
        return counted

    def status(self) -> ChannelStatus:
        """What the channel is doing."""
        status: ChannelStatus = self._call("status")
        return status

    def close(self) -> None:
        """Take nothing more. What waits can still be taken."""
        self._call("close")

    def end(self) -> None:
        """End the actor, with whatever is still in it."""
        ray_module().kill(self.actor)

    @contextmanager
    def producer(self, name: str) -> Iterator[Sender]:
        """Take part as a producer while the block runs; see :meth:`Channel.producer`.

        Meanwhile a thread keeps telling the channel that this process is there.
        """
        with super().producer(name) as sender:
            over = threading.Event()
            beating = threading.Thread(
                target=self._beat, args=(name, over), name=f"{name}-beat", daemon=True
            )
            beating.start()
            try:
                yield sender
            finally:
                over.set()
                beating.join()

    # -- how ---------------------------------------------------------------------------

    def _begin(self, producer: str) -> RaySender:
        self._call("begin", producer)
        return RaySender(self, producer)

    def _end(self, producer: str, problem: str = "") -> None:
        self._call("end", producer, problem)

    def _beat(self, name: str, over: threading.Event) -> None:
        while not over.wait(self.lease_s / 4):
            self.actor.beat.options(concurrency_group="calls").remote(name)

    def _until(self, ask: Any, doing: str, timeout_s: float | None) -> Any:
        """Ask, a little at a time, until it is done or time is over."""
        end = deadline(timeout_s, self.timeout_s)
        while True:
            left = remaining_s(end)
            answer, value = self._answer(ask(min(left, SLICE_S)), doing, left)
            if answer == DONE:
                return value
            if answer != AGAIN or left <= SLICE_S:
                raise raised(value)

    def _call(self, name: str, *args: Any) -> Any:
        reference = self.actor.call.options(concurrency_group="calls").remote(
            name, *args
        )
        answer, value = self._answer(reference, f"asking {name} of", self.timeout_s)
        if answer != DONE:
            raise raised(value)
        return value

    def _answer(self, reference: Any, doing: str, left_s: float) -> Any:
        with told_shortly(f"{doing} the channel {self.name}", self.name):
            return ray_module().get(reference, timeout=left_s + MARGIN_S)


class RaySender:
    """What the code of a producer is given."""

    def __init__(self, channel: RayChannel, name: str) -> None:
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


def _actor_name(name: str) -> str:
    return f"isoscope-channel-{name}"


@contextmanager
def told_shortly(doing: str, name: str) -> Iterator[None]:
    """Say in one line what Ray says in a page."""
    errors = ray_module().exceptions
    try:
        yield
    except errors.GetTimeoutError:
        raise ChannelTimeoutError(
            f"{doing}: no answer in time; whether it was done is not known"
        ) from None
    except errors.RayActorError as error:
        cause = getattr(error, "__cause__", None) or error
        raise ChannelClosedError(
            f"{doing}: its actor is gone or could not start: {_last_line(cause)}"
        ) from None
    except errors.ActorAlreadyExistsError:
        raise ChannelValueError(
            f"{doing}: there is a channel {name} already; choose another name"
        ) from None
    except errors.RayError as error:
        raise ChannelError(f"{doing}: {_last_line(error)}") from None


def _last_line(error: BaseException) -> str:
    """The line of an error of Ray's that says what happened in the end."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return one_line(lines[-1])[:300] if lines else type(error).__name__
