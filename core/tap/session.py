"""A tap's session: where adapters tell what they see, and hear what windows ask.

There is one in a process. In the one that made it a hub is behind it, in a worker
process of a vector environment a link to that hub; adapters see no difference.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from isoscope.core.errors import one_line
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.intake import Intake
from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

P = ParamSpec("P")
T = TypeVar("T")

BACKLOG_BYTES = 64 << 20  # beyond it records are refused and counted
MAX_COMMANDS = 64


class Outlet(Protocol):
    """What takes a session's records on: a hub or a link."""

    def state(self, state: dict[str, Any]) -> None:
        """Tell windows what state the run is in."""
        ...

    def lanes(self, environments: list[int]) -> None:
        """Say which environments this process has."""
        ...

    def close(self, why: str) -> None:
        """Take the rest on, and end. Returns within a second or so."""
        ...


class Command:
    """Something that a window asks for.

    Attributes
    ----------
    what
        ``"pause"``, ``"resume"``, ``"step"``, ``"speed"``, ``"snapshot"``, ``"fault"``,
        ``"stop"``, or another word that `TapSession.allow` was told.
    arguments
        By name.
    """

    __slots__ = ("_answer", "arguments", "what")

    def __init__(
        self,
        what: str,
        arguments: dict[str, Any],
        answer: Callable[[bool, str], None] | None = None,
    ) -> None:
        self.what = what
        self.arguments = arguments
        self._answer = answer

    def __repr__(self) -> str:
        return f"Command({self.what!r}, {self.arguments!r})"

    def done(self, message: str = "") -> None:
        """Tell the window that it was done."""
        self._tell(True, message)

    def refused(self, why: str) -> None:
        """Tell the window that it was not."""
        self._tell(False, why)

    def _tell(self, ok: bool, message: str) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer(ok, message)


