"""The rows of a recording that are worth jumping to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind
from isoscope.core.timeline.extras import extras_of
from isoscope.core.timeline.lanes import timeline_of
from isoscope.core.timeline.model import TimelineExtras

if TYPE_CHECKING:
    from isoscope.core.analysis import Analysis
    from isoscope.core.clock import Clock
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.session import Document

NO_ROWS = np.zeros(0, np.int64)


def event_rows(document: Document) -> list[int]:
    """Rows of the timeline's events, and those where an actor came or went.

    Where the environments are known, also where an episode begins: of the environment
    that is looked at, or of all. The first row is none of them: it has a key of its
    own.
    """
    bookmarks = [(mark.row, mark.name) for mark in document.bookmarks]
    extras = None
    if document.analysis is not None:
        # The marks alone: no lane of an environment is made for them.
        extras = TimelineExtras(findings=extras_of(document.analysis).findings)
    found = timeline_of(document.recording, extras, bookmarks).events.rows
    rows = set(found.tolist())
    for actor in document.recording.actors:
        rows.add(actor.created_native)
        if actor.destroyed_native is not None:
            rows.add(actor.destroyed_native)
    rows.update(_episodes(document).tolist())
    rows.discard(0)
    return sorted(rows)


def control_rows(document: Document) -> Array:
    """The last native step of each control step and each reset, ascending.

    Of the environment that is looked at, or of all. Empty where no control step is
    known.
    """
    analysis = document.analysis
    if analysis is None:
        return NO_ROWS
    rows = _grouped(analysis, document.focus)
    env, episode, control = _columns(analysis, rows)
    last = np.ones(len(rows), np.bool_)
    last[:-1] = (np.diff(control) != 0) | (np.diff(episode) != 0) | (np.diff(env) != 0)
    found = np.sort(rows[last & (control >= 0)])
    # Resets alone are no control steps: M is unknown then.
    steps = analysis.labels.control_step[found] > 0
    return found if steps.any() else NO_ROWS


def new_marks(
    document: Document, clock: Clock, taken: dict[int, int]
) -> dict[int, int]:
    """Mark what was told since of a live document's environments.

    Parameters
    ----------
    taken
        By environment, how much of what was told of it is marked already.

    Returns
    -------
    dict of int to int
        The same, now.
    """
    told, focus = document.told, document.focus
    now: dict[int, int] = {}
    if told is None:
        return now
    control, events = [NO_ROWS], [NO_ROWS]
    for env, of in told.envs.items():
        if focus is not None and env != focus:
            continue
        steps, special = of.rows_since(taken.get(env, 0))
        control.append(steps)
        events.append(special)
        now[env] = len(of)
    clock.add_marks("control", np.concatenate(control))
    clock.add_marks("event", np.concatenate(events))
    return now


def _episodes(document: Document) -> Array:
    """Rows with which an episode begins."""
    analysis = document.analysis
    if analysis is None:
        return NO_ROWS
    rows = _grouped(analysis, document.focus)
    env, episode, _ = _columns(analysis, rows)
    reset = analysis.labels.kind[rows] == StepKind.RESET
    begins = reset.copy()
    other = np.diff(env) != 0
    begins[1:] = ((np.diff(episode) != 0) & ~other) | (
        reset[1:] & (~reset[:-1] | other)
    )
    return np.sort(rows[begins])


def _grouped(analysis: Analysis, focus: int | None) -> Array:
    """Rows by environment, ascending within each: of one environment, or of all."""
    if focus is not None:
        return analysis.rows_of(focus)
    return analysis.by_environment


def _columns(analysis: Analysis, rows: Array) -> tuple[Array, Array, Array]:
    """Environment, episode and control step of these rows."""
    labels = analysis.labels
    return labels.env[rows], labels.episode[rows], labels.control_step[rows]
