"""A shared run against an independent twin: where an environment departs from itself.

Shared and independent scenes give the same trajectories to the last bit when nothing
leaks. So the first step at which an environment of the shared run differs from the same
environment stepped alone, under the same actions, is where something reached it, also
when nothing in the file shows what.

The twin is a recording that is given, or what an engine makes of the recording's own
snapshots and inputs, one environment at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.registry import CannotRunError, check
from isoscope.core.isolation.tainting import tainted
from isoscope.core.isolation.twins import Departure, departures
from isoscope.core.isolation.words import envs_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.resimulator import Resimulator
    from isoscope.core.recording.tracks import BoolArray

ID = "hidden-leak"
SEVERITY: Severity = "error"
ABOUT = "an environment that departs from an independent twin of itself"
# A twin that is equal in its reset only may have been given other actions.
DOUBTFUL = 0.5
AT_LEAST_EQUAL = 2
# Checks that tell by themselves why an environment goes otherwise alone.
SHOWN = (
    "missed-restore",
    "restore-failed",
    "snapshot-lost",
    "config-changed",
    "callback-moved-state",
)
REMEDY = (
    "Something that no snapshot covers changed between these steps: friction, inertia, "
    "density, solver settings. Record with the tap, which keeps the values and digests "
    "of the persistent configuration, to see which and by whom."
)
REMEDY_AGAIN = (
    "From the same snapshot, with the same inputs, it goes another way without the "
    "others: something reached it that no snapshot holds and no digest shows. Look "
    "for what tasks, controllers and callbacks share: targets, buffers, caches."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment that departs from its twin."""
    subject, reference = context.subject, context.reference
    if reference is not None:
        for departure in departures(subject, reference):
            yield _finding(subject, reference, departure)
    elif context.resimulator is not None:
        yield from _stepped_again(context, context.resimulator)
    else:
        bare = context.labelled is None
        raise CannotRunError(
            "a bare recording can't show it" if bare else "nobody can step it again",
            "an independent twin: the same environment with the same seed and actions, "
            "alone in its scene, given as --reference; or recorded snapshots, from "
            "which isoscope audit --step-again steps each environment again alone",
        )


def _stepped_again(context: Context, again: Resimulator) -> Iterator[Finding]:
    """Yield one finding an environment that goes otherwise alone.

    Raises
    ------
    CannotRunError
        If not one of them can be stepped again.
    """
    envs = again.environments()
    if len(envs) < 2:
        return
    explained = _explained(context)
    reason: CannotRunError | None = None
    ran = 0
    for env in envs:
        try:
            departure = again.departure(env, explained)
        except CannotRunError as error:
            reason = error
            continue
        ran += 1
        if departure is not None:
            yield _finding(context.subject, None, departure)
    if reason is not None and not ran:
        raise reason


def _explained(context: Context) -> BoolArray:
    """Bool [native steps]: those that the recording itself shows to be spoilt."""
    found: list[Finding] = []
    for key in SHOWN:
        try:
            found += check(key).run(context)
        except CannotRunError:
            continue
    return tainted(context.subject, found).rows


def _finding(
    subject: Examined, reference: Examined | None, departure: Departure
) -> Finding:
    env, row = departure.env, departure.row
    _, episode, control_step = subject.place(row)
    between = _stepped_between(subject, departure)
    own = subject.rows_of(env)
    shared = reference is not None and len(reference.environments()) > 1
    # Stepped again, it is given the recorded inputs, whatever they were.
    sure = reference is None or departure.equal_steps >= AT_LEAST_EQUAL
    unit = f" {departure.unit}" if departure.unit else ""
    what = "departs from its twin" if reference is not None else "goes otherwise alone"
    headline = f"env {env} {what} at {subject.where(row)}"
    said = (
        f"{departure.field} is off by {departure.size:.3g}{unit} after "
        f"{departure.equal_steps} equal native steps"
    )
    if between:
        said += f"; since the last of them stepped {envs_named(between)}"
    if shared:
        said += (
            f"; the twin is env {departure.twin} of a recording that is shared itself, "
            "so it may be the one that was reached"
        )
    if not sure:
        said += "; they part so early that the twin may have had other actions"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        other_env=between[0] if len(between) == 1 else None,
        episode=episode,
        control_step=control_step,
        native=(row, int(own[-1])),
        field=departure.field,
        value=departure.value,
        expected=departure.expected,
        confidence=1.0 if sure and not shared else DOUBTFUL,
        headline=headline,
        message=f"{headline}: {said}",
        remedy=REMEDY if reference is not None else REMEDY_AGAIN,
        evidence={
            "reference": None if reference is None else reference.file,
            "reference_env": departure.twin,
            "reference_native": departure.twin_row,
            "last_equal_native": (
                departure.last_equal_row if departure.last_equal_row >= 0 else None
            ),
            "size": departure.size,
            "unit": departure.unit,
            "equal_steps_before": departure.equal_steps,
            "stepped_between": between,
        },
        tainted=((row, int(own[-1])),),
        affected=(subject.affected(env, row),),
        taints=(Taint(env=env, native=(row, int(own[-1]))),),
    )


def _stepped_between(subject: Examined, departure: Departure) -> list[int]:
    """Environments that stepped since the last step that was equal."""
    env = subject.attribution.labels.env
    since = env[departure.last_equal_row + 1 : departure.row]
    return sorted({int(e) for e in since if e >= 0 and e != departure.env})
