"""An environment that did not restore its own snapshot and went on from another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.states import distance_m
from isoscope.core.isolation.words import env_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.attribution.result import MissedRestore
    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Severity

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


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a missed restore."""
    subject = context.subject
    attribution = subject.attribution
    if attribution.residual_m.size and not np.isfinite(attribution.residual_m).any():
        raise CannotRunError(
            "no step tells where it began",
            "transforms and velocities (record_dynamic_actor_state)",
        )
    recording = subject.recording
    whole = recording.complete and not any(
        problem.severity == "error" for problem in recording.problems
    )
    for missed in attribution.missed_restores:
        yield _finding(subject, missed, whole)


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
        remedy=(
            "Restore the environment's snapshot before every step and before anything "
            "that reads the scene; check code that overrides the step. Leave the "
            "tainted steps of this environment out."
        ),
        evidence=evidence,
        tainted=((first, last),),
    )


def known(value: int) -> int | None:
    """A number that is unknown below 0."""
    return value if value >= 0 else None


def number(value: float) -> float | None:
    """A finite number, or None."""
    return float(value) if np.isfinite(value) else None
