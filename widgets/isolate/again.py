"""The ghost of what was stepped again, beside what was recorded. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene.state import Ghost, Overlay

if TYPE_CHECKING:
    from isoscope.core.replay.states import Replayed, Trace
    from isoscope.widgets.session import Document
    from isoscope.widgets.theme import Tokens

RECORDED = "recorded"
# Nearer than this an arrow from one to the other is in the way of what it shows.
LEAST_ARROW_M = 0.02


def replay_overlay(document: Document, row: int, tokens: Tokens) -> Overlay | None:
    """What was stepped again at this native step; None where nothing was.

    Parameters
    ----------
    row
        The native step whose state is drawn.
    """
    found = document.replayed
    if found is None or document.replay_view != "ghost" or not found.states.has(row):
        return None
    ghost = Ghost(
        row,
        tokens.text,
        found.name,
        recording=found.states.recording,
        arrow=_apart_m(found, row) > LEAST_ARROW_M,
    )
    name = f"{found.name}: {how_far(found, row)}"
    return Overlay(name, (ghost,), RECORDED, proof=True)


def how_far(found: Replayed, row: int) -> str:
    """How what was stepped again differs in one native step, in words."""
    worst: tuple[float, str] | None = None
    for trace in found.states.traces:
        at = _at(trace, row)
        if at is None or not trace.size[at] > 0:
            continue
        size, limit = float(trace.size[at]), float(trace.limit[at])
        share = size / limit if limit > 0 else np.inf
        if worst is None or share > worst[0]:
            unit = f" {trace.unit}" if trace.unit else ""
            off = f"off by {size:.3g}{unit}" if np.isfinite(size) else "not finite"
            inside = "" if size > limit else ", within tolerance"
            worst = (share, f"{trace.full_name} is {off}{inside}")
    return "equal here" if worst is None else worst[1]


def beyond(found: Replayed, row: int) -> bool:
    """Whether any field is beyond its tolerance in one native step."""
    for trace in found.states.traces:
        at = _at(trace, row)
        if at is not None and trace.size[at] > trace.limit[at]:
            return True
    return False


def _at(trace: Trace, row: int) -> int | None:
    at = int(np.searchsorted(trace.rows, row))
    return at if at < len(trace.rows) and int(trace.rows[at]) == row else None


def _apart_m(found: Replayed, row: int) -> float:
    """How far any place of an actor is off [m]."""
    most = 0.0
    for trace in found.states.traces:
        if trace.unit != "m":
            continue
        at = _at(trace, row)
        if at is not None and np.isfinite(trace.size[at]):
            most = max(most, float(trace.size[at]))
    return most
