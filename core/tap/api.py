"""What users call: attach, factory, stream, detach. One session a process."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

from isoscope.core.errors import UsageError, one_line
from isoscope.core.recording.labelled import records as r
from isoscope.core.tap.keys import Keys, new_keys
from isoscope.core.tap.session import TapSession

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.core.tap.factories import Ticket

Env = TypeVar("Env")

__all__ = ["Keys", "attach", "current", "detach", "factory", "new_keys", "stream"]

_lock = threading.RLock()
_session: TapSession | None = None
_hub_pid = -1


def attach(
    env: Env,
    record: str | Path | None = None,
    name: str | None = None,
    address: str | None = None,
    *,
    overwrite: bool = False,
    snapshots_every: int = 50,
    keys: Keys | None = None,
    index: int | None = None,
    **options: Any,
) -> Env:
    """Watch an environment; returns it wrapped, to go on with in its place.

    Parameters
    ----------
    env
        A Gymnasium `Env` or `VectorEnv`, a SuperDex `MochiEnv`, or one of Isoscope's.
        A vector environment whose processes should be seen from inside gets
        `factory` around its factories instead, or as well.
    record
        A file, ``*.isoscope.h5``, that gets all of it. One a process.
    name
        The run's title; by default the program's name.
    address
        Where windows connect, ``"tcp://HOST:PORT"``; by default a free port of this
        machine alone. Any other machine's needs `keys`.
    overwrite
        Whether `record` may replace a file.
    snapshots_every
        Control steps between two snapshots of an environment; 0 for none.
    keys
        See `new_keys`.
    index
        The environment's number; by default the next one.
    **options
        For the adapter.

    Raises
    ------
    UsageError, WriteError
        If these arguments can't be followed. Later nothing is raised: a tap that fails
        turns itself off, and says so once.
    """
    session = _open(
        *(record, name, address, overwrite, keys),
        snapshots_every=snapshots_every,
        options=options,
    )
    return tap_with(session, env, index)


def factory(
    make_env: Callable[..., Env],
    record: str | Path | None = None,
    name: str | None = None,
    address: str | None = None,
    *,
    overwrite: bool = False,
    snapshots_every: int = 50,
    keys: Keys | None = None,
    index: int | None = None,
    **options: Any,
) -> Callable[..., Env]:
    """Wrap a factory for a vector environment; its process watches what it makes.

    Call it once for each environment, in their order: environment g is the one whose
    factory was wrapped as the g-th, unless `index` says otherwise::

        envs = HybridVectorEnv([tap.factory(make_env) for _ in range(64)])

    The result can be pickled if `make_env` can. The environment that the vector
    environment makes in this process only to look at its spaces isn't recorded: what
    is never reset or stepped is never told. Parameters as for `attach`.

    Raises
    ------
    UsageError, WriteError
        If these arguments can't be followed.
    """
    from isoscope.core.tap.adapters.run import of
    from isoscope.core.tap.factories import wrap_factory

    session = _open(
        *(record, name, address, overwrite, keys),
        snapshots_every=snapshots_every,
        options=options,
    )
    number = session.env_index(index=index)
    with session.guard:  # here: a worker that gets it by value knows no source of it
        of(session).came_from(make_env)
        of(session).origin(make_env)
        of(session).tell()
    return wrap_factory(make_env, _ticket(session), number)


def stream(
    name: str,
    capture_id: int,
    capture_time: float,
    read_time: float,
    data: Any,
    *,
    env: int = -1,
    keep: bool = True,
) -> None:
    """Tell a sample of a sensor, a camera's frame say; nothing without a tap.

    Parameters
    ----------
    name
        The stream's.
    capture_id
        The sensor's own count.
    capture_time, read_time
        Seconds, by the clock of the environment or any other; NaN where unknown.
    data
        An array or bytes; None to tell only that there was one.
    env
        Whose; -1 for nobody's.
    keep
        Whether to keep the data; otherwise only its digest.
    """
    session = current()
    if session is None or not session.on:
        return
    with session.guard:
        session.recorder.stream(
            r.StreamSample(
                name,
                capture_id,
                float(capture_time),
                float(read_time),
                env,
                session.recorder.rows - 1,
                time.time_ns(),
                data,
                keep,
            )
        )


def detach() -> None:
    """End this process's tap: files are closed, windows told. Also done at exit."""
    global _session
    with _lock:
        session, _session = _session, None
    if session is not None:
        session.close()


def current() -> TapSession | None:
    """Return the session of this process, if there is one."""
    return _session


def tap_with(session: TapSession, env: Env, index: int | None) -> Env:
    """Wrap an environment by its adapter; itself, if the tap can't.

    Raises
    ------
    UsageError
        If no adapter knows environments of its kind.
    """
    from isoscope.core.tap.adapters import adapter_for

    if not session.on:
        return env
    adapter = adapter_for(env)
    with session.guard:
        wrapped: Env = adapter.wrap(env, session, index)
        return wrapped
    return env


def join(ticket: Ticket, make: Callable[[Ticket], TapSession]) -> TapSession:
    """Return the session of this process; made by `make` if there is none."""
    global _session
    with _lock:
        session = _session
        if session is None:
            session = _session = make(ticket)
            _at_exit(session)
        return session


def _open(
    record: str | Path | None,
    name: str | None,
    address: str | None,
    overwrite: bool,
    keys: Keys | None,
    *,
    snapshots_every: int,
    options: dict[str, Any],
) -> TapSession:
    """The process's session; made by the first call, which says where all goes."""
    global _session
    from isoscope.core.tap.hub import Hub

    with _lock:
        session = _session
        if session is not None:
            hub = session.outlet
            same = record is None or (isinstance(hub, Hub) and hub.records_to(record))
            if same and (address is None or getattr(hub, "wanted", None) == address):
                return session
            raise UsageError(
                "tapping: this process has a tap already, and one tap has one file "
                "and one address; call tap.detach() first, or leave both out"
            )
        title = name or os.path.basename(sys.argv[0] or "") or "python"
        session = TapSession(
            name=title, snapshots_every=snapshots_every, options=options
        )
        session.outlet = Hub.start(
            session, record=record, overwrite=overwrite, address=address, keys=keys
        )
        _session = session
        _at_exit(session)
        return session


def _ticket(session: TapSession) -> Ticket | None:
    from isoscope.core.tap.hub import Hub

    hub = session.outlet
    return hub.ticket() if isinstance(hub, Hub) else None


def _at_exit(session: TapSession) -> None:
    pid = os.getpid()

    def end() -> None:
        if os.getpid() == pid:
            session.close(_last_words(session))

    atexit.register(end)
    # Processes of multiprocessing that were forked end without atexit.
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, end, exitpriority=10)


def _last_words(session: TapSession) -> str:
    """What ended the program, if it was an exception; it is recorded, too."""
    error = getattr(sys, "last_value", None)
    if error is None or hasattr(sys, "ps1") or not session.on:
        return ""
    words = one_line(f"{type(error).__name__}: {error}").removesuffix(":")
    with session.guard:
        session.recorder.failure(r.Failure("program", words, wall_ns=time.time_ns()))
    return words


def _forked() -> None:
    global _session, _lock
    _lock = threading.RLock()
    _session = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
