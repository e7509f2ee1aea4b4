"""Bodies that something moved between the step and its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity

ID = "callback-moved-state"
SEVERITY: Severity = "warning"
ABOUT = "bodies that were moved after the step, so that state and velocity disagree"


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an actor."""
    subject = context.subject
    attribution = subject.attribution
    if attribution.residual_m.size and not np.isfinite(attribution.residual_m).any():
        raise CannotRunError(
            "no step tells where it began",
            "transforms and velocities (record_dynamic_actor_state)",
        )
    displaced = attribution.displaced
    rows = np.flatnonzero(displaced) if displaced is not None else np.zeros(0, int)
    for index, count in attribution.displaced_actors.items():
        name = subject.recording.actors[index].name
        first = int(rows[0]) if len(rows) else 0
        last = int(rows[-1]) if len(rows) else 0
        env, episode, control_step = subject.place(first)
        yield Finding(
            id=ID,
            severity=SEVERITY,
            env=env,
            episode=episode,
            control_step=control_step,
            native=(first, last),
            field=f"{name}.translationCom",
            message=(
                f"{name} does not begin where the step before left it, in {count} "
                "native steps, while the other bodies do: something moved it"
            ),
            remedy=(
                "A post-step callback or a call between the steps sets its transform. "
                "Its velocity does not tell that motion; don't compute with both."
            ),
            evidence={"rows": count},
        )
