"""A restore that failed, or that brought back only part of a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.following import Carry
from isoscope.core.isolation.incremental import whole
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.scene_failures import failed
from isoscope.core.isolation.starts import How, odd_starts, restored_between, told
from isoscope.core.isolation.words import env_named, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.following import Joined
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.isolation.scene_failures import Failed
    from isoscope.core.isolation.starts import Start

ID = "restore-failed"
SEVERITY: Severity = "error"
ABOUT = "restores that failed, or after which the state was not the one captured"
NEEDS = "a recording by the tap, which has restores and digests of the states"


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a restore."""
    yield from whole(begin(), context.tells(NEEDS))


def begin() -> Running:
    """Begin to look at a recording."""
    return _Looking()


class _Looking:
    def __init__(self) -> None:
        self._carry = Carry("before", "after", "restored_from")
        self._seen = False

    @property
    def nbytes(self) -> int:
        return self._carry.nbytes

    def take(self, window: LabelledContext) -> Iterator[Finding]:
        joined = self._carry.join(window)
        bad = [one for one in failed(window) if one.doing == "restore"]
        for one in bad:
            yield _refused(joined, one)
        if window.steps.stop and not window.in_turn:
            return
        digests = bool(told(joined).any())
        self._seen |= digests or bool(window.events.are("restore").any()) or bool(bad)
        if not self._seen and len(window.steps):
            raise CannotRunError("neither restores nor digests were recorded", NEEDS)
        for start in odd_starts(joined, window):
            if start.how is How.NOWHERE and restored_between(joined, window, start):
                yield _partial(joined, start)

    def finish(self) -> Iterator[Finding]:
        return iter(())


def _refused(joined: Joined, one: Failed) -> Finding:
    where = joined.about(one.env, one.row) if one.env >= 0 else None
    episode = where.episode if where is not None else None
    control_step = where.control_step if where is not None else None
    place = place_text(episode, control_step) or f"native step {one.row}"
    headline = f"the restore of {env_named(one.env)} failed at {place}"
    why = f": {one.problem}" if one.problem else ""
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=one.env if one.env >= 0 else None,
        episode=episode,
        control_step=control_step,
        native=joined.native(one.row),
        headline=headline,
        message=f"{headline}{why}; part of the scene may have been changed by then",
        remedy=(
            "Reset this environment; every other one restores its own state anyhow. A "
            "state that was released, or captured by another build or topology, can't "
            "be restored."
        ),
        evidence={"problem": one.problem, "scene": one.scene, "partial": False},
        taints=(
            (Taint(env=one.env, native=(one.row, None), between=True),)
            if one.env >= 0
            else ()
        ),
    )


def _partial(joined: Joined, start: Start) -> Finding:
    i = start.at
    row, env = int(joined.row[i]), int(joined["env"][i])
    where = joined.at(i)
    place = place_text(*where) or f"native step {row}"
    headline = f"the restore of {env_named(env)} was not complete at {place}"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        episode=where.episode,
        control_step=where.control_step,
        native=(row, row),
        field="digest",
        headline=headline,
        message=(
            f"{headline}: the state before native step {row} is not the one that its "
            f"native step {int(joined.row[start.own])} left, nor any other that is "
            "recorded"
        ),
        remedy=(
            "Restore the whole state, and set nothing of it between the restore and "
            "the step. Leave this environment's steps out until its next reset."
        ),
        evidence={"partial": True, "own_last_native": int(joined.row[start.own])},
        taints=(Taint(env=env, native=(row, None)),),
    )
