"""The hub's side of a keeper: a merged stream that another process merges and writes.

To the hub it is what `MergedStream` is. What it is given is sent on at once; windows
get what comes back. Where the keeper has ended, nothing is written any more; what comes
then is merged here, while windows want it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.core.errors import UsageError, WriteError
from isoscope.core.tap import messages as m
from isoscope.core.tap import process
from isoscope.core.tap.defined import Defined
from isoscope.core.tap.merge import PacketError
from isoscope.core.tap.merged import MergedStream
from isoscope.core.tap.packet import Packet
from isoscope.core.tap.pipe import Said, all_said, hear, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.tap.merge import Merger

# The paths first: the package may be found by them alone.
CODE = (
    "import json, sys; about = json.loads(sys.argv[1]); sys.path[:] = about['path']; "
    "from isoscope.core.tap.keeper import main; main(about)"
)
FLYING_BYTES = 32 << 20  # sent and not taken yet
BEGIN_S = 60.0  # on a machine that is very busy
STATE_S = 5.0
END_S = 60.0


DEFINED_WRONG = (KeyError, TypeError, ValueError, AttributeError)


class UnavailableError(Exception):
    """There can be no keeper: the file is to be written by the hub itself."""


class KeptStream:
    """A stream that a keeper merges. Belongs to the hub's thread.

    Parameters
    ----------
    tell
        Called once, with one line, if the recording stops early; from any thread.

    Attributes
    ----------
    number
        Which stream of the run it gives: another one than before once the keeper has
        ended. What was told of one makes no sense with what is told of another.

    Raises
    ------
    UnavailableError
        If no process can be started.
    UsageError, WriteError
        If the file may not or can't be made.
    """

    def __init__(
        self, record: str | Path, *, overwrite: bool, tell: Callable[[str], None]
    ) -> None:
        self.latest = Latest(self)
        self.number = 0
        self._path = Path(record)
        self._tell = tell
        self._flying = 0
        self._sources = 0
        self._watched = False
        self._over = self._stopped = False
        self._next = 1  # the number of the stream after the keeper's
        self._here: MergedStream | None = None  # that one, while windows look
        self._listener: threading.Thread | None = None
        self._lengths: dict[str, int] = {}
        self._closed = threading.Event()
        self._state = threading.Event()
        self._changed = threading.Lock()
        self._merged: deque[tuple[Packet, list[int]]] = deque()
        self._told_state: Packet = Packet()
        self._senseless: dict[int, str] = {}
        self._end, theirs = _sockets()
        try:
            with theirs:
                self._process = _started(theirs, self._path, overwrite)
            self._begin()
        except BaseException:
            self._end.close()
            raise
        self._listener = threading.Thread(
            target=self._hear, name="isoscope-keeper", daemon=True
        )
        self._listener.start()

    def _begin(self) -> None:
        """Wait until the file is there."""
        self._end.settimeout(BEGIN_S)
        try:
            said = hear(self._end)
        except OSError:
            said = None
        if said is None or said.word not in ("ready", "refused"):
            self._reap(0.0)
            raise UnavailableError(
                "the process that should write the file did not begin"
            )
        if said.word == "refused":
            self._reap(END_S)
            usage, why = said.about
            raise UsageError(why) if usage else WriteError(why)
        self._end.settimeout(None)

    # -- what the hub asks of a stream --

    @property
    def behind(self) -> bool:
        """Whether it can't take more just now: then nothing should be given."""
        return self._flying > FLYING_BYTES and not self._over

    def source(self, name: str) -> Source:
        """What takes one more source's packets; `name` is the keeper's to give."""
        self._sources += 1
        return Source(self, self._sources - 1)

    def take(self) -> Packet:
        """What was merged since, if windows look; else an empty packet."""
        over = self._over  # before its last words are looked for
        if self._merged:
            packet, named = self._merged.popleft()
            blobs = dict(packet.blobs)
            self.latest.references = {n: blobs[n] for n in named if n in blobs}
            return packet
        if over:
            self.number = self._next
        if self._here is None:
            return Packet()
        packet = self._here.take()
        self.latest.references = self._here.latest.references
        return packet

    def length(self, table: str) -> int:
        """Rows of a fixed table so far, as far as it was heard."""
        return self._lengths.get(table, 0)

    def watch(self, looking: bool) -> None:
        """Say whether windows look at all: without them nothing comes back."""
        if self._watched and not looking:
            self._watched = False
            self._merged.clear()
            self._say("watch", False)
            if self._here is not None:
                self._here = None
                self._next += 1

    def close(self) -> None:
        """Have the rest written and the end marked, and wait for that."""
        if self._closed.is_set() or self._over:
            self._reap(END_S)
            return
        self._say("close")
        self._closed.wait(END_S)
        self._reap(END_S if self._closed.is_set() else 0.0)

    # -- both ways --

    @property
    def here(self) -> MergedStream | None:
        """What merges in the keeper's place, where it has ended and windows look."""
        return self._here

    def give(self, number: int, packet: Packet) -> None:
        """Send a source's packet on, as long as there is a keeper.

        Raises
        ------
        PacketError
            If an earlier one of the source made no sense.
        """
        why = self._senseless.pop(number, None)
        if why is not None:
            raise PacketError(why)
        size = packet.size
        with self._changed:
            self._flying += size
        self._say("packet", [number, size], m.encode_packet(packet, 0))

    def state(self) -> Packet:
        """What a window that joins is told first; from now on all comes back."""
        self._state.clear()
        self._watched = True
        self._say("watch", True)
        if not self._over:
            self._state.wait(STATE_S)
        if self._over:
            if self._here is None:
                self._here = MergedStream(None)
                self._here.take()  # what every stream defines
            return self._here.latest.packet()
        state, self._told_state = self._told_state, Packet()
        return state

    def _say(self, word: str, about: Any = None, frames: Any = ()) -> None:
        if not self._over:
            with suppress(OSError):  # its end is met where it is listened to
                say(self._end, word, about, frames)

    def _hear(self) -> None:
        for said in all_said(self._end):
            self._take(said)
        self._over = True
        self._state.set()
        if not self._closed.is_set():
            self._closed.set()
            self._stops(
                f"recording to {self._path} stopped: the process that writes it "
                "ended; what was written until then can be opened, and the run goes on"
            )

    def _take(self, said: Said) -> None:
        if said.word == "taken":
            with self._changed:
                size, self._lengths = said.about
                self._flying -= size
        elif said.word == "stopped":
            self._stops(said.about)
        elif said.word == "senseless":
            number, why = said.about
            self._senseless[number] = why
        elif said.word == "closed":
            self._closed.set()
        elif said.word in ("merged", "state"):
            _, packet = m.decode(said.frames)
            assert packet is not None
            if said.word == "merged":
                self._merged.append((packet, said.about))
            else:
                self._told_state = packet
                self._state.set()

    def _stops(self, line: str) -> None:
        """Tell why nothing is written any more; once."""
        if not self._stopped:
            self._stopped = True
            self._tell(line)

    def _reap(self, wait_s: float) -> None:
        """Leave no process behind."""
        running = self._process
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        try:
            running.wait(wait_s)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        if self._listener is not None:
            self._listener.join(END_S)
        self._end.close()


