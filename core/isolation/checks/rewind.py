"""An earlier state restored on purpose: no fault, but the clocks part there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.following import Carry
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.starts import How, odd_starts, told
from isoscope.core.isolation.words import env_named, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.following import Joined
    from isoscope.core.isolation.starts import Start

ID = "rewind"
SEVERITY: Severity = "note"
ABOUT = "an earlier state of the same environment restored"

REMEDY = (
    "Nothing to do if it was meant. Recording time goes on here while the scene's time "
    "goes back: use the scene's for what depends on time."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one note a rewind."""
    subject = context.subject
    attribution = subject.attribution
    exact = np.zeros(len(attribution), np.bool_)
    if context.labelled is not None:
        joined = Carry("before", "after").join(context.labelled)
        exact[: len(joined)] = told(joined)
        for start in odd_starts(joined, context.labelled):
            if start.how is How.BACK:
                yield _by_digest(joined, start)
    seen = np.isfinite(attribution.residual_m)
    if attribution.residual_m.size and not (seen | exact).any():
        raise CannotRunError(
            "no step tells where it began",
            "transforms and velocities (record_dynamic_actor_state), or digests",
        )
    for rewind in attribution.rewinds:
        if exact[rewind.native]:
            continue
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
            remedy=REMEDY,
            evidence={
                "left_native": rewind.left_native,
                "to_native": rewind.to_native if rewind.to_native >= 0 else None,
                "scene_time_from_s": _known(rewind.scene_time_from_s),
                "scene_time_to_s": _known(rewind.scene_time_to_s),
            },
        )


def _by_digest(joined: Joined, start: Start) -> Finding:
    row, env = int(joined.row[start.at]), int(joined["env"][start.at])
    where = joined.at(start.at)
    place = place_text(*where) or f"native step {row}"
    left = int(joined.row[start.own])
    to = int(joined.row[start.source]) if start.source >= 0 else None
    what = "a snapshot" if to is None else f"the state after native step {to}"
    headline = f"{env_named(env)} went back to an earlier state at {place}"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        episode=where.episode,
        control_step=where.control_step,
        native=(row, row),
        headline=headline,
        message=(
            f"{headline}: {what} was restored, and what it did up to native step "
            f"{left} was given up"
        ),
        remedy=REMEDY,
        evidence={"left_native": left, "to_native": to, "by": "digest"},
    )


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
