"""What auditing a run while it is watched costs the run itself.

A demo runs as fast as it can in a process of its own and is followed here, without a
window. In one and the same run the audit of what comes is now on and now off, several
times; the run's own count of its rounds says how fast it goes in each. What came while
the audit was off has to be looked at when it is on again, so that all of it counts.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.app.demo.live_settings import LiveDemo
from isoscope.app.demo.process import DemoProcess
from isoscope.app.live_audit import FollowedAudit
from isoscope.core.errors import CancelledError, IsoscopeError
from isoscope.core.live.discovery import find
from isoscope.core.live.source import LiveSource

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording

ENVS = 8
PHASE_S = 3.0
SETTLE_S = 0.8  # after each switch; the run tells its rounds twice a second
PATIENCE_S = 60.0


def run(phases: int, phase_s: float = PHASE_S) -> dict[str, Any]:
    """Measure; gives the figures.

    Parameters
    ----------
    phases
        How many, with the audit off and on in turn; at least 2.
    phase_s
        How long each is measured.

    Returns
    -------
    dict
        ``ratio_live``: rounds a second with the audit on against off, the median of
        each; how many rounds a second these were; how many native steps were audited,
        and what was found, which should be nothing.

    Raises
    ------
    IsoscopeError
        If the demo can't be run or watched.
    """
    settings = replace(LiveDemo().settings, envs=ENVS)
    demo = DemoProcess(
        msgspec.structs.replace(LiveDemo(), settings=settings, speed=None)
    )
    try:
        source = LiveSource(find(demo.joinable()))
        try:
            return _watch(source, phase_s, phases)
        finally:
            source.close()
    finally:
        demo.end()


class _Switched:
    """Audits what comes while it is on; called by the thread that follows."""

    def __init__(self, recording: Recording) -> None:
        self._audit = FollowedAudit(recording)
        self.on = False
        self.over = False
        self.told = 0  # times that there was news
        self.found = 0

    def __call__(self) -> bool:
        if self.on:
            audit = self._audit.look()
            if audit is not None:
                self.told += 1
                self.found = len(audit.findings)
        return self.over

    @property
    def why_off(self) -> str:
        """Why nothing is audited any more; empty while it is."""
        return self._audit.why_off


def _watch(source: LiveSource, phase_s: float, phases: int) -> dict[str, Any]:
    switched = _Switched(source.recording)
    failed: list[BaseException] = []

    def follow() -> None:
        try:
            source.index(None, switched)
        except CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001  told by the thread that waits
            failed.append(error)

    thread = threading.Thread(target=follow, name="follow")
    thread.start()
    rates: dict[bool, list[float]] = {True: [], False: []}
    try:
        _until_rows(source, failed)
        for phase in range(phases):
            switched.on = bool(phase % 2)
            time.sleep(SETTLE_S)
            rates[switched.on].append(_rate(source, phase_s))
    finally:
        switched.over = True
        thread.join()
    if failed:
        raise failed[0]
    if switched.why_off:
        raise IsoscopeError(f"auditing a demo that is watched: {switched.why_off}")
    on, off = median(rates[True]), median(rates[False])
    return {
        "ratio_live": on / off,
        "live_on_hz": on,
        "live_off_hz": off,
        "live_steps": len(source.recording),
        "live_told": switched.told,
        "live_findings": switched.found,
        "live_dropped": sum(source.dropped.values()),
    }


def _until_rows(source: LiveSource, failed: list[BaseException]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not (len(source.recording) and source.told.get("rounds")):
        if failed:
            raise failed[0]
        if time.monotonic() > end:
            raise IsoscopeError("watching a demo: it does not get going")
        time.sleep(0.05)


def _rate(source: LiveSource, seconds: float) -> float:
    """Rounds a second by the run's own count, between two of its messages."""
    before = _told_anew(source)
    time.sleep(seconds)
    after = _told_anew(source)
    rounds = after["rounds"] - before["rounds"]
    return float(rounds / (after["at_s"] - before["at_s"]))


def _told_anew(source: LiveSource) -> dict[str, Any]:
    known = source.told.get("at_s")
    end = time.monotonic() + PATIENCE_S
    while source.told.get("at_s") == known:
        if time.monotonic() > end:
            raise IsoscopeError("watching a demo: it says nothing any more")
        time.sleep(0.01)
    return source.told
