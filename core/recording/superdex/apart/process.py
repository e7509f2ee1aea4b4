"""The near side of reading in another process: starts it, and outlives its end.

When the child dies over an event (the library crashed, hung, or ate its memory),
another one reads only the plain values of that event, and goes on with the next. It is
told either way.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from isoscope.core.recording.superdex.apart import wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from isoscope.core.recording.source import Cancel
    from isoscope.core.recording.superdex.events import Event
    from isoscope.core.recording.tracks import Int64Array

CHILD = "isoscope.core.recording.superdex.apart.child"
MEMORY_BYTES = 4 << 30  # of address space, for the child
CPU_S = 1.0  # for one object, and more for large files
BYTES_A_CPU_S = 50 << 20
SILENT_S = 30.0  # without an answer: it waits for a disk that does not come
POLL_S = 0.1  # between looks at `cancelled`
# Beyond these only plain values are read, and beyond the last nothing.
MAX_DEATHS = 8
MAX_HANGS = 2
MAX_LOST = 4
_FRAMES = 256  # read ahead


class ApartError(Exception):
    """The file can't be read in another process either; the message says why."""


@dataclass(slots=True)
class Deaths:
    """What one file has done to the children that read it.

    Attributes
    ----------
    over
        How a child ended, by the event that ended it: only plain values are read of
        that event from then on.
    lost
        The same for events whose plain values alone ended another: not tried again.
    hangs
        How many of them never came back.
    """

    over: dict[int, str] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)
    hangs: int = 0

    @property
    def careful(self) -> bool:
        """Whether to read only plain values of all events."""
        return len(self.over) >= MAX_DEATHS or self.hangs >= MAX_HANGS

    @property
    def enough(self) -> bool:
        """Whether to give up on the file."""
        return len(self.lost) >= MAX_LOST


class Apart:
    """A file that is read by another process.

    Parameters
    ----------
    path
        The file.
    modes
        Ways to open it, see :mod:`.child`; the first one that works is kept to.
    deaths
        What is known of this file; added to.
    descriptor
        An open descriptor of the file: the child reads the same one, even if the path
        leads elsewhere or nowhere by then.
    listing
        Whether to list the events; else `numbers` is empty.

    Attributes
    ----------
    mode
        The one that worked.
    refused
        Why the first one did not; ``""`` if it did.
    numbers, told
        The events, and what is odd about the list of them.

    Raises
    ------
    ApartError
        If it can't be opened in any of these ways.
    """

    def __init__(
        self,
        path: Path,
        modes: Sequence[str],
        deaths: Deaths,
        descriptor: int,
        listing: bool = True,
    ) -> None:
        self.path = path
        self.mode = ""
        self.refused = ""
        self._deaths = deaths
        self._descriptor = descriptor
        self._closed = False
        self._child: _Child | None = None
        for mode in modes:
            if deaths.hangs and mode != "salvage":
                continue  # once is enough
            opened = self._start(mode, listing)
            if opened is not None:
                self.mode = mode
                self.numbers = wire.numbers_from_bytes(opened.numbers)
                self.told = opened.told
                return
        self._end()
        raise ApartError(self.refused or "it can't be opened")

    def _start(self, mode: str, listing: bool = False) -> wire.Opened | None:
        """Have a child open the file; None, and `refused`, if it can't."""
        child = self._child
        if child is None:
            child = self._child = _Child(self._descriptor)
        inherited = f"/proc/self/fd/{self._descriptor}"
        path = inherited if os.path.exists(inherited) else os.path.abspath(self.path)
        size = os.fstat(self._descriptor).st_size
        seconds = CPU_S + size / BYTES_A_CPU_S
        child.send(wire.Open(path, mode, listing, seconds, MEMORY_BYTES))
        answer = child.answer(None)
        if isinstance(answer, wire.Opened):
            return answer
        if isinstance(answer, wire.Failed):
            why = answer.message.replace(inherited, str(self.path))
        else:
            self._end()
            self._deaths.hangs += child.hung
            why = f"the HDF5 library {child.end()} on opening it"
        self.refused = self.refused or why
        return None

    def read(
        self, numbers: Sequence[int] | Int64Array, cancelled: Cancel | None = None
    ) -> Iterator[tuple[int, Event | None, list[wire.Told]]]:
        """Read events, in this order: number, event or None, what to tell.

        Stops early where `cancelled` says so.

        Raises
        ------
        ApartError
            If children keep dying over this file.
        """
        left = [int(number) for number in numbers]
        place = asked = 0  # events answered, events asked for
        try:
            while place < len(left) and not self._closed:
                number = left[place]
                if number in self._deaths.lost:
                    place += 1
                    yield number, None, [(self._deaths.lost[number], _at(number), True)]
                    continue
                if self._child is None:
                    if self._start(self.mode) is None:
                        raise ApartError(self.refused)
                    asked = place
                child = self._child
                if child is None:  # closed by another thread
                    return
                if asked <= place:
                    asked = self._ask(child, left, place)
                answer = child.answer(cancelled)
                if self._stopped(cancelled):
                    return
                if not isinstance(answer, wire.EventRead) or answer.number != number:
                    self._bury(child, number)
                    continue
                place += 1
                event, told = self._unpack(answer), answer.told
                if number in self._deaths.over:
                    told.append((self._deaths.over[number], _at(number), True))
                yield number, event, told
        finally:
            if place < len(left):
                self._end()  # answers may be on their way that nobody waits for

    def _ask(self, child: _Child, left: list[int], place: int) -> int:
        """Ask for the events from this place on; returns where the asking ends."""
        deaths = self._deaths
        stop = len(left)
        careful = deaths.careful or left[place] in deaths.over
        if not deaths.careful:
            # Up to the next event that is to be read in another way than this one.
            for at in range(place, stop):
                if left[at] in deaths.lost or (left[at] in deaths.over) != careful:
                    stop = at
                    break
        wanted = [n for n in left[place:stop] if n not in deaths.lost]
        child.send(wire.Read(wire.numbers_to_bytes(wanted), careful))
        return stop

    def _stopped(self, cancelled: Cancel | None) -> bool:
        return self._closed or (cancelled is not None and cancelled())

    def _unpack(self, answer: wire.EventRead) -> Event | None:
        try:
            return wire.unpack(answer)
        except (ValueError, TypeError):
            answer.told.append(("event did not arrive whole", _at(answer.number), True))
            return None

    def _bury(self, child: _Child, number: int) -> None:
        """Note who died over what."""
        self._end()
        deaths = self._deaths
        list_ = deaths.lost if deaths.careful or number in deaths.over else deaths.over
        list_[number] = f"the HDF5 library {child.end()} on it"
        deaths.hangs += child.hung
        if deaths.enough:
            raise ApartError(f"the HDF5 library {child.end()} again and again")

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None

    def close(self) -> None:
        """End the child. May be called twice, and while another thread reads."""
        self._closed = True
        self._end()


