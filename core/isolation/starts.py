"""In which state each native step began, by digests: exact, also without velocities.

An environment's step begins where its step before ended, unless it is a reset's own. If
it doesn't, somebody else's step may have left that state, or an earlier one of its own
did, or a snapshot holds it; or nobody ever left it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.following import Joined
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array, BoolArray

LOOKED_AT = 4096  # steps that don't begin where they should, in one window


class How(IntEnum):
    """Where a step began that did not begin where its environment's last one ended."""

    SCENE = 1  # in what another environment's step had just left in the scene
    COPY = 2  # in a state of another environment that is no longer the scene's last
    BACK = 3  # in an earlier state of its own
    SET = 5  # in a state that was set after its last step, and captured
    NOWHERE = 4  # in a state that no step left and no snapshot holds


class Start(NamedTuple):
    """A step that did not begin where it should.

    Attributes
    ----------
    at
        In the joined steps.
    how
        See `How`.
    source
        Index of the step that left the state, or -1 (a snapshot, or nowhere).
    source_env
        Whose state it was; -1 unknown.
    own
        Index of its environment's step before.
    """

    at: int
    how: How
    source: int
    source_env: int
    own: int


def told(joined: Joined) -> BoolArray:
    """Bool [n]: steps whose beginning the digests tell: own, or not."""
    own = joined.before_env
    known: BoolArray = (
        (joined["before"] != 0) & (own >= 0) & (joined["after"][own] != 0)
    )
    return known


def odd_starts(joined: Joined, window: LabelledContext) -> Iterator[Start]:
    """Yield the window's own steps that did not begin where they should have.

    Needs the columns ``before`` and ``after``. A step behind records that were dropped
    is passed over: nobody knows where the one before it ended.
    """
    before, after, env = joined["before"], joined["after"], joined["env"]
    own = joined.before_env
    odd = told(joined) & ~joined.reset & (before != after[own])
    odd[: joined.first_new] = False
    at = np.flatnonzero(odd)[:LOOKED_AT]
    if not len(at):
        return
    at = at[~_behind_a_gap(joined, window, at)]
    order = np.argsort(after, kind="stable")
    ends = after[order]
    table = window.snapshots
    snapshots = {
        digest: (whose, row)
        for digest, whose, row in zip(
            table.digest.tolist(), table.env.tolist(), table.row.tolist(), strict=True
        )
    }
    captured = set(
        zip(table.digest.tolist(), table.env.tolist(), table.row.tolist(), strict=True)
    )
    scene = joined["scene"]
    for i in at.tolist():
        low, high = (
            np.searchsorted(ends, before[i]),
            np.searchsorted(ends, before[i], "right"),
        )
        left = order[low:high]
        left = left[(left < i) & (scene[left] == scene[i])]
        mine = int(own[i])
        if (
            joined.reset[mine]
            and (int(before[i]), int(env[i]), int(joined.row[mine])) in captured
        ):
            continue  # set in its reset and captured, also where another began alike
        if len(left):
            # The scene's last step if it is among them, else one's own, else the last.
            source = int(left[-1])
            if source != joined.before_scene[i]:
                same = left[env[left] == env[i]]
                source = int(same[-1]) if len(same) else source
            whose = int(env[source])
            how = How.COPY
            if whose == env[i]:
                how = How.BACK
            elif source == joined.before_scene[i]:
                how = How.SCENE
            yield Start(i, how, source, whose, mine)
            continue
        key = int(before[i])
        if key in snapshots:
            whose, taken = snapshots[key]
            how = How.BACK if whose in (-1, int(env[i])) else How.COPY
            if whose == env[i] and taken == joined.row[mine]:
                how = How.SET
            yield Start(i, how, -1, whose, mine)
        else:
            yield Start(i, How.NOWHERE, -1, -1, mine)


def _behind_a_gap(joined: Joined, window: LabelledContext, at: Array) -> BoolArray:
    """Bool [k]: steps with dropped records between them and their own last one."""
    dropped = [d.row for d in window.labelled.dropped() if d.row >= 0]
    if not dropped:
        return np.zeros(len(at), np.bool_)
    rows = np.sort(np.array(dropped))
    low = joined.row[joined.before_env[at]] + 1
    high = joined.row[at]
    first = np.searchsorted(rows, low)
    return np.asarray(
        (first < len(rows)) & (rows[np.minimum(first, len(rows) - 1)] <= high)
    )


def restored_between(joined: Joined, window: LabelledContext, start: Start) -> bool:
    """Whether the environment restored something right before such a step.

    Where no restore of the run is recorded at all, it is taken for granted.
    """
    restored = joined.columns.get("restored_from")
    if restored is not None and restored[start.at] >= 0:
        return True
    events = window.events
    restores = np.flatnonzero(events.are("restore"))
    if not len(restores):
        return True
    low, high = int(joined.row[start.own]), int(joined.row[start.at])
    rows = events.row[restores]
    mine = events.env[restores] == joined["env"][start.at]
    return bool(((rows > low) & (rows <= high) & mine).any())
