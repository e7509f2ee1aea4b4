"""An environment that did not restore its own snapshot and went on from another's.

Where digests of the states are recorded they show it exactly, also what no velocity
shows; else the states themselves do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.following import Carry
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.starts import How, odd_starts, told
from isoscope.core.isolation.states import distance_m
from isoscope.core.isolation.words import env_named, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.attribution.result import MissedRestore
    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.following import Joined
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.isolation.starts import Start
    from isoscope.core.recording.tracks import BoolArray

ID = "missed-restore"
SEVERITY: Severity = "error"
ABOUT = "an environment that went on from another environment's state"

# Where steps are missing, one of these may have left the state that was gone on from.
INCOMPLETE = 0.5
_HOW = {
    "scene": "its own snapshot was not restored, so it took what was in the scene",
    "copy": "a snapshot was restored, but it was another environment's",
    "order": "its own snapshot was not restored; the order of the turns shows it",
}

REMEDY = (
    "Restore the environment's snapshot before every step and before anything that "
    "reads the scene; check code that overrides the step. Leave the tainted steps of "
    "this environment out."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a missed restore."""
    subject = context.subject
    attribution = subject.attribution
    exact = np.zeros(len(attribution), np.bool_)
    if context.labelled is not None:
        looking = _Looking()
        yield from looking.take(context.labelled)
        exact[: len(looking.told)] = looking.told
    seen = np.isfinite(attribution.residual_m)
    if attribution.residual_m.size and not (seen | exact).any():
        raise CannotRunError(
            "no step tells where it began",
            "transforms and velocities (record_dynamic_actor_state), or the digests "
            "that the tap records",
        )
    recording = subject.recording
    whole = recording.complete and not any(
        problem.severity == "error" for problem in recording.problems
    )
    for missed in attribution.missed_restores:
        if not exact[missed.native] and not _as_reset(context, missed):
            yield _finding(subject, missed, whole)


def _as_reset(context: Context, missed: MissedRestore) -> bool:
    """Whether it is how an episode began, in a world that nobody else steps.

    Nothing is restored there between a reset and the first step: the reset itself put
    another's state there, which is an identical start.
    """
    window, row, own = context.labelled, missed.native, missed.orphan_native
    if window is None or own < 0 or row >= len(window.steps):
        return False
    alone = int(window.steps.scene[row]) in window.side_by_side
    return alone and bool(window.steps.reset[own])


def begin() -> Running:
    """Begin to look at a recording: by its digests only."""
    return _Looking()


class _Looking:
    """Finds steps that the digests show to go on from another's state.

    Attributes
    ----------
    told
        bool [n]: of the last window, whether the digests tell where a step began.
    """

    def __init__(self) -> None:
        self._carry = Carry("before", "after")
        self.told: BoolArray = np.zeros(0, np.bool_)

    @property
    def nbytes(self) -> int:
        return self._carry.nbytes

    def take(self, window: LabelledContext) -> Iterator[Finding]:
        joined = self._carry.join(window)
        self.told = told(joined)[joined.first_new :]
        for start in odd_starts(joined, window):
            if start.how in (How.SCENE, How.COPY):
                yield _by_digest(joined, start)

    def finish(self) -> Iterator[Finding]:
        return iter(())


def _by_digest(joined: Joined, start: Start) -> Finding:
    i, source = start.at, start.source
    row, env = int(joined.row[i]), int(joined["env"][i])
    where = joined.at(i)
    place = place_text(*where) or f"native step {row}"
    whose = env_named(start.source_env)
    headline = f"{env_named(env)} went on from {whose}'s state at {place}"
    end = _end_of_episode(joined, i)
    victim = joined.at(source) if source >= 0 else (None, None)
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        other_env=start.source_env if start.source_env >= 0 else None,
        episode=where.episode,
        control_step=where.control_step,
        native=(row, end),
        headline=headline,
        message=f"{headline}: "
        + _HOW["scene" if start.how is How.SCENE else "copy"]
        + "; the digests of the states show it",
        remedy=REMEDY,
        evidence={
            "taken_from_native": int(joined.row[source]) if source >= 0 else None,
            "own_last_native": int(joined.row[start.own]),
            "taken_from_episode": victim[0],
            "taken_from_control_step": victim[1],
            "by": "digest",
        },
        tainted=((row, end),),
        taints=(Taint(env=env, native=(row, None)),),
    )


def _end_of_episode(joined: Joined, i: int) -> int:
    """The last native step, as far as there is one, before the next reset."""
    own = joined.of(int(joined["env"][i]))
    rest = own[int(np.searchsorted(own, i)) :]
    again = np.flatnonzero(joined.reset[rest[1:]])
    return int(joined.row[rest[int(again[0])] if len(again) else rest[-1]])


def _finding(subject: Examined, missed: MissedRestore, whole: bool) -> Finding:
    place, victim = missed.place, missed.victim
    first, last = missed.tainted
    env, other = known(place.env), known(victim.env)
    whose = "another environment's" if other is None else f"env {other}'s"
    headline = (
        f"{env_named(env)} went on from {whose} state at {subject.where(missed.native)}"
    )
    evidence = {
        "taken_from_native": known(missed.victim_native),
        "own_last_native": known(missed.orphan_native),
        "taken_from_episode": known(victim.episode),
        "taken_from_control_step": known(victim.control_step),
        "residual_m": number(subject.attribution.residual_m[missed.native]),
        "linked": missed.linked,
    }
    if missed.orphan_native >= 0 and missed.victim_native >= 0:
        evidence["distance_to_own_state_m"] = distance_m(
            subject.recording, missed.victim_native, missed.orphan_native
        )
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        other_env=other,
        episode=known(place.episode),
        control_step=known(place.control_step),
        native=(missed.native, last),
        confidence=missed.confidence if whole else min(missed.confidence, INCOMPLETE),
        headline=headline,
        message=f"{headline}: {_HOW[missed.kind]}"
        + ("" if whole else "; but this recording lacks steps, which may explain it"),
        remedy=REMEDY,
        evidence=evidence,
        tainted=((first, last),),
        taints=(Taint(env=env, native=(first, last)),),
    )


def known(value: int) -> int | None:
    """A number that is unknown below 0."""
    return value if value >= 0 else None


def number(value: float) -> float | None:
    """A finite number, or None."""
    return float(value) if np.isfinite(value) else None