class Latest:
    """The latest state, as the keeper has it; see `LatestState`.

    Attributes
    ----------
    references
        Of the last packet's blobs those that actors' definitions name.
    """

    def __init__(self, stream: KeptStream) -> None:
        self.references: dict[int, bytes] = {}
        self._stream = stream

    def packet(self) -> Packet:
        """What a window that joins now is told first."""
        return self._stream.state()


class Source:
    """One source of the stream."""

    def __init__(self, stream: KeptStream, number: int) -> None:
        self._stream = stream
        self._number = number
        self._defined = Defined()
        self._merger: Merger | None = None

    def take(self, packet: Packet) -> None:
        """Have a packet merged.

        Raises
        ------
        PacketError
            If it makes no sense, or an earlier one made none.
        """
        here = self._stream.here
        if here is not None:
            self._merge(here, packet)
        else:
            self._merger = None
            self._stream.give(self._number, packet)
        try:
            self._defined.take(packet)
        except DEFINED_WRONG as error:
            raise PacketError(f"{type(error).__name__}: {error}") from None

    def _merge(self, here: MergedStream, packet: Packet) -> None:
        """Merge it here; what was defined before comes first."""
        if self._merger is None or self._merger.target is not here.target:
            self._merger = here.source(source_name(self._number))
            self._merger.take(self._defined.packet())
        self._merger.take(packet)


def source_name(number: int) -> str:
    """What a source is called."""
    return "session" if number == 0 else f"worker {number}"


def _sockets() -> tuple[socket.socket, socket.socket]:
    if os.name != "posix" or not sys.executable:
        raise UnavailableError("no process can be given a socket here")
    try:
        return socket.socketpair()
    except OSError as error:
        raise UnavailableError(str(error)) from None


def _started(
    theirs: socket.socket, path: Path, overwrite: bool
) -> subprocess.Popen[bytes]:
    me = os.getpid()
    about = {
        "path": sys.path,
        "descriptor": theirs.fileno(),
        "hub": me,
        "started": process.started(me),
        "file": str(path.absolute()),
        "overwrite": overwrite,
    }
    try:
        return subprocess.Popen(
            [sys.executable, "-c", CODE, json.dumps(about)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
    except (OSError, ValueError, TypeError) as error:
        raise UnavailableError(str(error)) from None
