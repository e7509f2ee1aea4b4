"""Whose state the scene shows at a cursor, and what can be laid over it. Pure.

A shared scene holds in turn the state of each of its environments. Whoever looks at one
of them wants to see its own state, as its last own step left it, and not the one of
another that happens to be in the scene.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.widgets.isolate.again import replay_overlay
from isoscope.widgets.isolate.overlays import (
    finding_overlay,
    others_overlay,
    scene_overlay,
)
from isoscope.widgets.scene.state import Overlay, Whose

if TYPE_CHECKING:
    from isoscope.core.analysis import Analysis
    from isoscope.widgets.session import Document
    from isoscope.widgets.theme import Tokens


LATEST = "its latest state"
NOT_CHOSEN = f"{LATEST}; click a row or lane to see another's"


@dataclass(frozen=True, slots=True, eq=False)
class Isolated:
    """What the scene shows.

    Attributes
    ----------
    row
        The native step whose state is drawn.
    whose
        Whose it is; None where that is for the recording's own labels to say.
    note
        Why this is not the cursor's native step; empty where it is.
    tint
        Colour of the environment it is of, ``"#rrggbb"``; None where colours tell the
        actors apart instead.
    overlays
        What can be laid over it, the most telling first.
    tainted
        Why the state can't be trusted, one line; empty where nothing says so.
    """

    row: int
    whose: Whose | None
    note: str = ""
    tint: str | None = None
    overlays: tuple[Overlay, ...] = ()
    tainted: str = ""


def isolated(document: Document, cursor: int, tokens: Tokens) -> Isolated:
    """What to show of a document at this cursor."""
    analysis = document.analysis
    if analysis is None or not 0 <= cursor < analysis.rows:
        return Isolated(cursor, None)
    if not analysis.shared:
        return _alone(document, analysis, cursor, tokens)
    focus = _looked_at(document, analysis, cursor)
    row, note = cursor, ""
    if focus is not None:
        row = analysis.last_row(focus, cursor)
        if row < 0:
            first = analysis.next_row(focus, cursor)
            note = f"env {focus} has its first native step at {first:,}"
            row = cursor
        elif document.follows:
            note = NOT_CHOSEN if document.focus is None else LATEST
        elif row < cursor:
            note = _holds(analysis, cursor)
    env = analysis.owner(row)
    offered = [_proof(document, cursor, row, tokens)]
    offered.append(replay_overlay(document, row, tokens))
    if focus is not None:
        offered.append(scene_overlay(analysis, cursor, row, tokens))
    offered.append(others_overlay(document, analysis, cursor, env, tokens))
    return Isolated(
        row,
        _whose(analysis, row),
        note,
        tokens.environment(env),
        tuple(overlay for overlay in offered if overlay is not None),
        _tainted(analysis, row),
    )


def _looked_at(document: Document, analysis: Analysis, cursor: int) -> int | None:
    """The environment that was chosen; of a run that is followed, else the first."""
    if document.focus is not None or not document.follows:
        return document.focus
    begun = (e for e in document.shown_envs if analysis.last_row(e, cursor) >= 0)
    return next(begun, None)


def _alone(
    document: Document, analysis: Analysis, cursor: int, tokens: Tokens
) -> Isolated:
    """One environment, whose scene always holds its own state."""
    found = analysis.attribution
    named = found.episodes > 1 or int(found.labels.control_step[cursor]) >= 0
    offered = (
        _proof(document, cursor, cursor, tokens),
        replay_overlay(document, cursor, tokens),
    )
    return Isolated(
        cursor,
        _whose(analysis, cursor) if named else Whose(),
        overlays=tuple(overlay for overlay in offered if overlay is not None),
        tainted=_tainted(analysis, cursor),
    )


def _proof(document: Document, cursor: int, row: int, tokens: Tokens) -> Overlay | None:
    finding = document.chosen_finding
    if finding is None:
        return None
    return finding_overlay(document, finding, cursor, row, tokens)


def _tainted(analysis: Analysis, row: int) -> str:
    """The first finding that taints a native step, in words."""
    spread = analysis.tainted
    why = -1 if spread is None else int(spread.row_reason[row])
    if spread is None or why < 0:
        return ""
    finding = spread.findings[why]
    said = f": {finding.headline}" if finding.headline else ""
    return f"native step {row:,} is tainted by {finding.id}{said}"


def _whose(analysis: Analysis, row: int) -> Whose:
    place = analysis.attribution.place(row)
    return Whose(place.env, place.episode, place.control_step)


def _holds(analysis: Analysis, cursor: int) -> str:
    """What the scene itself holds meanwhile."""
    owner = analysis.owner(cursor)
    who = f"env {owner}'s" if owner >= 0 else "an unknown environment's"
    return f"its own last state; the scene itself holds {who} (native step {cursor:,})"
