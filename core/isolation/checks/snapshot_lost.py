"""An exception between restore and capture: the environment's own state is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.following import Carry
from isoscope.core.isolation.incremental import whole
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.scene_failures import UNKNOWN_NS, failed
from isoscope.core.isolation.words import env_named, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.following import Joined
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.isolation.labelled_tables import Events
    from isoscope.core.isolation.scene_failures import Failed

ID = "snapshot-lost"
SEVERITY: Severity = "error"
ABOUT = "an exception after the restore and before the capture of a shared scene's step"
NEEDS = "a recording by the tap, which has restores, captures and exceptions"
INSIDE = ("step", "exception", "apply", "capture")


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an exception that cost a snapshot."""
    yield from whole(begin(), context.tells(NEEDS))


def begin() -> Running:
    """Begin to look at a recording."""
    return _Looking()


class _Looking:
    def __init__(self) -> None:
        self._carry = Carry()
        # Whether an environment has restored and not yet captured.
        self._open: dict[int, bool] = {}
        self._seen = False

    @property
    def nbytes(self) -> int:
        return self._carry.nbytes + 100 * len(self._open)

    def take(self, window: LabelledContext) -> Iterator[Finding]:
        joined = self._carry.join(window)
        events = window.events
        moves = np.flatnonzero(events.are("restore", "capture") & (events.ok != 0))
        self._seen |= bool(len(moves))
        if window.in_turn and not self._seen and len(window.steps):
            raise CannotRunError("no restore and no capture was recorded", NEEDS)
        restores = events.are("restore")
        shared = set(window.in_turn)
        done: set[tuple[int, int]] = set()
        for one in failed(window):
            key = (one.env, one.row)
            if one.doing not in INSIDE or one.env < 0 or key in done:
                continue
            if one.scene >= 0 and one.scene not in shared:
                continue
            own = moves[events.env[moves] == one.env]
            before = own[_before(events, own, one)]
            after = own[~_before(events, own, one)]
            inside = (
                bool(restores[before[-1]])
                if len(before)
                else self._open.get(one.env, False)
            )
            kept = len(after) and not restores[after[0]]
            if inside and not kept:
                done.add(key)
                yield _finding(joined, one)
        for env in np.unique(events.env[moves]).tolist():
            last = moves[events.env[moves] == env][-1]
            self._open[env] = bool(restores[last])

    def finish(self) -> Iterator[Finding]:
        return iter(())


def _before(events: Events, own: np.ndarray, one: Failed) -> np.ndarray:
    """Bool [k]: which of these events came before the failure."""
    if one.event >= 0:
        return np.asarray(own + events.first < one.event)
    early = events.row[own] < one.row
    wall_ns = events.column("wall_ns")[own]
    known = (wall_ns != UNKNOWN_NS) & (one.wall_ns != UNKNOWN_NS)
    same = events.row[own] == one.row
    return np.asarray(early | (same & (~known | (wall_ns <= one.wall_ns))))


def _finding(joined: Joined, one: Failed) -> Finding:
    where = joined.about(one.env, one.row)
    episode = where.episode if one.episode is None else one.episode
    control_step = where.control_step
    if one.control_step is not None:
        control_step = one.control_step
    place = place_text(episode, control_step) or f"native step {one.row}"
    headline = f"{env_named(one.env)} lost its snapshot at {place}"
    why = f" ({one.problem})" if one.problem else ""
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=one.env,
        episode=episode,
        control_step=control_step,
        native=joined.native(one.row),
        headline=headline,
        message=(
            f"{headline}: an exception{why} ended the step after its state was "
            "restored and before the new one was captured"
        ),
        remedy=(
            "Reset this environment before it steps again; the others are not touched. "
            "Catch what can fail before the restore, or capture in a finally."
        ),
        evidence={"problem": one.problem, "scene": one.scene},
        taints=(
            Taint(env=one.env, native=(one.row, None), between=True),
            *_broken(joined, one),
        ),
    )


def _broken(joined: Joined, one: Failed) -> tuple[Taint, ...]:
    """The substeps of the control step that was not finished."""
    last = joined.last_of(one.env, one.row)
    where = joined.about(one.env, one.row)
    if last < 0 or joined.at(last) != where:
        return ()
    own = joined.of(one.env)
    same = (joined["episode"][own] == where.episode) & (
        joined["control_step"][own] == where.control_step
    )
    rows = joined.row[own[same]]
    return (Taint(env=one.env, native=(int(rows[0]), int(rows[-1]))),)
