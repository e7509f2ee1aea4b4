"""A shared run against an independent twin: where an environment departs from itself.

Shared and independent scenes give the same trajectories to the last bit when nothing
leaks. So the first step at which an environment of the shared run differs from the same
environment stepped alone, under the same actions, is where something reached it, also
when nothing in the file shows what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.twins import Departure, first_departure, pair_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Severity

ID = "hidden-leak"
SEVERITY: Severity = "error"
ABOUT = "an environment that departs from an independent twin of itself"


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment that departs from its twin."""
    subject, reference = context.subject, context.reference
    if reference is None:
        raise CannotRunError(
            "a bare recording can't show it",
            "an independent twin: the same environment with the same seed and actions, "
            "alone in its scene, given as --reference",
        )
    pairs = pair_up(subject, reference)
    if not pairs:
        raise CannotRunError(
            f"no environment begins an episode like one of {reference.file}",
            "a reference with the same seed and precision, recorded from the reset on",
        )
    for env, twin in pairs:
        departure = first_departure(subject, env, reference, twin)
        if departure is not None and not _explained(subject, env, departure):
            yield _finding(subject, reference, env, twin, departure)


def _explained(subject: Examined, env: int, departure: Departure) -> bool:
    """Whether the file itself shows what happened there; another finding tells it."""
    missed = subject.attribution.missed_restores
    if any(
        m.place.env == env and m.tainted[0] <= departure.row <= m.tainted[1]
        for m in missed
    ):
        return True
    return departure.gravity_differs


def _finding(
    subject: Examined, reference: Examined, env: int, twin: int, departure: Departure
) -> Finding:
    row = departure.row
    _, episode, control_step = subject.place(row)
    labels = subject.attribution.labels
    before = [e for e in labels.env[departure.last_equal_row + 1 : row] if e != env]
    between = sorted({int(e) for e in before if e >= 0})
    since = (
        f"; between its last equal step and this one stepped "
        f"{', '.join(f'env {e}' for e in between)}"
        if between
        else ""
    )
    own = subject.rows_of(env)
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        other_env=between[0] if len(between) == 1 else None,
        episode=episode,
        control_step=control_step,
        native=(row, int(own[-1])),
        field=f"{departure.actor}.{departure.field}",
        value=departure.value,
        expected=departure.expected,
        message=(
            f"env {env} departs from its independent twin at {subject.where(row)}: "
            f"{departure.actor}.{departure.field} is off by {departure.size:.3g}{since}"
        ),
        remedy=(
            "Something that no snapshot covers changed between these steps: friction, "
            "inertia, density, solver settings. Record with the tap, which keeps the "
            "values and digests of the persistent configuration, to see which and by "
            "whom."
        ),
        evidence={
            "reference": reference.file,
            "reference_env": twin,
            "reference_native": departure.twin_row,
            "size": departure.size,
            "equal_steps_before": departure.equal_steps,
            "stepped_between": between,
        },
        tainted=((row, int(own[-1])),),
        affected=(subject.affected(env, row),),
    )
