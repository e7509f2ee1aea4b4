"""SuperDex's vector environment in an interpreter of its own, to be timed by ours."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

from isoscope.app.doctor.programs import SUPERDEX_PYTHON, VARIABLE
from isoscope.core.interpreters import find_python

SCRIPT = Path(__file__).with_name("superdex_side.py")
ENVS, SUBSTEPS = 64, 2
START_S, ANSWER_S, END_S = 120.0, 120.0, 30.0


class SuperDex:
    """The process; `start` gives one that is ready, or says why there is none."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._gone = False
        self._lines: queue.Queue[str | None] = queue.Queue()
        out = process.stdout
        assert out is not None  # it was asked for
        self._reader = threading.Thread(target=self._read, args=(out,), daemon=True)
        self._reader.start()

    @classmethod
    def start(cls) -> tuple[SuperDex | None, str]:
        """Start it.

        Returns
        -------
        tuple
            The process and an empty text; or None and what to do.
        """
        python = find_python(SUPERDEX_PYTHON, os.environ.get(VARIABLE))
        remedy = (
            f"install superdex-lab in an environment of CPython {SUPERDEX_PYTHON} and "
            f"set {VARIABLE} to its interpreter"
        )
        if python is None:
            return None, f"no CPython {SUPERDEX_PYTHON} that starts; {remedy}"
        process = subprocess.Popen(
            [str(python), str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        side = cls(process)
        if side._wait_for("ready", START_S) is None:
            side.close()
            return None, f"SuperDex does not run in {python}; {remedy}"
        return side, ""

    def step(self, steps: int) -> float | None:
        """Take control steps in all environments; the seconds, None if it is gone."""
        pipe = self._process.stdin
        assert pipe is not None  # it was asked for
        try:
            pipe.write(f"{steps}\n")
            pipe.flush()
        except OSError:
            return None
        answer = self._wait_for("took ", ANSWER_S)
        return None if answer is None else float(answer.removeprefix("took "))

    def close(self) -> None:
        """End it, and its workers with it."""
        pipe = self._process.stdin
        assert pipe is not None  # it was asked for
        with suppress(OSError):  # it may be gone
            pipe.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def _read(self, out: IO[str]) -> None:
        with out:
            for line in out:
                self._lines.put(line.strip())
        self._lines.put(None)

    def _wait_for(self, start: str, timeout_s: float) -> str | None:
        """The next line that begins so; others are chatter of libraries."""
        while not self._gone:
            try:
                line = self._lines.get(timeout=timeout_s)
            except queue.Empty:
                line = None
            if line is not None and line.startswith(start):
                return line
            self._gone = line is None
        return None
