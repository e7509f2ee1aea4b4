"""A missed restore: its own way, the other's, and the state that it went on from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.app.reports.evidence.plot import (
    AFTER,
    AXES,
    BEFORE,
    Mark,
    Plot,
    line_of,
    value_at,
)
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Finding
    from isoscope.core.recording.model import Actor


def plot_of(context: Context, finding: Finding) -> Plot | None:
    """The environment's own way, the other's, and what it went on from."""
    subject, env, native = context.subject, finding.env, finding.native
    taken = finding.evidence.get("taken_from_native")
    own_last = finding.evidence.get("own_last_native")
    if env is None or native is None or not isinstance(taken, int):
        return None
    column = _most_apart(subject, taken, own_last if isinstance(own_last, int) else -1)
    if column is None:
        return None
    track, part, name = column
    own = subject.rows_of(env)
    own = own[(own >= native[0] - _window(subject)) & (own <= native[1])]
    before, after = own[own < native[0]][-BEFORE:], own[own >= native[0]][:AFTER]
    onward = np.concatenate([[taken], after])
    lines = [
        line_of(track, part, before, f"env {env}, its own", env),
        line_of(track, part, onward, f"env {env} after it", env, "dashed"),
    ]
    if finding.other_env is not None:
        theirs = subject.rows_of(finding.other_env)
        ends = (
            (before[0] if len(before) else native[0]),
            (after[-1] if len(after) else native[0]),
        )
        theirs = theirs[(theirs >= ends[0]) & (theirs <= ends[1])]
        other = finding.other_env
        lines.append(line_of(track, part, theirs, f"env {other}", other))
    marks = [Mark(float(taken), value_at(track, part, taken), "what it began from")]
    if isinstance(own_last, int):
        where = value_at(track, part, own_last)
        marks.append(Mark(float(own_last), where, "what it should have begun from"))
    last = float(after[-1]) if len(after) else float(native[1])
    return Plot(
        f"Own state against the one it began from: {name}",
        f"{name} [m]",
        tuple(lines),
        tuple(marks),
        ((float(native[0]) - 0.5, last + 0.5),),
    )


def _window(subject: Examined) -> int:
    """Native steps that hold `BEFORE` steps of each environment, about."""
    return (BEFORE + 2) * max(len(subject.environments()), 1)


def _most_apart(
    subject: Examined, taken: int, own: int
) -> tuple[Track, int, str] | None:
    """The coordinate in which two states are farthest apart; or which moves most."""
    best: tuple[float, Track, int, str] | None = None
    for actor in subject.recording.actors:
        track = _position(actor)
        if track is None:
            continue
        here = track.at(taken)
        there = track.at(own) if own >= 0 else None
        if here is None:
            continue
        off = np.zeros(3) if there is None else np.abs(here - there)
        part = int(np.argmax(off))
        name = f"{actor.name} {AXES[part]}"
        if best is None or off[part] > best[0]:
            best = (float(off[part]), track, part, name)
    return None if best is None else best[1:]


def _position(actor: Actor) -> Track | None:
    if actor.static:
        return None
    for name in ("translationCom", "translation"):
        track = actor.fields.get(name)
        if isinstance(track, Track) and track.shape == (3,):
            return track
    return None
