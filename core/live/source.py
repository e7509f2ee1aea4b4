"""A live run as a source: `index` follows it until it ends or the window lets go."""

from __future__ import annotations

import tempfile
import threading
import time
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.core.errors import CancelledError, IsoscopeError, ReadError, one_line
from isoscope.core.live.client import Client
from isoscope.core.live.heap import give_back_freed, give_back_holes
from isoscope.core.live.memory import Memory, rows_spilled
from isoscope.core.live.mirror import Mirror
from isoscope.core.recording.labelled.reader import LabelledSource
from isoscope.core.recording.spill import Spill
from isoscope.core.tap import messages as m
from isoscope.core.tap import process
from isoscope.core.tap.merge import PacketError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.source import Cancel, Progress
    from isoscope.core.tap.packet import Packet
    from isoscope.core.tap.runtime import Run

MEMORY_BYTES = 128 << 20
ANSWER_S = 10.0  # a run has to answer, when it is joined
POLL_S = 0.02
REFRESH_S = 0.05  # 20 times a second
WATCH_S = 0.5
LOST_S = 5.0  # of silence
TIDY_S = 10.0  # from giving freed memory back to doing it again; takes 1 ms
STEPS = "native"  # the table of native steps
STOPPED = "recording_stopped"  # in a run's state: why its own recording has
NO_WORD = "its process died without a word"


class Phase(Enum):
    """The state of a live run, as a window sees it."""

    RUNNING = "running"
    PAUSED = "paused"
    LOST = "lost connection"
    ENDED = "ended"
    DIED = "died"

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self in (Phase.ENDED, Phase.DIED)


