"""Observations and frames that two environments share to the last bit.

Where two environments of one scene are in different states, and what one of them sees
is just what the other one saw last, it was read from the other one's state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoscope.core.isolation.labelled_tables import digest_keys
from isoscope.core.isolation.observation_keys import observation_keys
from isoscope.core.isolation.own_components import native_numbers, without_own

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.following import Joined
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array, BoolArray

# Of more than this the environments are too much alike to tell anything.
MOST = 0.05


class Same(NamedTuple):
    """What one environment saw that another one had seen.

    Attributes
    ----------
    row, other_row
        The native steps that led there.
    """

    what: str
    env: int
    other: int
    row: int
    other_row: int
    episode: int | None
    control_step: int | None
    transition: int | None


def same_observations(window: LabelledContext, joined: Joined) -> Iterator[Same]:
    """Yield transitions whose observation is the last one of another environment.

    That one's last may be what its reset told.
    """
    table = window.transitions
    took = np.flatnonzero(table.last_row >= 0)
    if not len(took):
        return
    key = observation_keys(window, took)
    if not key.any():
        return
    yield from _of_observations(window, joined, took, key)


def same_beside_own(window: LabelledContext, joined: Joined) -> Iterator[Same]:
    """Yield transitions that show another environment's state beside what is one's own.

    A target, say, stands in the observation whatever the scene held. So what is left of
    it is the other one's last, and holds native numbers that only that one's state had.
    """
    table = window.transitions
    took = np.flatnonzero(table.last_row >= 0)
    told = without_own(window, took)
    if told is None:
        return
    shown, key = told
    for one in _of_observations(window, joined, took, key):
        values = shown[int(np.searchsorted(took, (one.transition or 0) - table.first))]
        mine = native_numbers(window, one.row, values.dtype)
        theirs = native_numbers(window, one.other_row, values.dtype)
        if np.isin(values[np.isin(values, theirs)], mine, invert=True).any():
            yield one


def _of_observations(
    window: LabelledContext, joined: Joined, took: Array, key: Array
) -> Iterator[Same]:
    table = window.transitions
    rows = table.last_row[took]
    acted = np.asarray(table.valid[took] != 0)
    for i, j in _pairs(key, table.env[took], rows, joined, acted):
        at = int(took[i])
        yield Same(
            "observation",
            int(table.env[at]),
            int(table.env[took[j]]),
            int(rows[i]),
            int(rows[j]),
            _known(table.episode, at),
            _known(table.control_step, at),
            table.first + at,
        )


def same_frames(window: LabelledContext, joined: Joined) -> Iterator[Same]:
    """Yield samples of streams that are the last one of another environment."""
    labelled = window.labelled
    if not labelled.count("streams"):
        return
    digest = digest_keys(labelled.column("streams", "digest"))
    name = labelled.column("streams", "name")
    env, row = labelled.column("streams", "env"), labelled.column("streams", "row")
    for number in np.unique(name).tolist():
        mine = np.flatnonzero((name == number) & (row >= 0) & (env >= 0))
        pairs = _pairs(digest[mine], env[mine], row[mine], joined)
        for i, j in pairs:
            yield Same(
                labelled.text(number) or "stream",
                int(env[mine[i]]),
                int(env[mine[j]]),
                _own_row(joined, int(env[mine[i]]), int(row[mine[i]])),
                _own_row(joined, int(env[mine[j]]), int(row[mine[j]])),
                None,
                None,
                None,
            )


def _own_row(joined: Joined, env: int, row: int) -> int:
    """An environment's last native step up to this one."""
    at = joined.last_of(env, row + 1)
    return int(joined.row[at]) if at >= 0 else row


def _pairs(
    key: Array,
    env: Array,
    row: Array,
    joined: Joined,
    told: BoolArray | None = None,
) -> Iterator[tuple[int, int]]:
    """Yield (i, j): i has the value that j, another's last one before it, had.

    Where `told` is given, bool [n], only of those i in which it is set.
    """
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    again = np.flatnonzero((ordered[1:] == ordered[:-1]) & (ordered[1:] != 0)) + 1
    if told is not None:
        again = again[told[order[again]]]
    if not len(again) or len(again) > max(MOST * len(key), 16):
        return
    for k in again.tolist():
        i = int(order[k])
        low = int(np.searchsorted(ordered, ordered[k]))
        for j in order[low:k][::-1].tolist():
            if env[j] == env[i]:
                break
            if _is_last(env, i, j) and _states_differ(
                joined, int(env[i]), int(env[j]), int(row[i])
            ):
                yield i, j
                break


def _is_last(env: Array, i: int, j: int) -> bool:
    """Whether `j` is its environment's last value before `i`."""
    return not bool((env[j + 1 : i] == env[j]).any())


def _states_differ(joined: Joined, env: int, other: int, row: int) -> bool:
    """Whether two environments of one scene were in different states up to there."""
    mine, theirs = joined.last_of(env, row + 1), joined.last_of(other, row + 1)
    if mine < 0 or theirs < 0 or joined["scene"][mine] != joined["scene"][theirs]:
        return False
    a, b = joined["after"][mine], joined["after"][theirs]
    return bool(a != b) if a and b else True


def _known(column: Array, index: int) -> int | None:
    value = int(column[index])
    return value if value >= 0 else None
