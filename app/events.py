"""The rows of a recording that are worth jumping to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind
from isoscope.core.timeline.extras import extras_of
from isoscope.core.timeline.lanes import timeline_of

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.session import Document


def event_rows(document: Document) -> list[int]:
    """Rows of the timeline's events, and those where an actor came or went.

    Where the environments are known, also where an episode begins: of the environment
    that is looked at, or of all. The first row is none of them: it has a key of its
    own.
    """
    bookmarks = [(mark.row, mark.name) for mark in document.bookmarks]
    extras = None if document.analysis is None else extras_of(document.analysis)
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
        return np.zeros(0, np.int64)
    focus = document.focus
    environments = analysis.environments if focus is None else (focus,)
    labels = analysis.labels
    found = []
    for env in environments:
        own = analysis.rows_of(env)
        control, episode = labels.control_step[own], labels.episode[own]
        last = np.ones(len(own), np.bool_)
        last[:-1] = (np.diff(control) != 0) | (np.diff(episode) != 0)
        found.append(own[last & (control >= 0)])
    rows = np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)
    # Resets alone are no control steps: M is unknown then.
    steps = labels.control_step[rows] > 0
    return rows if steps.any() else rows[:0]


def _episodes(document: Document) -> Array:
    """Rows with which an episode begins."""
    analysis = document.analysis
    if analysis is None:
        return np.zeros(0, np.int64)
    focus = document.focus
    environments = analysis.environments if focus is None else (focus,)
    labels = analysis.labels
    found = [np.zeros(0, np.int64)]
    for env in environments:
        own = analysis.rows_of(env)
        reset = labels.kind[own] == StepKind.RESET
        begins = reset.copy()
        begins[1:] = (np.diff(labels.episode[own]) != 0) | (reset[1:] & ~reset[:-1])
        found.append(own[begins])
    return np.concatenate(found)
