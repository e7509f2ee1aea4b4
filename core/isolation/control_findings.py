"""Findings about control steps: where they are, and what they taint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.ids import SEVERITIES
from isoscope.core.isolation.words import env_named, place_text

if TYPE_CHECKING:
    from typing import Literal

    from isoscope.core.isolation.control_steps import ControlSteps
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.recording.tracks import Array


def where(steps: ControlSteps, t: int) -> str:
    """The place of a row in words: ``"env 1, episode 2, control step 4"``."""
    table = steps.table
    k = int(table.control_step[t])
    episode = int(table.episode[t]) if table.episode[t] >= 0 else None
    text = place_text(episode, k if k >= 0 else None)
    return f"{env_named(int(table.env[t]))}, {text or f'transition {table.first + t}'}"


def about(
    steps: ControlSteps,
    key: str,
    t: int,
    *,
    headline: str,
    why: str,
    remedy: str,
    field: str | None = None,
    value: Any = None,
    expected: Any = None,
    other_env: int | None = None,
    confidence: float = 1.0,
    evidence: dict[str, Any] | None = None,
    rows: Array | None = None,
    until: Literal["here", "reset", "end"] = "here",
    severity: Severity | None = None,
) -> Finding:
    """A finding about the row `t` of a window.

    Parameters
    ----------
    rows
        All rows that show it, ascending; each is tainted. Without them the row is, and
        `until` says how far it goes.
    """
    table = steps.table
    env = int(table.env[t])
    episode, k = (
        int(column[t]) if column[t] >= 0 else None
        for column in (table.episode, table.control_step)
    )
    if k is None and table.valid[t] == 0:
        k = 0
    low, high = int(table.first_row[t]), int(table.last_row[t])
    number = table.first + int(t)
    whose = env if env >= 0 else None
    if rows is None:
        taints: tuple[Taint, ...] = (
            Taint(env=whose, transition=(number, None), until=until),
        )
    else:
        taints = tuple(
            Taint(env=whose, transition=(table.first + a, table.first + b))
            for a, b in _runs(steps, np.asarray(rows))
        )
    return Finding(
        id=key,
        severity=severity or SEVERITIES[key],
        env=whose,
        other_env=other_env,
        episode=episode,
        control_step=k,
        native=(low, high) if low >= 0 else None,
        field=field,
        value=plain(value),
        expected=plain(expected),
        confidence=confidence,
        headline=headline,
        message=f"{headline}: {why}",
        remedy=remedy,
        evidence=evidence or {},
        transition=number,
        taints=taints,
    )


def plain(value: Any) -> Any:
    """A value as plain numbers or lists of them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value


def _runs(steps: ControlSteps, rows: Array) -> list[tuple[int, int]]:
    """Rows of one environment as ranges of its own rows that follow each other."""
    before = steps.before[rows]
    breaks = np.flatnonzero(before[1:] != rows[:-1]) + 1
    return [
        (int(part[0]), int(part[-1])) for part in np.split(rows, breaks) if len(part)
    ]
