"""An earlier state restored on purpose: no fault, but the clocks part there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.words import env_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity

ID = "rewind"
SEVERITY: Severity = "note"
ABOUT = "an earlier state of the same environment restored"


def run(context: Context) -> Iterator[Finding]:
    """Yield one note a rewind."""
    subject = context.subject
    attribution = subject.attribution
    if attribution.residual_m.size and not np.isfinite(attribution.residual_m).any():
        raise CannotRunError(
            "no step tells where it began",
            "transforms and velocities (record_dynamic_actor_state)",
        )
    for rewind in attribution.rewinds:
        env, episode, control_step = subject.place(rewind.native)
        to = (
            f"the state after native step {rewind.to_native}"
            if rewind.to_native >= 0
            else "the state that the recording began from"
        )
        headline = f"{to} was restored before native step {rewind.native}"
        yield Finding(
            id=ID,
            severity=SEVERITY,
            env=env,
            episode=episode,
            control_step=control_step,
            native=(rewind.native, rewind.native),
            headline=headline,
            message=(
                f"{headline}: {env_named(env)} went back, and what it did after native "
                f"step {rewind.left_native} was never gone on from"
            ),
            remedy=(
                "Nothing to do if it was meant. Recording time goes on here while the "
                "scene's time goes back: use the scene's for what depends on time."
            ),
            evidence={
                "left_native": rewind.left_native,
                "to_native": rewind.to_native if rewind.to_native >= 0 else None,
                "scene_time_from_s": _known(rewind.scene_time_from_s),
                "scene_time_to_s": _known(rewind.scene_time_to_s),
            },
        )


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
