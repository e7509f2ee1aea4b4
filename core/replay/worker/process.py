"""A process in another interpreter that answers messages, watched until it ends."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
from collections import deque
from contextlib import suppress
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from isoscope.core.errors import one_line
from isoscope.core.replay.engine import ReplayError
from isoscope.core.replay.worker.framing import StreamError, receive, send

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

END_S = 2.0
LAST_LINES, SHOWN = 40, 300  # of what it said, kept and told


class Worker:
    """The process, with its three pipes.

    Parameters
    ----------
    command
        What is started.
    environ
        Its environment.
    name
        What to call it, in messages.

    Raises
    ------
    ReplayError
        If it can't be started.
    """

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], name: str
    ) -> None:
        self.name = name
        self._said: deque[str] = deque(maxlen=LAST_LINES)
        self._answers: queue.Queue[bytes | None] = queue.Queue()
        self._requests: queue.Queue[bytes | None] = queue.Queue()
        self._noise = ""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environ),
                start_new_session=True,  # ended by us, not by the terminal's Ctrl-C
            )
        except OSError as error:
            why = one_line(error.strerror or error)
            raise ReplayError(f"starting {name}: {why}") from error
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._threads = [
            self._thread(self._write, cast("BinaryIO", process.stdin)),
            self._thread(self._read, cast("BinaryIO", process.stdout)),
            self._thread(self._listen, process.stderr),
        ]

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(self, request: bytes, timeout_s: float) -> bytes:
        """Send a message and wait for the answer to it.

        Raises
        ------
        ReplayError
            If it has ended, ends meanwhile or does not answer in time; with its last
            words. It is gone then.
        """
        self._requests.put(request)
        try:
            answer = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            self.close(at_once=True)
            raise ReplayError(
                f"{self.name} gave no answer within {timeout_s:.0f} s{self._words()}"
            ) from None
        if answer is None:
            self._answers.put(None)  # for whoever asks again
            self.close()
            raise ReplayError(f"{self.name} {self._how()}{self._words()}")
        return answer

    def close(self, *, at_once: bool = False) -> None:
        """End it, and all that it started."""
        self._requests.put(None)
        process = self._process
        if not at_once:
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
        self._kill()
        process.wait()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(END_S)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    # -- helpers -----------------------------------------------------------------------

    def _kill(self) -> None:
        """Kill its whole group: also those that it left behind."""
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _how(self) -> str:
        if self._noise:
            return f"can't be understood: {self._noise}"
        status = self._process.returncode
        if status is not None and status < 0:
            try:
                return f"was ended by {signal.Signals(-status).name}"
            except ValueError:
                return f"was ended by signal {-status}"
        return f"ended with status {status}"

    def _words(self) -> str:
        said = [line for line in map(one_line, self._said) if line]
        return f"; its last words: {said[-1][:SHOWN]}" if said else ""

    @staticmethod
    def _thread(target: object, stream: object) -> threading.Thread:
        made = threading.Thread(target=target, args=(stream,), daemon=True)  # type: ignore[arg-type]  # one of the three below
        made.start()
        return made

    def _write(self, stream: BinaryIO) -> None:
        with suppress(OSError, ValueError):
            while (request := self._requests.get()) is not None:
                send(stream, request)
        with suppress(OSError, ValueError):
            stream.close()

    def _read(self, stream: BinaryIO) -> None:
        try:
            while (answer := receive(stream)) is not None:
                self._answers.put(answer)
        except (OSError, ValueError):
            pass
        except StreamError as error:
            self._noise = str(error)
        self._answers.put(None)

    def _listen(self, stream: IO[bytes]) -> None:
        with suppress(OSError, ValueError):
            for line in stream:
                self._said.append(line.decode("utf-8", "replace").rstrip())
