"""Watch a live run from a worker thread: what came is posted, a little at a time.

Whatever is read is read here; the GUI thread gets plain columns. Where it is slow to
take them, the next ones wait in the recording and not in its queue.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Protocol, cast

from isoscope.app.live_audit import FollowedAudit
from isoscope.core.errors import IsoscopeError
from isoscope.core.following.feed import Feed
from isoscope.widgets.live_state import FaultChoice, LiveState

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from isoscope.app.workers import Job
    from isoscope.core.following.feed import News
    from isoscope.core.live.memory import Memory
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.source import Source
    from isoscope.widgets.document import Document

LOOK_S = 0.2  # how often it is looked how the run stands
WAITING = 1  # news that the GUI thread may owe: it takes one a turn of its loop
PATIENCE_S = 30.0  # for it to take the last ones


class LiveRun(Protocol):
    """A source that follows a run; `isoscope.core.live.source.LiveSource` is one."""

    told: dict[str, Any]
    last_words: str

    @property
    def phase(self) -> Any:
        """In which state the run is; an enum whose names `LiveState` knows."""
        ...

    @property
    def whole(self) -> bool:
        """Whether it has the run's history from before the joining."""
        ...

    @property
    def dropped(self) -> dict[str, int]:
        """Records that were not recorded, by kind."""
        ...

    @property
    def stopped(self) -> str:
        """Why nothing is recorded any more, the run's end aside."""
        ...

    @property
    def left(self) -> str:
        """Why nothing more of a run that goes on comes in here; or empty."""
        ...

    def onward(self) -> Source:
        """The run from now on, where this one is left."""
        ...

    @property
    def memory(self) -> Memory:
        """How much is kept in memory of what was read."""
        ...

    def set_memory(self, memory_bytes: int) -> None:
        """Keep so much in memory from now on."""
        ...

    def control(
        self,
        what: str,
        answered: Callable[[bool, str], None] | None = None,
        **arguments: Any,
    ) -> None:
        """Ask something of the run."""
        ...


def live_run(source: object) -> LiveRun | None:
    """The source as a run that can be followed; None for a file's."""
    return cast("LiveRun", source) if hasattr(source, "control") else None


class Following:
    """One run being watched; but for the constructor all is the worker's.

    Parameters
    ----------
    document
        Whose source is followed; it is only touched by what is posted.
    job
        What posts.
    take
        Takes news in, in the GUI thread, and calls what it is given once it has.
    every_s
        Gives how long it is at least from reading news to reading more.
    """

    def __init__(
        self,
        document: Document,
        job: Job[None],
        take: Callable[[News, Callable[[], None]], None],
        every_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.document, self.job = document, job
        self._take, self._every_s = take, every_s
        self._read_s = float("-inf")  # when news were read last
        self._feed = Feed(document.source.recording)
        self._audit = FollowedAudit(document.source.recording)
        self._owed = 0
        self._behind = (
            False  # whether something came that the GUI thread had no time for
        )
        self._lock = threading.Lock()
        self._looked = 0.0
        self._state: LiveState | None = None
        self._dropped: tuple[tuple[str, int], ...] = ()
        self._dropped_at = -1.0

    def progress(self, _done: int, _total: int) -> None:
        """Post what has come."""
        self._behind = True
        now = time.monotonic()
        if now - self._read_s < self._every_s():
            return  # `cancelled`, which is asked often, comes back to it
        self._read_s = now
        while self._owed < WAITING:
            news = self._feed.news()
            self._post(news)
            if not news.more:
                self._behind = False
                return

    def cancelled(self) -> bool:
        """Whether to stop; looks how the run stands, too."""
        if self._behind:
            self.progress(0, 0)
        if time.monotonic() - self._looked >= LOOK_S:
            self.look()
            self._check()
        return self.job.cancelled()

    def _check(self) -> None:
        """Post what is wrong so far, if that is new."""
        audit = self._audit.look()
        if audit is not None:
            document = self.document
            self.job.post(lambda: document.set_live_audit(audit))

    def finish(self) -> None:
        """Post all that is left, and how the run ended."""
        rest(self._feed, self._post, self.job, lambda: self._owed)
        self._dropped_at = -1.0
        self.look()

    def look(self) -> None:
        """Post how the run stands, if that is new."""
        self._looked = time.monotonic()
        source = live_run(self.document.source)
        if source is None:
            return
        state = self._standing(source)
        if state != self._state:
            self._state = state
            document = self.document
            self.job.post(lambda: document.set_live(state))

    def _standing(self, source: LiveRun) -> LiveState:
        now = time.monotonic()
        if now - self._dropped_at > 1.0:
            self._dropped_at = now
            try:
                self._dropped = tuple(sorted(source.dropped.items()))
            except IsoscopeError:
                pass  # it can't be read just now
        told = source.told
        return LiveState(
            state=_STATES.get(source.phase.name, "running"),
            last_words=source.last_words,
            dropped=self._dropped,
            allowed=tuple(str(word) for word in told.get("allowed", ())),
            speed=_number(told.get("speed")),
            paced_hz=_number(told.get("paced_hz")),
            achieved_hz=_number(told.get("achieved_hz")),
            faults=_faults(told.get("faults")),
            whole=source.whole,
            stopped=source.stopped,
            refused=_count(told.get("refused")),
            memory=source.memory,
        )

    def _post(self, news: News) -> None:
        with self._lock:
            self._owed += 1

        def taken() -> None:
            with self._lock:
                self._owed -= 1

        self.job.post(lambda: self._take(news, taken))


def _count(said: Any) -> int:
    """The sum of what a run counted by kind."""
    counts = said.values() if isinstance(said, dict) else ()
    return sum(count for count in counts if isinstance(count, int))


def _number(said: Any) -> float | None:
    return float(said) if isinstance(said, int | float) else None


def _faults(said: Any) -> tuple[FaultChoice, ...]:
    """What a run says of the faults that it takes; it may be any other program."""
    listed = said if isinstance(said, list) else []
    return tuple(
        FaultChoice(
            str(one["name"]),
            str(one.get("about", "")),
            tuple(str(kind) for kind in one.get("finds", ())),
        )
        for one in listed
        if isinstance(one, dict) and "name" in one
    )


_STATES: dict[str, Any] = {
    "RUNNING": "running",
    "PAUSED": "paused",
    "LOST": "lost",
    "ENDED": "ended",
    "DIED": "died",
}


def tell_all(recording: Recording, document: Document, job: Job[None]) -> None:
    """Post all that a labelled recording tells that is no longer written."""
    if recording.labelled is None:
        return
    owed = [0]

    def post(news: News) -> None:
        owed[0] += 1

        def take() -> None:
            owed[0] -= 1
            document.take(news)

        job.post(take)

    rest(Feed(recording), post, job, lambda: owed[0])


def rest(
    feed: Feed, post: Callable[[News], None], job: Job[None], owed: Callable[[], int]
) -> None:
    """Post everything that is left, not faster than it is taken."""
    news = feed.news()
    post(news)
    until_s = time.monotonic() + PATIENCE_S
    while news.more and not job.cancelled():
        if owed() < WAITING:
            news = feed.news()
            post(news)
            until_s = time.monotonic() + PATIENCE_S
        elif time.monotonic() > until_s:
            return  # the window hangs, or is closing
        else:
            time.sleep(0.005)