class Guard:
    """Keeps what goes wrong in the tap away from the user's code.

    ``with session.guard:`` around a tap's own work, or ``@session.guard`` on a function
    that only does that; it then returns None where it failed.
    """

    __slots__ = ("_session",)

    def __init__(self, session: TapSession) -> None:
        self._session = session

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        # KeyboardInterrupt and SystemExit are the user's, whenever they come.
        if not isinstance(error, Exception):
            return False
        self.failed(error)
        return True

    def failed(self, error: Exception) -> None:
        """Take what went wrong, where ``with`` would take too long."""
        self._session.fault(_told(error))

    def __call__(self, work: Callable[P, T]) -> Callable[P, T | None]:
        """Guard a function; it is not called at all once the tap is off."""

        @functools.wraps(work)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> T | None:
            if not self._session.on:
                return None
            try:
                return work(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 the run goes on
                self._session.fault(_told(error))
                return None

        return guarded


class TapSession:
    """What adapters are given. All methods may be called from any thread.

    Parameters
    ----------
    name
        The run's title.
    snapshots_every
        Control steps between two snapshots of an environment; 0 for none.
    options
        Whatever else was given to `attach`, for adapters.
    backlog_bytes
        What may wait in memory to be taken on.

    Attributes
    ----------
    recorder
        Takes records; see `IntakeRecorder`. What is refused is counted.
    on
        False once the tap has turned itself off, was closed, or in a forked child:
        then nothing is to be told any more.
    guard
        A :class:`Guard`.
    stepped, begun
        By environment that is stepped by itself, the number of the transition that its
        last control step and its last reset were recorded as.
    """

    def __init__(
        self,
        *,
        name: str = "",
        snapshots_every: int = 50,
        options: dict[str, Any] | None = None,
        backlog_bytes: int = BACKLOG_BYTES,
    ) -> None:
        self.name = name
        self.snapshots_every = snapshots_every
        self.options = dict(options or {})
        self.on = True
        self.guard = Guard(self)
        self.recorder = IntakeRecorder(Intake(backlog_bytes, _nothing))
        self.allowed: tuple[str, ...] = ()
        self.snapshots_asked = 0  # by windows, or by the run itself
        self._obeys: tuple[str, ...] = ()  # what the run itself takes
        self._can_snapshot = False
        self.outlet: Outlet | None = None
        self.why_off = ""
        self.made: dict[int, weakref.ref[Any]] = {}  # by factories, to find twins
        self.stepped: dict[int, int] = {}
        self.begun: dict[int, int] = {}
        self._lock = threading.Lock()
        self._next_index = 0
        self._lanes: list[int] = []
        self._commands: deque[Command] = deque()
        self._state: dict[str, Any] = {}
        _sessions.add(self)

    # -- environments --

    def env_index(self, count: int = 1, index: int | None = None) -> int:
        """Numbers for `count` environments, in a row; returns the first.

        Parameters
        ----------
        index
            The first, where it is known; the numbers after it are free.
        """
        with self._lock:
            first = self._next_index if index is None else index
            self._next_index = max(self._next_index, first + count)
            return first

    def has(self, environments: list[int]) -> None:
        """Say that this process has these environments, for when it dies."""
        with self._lock:
            self._lanes = sorted({*self._lanes, *environments})
            if self.outlet is not None:
                self.outlet.lanes(self._lanes)

    # -- windows --

    def allow(self, *what: str) -> None:
        """Say which commands this run obeys; others are refused for it."""
        self._obeys = what
        self._tell_allowed()

    def takes_snapshots(self) -> None:
        """Say that an environment is tapped whose state can be kept when asked.

        ``"snapshot"`` is then obeyed by the tap itself, unless the run does.
        """
        if not self._can_snapshot:
            self._can_snapshot = True
            self._tell_allowed()

    def ask_snapshots(self) -> None:
        """Have every environment's state kept at the end of its next control step."""
        self.snapshots_asked += 1

    def _tell_allowed(self) -> None:
        ours = ("snapshot",) if self._can_snapshot else ()
        self.allowed = tuple(dict.fromkeys((*self._obeys, *ours)))
        self.tell(allowed=list(self.allowed))

    def commands(self) -> list[Command]:
        """What windows have asked for since, oldest first; never waits."""
        if not self._commands:
            return []
        out: list[Command] = []
        while self._commands:
            out.append(self._commands.popleft())
        return out

    def ask(self, command: Command) -> None:
        """Queue a command, or refuse it."""
        if not self.on or command.what not in self.allowed:
            command.refused(f"this run does not take the command {command.what!r}")
        elif command.what == "snapshot" and "snapshot" not in self._obeys:
            self.ask_snapshots()
            command.done("taken as each environment's control step ends")
        elif len(self._commands) >= MAX_COMMANDS:
            command.refused("the run has not taken the last commands yet")
        else:
            self._commands.append(command)

    def tell(self, **state: Any) -> None:
        """Tell windows the run's state, such as ``paused=True, speed=2.0``."""
        with self._lock:
            self._state |= state
            told = dict(self._state)
        if self.outlet is not None and self.on:
            self.outlet.state(told)

    @property
    def state(self) -> dict[str, Any]:
        """What was told last."""
        with self._lock:
            return dict(self._state)

    # -- the end --

    def fault(self, message: str) -> None:
        """Turn the tap off: say so once, record it, and let the run go on."""
        with self._lock:
            if not self.on:
                return
            self.on = False
            self.why_off = one_line(message)
        line = f"the tap turned itself off: {self.why_off}; the run goes on without it"
        self.say(line)
        failure = r.Failure("tap", self.why_off, wall_ns=time.time_ns())
        try:
            failure.row = self.recorder.rows
            self.recorder.failure(failure)
        except Exception:  # noqa: BLE001 it has been said already
            pass

    @staticmethod
    def say(line: str) -> None:
        """One line on standard error, if there is one."""
        try:
            sys.stderr.write(f"isoscope: {line}\n")
        except Exception:  # noqa: BLE001 a program may have closed it
            pass

    def file_stopped(self, line: str) -> None:
        """Say that the recording stopped early; the tap itself goes on."""
        self.say(line)
        self.tell(recording_stopped=line)

    def close(self, why: str = "") -> None:
        """End the session: what was told is taken on, windows and files are told."""
        with self._lock:
            self.on = False
            outlet, self.outlet = self.outlet, None
        if outlet is not None:
            outlet.close(why)
        self.recorder.intake.stop()

    def forked(self) -> None:
        """Be off, in a forked child: neither threads nor sockets came along."""
        self.on = False
        _abandoned.append(self.outlet)
        self.outlet = None
        self.allowed = self._obeys = ()
        self._lock = threading.Lock()
        self._commands = deque()
        intake = self.recorder.intake
        intake.lock = threading.RLock()  # some thread may have held the old one
        intake.stop()


def _told(error: BaseException) -> str:
    place = ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f" ({os.path.basename(code.co_filename)}:{trace.tb_lineno})"
        trace = trace.tb_next
    return f"{type(error).__name__}: {error}{place}"


def _nothing() -> None:
    pass


_sessions: weakref.WeakSet[TapSession] = weakref.WeakSet()
_abandoned: list[Any] = []  # in a forked child: never to be touched, nor to be deleted


def _forked() -> None:
    for session in list(_sessions):
        session.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
