"""A window's connection to a run's hub: joins it, receives, asks, and joins it again.

`poll` belongs to one thread; `control` and `close` may be called from any.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import zmq

from isoscope.core.errors import ReadError, one_line
from isoscope.core.tap import messages as m
from isoscope.core.tap import process, wire
from isoscope.core.tap.guests import FIRST

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.tap.packet import Packet
    from isoscope.core.tap.runtime import Run

ALIVE_S = 1.0  # between two signs of life
HELLO_S = 3.0  # of silence, before it joins anew
MAX_ANSWERS = 256


class Client:
    """A connection to a run.

    Parameters
    ----------
    run
        As found by `isoscope.core.live.discovery`.
    data
        Whether the hub should send data, and not only the run's state.

    Attributes
    ----------
    welcome
        What the hub said of the run; None until it did.
    refused
        Messages of the hub's that were refused, by kind.
    why_refused
        Why the hub won't have us; empty while it will.

    Raises
    ------
    ReadError
        If the address or the key makes no sense.
    """

    def __init__(self, run: Run, *, data: bool = True) -> None:
        self.run = run
        self.data = data
        self.welcome: m.Welcome | None = None
        self.refused: Counter[str] = Counter()
        self.why_refused = ""
        self._asked: deque[m.Control] = deque()
        self._number = 0
        self._waiting: dict[int, Callable[[bool, str], None] | None] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._heard = self._hailed = time.monotonic()
        self._context: zmq.Context[Any] = zmq.Context()
        try:
            self._socket = wire.connect(self._context, run.address, run.server_key)
        except (zmq.ZMQError, ValueError) as error:
            self._context.term()
            raise ReadError("joining", run.address, one_line(error)) from None
        self._hello()

    @property
    def silent_s(self) -> float:
        """Seconds since anything was heard."""
        return time.monotonic() - self._heard

    def poll(self, wait_s: float) -> list[tuple[m.Message, Packet | None]]:
        """What has come, waiting at most so long for the first of it."""
        if self._closed:
            return []
        self._talk()
        out: list[tuple[m.Message, Packet | None]] = []
        wait_ms = int(wait_s * 1000)
        while self._socket.poll(wait_ms) and len(out) < wire.WAITING_MESSAGES:
            wait_ms = 0
            frames = self._socket.recv_multipart(zmq.NOBLOCK)
            try:
                message, packet = m.decode(frames)
                self._take(message)
            except m.WireError as error:
                self.refused[error.kind] += 1
                continue
            self._heard = time.monotonic()
            out.append((message, packet))
        return out

    def credit(self, sequence: int) -> None:
        """Say that all up to this packet was taken, so that more may come."""
        self._send(m.Credit(sequence=sequence))

    def control(
        self,
        what: str,
        arguments: dict[str, Any] | None = None,
        answered: Callable[[bool, str], None] | None = None,
    ) -> None:
        """Ask something of the run; see `isoscope.core.tap.session.Command`.

        Parameters
        ----------
        answered
            Called with whether it was done, and a message; from the thread that polls.
        """
        with self._lock:
            self._number += 1
            self._waiting[self._number] = answered
            if len(self._waiting) > MAX_ANSWERS:  # a run that never answers
                self._waiting.pop(next(iter(self._waiting)))
            self._asked.append(
                m.Control(number=self._number, what=what, arguments=arguments or {})
            )

    def close(self) -> None:
        """Say goodbye. May be called twice; from the thread that polls."""
        if self._closed:
            return
        self._send(m.Bye())
        # The goodbye is a courtesy: the hub notices anyway.
        self._socket.close(linger=50)
        self._closed = True
        self._context.term()

    # -- talking --

    def _hello(self) -> None:
        self._hailed = time.monotonic()
        me = os.getpid()
        self._send(
            m.Hello(
                role="window",
                token=self.run.token,
                process=me,
                started=process.started(me),
                host=process.host(),
                data=self.data,
            )
        )

    def _talk(self) -> None:
        """Say what is due: wishes, signs of life, hello again after a silence."""
        while self._asked:
            self._send(self._asked.popleft())
        now = time.monotonic()
        if now - self._heard > HELLO_S and now - self._hailed > HELLO_S:
            self._hello()
        elif now - self._hailed > ALIVE_S and self.welcome is not None:
            self._hailed = now
            self._send(m.Alive())

    def _take(self, message: m.Message) -> None:
        if isinstance(message, m.Welcome):
            self.welcome = self.welcome or message
            self.why_refused = ""
        elif isinstance(message, m.Refused):
            if message.why == FIRST:
                self._hello()
            else:
                self.why_refused = message.why
        elif isinstance(message, m.Answer):
            with self._lock:
                answered = self._waiting.pop(message.number, None)
            if answered is not None:
                answered(message.ok, message.message)
        elif not isinstance(message, m.Data | m.State | m.Alive | m.Bye):
            raise m.WireError("unexpected", "not for a window")

    def _send(self, message: m.Message) -> None:
        if self._closed:
            return
        with suppress(zmq.Again):  # nobody is there who would have us
            self._socket.send_multipart(m.encode(message), zmq.NOBLOCK)
