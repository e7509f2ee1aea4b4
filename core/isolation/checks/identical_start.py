"""Environments whose episodes begin in the very same state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.states import state_bytes
from isoscope.core.isolation.words import envs_named
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Severity

ID = "identical-start"
SEVERITY: Severity = "warning"
ABOUT = "environments that begin episodes in the same state, to the last bit"
LISTED_AT_MOST = 16  # native steps, and starts


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a group of environments that begin alike."""
    subject = context.subject
    kinds = subject.attribution.labels.kind
    resets = np.flatnonzero(kinds == StepKind.RESET)
    alike: dict[bytes, list[int]] = {}
    for row in resets:
        state = state_bytes(subject.recording, int(row))
        if state:
            alike.setdefault(state, []).append(int(row))
    if len(resets) and not alike:
        raise CannotRunError(
            "the resets tell no state", "transforms (record_dynamic_actor_state)"
        )
    if len(resets) < 2:
        return
    groups: dict[tuple[int, ...], list[list[int]]] = {}
    for rows in alike.values():
        envs = tuple(sorted({int(subject.attribution.labels.env[r]) for r in rows}))
        # Resets of unknown owners begin alike: that is why the owners are unknown.
        if len(envs) > 1 or (envs == (-1,) and len(rows) > 1):
            groups.setdefault(envs, []).append(rows)
    for envs, starts in groups.items():
        yield _finding(subject, envs, starts, len(alike) == 1)


def _finding(
    subject: Examined, envs: tuple[int, ...], starts: list[list[int]], always: bool
) -> Finding:
    rows = sorted(row for start in starts for row in start)
    known = [e for e in envs if e >= 0]
    who = envs_named(known) if known else "environments of unknown number"
    if known and len(known) < len(envs):
        who += " and others"
    times = f"{len(starts)} of their starts" if len(starts) > 1 else "one start"
    every = ", as every reset in this recording does" if always else ""
    headline = f"{who} begin alike to the last bit"
    _, episode, control_step = subject.place(rows[0])
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=known[0] if known else None,
        other_env=known[1] if len(known) > 1 else None,
        episode=episode,
        control_step=control_step,
        native=(rows[0], rows[-1]),
        headline=headline,
        message=f"{headline}: in {times}{every}",
        remedy=(
            "Give every environment a seed of its own (a list of seeds, not one "
            "number), and don't seed again at each reset. While their states are the "
            "same, nobody can tell whose a step was."
        ),
        evidence={
            "starts": [start[:LISTED_AT_MOST] for start in starts[:LISTED_AT_MOST]]
        },
    )
