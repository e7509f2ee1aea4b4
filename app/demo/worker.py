"""The demo's worker process: ``python -m isoscope.app.demo.worker``.

It reads what to run as a line of JSON, says where it can be joined as another, and ends
when its standard input does: whoever started it holds the other end, and the system
lets that go however the starter ends.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from isoscope.app.demo.identifying import identify
from isoscope.app.demo.live_settings import Hello, LiveDemo, demo_of, to_line
from isoscope.app.demo.obeying import Obeying
from isoscope.app.demo.run import DemoRun
from isoscope.core import tap
from isoscope.core.collection.recording import record_chunk
from isoscope.core.envs.rollout.chunked import ChunkedPolicy
from isoscope.core.errors import IsoscopeError, one_line

if TYPE_CHECKING:
    from isoscope.core.tap.session import TapSession

GRACE_S = 3.0  # for it to end by itself, once nobody holds its input any more


class Tapped:
    """Goes around what makes each environment, in whatever process that is called."""

    def __init__(self, demo: LiveDemo) -> None:
        self._options: dict[str, Any] = {"name": demo.title}
        if demo.record:
            self._options["record"] = demo.record
        self._overwrite = demo.overwrite
        settings = demo.settings
        if settings.scene == "resident":
            watched = settings.watched(settings.make_faults())
            self._options["visible"] = list(watched)

    def __call__(self, make: Any, number: int) -> Any:
        """What makes the same environment, with a tap."""
        overwrite = self._overwrite and number == 0
        return tap.factory(make, index=number, overwrite=overwrite, **self._options)


def main() -> int:
    """Run what the first line of standard input says, until it ends or is stopped."""
    demo = demo_of(sys.stdin.buffer.readline())
    lifeline = Lifeline()
    if demo.settings.scene != "resident":
        torch.set_num_threads(1)  # for one world a second thread costs more
    try:
        run_demo(demo, lifeline)
    except IsoscopeError as error:
        session = tap.current()
        if session is not None:
            session.close(one_line(error))
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    return 0


def run_demo(demo: LiveDemo, lifeline: Lifeline) -> None:
    """Run a demo with a tap on it.

    Raises
    ------
    IsoscopeError
        If it can't be set up, or a worker died.
    """
    settings = demo.settings
    with DemoRun(settings, Tapped(demo)) as run:
        session = tap.current()
        assert session is not None, "the first environment opened it"
        lifeline.run = run
        run.set_speed(demo.speed)
        _tell_chunks(demo, run, session)
        identify(session, demo.settings)
        obeying = Obeying(run, session, demo.speed)
        obeying.start()
        hub: Any = session.outlet
        sys.stdout.buffer.write(to_line(Hello(hub.run.address, hub.run.run)))
        sys.stdout.buffer.flush()
        lifeline.spoken.wait(demo.waits_s)
        try:
            done = run.run()
        finally:
            obeying.stop()
    if done.ended not in ("finished", "stopped"):
        raise IsoscopeError(f"running the demo: {done.ended}")


class Lifeline:
    """Ends the process when its standard input ends.

    Attributes
    ----------
    spoken
        Set once anything came through it, or it has ended.
    """

    def __init__(self) -> None:
        self.run: DemoRun | None = None
        self.spoken = threading.Event()
        threading.Thread(target=self._hold, name="lifeline", daemon=True).start()

    def _hold(self) -> None:
        try:
            while os.read(0, 4096):
                self.spoken.set()
        except OSError:
            pass
        self.spoken.set()
        if self.run is not None:
            self.run.stop()
            time.sleep(GRACE_S)
        os._exit(0)


def _tell_chunks(demo: LiveDemo, run: DemoRun, session: TapSession) -> None:
    rollout = run.parts.rollout
    # A policy that carries something on is asked at every step: no chunks.
    if demo.chunk < 1 or rollout.policy.state is not None:
        return
    if not len(rollout.source.watched):
        return
    from isoscope.app.demo.chunks import ChunkTeller

    teller = ChunkTeller(rollout, demo.chunk, partial(record_chunk, session))
    rollout.policy = ChunkedPolicy(rollout.policy, demo.chunk, teller.planned)


if __name__ == "__main__":
    sys.exit(main())
