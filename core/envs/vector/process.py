"""One worker's process as seen from here: its pipes, its last words, its end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from isoscope.core.envs.vector.errors import VectorEnvError, listed
from isoscope.core.envs.vector.worker import DUMP_SIGNAL, THREADS_VARIABLE, run_worker
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

NAME = "isoscope-vector-worker-"
NO_GUARD_STATUS = 78  # a worker that found itself importing the script that makes it
WORDS_KEPT = 16384  # bytes
MOST_READS = 64
STACK_WAIT_S = 5.0
STACK_FOLLOWS = "(most recent call first):"
STACK_PAUSE_S = 0.1  # between its lines
THREAD_VARIABLES = (
    THREADS_VARIABLE,
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
GUARD = (
    "starting the workers: the script makes them while it is being imported, so each "
    "would make workers again; put what the script does under "
    '`if __name__ == "__main__":`'
)
_environment_lock = threading.Lock()


def refuse_while_importing() -> None:
    """Stop a process that multiprocessing is still importing the main module of.

    Raises
    ------
    SystemExit
        In one of our workers; the process that started it says why, once.
    VectorEnvError
        In somebody else's.
    """
    process = multiprocessing.current_process()
    if getattr(process, "_inheriting", False):
        if process.name.startswith(NAME):
            raise SystemExit(NO_GUARD_STATUS)
        raise VectorEnvError(GUARD)


class WorkerProcess:
    """A spawned worker.

    Attributes
    ----------
    number
        p.
    rows
        The global indices of its environments.
    pipe, words
        Where it answers, and what it writes to its standard error.
    owed
        How many answers it has not given yet.
    gone
        Whether it can't be asked any more.
    begun
        Whether its environments were made.
    """

    def __init__(self, number: int, rows: range, threads: int | None) -> None:
        self.number = number
        self.rows = rows
        self.owed = 0
        self.gone = False
        self.begun = False
        self._tail = bytearray()
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.words, their_words = context.Pipe(duplex=False)
        self.process = context.Process(
            target=run_worker,
            args=(theirs, their_words),
            name=f"{NAME}{number}",
            daemon=True,
        )
        try:
            with _thread_variables(threads):
                self.process.start()
        except BaseException as error:
            self.pipe.close()
            self.words.close()
            if isinstance(error, (AssertionError, OSError)):
                raise VectorEnvError(
                    f"starting worker {number}: {one_line(error)}; take fewer workers, "
                    "or none"
                ) from error
            raise
        finally:
            # or the end of the process would not be seen here
            theirs.close()
            their_words.close()

    @property
    def last_words(self) -> str:
        """The end of what it wrote to its standard error."""
        return self._tail.decode(errors="replace").strip()

    def send(self, message: bytes) -> None:
        """Ask; an answer is owed from then on."""
        self.owed += 1
        self.pipe.send_bytes(message)

    def hear(self) -> bool:
        """Take what it wrote, pass it on, keep its end; false if nothing comes."""
        try:
            heard = os.read(self.words.fileno(), 1 << 16)
        except OSError:
            return False
        self._tail += heard
        del self._tail[:-WORDS_KEPT]
        if heard and sys.stderr is not None:
            with suppress(OSError, ValueError):
                sys.stderr.write(heard.decode(errors="replace"))
                sys.stderr.flush()
        return bool(heard)

    def hear_all(self) -> None:
        """Take everything that is there, without waiting for more."""
        with suppress(OSError):
            for _ in range(MOST_READS):  # somebody may write for ever
                if not (self.words.poll(0) and self.hear()):
                    return

    def has_ended(self) -> bool:
        """Whether the process is no more."""
        return self.process.exitcode is not None

    def ask_for_stack(self) -> None:
        """Make a hung worker write where it is to its standard error."""
        if DUMP_SIGNAL is None or self.process.pid is None:
            return
        self.hear_all()
        with suppress(OSError):
            os.kill(self.process.pid, DUMP_SIGNAL)
            wait_s, end = STACK_WAIT_S, time.monotonic() + STACK_WAIT_S
            while self.words.poll(wait_s) and self.hear():
                wait_s = STACK_PAUSE_S
                if time.monotonic() > end:  # it may write for ever
                    return

    def end(self, grace_s: float) -> None:
        """Let it end; make it, where it doesn't. Closes the pipes."""
        self.gone = True
        self.process.join(grace_s)
        for stop in (self.process.terminate, self.process.kill):
            if self.process.exitcode is None:
                stop()
                self.process.join(1.0 if stop == self.process.terminate else None)
        self.hear_all()
        self.pipe.close()
        self.words.close()

    def how_it_ended(self) -> str:
        """Say what became of the process."""
        status = self.process.exitcode
        if status is None:
            return "stopped answering"
        if status < 0:
            try:
                name = signal.Signals(-status).name
            except ValueError:
                name = f"signal {-status}"
            hint = " (killed, or out of memory)" if name == "SIGKILL" else ""
            return f"was ended by {name}{hint}"
        return f"ended by itself with status {status}"

    def described(self, lane: int) -> str:
        """Name it, its environments, how it ended, and the lane it was in."""
        where = "" if lane < 0 else f" in environment {self.rows[lane]}"
        early = "" if self.begun else " before its environments were made"
        return (
            f"worker {self.number} ({listed(self.rows)}) {self.how_it_ended()}"
            f"{where}{early}"
        )


@contextmanager
def _thread_variables(threads: int | None) -> Iterator[None]:
    """Set how many threads libraries take, for a process that starts meanwhile.

    They read it when they are imported, which may be before any code of ours runs.
    """
    if threads is None:
        yield
        return
    with _environment_lock:
        before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def telling(words: str) -> str:
    """Give the line of a worker's last words that says most.

    Of a dump of Python's stack that is what it was about and its innermost place, which
    comes first; otherwise it is the last line.
    """
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    if not lines:
        return "none"
    dumps = [at for at, line in enumerate(lines) if line.endswith(STACK_FOLLOWS)]
    if not dumps or dumps[-1] + 1 == len(lines):
        return lines[-1]
    about = [line for line in lines if line.startswith("Fatal Python error")][-1:]
    return " ".join([*about, lines[dumps[-1] + 1]])


def received(pipe: Connection) -> bytes | None:
    """Take one answer; None if the other side is gone."""
    try:
        return pipe.recv_bytes()
    except (EOFError, OSError):
        return None
