"""The hub: a thread that takes what all processes of a run tell to a file and windows.

It lives in the process that made the session. Neither the environment's thread nor a
worker ever waits for it: what it can't take is refused where it was told, and counted.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zmq

from isoscope.core.errors import UsageError, one_line
from isoscope.core.recording.labelled import records as r
from isoscope.core.tap import messages as m
from isoscope.core.tap import process, runtime, wire
from isoscope.core.tap.factories import Ticket
from isoscope.core.tap.guests import Guests
from isoscope.core.tap.merge import PacketError
from isoscope.core.tap.merged import MergedStream, open_recorder, refuse_existing
from isoscope.core.tap.packet import Outflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.tap.kept import KeptStream
    from isoscope.core.tap.keys import Keys
    from isoscope.core.tap.session import TapSession

TICK_S = 0.05  # between two packets to windows: 20 a second
QUIET_TICK_S = 0.2  # where only a file gets them
WATCH_S = 0.5  # between two looks whether workers live
DRAIN_S = 1.0  # for workers' last packets, at the end
FAREWELL_S = 0.5  # for windows to take the last one
AT_ONCE = 256  # messages received before the next look at the rest
SAY_AGAIN_S = 60.0  # from telling of refused messages to telling of more
DOING = "tapping"


class Hub:
    """A run's hub. Made by `start`; all methods may be called from any thread.

    Attributes
    ----------
    run
        What windows find.
    wanted
        The address that was asked for.
    refused
        Messages that were refused, by kind.
    """

    def __init__(
        self,
        session: TapSession,
        stream: MergedStream | KeptStream,
        socket: zmq.Socket[bytes],
        context: zmq.Context[Any],
        run: runtime.Run,
    ) -> None:
        self.run = run
        self.wanted: str | None = None
        self.refused: Counter[str] = Counter()
        self._session = session
        self._stream = stream
        self._context = context
        self._socket = socket
        self._outflow = Outflow(session.recorder.intake)
        self._local = stream.source("session")
        self._guests = Guests(session, stream, run, self._send, self.refused)
        self._state: dict[str, Any] | None = None
        self._told_stream = 0
        self._told_refused: dict[str, int] = {}
        self._said_refused, self._said_s = 0, float("-inf")
        self._closing = threading.Event()
        self._why = ""
        self._file: Path | None = None
        self._thread = threading.Thread(
            target=self._run, name="isoscope-hub", daemon=True
        )

    @classmethod
    def start(
        cls,
        session: TapSession,
        *,
        record: str | Path | None = None,
        overwrite: bool = False,
        address: str | None = None,
        keys: Keys | None = None,
    ) -> Hub:
        """Open the file and the address, and begin.

        Raises
        ------
        UsageError, WriteError
            If one of them can't be had.
        """
        wished = wire.check_address(
            address or wire.LOOPBACK, doing=DOING, encrypted=keys is not None
        )
        context: zmq.Context[Any] = zmq.Context()
        try:
            socket = wire.bind(context, wished, keys)
        except (zmq.ZMQError, ValueError) as error:
            context.term()
            raise UsageError(f"{DOING}: {wished}: {one_line(error)}") from None
        try:
            stream = _stream(record, overwrite=overwrite, tell=session.file_stopped)
        except BaseException:
            socket.close(0)
            context.term()
            raise
        me = os.getpid()
        run = runtime.Run(
            address=_reachable(socket.getsockopt_string(zmq.LAST_ENDPOINT)),
            run=secrets.token_hex(16),
            name=session.name,
            process=me,
            started=process.started(me),
            host=process.host(),
            began_ns=time.time_ns(),
            token=secrets.token_hex(16) if keys is None else keys.token,
            server_key="" if keys is None else keys.public,
            record="" if record is None else str(Path(record).absolute()),
        )
        hub = cls(session, stream, socket, context, run)
        hub.wanted = address
        try:
            hub._file = runtime.announce(run)
        except OSError as error:
            session.say(
                f"the run is not in the list of runs: {one_line(error)}; windows can "
                f"join it at {run.address}"
            )
        hub._thread.start()
        return hub

    def ticket(self) -> Ticket:
        """How worker processes find this hub."""
        session, run = self._session, self.run
        return Ticket(
            address=run.address,
            token=run.token,
            run=run.run,
            process=run.process,
            server_key=run.server_key,
            name=session.name,
            snapshots_every=session.snapshots_every,
            options=session.options,
        )

    def records_to(self, path: str | Path) -> bool:
        """Whether this is the file that gets all of it."""
        return self.run.record == str(Path(path).absolute())

    def state(self, state: dict[str, Any]) -> None:
        """Tell windows the run's state."""
        self._state = state

    def lanes(self, environments: list[int]) -> None:
        """Environments of the hub's own process need no telling: it is there."""

    def close(self, why: str = "") -> None:
        """Take the rest on, tell everybody, and end."""
        self._why = why
        self._closing.set()
        self._thread.join()
        self._stream.close()  # in case the thread could not

    # -- the thread --

    def _run(self) -> None:
        try:
            self._serve()
            self._end()
        except Exception as error:  # noqa: BLE001 the run goes on
            self._session.fault(f"its hub failed: {type(error).__name__}: {error}")
            with suppress(Exception):
                self._merge(with_workers=False)
        finally:
            runtime.withdraw(self._file)
            self._socket.close(0)
            self._context.term()

    def _serve(self) -> None:
        due = watch = time.monotonic()
        while not self._closing.is_set():
            now = time.monotonic()
            self._receive(max(min(due, watch) - now, 0.0))
            now = time.monotonic()
            if now >= due:
                due = now + (TICK_S if self._guests else QUIET_TICK_S)
                self._merge()
            if now >= watch:
                watch = now + WATCH_S
                self._watch(now)
            self._flush()

    def _receive(self, wait_s: float) -> None:
        """Look at what came, waiting at most one tick for the first of it."""
        if not self._socket.poll(int(min(wait_s, TICK_S) * 1000)):
            return
        for _ in range(AT_ONCE):
            try:
                identity, *frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                message, packet = m.decode(frames)
                self._guests.take(identity, message, packet)
            except m.WireError as error:
                self.refused[error.kind] += 1

    def _merge(self, *, with_workers: bool = True) -> None:
        """Take on what the environments told, unless the file can't take more."""
        if self._stream.behind:
            return
        packet = self._outflow.take()
        if packet:
            try:
                self._local.take(packet)
            except PacketError as error:  # only a fault of an adapter's or our own
                self._session.fault(f"what was told makes no sense: {error}")
        if with_workers:
            self._guests.merge_workers()
        while merged := self._stream.take():
            self._guests.show(merged)
        self._stream.watch(self._guests.watching)

    def _watch(self, now: float) -> None:
        self._tell_refused(now)
        if self._stream.number != self._told_stream:
            self._told_stream = self._stream.number
            self._session.tell(stream=self._told_stream)
        for worker in self._guests.lost_workers(now):
            lanes = worker.lanes
            named = ", ".join(map(str, lanes)) or "none yet"
            text = f"process {worker.process} with environments {named} died"
            self._session.say(text)
            for lane in lanes or [-1]:
                self._session.recorder.failure(
                    r.Failure(
                        "worker",
                        text,
                        env=lane,
                        wall_ns=time.time_ns(),
                        detail={"process": worker.process, "environments": lanes},
                    )
                )

    def _tell_refused(self, now: float) -> None:
        """Tell windows what was refused; say it, too, but not often."""
        refused = dict(self.refused)
        if refused != self._told_refused:
            self._told_refused = refused
            self._session.tell(refused=refused)
        count = sum(refused.values())
        if count > self._said_refused and now - self._said_s >= SAY_AGAIN_S:
            self._said_refused, self._said_s = count, now
            kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(refused.items()))
            self._session.say(
                f"{count:,} message{'s' * (count != 1)} to the run at "
                f"{self.run.address} refused ({kinds}); the run goes on"
            )

    def _flush(self) -> None:
        """Send what other threads left."""
        state, self._state = self._state, None
        if state is not None:
            self._guests.tell(m.State(state=state))
        self._guests.answer()

    def _send(self, identity: bytes, frames: list[Any]) -> bool:
        """Send to somebody; whether they are still there."""
        try:
            self._socket.send_multipart([identity, *frames], zmq.NOBLOCK)
        except zmq.ZMQError:  # EHOSTUNREACH: gone
            return False
        return True

    def _end(self) -> None:
        """Workers' last packets, ours, and a farewell to windows."""
        guests = self._guests
        guests.call_in()
        deadline = time.monotonic() + DRAIN_S
        while guests.working and time.monotonic() < deadline:
            self._receive(TICK_S)
            self._merge()
            self._watch(time.monotonic())
        deadline = time.monotonic() + DRAIN_S
        while self._stream.behind and time.monotonic() < deadline:
            time.sleep(TICK_S)
        self._merge()
        self._tell_refused(float("inf"))
        self._stream.close()  # before a window hears that it is whole
        while merged := self._stream.take():
            guests.show(merged)
        self._flush()
        guests.tell(m.Bye(why=self._why))
        deadline = time.monotonic() + FAREWELL_S
        while guests.looking and time.monotonic() < deadline:
            self._receive(TICK_S)


def _stream(
    record: str | Path | None, *, overwrite: bool, tell: Callable[[str], None]
) -> MergedStream | KeptStream:
    """What takes it all: with a file another process, wherever that can be had."""
    if record is None:
        return MergedStream(None)
    refuse_existing(record, overwrite=overwrite)
    from isoscope.core.tap.kept import KeptStream, UnavailableError

    try:
        return KeptStream(record, overwrite=overwrite, tell=tell)
    except UnavailableError:
        return MergedStream(open_recorder(record, overwrite=overwrite, tell=tell))


def _reachable(endpoint: str) -> str:
    """An address that processes of this machine can connect to."""
    for everywhere, here in (("//0.0.0.0:", "//127.0.0.1:"), ("//[::]:", "//[::1]:")):
        endpoint = endpoint.replace(everywhere, here)
    return endpoint
