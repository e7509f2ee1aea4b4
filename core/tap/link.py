"""A worker process's link to the hub: a thread that sends on what was told.

It sends no more than the hub has taken; what comes meanwhile waits in the session's
intake, and beyond that one's bound is refused and counted there.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import zmq

from isoscope.core.tap import messages as m
from isoscope.core.tap import process, wire
from isoscope.core.tap.packet import Outflow

if TYPE_CHECKING:
    from isoscope.core.tap.factories import Ticket
    from isoscope.core.tap.session import TapSession

TICK_S = 0.05
ALIVE_S = 1.0
WATCH_S = 1.0
FLYING_BYTES = 16 << 20
FLYING_PACKETS = 32  # fewer than the hub lets wait
END_S = 1.0  # for the last packet to arrive


class Link:
    """Links a session to the hub of another process. Made by `start`.

    Attributes
    ----------
    refused
        Messages of the hub's that were refused, by kind.
    """

    def __init__(
        self,
        session: TapSession,
        ticket: Ticket,
        socket: zmq.Socket[bytes],
        context: zmq.Context[Any],
    ) -> None:
        self.refused: Counter[str] = Counter()
        self._session = session
        self._ticket = ticket
        self._socket = socket
        self._context = context
        self._outflow = Outflow(session.recorder.intake)
        self._sequence = 0
        self._flying: deque[tuple[int, int]] = deque()
        self._lanes: list[int] = []
        self._welcome = False
        self._over = False
        self._closing = threading.Event()
        self._hub_started = process.started(ticket.process)
        self._thread = threading.Thread(
            target=self._run, name="isoscope-link", daemon=True
        )

    @classmethod
    def start(cls, session: TapSession, ticket: Ticket) -> Link:
        """Connect, in the background.

        Raises
        ------
        zmq.ZMQError, ValueError
            If the ticket makes no sense.
        """
        context: zmq.Context[Any] = zmq.Context()
        try:
            socket = wire.connect(context, ticket.address, ticket.server_key)
        except BaseException:
            context.term()
            raise
        link = cls(session, ticket, socket, context)
        link._thread.start()
        return link

    def state(self, state: dict[str, Any]) -> None:
        """A worker's state is not the run's: it is told nobody."""

    def lanes(self, environments: list[int]) -> None:
        """Say which environments this process has."""
        self._lanes = list(environments)

    def close(self, why: str = "") -> None:
        """Send the rest, and end."""
        self._closing.set()
        self._thread.join()

    # -- the thread --

    def _run(self) -> None:
        try:
            self._serve()
        except Exception as error:  # noqa: BLE001 the worker goes on
            self._session.fault(f"its link failed: {type(error).__name__}: {error}")
        finally:
            self._socket.close(0)
            self._context.term()

    def _serve(self) -> None:
        me = os.getpid()
        hello = m.Hello(
            role="worker",
            token=self._ticket.token,
            process=me,
            started=process.started(me),
            host=process.host(),
        )
        self._send(m.encode(hello))
        told: list[int] = []
        alive = watch = time.monotonic()
        while not self._closing.is_set() and not self._over:
            self._receive(TICK_S)
            if not self._welcome:
                self._watch()
                continue
            lanes = self._lanes
            if lanes != told:
                self._send(m.encode(m.Lanes(environments=lanes)))
                told = lanes
            self._send_on()
            now = time.monotonic()
            if now - alive > ALIVE_S:
                alive = now
                self._send(m.encode(m.Alive()))
            if now - watch > WATCH_S:
                watch = now
                self._watch()
        if not self._over:
            self._end()

    def _watch(self) -> None:
        """Stop where the hub's process is gone."""
        if not process.alive(self._ticket.process, self._hub_started):
            self._over = True
            self._session.fault("the process that it reports to is gone")

    def _full(self) -> bool:
        size = sum(size for _, size in self._flying)
        return size > FLYING_BYTES or len(self._flying) >= FLYING_PACKETS

    def _send_on(self) -> None:
        if self._full() or not self._socket.poll(0, zmq.POLLOUT):
            return
        packet = self._outflow.take()
        if packet:
            self._sequence += 1
            self._flying.append((self._sequence, packet.size))
            self._send(m.encode_packet(packet, self._sequence))

    def _send(self, frames: list[Any]) -> None:
        with suppress(zmq.Again):  # nobody is there, and perhaps never will
            self._socket.send_multipart(frames, zmq.NOBLOCK)

    def _receive(self, wait_s: float) -> None:
        wait_ms = int(wait_s * 1000)
        while self._socket.poll(wait_ms):
            wait_ms = 0
            frames = self._socket.recv_multipart(zmq.NOBLOCK)
            try:
                message, _ = m.decode(frames)
                self._take(message)
            except m.WireError as error:
                self.refused[error.kind] += 1

    def _take(self, message: m.Message) -> None:
        if isinstance(message, m.Welcome):
            self._welcome = True
        elif isinstance(message, m.Credit):
            while self._flying and self._flying[0][0] <= message.sequence:
                self._flying.popleft()
        elif isinstance(message, m.Closing):
            self._end()
            self._over = True
            self._session.on = False
        elif isinstance(message, m.Bye):
            self._over = True
            self._session.on = False
        elif isinstance(message, m.Refused):
            self._over = True
            self._session.fault(f"its hub refused it: {message.why}")
        else:
            raise m.WireError("unexpected", "not for a worker")

    def _end(self) -> None:
        """Send the rest and a goodbye; wait until it was taken, but not for long."""
        deadline = time.monotonic() + END_S
        said = False
        while time.monotonic() < deadline and not self._over:
            if self._welcome and not said and not self._full():
                if self._lanes:
                    self._send(m.encode(m.Lanes(environments=self._lanes)))
                self._send_on()
                self._send(m.encode(m.Bye()))
                said = True
            elif not self._welcome:
                self._watch()
            self._receive(TICK_S)
