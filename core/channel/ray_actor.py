"""The part of a Ray channel that lives in an actor: a local channel, served.

Every call comes back soon. Whoever has to wait asks again, so that no number of waiting
producers can take the threads that consumers need.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from isoscope.core.channel.errors import ChannelEmptyError, ChannelFullError
from isoscope.core.channel.local import LocalChannel
from isoscope.core.channel.told import told
from isoscope.core.channel.wire import decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.channel.hooks import ConsumerId, QueueKey

Reply = tuple[str, Any]
DONE, AGAIN, FAILED = "done", "again", "failed"


class ChannelActor:
    """Serves a local channel to other processes.

    Parameters
    ----------
    settings
        Of :class:`LocalChannel`, as bytes of `wire`.
    lease_s
        A producer that nothing was heard of for so long is lost.
    """

    def __init__(self, settings: Any, lease_s: float) -> None:
        self.channel = LocalChannel(**decode(settings))
        self.lease_s = lease_s
        self._heard: dict[str, float] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def about(self) -> tuple[str, float, float]:
        """The channel's name, its timeout and the producers' lease."""
        return self.channel.name, self.channel.timeout_s, self.lease_s

    def put(
        self, packet: Any, key: QueueKey, producer: str | None, wait_s: float
    ) -> Reply:
        """Put what the packet holds."""
        self.beat(producer)
        try:
            self.channel.put_as(producer, decode(packet), key, wait_s)
        except ChannelFullError as error:
            return AGAIN, told(error)
        except Exception as error:  # noqa: BLE001 whatever it is, who asked is told
            return FAILED, told(error)
        return DONE, None

    def get(self, key: QueueKey, consumer: ConsumerId | None, wait_s: float) -> Reply:
        """Take an item; what is given is its packet."""
        try:
            item = self.channel.get(key=key, consumer=consumer, timeout_s=wait_s)
        except ChannelEmptyError as error:
            return AGAIN, told(error)
        except Exception as error:  # noqa: BLE001 whatever it is, who asked is told
            return FAILED, told(error)
        try:
            return DONE, encode(item)
        except Exception as error:  # noqa: BLE001 whatever it is, who asked is told
            self.channel.give_back(item, key, consumer)
            return FAILED, told(error)

    def call(self, name: str, *args: Any) -> Reply:
        """Call something that does not wait: counts and ends."""
        calls: dict[str, Callable[..., Any]] = {
            "qsize": self.channel.qsize,
            "waiting": self.channel.waiting,
            "summary": self.channel.summary,
            "status": self.channel.status,
            "close": self.channel.close,
            "begin": self._begin,
            "end": self._end,
        }
        try:
            return DONE, calls[name](*args)
        except Exception as error:  # noqa: BLE001 whatever it is, who asked is told
            return FAILED, told(error)

    def beat(self, producer: str | None) -> None:
        """Hear that a producer is alive."""
        with self._lock:
            if producer in self._heard:
                self._heard[producer] = time.monotonic()

    def _begin(self, producer: str) -> None:
        self.channel._begin(producer)
        with self._lock:
            self._heard[producer] = time.monotonic()

    def _end(self, producer: str, problem: str) -> None:
        with self._lock:
            self._heard.pop(producer, None)
        self.channel._end(producer, problem)

    def _watch(self) -> None:
        while True:
            time.sleep(self.lease_s / 4)
            now = time.monotonic()
            with self._lock:
                silent = [p for p, at in self._heard.items() if now - at > self.lease_s]
            for producer in silent:
                self._end(producer, f"nothing was heard of it for {self.lease_s:g} s")
