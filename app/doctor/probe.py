"""Run a few lines of Python, or a program, apart from this process and for so long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TIMEOUT_S = 30.0
SHOWN = 200  # characters of what a failed probe said

_lock = threading.Lock()
_running: set[subprocess.Popen[str]] = set()
_stopping = threading.Event()


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe said.

    Attributes
    ----------
    ok
        Whether it ended well.
    out
        Its standard output.
    why
        One line on why it did not end well.
    """

    ok: bool
    out: str
    why: str = ""


STOPPED = Probed(False, "", "stopped")


def run(command: Sequence[str], timeout_s: float = TIMEOUT_S) -> Probed:
    """Run a program to its end, or kill it and all that it started when time is up."""
    if _stopping.is_set():
        return STOPPED
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return Probed(False, "", one_line(error.strerror or error))
    with _lock:
        _running.add(process)
        if _stopping.is_set():
            _kill(process)
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _kill(process)
        out, _ = process.communicate()
        return Probed(False, out, f"no answer within {timeout_s:.0f} s")
    finally:
        with _lock:
            _running.discard(process)
    if process.returncode == 0:
        return Probed(True, out)
    return Probed(False, out, _why(process.returncode, err))


def run_python(
    code: str,
    timeout_s: float = TIMEOUT_S,
    *,
    python: str = sys.executable,
    before: Sequence[str] = (),
) -> Probed:
    """Run code in an interpreter (this one by default), by way of `before`."""
    return run([*before, python, "-c", code], timeout_s)


@contextmanager
def stopping_together() -> Iterator[None]:
    """Where the block is left by an error, kill what runs and begin nothing more.

    For probes in several threads: who leaves the block waits for no probe, whichever
    thread it runs in.
    """
    try:
        yield
    except BaseException:
        _stopping.set()
        with _lock:
            for process in _running:
                _kill(process)
        raise


def start_afresh() -> None:
    """Let probes be begun again."""
    _stopping.clear()


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _why(status: int, err: str) -> str:
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    said = one_line(lines[-1])[:SHOWN] if lines else ""
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"crashed ({name})" + (f": {said}" if said else "")
    return said or f"ended with status {status}"
