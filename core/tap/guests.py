"""The hub's guests: welcomes workers and windows, and does what their messages ask.

Belongs to the hub's thread, except the answers to commands, which come from wherever
the run obeys them.
"""

from __future__ import annotations

import hmac
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from isoscope.core.recording.labelled import records as r
from isoscope.core.tap import messages as m
from isoscope.core.tap import process
from isoscope.core.tap.factories import ONE_EACH
from isoscope.core.tap.merge import PacketError
from isoscope.core.tap.peers import Window, Worker
from isoscope.core.tap.session import Command

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from isoscope.core.tap.kept import KeptStream
    from isoscope.core.tap.merged import MergedStream
    from isoscope.core.tap.packet import Packet
    from isoscope.core.tap.runtime import Run
    from isoscope.core.tap.session import TapSession

SILENT_S = 15.0  # after which somebody is taken for gone
MAX_WINDOWS = 16
MAX_INBOX = 64
FIRST = "say hello first"


class Guests:
    """Who is connected to a hub.

    Parameters
    ----------
    send
        Sends frames to an identity; False if nobody is there.
    refused
        Counts messages that are refused, by kind.
    """

    def __init__(
        self,
        session: TapSession,
        stream: MergedStream | KeptStream,
        run: Run,
        send: Callable[[bytes, list[Any]], bool],
        refused: Counter[str],
    ) -> None:
        self._session = session
        self._stream = stream
        self._run = run
        self._send = send
        self._refused = refused
        self._workers: dict[bytes, Worker] = {}
        self._windows: dict[bytes, Window] = {}
        self._answers: deque[tuple[bytes, m.Answer]] = deque()
        self._came = 0

    def __bool__(self) -> bool:
        """Whether anybody is there."""
        return bool(self._workers or self._windows)

    @property
    def working(self) -> bool:
        """Whether workers have not said goodbye yet."""
        return any(not w.gone for w in self._workers.values())

    @property
    def watching(self) -> bool:
        """Whether there are windows that want data."""
        return any(window.data for window in self._windows.values())

    @property
    def looking(self) -> bool:
        """Whether windows have not said goodbye yet."""
        return bool(self._windows)

    # -- what they say --

    def take(self, identity: bytes, message: m.Message, packet: Packet | None) -> None:
        """Do what a message asks.

        Raises
        ------
        WireError
            If it may not ask that.
        """
        if isinstance(message, m.Hello):
            self._welcome(identity, message)
            return
        worker = self._workers.get(identity)
        window = self._windows.get(identity)
        if worker is not None:
            worker.heard_s = time.monotonic()
            self._take_workers(worker, message, packet)
        elif window is not None:
            window.heard_s = time.monotonic()
            self._take_windows(window, message)
        else:
            self._send(identity, m.encode(m.Refused(why=FIRST)))
            # One that was silent for too long doesn't know that it was forgotten.
            if not isinstance(message, m.Alive | m.Credit | m.Bye):
                raise m.WireError("unexpected", "a message of a stranger")

    def _welcome(self, identity: bytes, hello: m.Hello) -> None:
        run = self._run
        known = hmac.compare_digest(hello.token.encode(), run.token.encode())
        if not known or hello.role not in ("worker", "window"):
            why = "the token is not this run's" if not known else "an unknown role"
            self._send(identity, m.encode(m.Refused(why=why)))
            raise m.WireError("unexpected", why)
        others = self._windows.keys() - {identity}
        if hello.role == "window" and len(others) >= MAX_WINDOWS:
            why = f"{MAX_WINDOWS} windows look at this run already"
            self._send(identity, m.encode(m.Refused(why=why)))
            return
        while merged := self._stream.take():  # is no news to who joins
            self.show(merged)
        number = self._stream.number
        welcome = m.Welcome(
            run=run.run,
            name=run.name,
            process=run.process,
            started=run.started,
            host=run.host,
            began_ns=run.began_ns,
            record=run.record,
            state=self._session.state | ({"stream": number} if number else {}),
        )
        if not self._send(identity, m.encode(welcome)):
            return
        local = bool(hello.host) and hello.host == run.host
        who = (identity, hello.process, hello.started, local, time.monotonic())
        if hello.role == "worker" and identity in self._workers:
            return  # its connection was lost and came back
        if hello.role == "worker":
            self._came += 1
            merger = self._stream.source(f"worker {self._came}")
            self._workers[identity] = Worker(*who, merger=merger)
            return
        window = Window(*who, data=hello.data)
        state = None
        if window.data:
            state = self._stream.latest.packet()
            while merged := self._stream.take():  # is in that state
                self.show(merged)
            window.stream = self._stream.number
        self._windows[identity] = window
        if state is not None:
            self._show(window, state, {})

    def _take_workers(
        self, worker: Worker, message: m.Message, packet: Packet | None
    ) -> None:
        if isinstance(message, m.Data) and packet is not None:
            if len(worker.inbox) >= MAX_INBOX:
                raise m.WireError("oversized", "more packets than a worker may send")
            worker.inbox.append((message.sequence, packet))
        elif isinstance(message, m.Lanes):
            self._take_lanes(worker, message.environments)
        elif isinstance(message, m.Bye):
            worker.gone = True
        elif not isinstance(message, m.Alive):
            raise m.WireError("unexpected", "not a worker's message")

    def _take_lanes(self, worker: Worker, lanes: list[int]) -> None:
        for other in self._workers.values():
            both = sorted(set(lanes) & set(other.lanes))
            if other is worker or other.gone or not both:
                continue
            text = (
                f"processes {other.process} and {worker.process} both have "
                f"environments {', '.join(map(str, both))}: {ONE_EACH}"
            )
            self._session.say(text)
            self._session.recorder.failure(
                r.Failure("tap", text, env=both[0], wall_ns=time.time_ns())
            )
        worker.lanes = sorted(lanes)
        if lanes:
            self._session.env_index(index=max(lanes))

    def _take_windows(self, window: Window, message: m.Message) -> None:
        identity = window.identity
        if isinstance(message, m.Credit):
            window.credit(message.sequence)
        elif isinstance(message, m.Alive):
            self._send(identity, m.encode(m.Alive()))
        elif isinstance(message, m.Bye):
            del self._windows[identity]
        elif isinstance(message, m.Control):
            number = message.number

            def answer(ok: bool, text: str) -> None:
                told = m.Answer(number=number, ok=ok, message=text[:1000])
                self._answers.append((identity, told))

            self._session.ask(Command(message.what, message.arguments, answer))
        else:
            raise m.WireError("unexpected", "not a window's message")

    # -- what they are told --

    def merge_workers(self) -> None:
        """Merge what workers sent, and let them send more."""
        for identity, worker in list(self._workers.items()):
            sequence = 0
            while worker.inbox and worker.merger is not None:
                sequence, packet = worker.inbox.popleft()
                try:
                    worker.merger.take(packet)
                except PacketError as error:
                    self._refused["malformed"] += 1
                    self._session.recorder.failure(
                        r.Failure(
                            "tap",
                            f"process {worker.process} told what makes no sense, and "
                            f"is not listened to any more: {error}",
                            wall_ns=time.time_ns(),
                        )
                    )
                    worker.merger = None
            if worker.merger is None:
                worker.inbox.clear()
            if sequence:
                self._send(identity, m.encode(m.Credit(sequence=sequence)))
            if worker.gone and not worker.inbox:
                self._send(identity, m.encode(m.Bye()))
                del self._workers[identity]

    def show(self, packet: Packet) -> None:
        """Send what was merged to all windows that want it."""
        references, number = self._stream.latest.references, self._stream.number
        for window in list(self._windows.values()):
            if window.data and window.stream == number:
                self._show(window, packet, references)

    def _show(
        self, window: Window, packet: Packet, references: dict[int, bytes]
    ) -> None:
        frames = window.frames(packet, references)
        if frames is not None and not self._send(window.identity, frames):
            self._windows.pop(window.identity, None)

    def tell(self, message: m.Message) -> None:
        """Tell all windows."""
        for identity in list(self._windows):
            if not self._send(identity, m.encode(message)):
                del self._windows[identity]

    def answer(self) -> None:
        """Send the answers to commands."""
        while self._answers:
            identity, told = self._answers.popleft()
            if identity in self._windows:
                self._send(identity, m.encode(told))

    def call_in(self) -> None:
        """Ask workers for what they have: the run ends.

        One that died just now is not gone in peace: `lost_workers` has still to tell.
        """
        for identity, worker in list(self._workers.items()):
            if not self._send(identity, m.encode(m.Closing())) and _lives(worker):
                worker.gone = True

    def lost_workers(self, now: float) -> list[Worker]:
        """Workers that died; windows that did are forgotten, too."""
        for identity, window in list(self._windows.items()):
            if now - window.heard_s > SILENT_S or not _lives(window):
                del self._windows[identity]
        lost = []
        for identity, worker in list(self._workers.items()):
            if worker.gone or worker.inbox:
                continue  # its last words first
            if now - worker.heard_s > SILENT_S or not _lives(worker):
                lost.append(worker)
                del self._workers[identity]
        return lost


def _lives(peer: Window | Worker) -> bool:
    return not peer.local or process.alive(peer.process, peer.started)
