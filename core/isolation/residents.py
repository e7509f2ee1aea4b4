"""Whose state a shared scene held at a moment, by its steps and restores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.isolation.following import Joined
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array, Int64Array

UNKNOWN = -1


def residents(joined: Joined, window: LabelledContext, at: Array) -> Int64Array:
    """Whose state was in the scene at each of these events.

    Parameters
    ----------
    joined
        The native steps.
    window
        Where the events are.
    at
        int64 [k]: indices of events, ascending.

    Returns
    -------
    Int64Array
        int64 [k]: environments; -1 where the last thing that is known to have changed
        the scene's state can't be said to be anybody's.
    """
    events = window.events
    restores = np.flatnonzero(events.are("restore"))
    owner = _owners(window, restores)
    scene = np.concatenate([joined["scene"], events.scene[restores], events.scene[at]])
    # An event of row r came before native step r, and after r - 1; events keep their
    # order among themselves.
    when = np.concatenate(
        [2 * joined.row + 1, 2 * events.row[restores], 2 * events.row[at]]
    )
    order = np.concatenate([np.zeros(len(joined), np.int64), restores, at])
    whose = np.concatenate(
        [joined["env"].astype(np.int64), owner, np.full(len(at), -2, np.int64)]
    )
    sorted_ = np.lexsort((order, when, scene))
    changes = whose[sorted_] != -2
    last = np.where(changes, np.arange(len(sorted_)), -1)
    np.maximum.accumulate(last, out=last)
    out = np.full(len(at), UNKNOWN, np.int64)
    asks = np.flatnonzero(~changes)
    before = last[asks]
    same = before >= 0
    same[same] = scene[sorted_[before[same]]] == scene[sorted_[asks[same]]]
    which = sorted_[asks] - len(joined) - len(restores)
    out[which[same]] = whose[sorted_[before[same]]]
    return out


def _owners(window: LabelledContext, restores: Array) -> Int64Array:
    """Whose state each restore brought back; -1 unknown.

    By the snapshot that it names, else by the environment that restored its own. One
    that failed leaves nobody's state.
    """
    events = window.events
    owner = events.env[restores].astype(np.int64)
    named = events.snapshot[restores]
    if len(window.snapshots) and (named >= 0).any():
        ids, whose = window.snapshots.id, window.snapshots.env.astype(np.int64)
        order = np.argsort(ids, kind="stable")
        at = np.minimum(np.searchsorted(ids[order], named), len(ids) - 1)
        found = (ids[order][at] == named) & (whose[order][at] >= 0)
        owner = np.where(found, whose[order][at], owner)
    return np.where(events.ok[restores] == 0, UNKNOWN, owner)