def _at(number: int) -> str:
    return f"/events/{number}"


class _Child:
    """One child process and the thread that reads its answers."""

    def __init__(self, descriptor: int) -> None:
        environment = {
            **os.environ,
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        try:
            # -P: the current folder must not come before the installed packages.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", CHILD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                pass_fds=[descriptor] if os.name == "posix" else [],
            )
        except OSError as error:
            raise ApartError(f"no second process could be started ({error})") from None
        self._answers: queue.Queue[bytes | None] = queue.Queue(_FRAMES)
        self._stopped = False
        self._ended = False
        self.silent = False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        stream = self._process.stdout
        content: bytes | None = b""
        while stream is not None and content is not None and not self._stopped:
            try:
                content = wire.receive(stream)
            except (OSError, ValueError):
                content = None
            while not self._stopped:
                try:
                    self._answers.put(content, timeout=POLL_S)
                    break
                except queue.Full:
                    continue

    def send(self, message: wire.Request) -> None:
        """Send a request; a dead child is noticed at the next answer."""
        if self._process.stdin is not None:
            with suppress(OSError, ValueError):
                wire.send(self._process.stdin, message)

    def answer(self, cancelled: Cancel | None) -> wire.Answer | None:
        """The next answer; None if the child died, went silent, or at `cancelled`."""
        waited = 0.0
        while waited < SILENT_S:
            try:
                content = self._answers.get(timeout=POLL_S)
            except queue.Empty:
                waited += POLL_S
                if not self._thread.is_alive():
                    self._ended = True
                    return None
                if cancelled is not None and cancelled():
                    return None
                continue
            if content is None:
                self._ended = True
                return None
            try:
                return wire.answer(content)
            except msgspec.MsgspecError:
                return None
        self.silent = True
        return None

    @property
    def hung(self) -> bool:
        """Whether it was ended because it took too long."""
        return self.silent or (
            sys.platform != "win32" and self._process.returncode == -signal.SIGPROF
        )

    def end(self) -> str:
        """How it ended, in words."""
        code = self._process.returncode
        if self.hung:
            return "did not come back"
        if code is not None and code < 0:
            return f"crashed (signal {-code})"
        return "gave up"

    def kill(self) -> None:
        """End it and let go of its pipes."""
        self._stopped = True
        if self._ended:
            # It died by itself: its exit status, which says how, is about to come.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1.0)
        self._process.kill()
        self._process.wait()
        self._thread.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
