"""Has a recording stepped again by a process of its own, and waits for what it says."""

from __future__ import annotations

import queue
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING

import msgspec

from isoscope.app.alone.messages import Ask, Found, Said, Share
from isoscope.core.errors import CancelledError, IsoscopeError
from isoscope.core.replay.worker.framing import StreamError, receive, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.core.isolation.findings import Audit

COMMAND = (sys.executable, "-m", "isoscope.app.alone.child")
LOOK_EVERY_S = 0.1
POLITE_S = 2.0
DOING = "stepping environments again alone"


def step_alone(
    path: Path,
    substeps: int | None,
    progress: Callable[[float], None],
    cancelled: Callable[[], bool],
    command: tuple[str, ...] = COMMAND,
) -> Audit:
    """Step a recording's environments again, each alone; call it from a worker thread.

    Parameters
    ----------
    path
        The recording.
    substeps
        M, where the user says it.
    progress
        Told how far it is, 0 to 1.
    cancelled
        Asked some times a second.
    command
        What is started.

    Returns
    -------
    Audit
        Of the one check that asks for it.

    Raises
    ------
    CancelledError
        If `cancelled` said so; the process has ended then.
    IsoscopeError
        If it can't be started, refuses, or ends without an answer.
    """
    with tempfile.TemporaryFile() as words:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                start_new_session=True,  # Ctrl+C in a terminal is the window's
            )
        except OSError as error:
            why = error.strerror or str(error)
            raise IsoscopeError(f"{DOING}: starting a process: {why}") from None
        ear = Ear(process)
        try:
            _ask(process, Ask(str(path), substeps))
            found = _hear(ear, progress, cancelled)
        finally:
            _end(process)
            ear.close()
        if found is not None:
            return found
        raise IsoscopeError(f"{DOING}: {_last_words(words, process.returncode)}")


def _ask(process: subprocess.Popen[bytes], ask: Ask) -> None:
    assert process.stdin is not None
    with suppress(OSError):  # it is gone: what it said tells why
        send(process.stdin, msgspec.msgpack.encode(ask))


class Ear:
    """Listens to a process, so that whoever waits for it can look up meanwhile.

    Attributes
    ----------
    heard
        What it said, in order; None where it says no more.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self.heard: queue.SimpleQueue[Said | None] = queue.SimpleQueue()
        self._stream = process.stdout
        self._thread = threading.Thread(
            target=self._listen, name="isoscope-alone-ear", daemon=True
        )
        self._thread.start()

    def _listen(self) -> None:
        try:
            while (data := receive(self._stream)) is not None:
                self.heard.put(msgspec.msgpack.decode(data, type=Said))
        except (OSError, StreamError, msgspec.MsgspecError):
            pass
        self.heard.put(None)

    def close(self) -> None:
        """Listen no longer; after the process has ended."""
        self._thread.join(POLITE_S)
        if not self._thread.is_alive():
            self._stream.close()


def _hear(
    ear: Ear, progress: Callable[[float], None], cancelled: Callable[[], bool]
) -> Audit | None:
    """What it found; None where it ended without an answer."""
    while True:
        if cancelled():
            raise CancelledError(f"{DOING} was stopped")
        try:
            said = ear.heard.get(timeout=LOOK_EVERY_S)
        except queue.Empty:
            continue
        if said is None:
            return None
        if isinstance(said, Share):
            progress(said.done)
        elif isinstance(said, Found):
            return said.audit
        else:
            raise IsoscopeError(said.why)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let it go, which ends it; and see to it that it does."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(POLITE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_words(words: IO[bytes], code: int | None) -> str:
    words.seek(0)
    said = words.read().decode("utf-8", "replace").strip().splitlines()
    last = f": {said[-1]}" if said else ""
    return f"the process ended with status {code} and no answer{last}"
