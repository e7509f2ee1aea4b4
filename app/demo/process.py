"""A demo's worker process as its starter sees it: begun, joined, heard last, ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress

import msgspec

from isoscope.app.demo.live_settings import Hello, LiveDemo, to_line
from isoscope.core.errors import IsoscopeError

LAST_LINES = 200  # of what it said, kept
POLITE_S = 2.0  # to end by itself


class DemoProcess:
    """One worker process. Its methods may be called from any thread.

    Whatever becomes of this process, the worker ends: it holds the other end of its
    standard input. `stop` is for not waiting that long.

    Parameters
    ----------
    demo
        What to run.

    Raises
    ------
    IsoscopeError
        If no process can be started.
    """

    def __init__(self, demo: LiveDemo) -> None:
        self.demo = demo
        self.stopped = False  # by us
        command = [sys.executable, "-m", "isoscope.app.demo.worker"]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl+C in a terminal is the window's, which then ends the worker
                start_new_session=True,
            )
        except OSError as error:
            why = error.strerror or str(error)
            raise IsoscopeError(f"starting the demo's process: {why}") from None
        self._said: deque[str] = deque(maxlen=LAST_LINES)
        self._ear = threading.Thread(
            target=self._listen, name="isoscope-demo-ear", daemon=True
        )
        self._ear.start()
        with suppress(OSError):  # it is gone: `joinable` says why
            assert self._process.stdin is not None
            self._process.stdin.write(to_line(demo))
            self._process.stdin.flush()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def joinable(self) -> str:
        """Wait until it can be joined; gives its address.

        Raises
        ------
        IsoscopeError
            If it ends before that; with what it said last.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        try:
            return msgspec.json.decode(line, type=Hello).address
        except msgspec.MsgspecError:
            pass
        self.wait(POLITE_S)
        if self.stopped:
            raise IsoscopeError("starting the demo was stopped")
        raise IsoscopeError(f"starting the demo: {self.ended}")

    def _listen(self) -> None:
        """Keep what it says on standard error, and say it on."""
        stream = self._process.stderr
        assert stream is not None
        for raw in stream:
            line = raw.decode("utf-8", "replace").rstrip()
            self._said.append(line)

    @property
    def last_words(self) -> str:
        """What it said at last, over several lines; whole only once it has ended."""
        if not self.running:
            self._ear.join(POLITE_S)
        return "\n".join(self._said)

    @property
    def crashed(self) -> bool:
        """Whether it ended otherwise than it should."""
        code = self._process.poll()
        return code is not None and code != 0 and not self.stopped

    @property
    def ended(self) -> str:
        """How it ended, in a line; the last of its last words with it."""
        code = self._process.poll()
        if code is None:
            return "it is running"
        words = [line for line in self.last_words.splitlines() if line.strip()]
        said = f": {words[-1].strip()}" if words else ""
        if code < 0:
            with suppress(ValueError):
                return f"its process was ended by {signal.Signals(-code).name}{said}"
        return f"its process ended with status {code}{said}"

    def begin(self) -> None:
        """Tell it to begin, where it waits for that."""
        stdin = self._process.stdin
        if stdin is not None:
            with suppress(OSError, ValueError):  # it is gone, or was stopped
                stdin.write(b"begin\n")
                stdin.flush()

    def stop(self) -> None:
        """Ask it to end, without waiting."""
        self.stopped = True
        stdin = self._process.stdin
        if stdin is not None:
            with suppress(OSError):
                stdin.close()

    def wait(self, timeout_s: float = POLITE_S) -> bool:
        """Wait until it has ended; whether it has."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self, timeout_s: float = POLITE_S) -> None:
        """End it, by force if it doesn't of itself; waits for that."""
        self.stop()
        if not self.wait(timeout_s):
            self._process.kill()
            self._process.wait()
        self._ear.join(POLITE_S)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
