"""Work that takes longer than a frame, in threads, with progress and cancel.

A job runs in a worker thread; whatever it has to say arrives in the GUI thread through
one queued signal, in order. A job that was dropped says nothing more, so a late answer
to a question that nobody asks any longer is never heard.
"""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot

from isoscope.app.collector import Collector

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

QUICK_THREADS = 1  # first looks at files: short, and HDF5 has one lock anyway
LONG_THREADS = 2
PROGRESS_EVERY_S = 0.05
SWITCH_S = 0.0003  # Python's own is 5 ms
MOST_LASTING = 64  # whose threads are waited for in the end


class Job(Generic[T]):
    """One piece of work and whether anyone still wants it.

    `fn` gets the job, asks :attr:`cancelled` between blocks, and may call
    :meth:`progress`; it runs in a worker thread. The rest belongs to the GUI thread.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._cancelled = threading.Event()
        self._dropped = False
        self._told_at = 0.0
        self.future: Future[T] | None = None
        self.on_progress: Callable[[int, int], None] | None = None

    @property
    def running(self) -> bool:
        """Whether it has still to say how it ended."""
        return self.future is not None and not self._dropped

    @property
    def over(self) -> bool:
        """Whether it neither runs nor has anything to say any more."""
        return not self.running and (self.future is None or self.future.done())

    def cancelled(self) -> bool:
        """Whether it should stop; asked from the worker thread."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Ask it to stop. It still says how it ended."""
        self._cancelled.set()

    def drop(self) -> None:
        """Ask it to stop, never begin it if it waits, and listen no longer."""
        self._dropped = True
        self._cancelled.set()
        if self.future is not None:
            self.future.cancel()

    def progress(self, done: int, total: int) -> None:
        """Say how far it is; from the worker thread, as often as it likes."""
        now = time.monotonic()
        if now - self._told_at < PROGRESS_EVERY_S or self.on_progress is None:
            return
        self._told_at = now
        tell = self.on_progress
        self.post(lambda: tell(done, total))

    def post(self, message: Callable[[], None]) -> None:
        """Have this called in the GUI thread, unless the job was dropped by then."""
        self._workers.posted.emit(self, message)

    def deliver(self, message: Callable[[], None]) -> None:
        """Call it, if anyone still listens; in the GUI thread."""
        if not self._dropped:
            message()

    def if_never_begun(self, undo: Callable[[], None]) -> None:
        """Have this called, from any thread, if the work is dropped while it waits."""
        if self.future is not None:
            self.future.add_done_callback(lambda f: undo() if f.cancelled() else None)

    def end(self) -> None:
        """Nothing more comes."""
        self._dropped = True


class Workers(QObject):
    """The threads, and the one signal by which they reach the GUI thread."""

    posted = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._quick = ThreadPoolExecutor(QUICK_THREADS, "isoscope-quick")
        self._long = ThreadPoolExecutor(LONG_THREADS, "isoscope-long")
        self._lasting: list[ThreadPoolExecutor] = []
        self._jobs: list[Job[Any]] = []
        self._closed = False
        # Where a thread computes, the GUI thread waits so long for its turn, each time
        # that it has called Qt.
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        self._collector = Collector(self)
        self.posted.connect(self._on_posted, Qt.ConnectionType.QueuedConnection)

    def start(
        self,
        fn: Callable[[Job[T]], T],
        on_done: Callable[[T], None],
        on_failed: Callable[[BaseException], None],
        on_progress: Callable[[int, int], None] | None = None,
        *,
        quick: bool = False,
        lasting: bool = False,
    ) -> Job[T]:
        """Run `fn` in a worker thread and hear of it in this one.

        Parameters
        ----------
        fn
            The work.
        on_done, on_failed
            Called with its result, or with what it raised; exactly one of them, unless
            the job is dropped.
        on_progress
            Called with (done, total), at most twenty times a second.
        quick
            Whether it takes milliseconds; it then doesn't wait for long work.
        lasting
            Whether it goes on as long as something else does: it gets a thread of its
            own, and keeps no other work waiting.
        """
        job: Job[T] = Job(self)
        job.on_progress = on_progress

        def arrived(future: Future[T]) -> None:
            job.end()
            error = future.exception()
            if error is None:
                on_done(future.result())
            else:
                on_failed(error)

        self._jobs = [j for j in self._jobs if not j.over]
        self._jobs.append(job)
        pool = self._quick if quick else self._long
        if lasting:
            pool = ThreadPoolExecutor(1, "isoscope-lasting")
            self._lasting = [*self._lasting[-MOST_LASTING:], pool]
        job.future = pool.submit(fn, job)
        job.future.add_done_callback(lambda future: job.post(lambda: arrived(future)))
        if lasting:
            pool.shutdown(wait=False)  # its thread ends with the work
        return job

    @property
    def busy(self) -> bool:
        """Whether any job has still to say how it ended."""
        return any(job.running for job in self._jobs)

    @Slot(object, object)
    def _on_posted(self, job: Job[Any], message: Callable[[], None]) -> None:
        if not self._closed:
            job.deliver(message)

    def close(self, timeout_s: float = 10.0) -> bool:
        """Stop every job and end the threads; returns whether all ended in time."""
        self._closed = True
        for job in self._jobs:
            job.drop()
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._long.shutdown(wait=False, cancel_futures=True)
        futures = [job.future for job in self._jobs if job.future is not None]
        # A future that was cancelled before it ran never counts as done in `wait`.
        running = [future for future in futures if not future.cancelled()]
        ended = not wait(running, timeout_s).not_done
        self._collector.release()
        sys.setswitchinterval(self._switch_s)
        if ended:
            self._quick.shutdown(wait=True)
            self._long.shutdown(wait=True)
            for pool in self._lasting:
                pool.shutdown(wait=True)
        return ended
