"""The process that steps again: ``python -m isoscope.app.alone.child``.

It reads what to step as one message, says on standard output how far it is and what it
found, and ends when its standard input does: the window holds the other end.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from isoscope.app.alone.messages import Ask, Found, Refused, Share
from isoscope.core.errors import IsoscopeError
from isoscope.core.isolation.checks import hidden_leak
from isoscope.core.replay.worker.framing import receive, send

if TYPE_CHECKING:
    from isoscope.app.alone.messages import Said
    from isoscope.core.isolation.findings import Audit
    from isoscope.core.isolation.resimulator import Resimulator
    from isoscope.core.isolation.twins import Departure
    from isoscope.core.recording.tracks import BoolArray

TELL_EVERY_S = 0.1


class Counted:
    """Steps environments again, and tells how many of all have been."""

    def __init__(self, inner: Resimulator, teller: Teller) -> None:
        self._inner, self._teller = inner, teller

    def environments(self) -> list[int]:
        """See `Resimulator.environments`."""
        found = self._inner.environments()
        self._teller.envs = max(len(found), 1)
        return found

    def departure(self, env: int, explained: BoolArray) -> Departure | None:
        """See `Resimulator.departure`."""
        found = self._inner.departure(env, explained)
        self._teller.ended += 1
        return found


class Teller:
    """Says how far it is, not too often.

    Attributes
    ----------
    envs, ended
        Environments in all, and those that have been stepped to their end.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._told_s = 0.0
        self.envs, self.ended = 1, 0

    def stepping(self, done: int, total: int) -> None:
        """Take in how many steps of how many this environment has had."""
        now = time.monotonic()
        if now - self._told_s >= TELL_EVERY_S:
            self._told_s = now
            part = done / total if total else 0.0
            self.say(Share(min((self.ended + part) / self.envs, 1.0)))

    def say(self, what: Said) -> None:
        """Write one message."""
        send(self._out, msgspec.msgpack.encode(what))


def main() -> int:
    """Do what the first message on standard input asks for."""
    out = _own_output()
    teller = Teller(out)
    asked = receive(sys.stdin.buffer)
    if asked is None:
        return 0
    threading.Thread(target=_end_with_input, name="lifeline", daemon=True).start()
    try:
        teller.say(Found(step(msgspec.msgpack.decode(asked, type=Ask), teller)))
    except IsoscopeError as error:
        teller.say(Refused(str(error)))
    return 0


def step(ask: Ask, teller: Teller) -> Audit:
    """Step a recording's environments again; gives what the check says of them.

    Raises
    ------
    IsoscopeError
        If the recording can't be read.
    """
    from isoscope.app.auditing import stepped_again
    from isoscope.app.examining import examine
    from isoscope.core.isolation.audit import audit
    from isoscope.core.isolation.context import Context

    subject = examine(Path(ask.path), ask.substeps, margins=False)
    with stepped_again(subject, asked=True, stepping=teller.stepping) as again:
        context = Context(subject, None, Counted(again, teller))
        return audit(context, only=(hidden_leak.ID,))


def _own_output() -> BinaryIO:
    """Standard output for us alone; what an engine prints goes to standard error."""
    given = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(given, "wb")


def _end_with_input() -> None:
    try:
        while os.read(0, 4096):
            pass
    except OSError:
        pass
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
