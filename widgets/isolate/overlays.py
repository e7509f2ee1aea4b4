"""From a finding, or the environment that is looked at, to ghosts in the scene. Pure.

The overlay of a finding is its proof: it is shown at once where it applies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from isoscope.widgets.scene.state import Arrow, Ghost, Overlay

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.analysis import Analysis
    from isoscope.core.isolation.findings import Finding
    from isoscope.core.recording.model import Actor, Recording
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.session import Document
    from isoscope.widgets.theme import Tokens

MOST_GHOSTS = 8
SIDE_BY_SIDE = "side by side"


def finding_overlay(
    document: Document, finding: Finding, cursor: int, drawn: int, tokens: Tokens
) -> Overlay | None:
    """What proves a finding at this cursor; None where there is nothing to show.

    Parameters
    ----------
    cursor
        The native step at the cursor.
    drawn
        The native step whose state is drawn.
    """
    make = _PROOFS.get(finding.id)
    analysis = document.analysis
    if make is None or analysis is None or finding.native is None:
        return None
    return make(document, analysis, finding, cursor, drawn, tokens)


def scene_overlay(
    analysis: Analysis, cursor: int, drawn: int, tokens: Tokens
) -> Overlay | None:
    """What the shared scene holds at the cursor, where that is another state."""
    if drawn == cursor:
        return None
    owner = analysis.owner(cursor)
    label = f"in the scene: env {owner}" if owner >= 0 else "in the scene"
    ghost = Ghost(cursor, tokens.environment(owner), label)
    return Overlay("what the scene holds", (ghost,))


def others_overlay(
    document: Document, analysis: Analysis, cursor: int, env: int, tokens: Tokens
) -> Overlay | None:
    """The last states of the other environments that are shown."""
    ghosts = []
    for other in document.shown_envs:
        row = analysis.last_row(other, cursor) if other != env else -1
        if row >= 0:
            ghosts.append(Ghost(row, tokens.environment(other), f"env {other}"))
        if len(ghosts) == MOST_GHOSTS:
            break
    return Overlay("other environments", tuple(ghosts)) if ghosts else None


# -- one proof a kind of finding ------------------------------------------------------


def _missed_restore(
    document: Document,
    analysis: Analysis,
    finding: Finding,
    cursor: int,
    drawn: int,
    tokens: Tokens,
) -> Overlay | None:
    """The state that it should have begun from beside the one that it did."""
    if finding.env is None or finding.native is None:
        return None
    first, last = finding.native
    own = finding.evidence.get("own_last_native")
    taken = finding.evidence.get("taken_from_native")
    colour = tokens.environment(finding.env)
    if cursor == first and isinstance(taken, int):
        whose = finding.other_env
        here = f"began here: env {whose}'s state" if whose is not None else "began here"
        ghosts: tuple[Ghost, ...] = ()
        if isinstance(own, int):
            ghosts = (Ghost(own, colour, "should have begun here", arrow=True),)
        return Overlay("expected start", ghosts, here, row=taken, proof=True)
    if first < cursor <= last and isinstance(own, int):
        label = f"env {finding.env}'s own state, never continued"
        return Overlay("lost state", (Ghost(own, colour, label),), proof=True)
    return None


def _config_changed(
    document: Document,
    analysis: Analysis,
    finding: Finding,
    cursor: int,
    drawn: int,
    tokens: Tokens,
) -> Overlay | None:
    """The affected environments side by side, with the value before and after."""
    if finding.native is None or cursor < finding.native[1]:
        return None
    env = analysis.owner(drawn)
    here = _under(finding, env)
    ghosts = []
    for affected in finding.affected:
        if affected.env == env:
            continue
        row = analysis.last_row(affected.env, max(cursor, affected.native))
        where = f"{affected.episode}/{affected.control_step}"
        label = f"env {affected.env}: affected from {where}"
        ghosts.append(Ghost(row, tokens.environment(affected.env), label, alpha=1.0))
    if finding.env is not None and finding.env != env:
        row = analysis.last_row(finding.env, cursor)
        label = f"env {finding.env}: {_under(finding, finding.env)}"
        ghosts.append(Ghost(row, tokens.environment(finding.env), label, alpha=1.0))
    return Overlay(
        SIDE_BY_SIDE,
        tuple(ghost for ghost in ghosts[:MOST_GHOSTS] if ghost.row >= 0),
        f"env {env}: {here}" if env >= 0 else here,
        proof=True,
        arrows=_before_after(finding, tokens),
        apart=True,
    )


def _under(finding: Finding, env: int) -> str:
    if env == finding.env:
        return f"first under the new {finding.field}"
    reached = [a for a in finding.affected if a.env == env]
    if reached:
        return f"affected from {reached[0].episode}/{reached[0].control_step}"
    return "not affected yet"


def _before_after(finding: Finding, tokens: Tokens) -> tuple[Arrow, ...]:
    """Gravity before and after, as arrows to one scale."""
    if finding.field != "gravity":
        return ()
    before, after = np.array(finding.expected), np.array(finding.value)
    longest = max(float(np.linalg.norm(before)), float(np.linalg.norm(after)))
    if before.shape != (3,) or after.shape != (3,) or not 0 < longest < np.inf:
        return ()
    return (
        Arrow(_tuple(before / longest), tokens.dim, f"gravity before: {_size(before)}"),
        Arrow(_tuple(after / longest), tokens.error, f"after: {_size(after)}"),
    )


def _size(vector: Array) -> str:
    return f"{float(np.linalg.norm(vector)):.4g} m/s²"


def _tuple(vector: Array) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in vector)
    return x, y, z


def _rewind(
    document: Document,
    analysis: Analysis,
    finding: Finding,
    cursor: int,
    drawn: int,
    tokens: Tokens,
) -> Overlay | None:
    """The state that was given up, beside the one that was restored."""
    left, to = finding.evidence.get("left_native"), finding.evidence.get("to_native")
    if finding.native is None or cursor != finding.native[0]:
        return None
    if not isinstance(left, int):
        return None
    here = "went on from here"
    row = to if isinstance(to, int) else None
    if row is None:
        here = "one step on from the restored state"
    env = finding.env if finding.env is not None else -1
    ghost = Ghost(left, tokens.environment(env), "given up here", arrow=True)
    return Overlay("the state that was left", (ghost,), here, row=row, proof=True)


def _callback(
    document: Document,
    analysis: Analysis,
    finding: Finding,
    cursor: int,
    drawn: int,
    tokens: Tokens,
) -> Overlay | None:
    """Where the step itself took the body, before something moved it."""
    recording = document.recording
    name = (finding.field or "").rpartition(".")[0]
    actors = [a for a in recording.actors if a.name == name]
    parent = int(analysis.attribution.parent[drawn]) if drawn >= 0 else -1
    if not actors or parent < 0:
        return None
    moved = predicted_offset(recording, actors[0], parent, drawn)
    if moved is None:
        return None
    ghost = Ghost(
        drawn,
        tokens.warning,
        f"{name}: where its velocity takes it",
        offset=moved,
        actors=(actors[0].index,),
        arrow=True,
    )
    here = f"{name}: where it was recorded"
    return Overlay("predicted place", (ghost,), here, proof=True)


def predicted_offset(
    recording: Recording, actor: Actor, before: int, row: int
) -> tuple[float, float, float] | None:
    """From where a body is after `row` to where its velocity says that it should be.

    In metres: ``com(before) + h vcom(row) - com(row)``; None where that isn't known.
    """
    com, speed = actor.fields.get("translationCom"), actor.fields.get("vcom")
    if com is None or speed is None:
        return None
    start, end, velocity = com.at(before), com.at(row), speed.at(row)
    h_s = float(recording.steps.h_s[row])
    if start is None or end is None or velocity is None or not np.isfinite(h_s):
        return None
    if start.shape != (3,) or end.shape != (3,) or velocity.shape != (3,):
        return None
    offset = start.astype(float) + h_s * velocity.astype(float) - end.astype(float)
    return _tuple(offset) if np.isfinite(offset).all() else None


def _hidden_leak(
    document: Document,
    analysis: Analysis,
    finding: Finding,
    cursor: int,
    drawn: int,
    tokens: Tokens,
) -> Overlay | None:
    """The independent twin at the same step of the same episode."""
    twin = document.twin
    if twin is None or twin.analysis is None or finding.env is None:
        return None
    row = twin_row(analysis, finding, twin.analysis, drawn)
    if row is None:
        return None
    ghost = Ghost(
        row,
        tokens.warning,
        f"independent twin ({twin.name})",
        recording=twin.recording,
        arrow=True,
    )
    return Overlay("independent twin", (ghost,), f"env {finding.env}", proof=True)


def twin_row(
    analysis: Analysis, finding: Finding, twin: Analysis, row: int
) -> int | None:
    """The twin's native step that stands beside this one; None without one.

    Steps are counted from the departure: as many of the environment's own before or
    after it, as far as the twin has them.
    """
    theirs, env = finding.evidence.get("reference_native"), finding.env
    other = finding.evidence.get("reference_env")
    if finding.native is None or env is None:
        return None
    if not isinstance(theirs, int) or not isinstance(other, int):
        return None
    own, twins = analysis.rows_of(env), twin.rows_of(other)
    away = int(np.searchsorted(own, row)) - int(np.searchsorted(own, finding.native[0]))
    at = int(np.searchsorted(twins, theirs)) + away
    return int(twins[at]) if 0 <= at < len(twins) else None


_Proof: TypeAlias = (
    "Callable[[Document, Analysis, Finding, int, int, Tokens], Overlay | None]"
)
_PROOFS: dict[str, _Proof] = {
    "missed-restore": _missed_restore,
    "config-changed": _config_changed,
    "rewind": _rewind,
    "callback-moved-state": _callback,
    "hidden-leak": _hidden_leak,
}