class LiveSource:
    """A run that is watched; see :class:`isoscope.core.recording.source.Source`.

    Where the tap records to a file on this machine, that file is read, with all of the
    run's history. Otherwise a mirror is, which begins at the joining. Where the file
    grows no more, `left` says so, and `onward` gives a source of what comes next.

    Parameters
    ----------
    run
        As found by `isoscope.core.live.discovery`.
    keep
        Where the mirror is to be kept; by default it is temporary.
    memory_bytes
        What may be kept in memory of what was read: half for values, of which the
        oldest are dropped and read again from the file when they are looked at, half
        for the columns of the steps, which lie in files beyond it.
    after
        What this one goes on after; what is missing between is told.

    Raises
    ------
    ReadError
        If the run can't be joined.
    UsageError, WriteError
        If the mirror's file can't be made.
    """

    def __init__(
        self,
        run: Run,
        *,
        keep: Path | None = None,
        overwrite: bool = False,
        memory_bytes: int = MEMORY_BYTES,
        after: LiveSource | None = None,
    ) -> None:
        give_back_freed()  # before there are threads
        self.run = run
        self._after = after
        self.told: dict[str, Any] = {}
        self.last_words = ""
        self.missed = 0
        self._phase = Phase.RUNNING
        self._stop = threading.Event()
        self._client = Client(run, data=False)
        self._mirror: Mirror | None = None
        try:
            self.welcome = self._join()
            self._stream = self.welcome.state.get("stream", 0)
            self._reader = self._open(keep, overwrite)
        except BaseException:
            self._client.close()
            raise
        self._spill = Spill(tempfile.gettempdir(), memory_bytes // 2)
        self.set_memory(memory_bytes)
        self._reader.spill_to(self._spill)
        self._here = self.welcome.host == process.host()
        self._indexing = threading.Lock()

    def _join(self) -> m.Welcome:
        deadline = time.monotonic() + ANSWER_S
        client = self._client
        while client.welcome is None and time.monotonic() < deadline:
            for message, _ in client.poll(POLL_S):
                if isinstance(message, m.Bye):
                    raise ReadError("joining", self.run.address, "the run just ended")
            if client.why_refused:
                raise ReadError("joining", self.run.address, client.why_refused)
        if client.welcome is None:
            problem = f"no run answered within {ANSWER_S:g} s"
            remedy = "see with isoscope attach which runs there are"
            if client.refused["version"]:
                problem, remedy = "a run of another version", "update isoscope there"
            raise ReadError("joining", self.run.address, problem, remedy=remedy)
        self.told = dict(client.welcome.state)
        return client.welcome

    def _open(self, keep: Path | None, overwrite: bool) -> LabelledSource:
        """The run's own file where it can be had, else a mirror."""
        welcome = self.welcome
        grows = welcome.record and not welcome.state.get(STOPPED)
        if grows and keep is None and welcome.host == process.host():
            with suppress(IsoscopeError, OSError):
                return LabelledSource(Path(welcome.record))
        self._mirror = Mirror(keep, overwrite=overwrite)
        # Only now: there is somebody to take it.
        self._client.close()
        self._client = Client(self.run)
        return self._mirror.reader

    # -- as a source --

    @property
    def path(self) -> Path:
        """The file that it is read from."""
        return self._reader.path

    @property
    def reader(self) -> LabelledSource:
        """What reads it."""
        return self._reader

    @property
    def recording(self) -> Recording:
        """The columnar recording; grows while `index` runs."""
        return self._reader.recording

    @property
    def event_count(self) -> int:
        """Native steps so far."""
        return self._reader.event_count

    @property
    def whole(self) -> bool:
        """Whether it has the run's history from before the joining, as far as known."""
        return self._mirror is None or (self._mirror.whole and not self._stream)

    @property
    def left(self) -> str:
        """Why nothing more of a run that goes on comes in here; empty while it does."""
        told = self.told
        if self._mirror is None or told.get("stream", 0) > self._stream:
            return str(told.get(STOPPED, ""))
        return ""

    def onward(self) -> LiveSource:
        """The same run from now on, as a mirror, for where this one is left.

        Raises
        ------
        ReadError, WriteError
            As the constructor.
        """
        memory_bytes = 2 * self._spill.memory_bytes  # as they were set
        return LiveSource(self.run, memory_bytes=memory_bytes, after=self)

    def preview(self, event: int | None = None) -> Recording | None:
        """Read one native step, as a recording of one row."""
        return self._reader.preview(event)

    def index(
        self, progress: Progress | None = None, cancelled: Cancel | None = None
    ) -> None:
        """Follow the run until it ends, calling `progress` as rows come.

        Raises
        ------
        CancelledError
            If `cancelled` said so, or it was closed.
        ReadError
            If its file can't be read on.
        """
        with self._indexing:
            try:
                self._reader.index(progress, cancelled)
                self._follow(progress, cancelled)
            except CancelledError:
                if not self._stop.is_set():  # what came stays, and is whole
                    self.recording.let_go = True
                    with suppress(IsoscopeError):
                        self._conclude(progress)
                raise
            finally:
                self._client.close()
            self._conclude(progress)
            if self._mirror is None and (self._phase is Phase.DIED or self.left):
                # Its own file says by itself that its writer is gone.
                self._refresh(progress, sure=True)

    def close(self) -> None:
        """Stop following. What was read stays usable, a temporary file does not."""
        self._stop.set()
        with self._indexing:
            self._client.close()
            if self._mirror is not None:
                self._mirror.discard()
            else:
                self._reader.close()

    # -- as a live one --

    @property
    def phase(self) -> Phase:
        """What state the run is in."""
        if self._phase is Phase.RUNNING and self.told.get("paused"):
            return Phase.PAUSED
        return self._phase

    @property
    def dropped(self) -> dict[str, int]:
        """Records that were not recorded, by kind, also those that we were slow for.

        What arrived and made no sense counts, too: as ``packets`` and ``messages``.
        """
        counts: dict[str, int] = {}
        for dropped in self._reader.labelled.dropped():
            counts[dropped.what] = counts.get(dropped.what, 0) + dropped.count
        if refused := sum(self.refused.values()):
            counts["messages"] = refused
        return counts

    @property
    def refused(self) -> dict[str, int]:
        """Messages that made no sense, by kind."""
        return dict(self._client.refused)

    @property
    def memory(self) -> Memory:
        """How much is kept in memory of what was read, and which rows are not."""
        store, spill = self._reader.store, self._spill
        columns = spill.mapped_bytes
        rows = len(self._reader.recording)
        spilled = rows_spilled(rows, columns, spill.memory_bytes)
        return Memory(
            store.cached_bytes + min(columns, spill.memory_bytes),
            store.cache_bytes + spill.memory_bytes,
            max(spilled, store.forgot.get(STEPS, 0)),
        )

    def set_memory(self, memory_bytes: int) -> None:
        """Keep so much in memory from now on; see the constructor."""
        self._reader.store.cache_bytes = memory_bytes // 2
        self._spill.memory_bytes = memory_bytes // 2

    @property
    def stopped(self) -> str:
        """Why nothing is recorded any more, the run's end aside; empty while it is."""
        return (self._mirror.stopped if self._mirror is not None else "") or self.left

    def control(
        self,
        what: str,
        answered: Callable[[bool, str], None] | None = None,
        **arguments: Any,
    ) -> None:
        """Ask something of the run: ``"pause"``, ``"resume"``, ``"step"``, ….

        Parameters
        ----------
        answered
            Called with whether it was done, and a message; from the following thread.
        """
        self._client.control(what, arguments, answered)

    # -- following --

    def _follow(self, progress: Progress | None, cancelled: Cancel | None) -> None:
        refresh = watch = tidied = time.monotonic()
        while not (self._phase.over or self.left):
            if self._stop.is_set() or (cancelled is not None and cancelled()):
                raise CancelledError(f"watching {self.run.address} was stopped")
            if self._mirror is not None and self._mirror.behind:
                time.sleep(POLL_S)  # the hub keeps what it may, and counts the rest
                self._refresh(progress)
                continue
            for message, packet in self._client.poll(POLL_S):
                self._take(message, packet)
            now = time.monotonic()
            if now - refresh >= REFRESH_S:
                refresh = now
                self._refresh(progress)
            if now - watch >= WATCH_S:
                watch = now
                self._watch()
            if now - tidied >= TIDY_S:
                tidied = now
                give_back_holes()

    def _take(self, message: m.Message, packet: Packet | None) -> None:
        if isinstance(message, m.Data) and packet is not None:
            self._take_data(message, packet)
        elif isinstance(message, m.State):
            self.told = message.state
        elif isinstance(message, m.Welcome):
            if message.run != self.welcome.run:
                self._over(Phase.DIED, "another run is at its address now")
            self.told = dict(message.state)
        elif isinstance(message, m.Bye):
            self._over(Phase.DIED if message.why else Phase.ENDED, message.why)
        if self._phase is Phase.LOST:
            self._phase = Phase.RUNNING

    def _take_data(self, message: m.Data, packet: Packet) -> None:
        if self._mirror is None or self.left:
            return
        self.missed += message.missed
        try:
            self._mirror.take(packet, message.missed)
        except PacketError as error:
            self._mirror.refuse(one_line(error))
        self._tell_between()
        self._client.credit(message.sequence)

    def _tell_between(self) -> None:
        """Record, once, what is missing between the source before and this one."""
        mirror, after = self._mirror, self._after
        if mirror is None or after is None or mirror.began is None:
            return
        self._after = None
        lost = 0 if self._stream else mirror.began - after.event_count
        between = f"; {lost:,} steps after that are missing" if lost > 0 else ""
        mirror.fail("recording", f"{after.left}{between}", row=0)

    def _watch(self) -> None:
        """Notice a run that ended without saying so."""
        if self._here and not process.alive(self.welcome.process, self.welcome.started):
            self._over(Phase.DIED, self._failure() or NO_WORD)
        elif self._client.silent_s > LOST_S:
            self._phase = Phase.LOST

    def _failure(self) -> str:
        """What the run told last of a failure."""
        with suppress(IsoscopeError):
            failures = self._reader.labelled.failures()
            if failures:
                return f"{NO_WORD}; before that: {failures[-1].message}"
        return ""

    def _over(self, phase: Phase, words: str) -> None:
        self._phase, self.last_words = phase, words

    def _conclude(self, progress: Progress | None) -> None:
        """Have all that came in the mirror, and how the run ended unless it told."""
        mirror = self._mirror
        if mirror is not None and self._phase is Phase.DIED:
            mirror.flush()
            self._refresh(progress)
            told = [failure.message for failure in self._reader.labelled.failures()]
            if self.last_words not in told:
                mirror.fail("run", self.last_words)
        if mirror is not None:
            mirror.finish()
        self._refresh(progress)

    def _refresh(self, progress: Progress | None, *, sure: bool = False) -> None:
        if self._reader.refresh(sure=sure) and progress is not None:
            count = len(self._reader.recording)
            progress(count, count)
