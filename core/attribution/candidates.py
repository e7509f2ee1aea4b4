"""Which earlier states could a step have begun from? One search a block of rows.

States are points in D dimensions; a step's start equals the end of its parent within
rounding. All ends of a block, and those kept from before, are projected on one line and
sorted; a start looks only at its neighbours there, and those are then checked exactly,
body by body. Ends that are equal to the last bit form one *class* and are looked at
once: nothing recorded tells them apart.

The cost is that of sorting the block and what was kept, so it is linear in the file's
length as long as what is kept is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.attribution.predictor import Layout, Motion
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

# Neighbours on either side that are checked; the right one is among the nearest.
REACH = 24
# A column that varies less than this many times its rounding counts for little.
USEFUL_SPREAD = 1e3
SLACK_EPS = 64 * float(np.finfo(np.float64).eps)
TAIL = 1e-4  # weight of a deviation beyond what rounding explains


@dataclass(frozen=True, slots=True)
class Nodes:
    """States that a step could begin from: their rows [k], ascending, and ends [k, D].

    NaN where unknown.
    """

    rows: Int64Array
    ends: Array


@dataclass(frozen=True, slots=True)
class Matches:
    """What each row of a block could have begun from.

    Row i of the block has the entries ``offsets[i] .. offsets[i + 1]``, the best first.

    Attributes
    ----------
    offsets
        int64 [n + 1].
    classes
        int32 [m]: the class of equal states that an entry names.
    tight
        bool [m]: whether it fits within the rounding of the velocity alone. A row has
        either tight entries only or, where there is none, loose ones.
    likelihood
        float64 [m]: logarithm, up to a constant of the row.
    distance_m
        float64 [m]: largest deviation of a position, in metres.
    nodes
        The states that were searched: those given, then the block's own.
    class_of
        int32 [k]: class of each node.
    place
        float64 [k]: where each node lies on the line of projection.
    start_place
        float64 [n]: where each start lies on it; NaN where unknown.
    """

    offsets: Int64Array
    classes: Array
    tight: BoolArray
    likelihood: Array
    distance_m: Array
    nodes: Nodes
    class_of: Array
    place: Array
    start_place: Array


def search(
    kept: Nodes, motion: Motion, previous: Int64Array, layout: Layout, use: BoolArray
) -> Matches:
    """Find the candidates of every row of a block.

    Parameters
    ----------
    kept
        States from before the block that may still be continued.
    motion
        Of the block.
    previous
        int64 [n]: for each row the last row before it that has a state, or -1; it is
        always checked, even where the search can't be used.
    layout
        What the columns are.
    use
        bool [D]: the columns to go by.
    """
    rows = np.arange(motion.start, motion.stop, dtype=np.int64)
    ends = np.where(use, motion.end, np.nan)
    moved = np.where(use, motion.moved, np.nan)
    has_end = np.isfinite(ends).any(axis=1)
    has_start = np.isfinite(ends - moved).any(axis=1)
    old = np.where(use, _widen(kept.ends, len(layout)), np.nan)
    nodes = Nodes(
        np.concatenate([kept.rows, rows[has_end]]), np.vstack([old, ends[has_end]])
    )
    weights = _weights(nodes.ends, moved[has_start], motion.loose[has_start])
    place = _project(nodes.ends, weights)
    start_place = np.where(has_start, _project(ends - moved, weights), np.nan)
    class_of, first, class_end, class_place = _classes(nodes, place)
    entry_row, entry_class = _windows(
        motion, ends, weights, start_place, class_place, has_start
    )
    # The row before is a candidate whatever the projection says.
    at = np.searchsorted(nodes.rows, previous)
    at = np.minimum(at, len(nodes.rows) - 1) if len(nodes.rows) else at
    known = has_start & (previous >= 0)
    if len(nodes.rows):
        known &= nodes.rows[at] == previous
        entry_row = np.concatenate([entry_row, np.flatnonzero(known)])
        entry_class = np.concatenate([entry_class, class_of[at[known]]])
    # A class whose first member comes later can't have been there yet.
    earlier = first[entry_class] < rows[entry_row]
    key = entry_row[earlier] * max(len(first), 1) + entry_class[earlier]
    key = np.unique(key)
    entry_row, entry_class = np.divmod(key, max(len(first), 1))
    return _check(
        motion, layout, ends, moved, entry_row, entry_class, class_end
    )._with(nodes, class_of, place, start_place)


@dataclass(frozen=True, slots=True)
class _Checked:
    """Matches without what was searched."""

    offsets: Int64Array
    classes: Array
    tight: BoolArray
    likelihood: Array
    distance_m: Array

    def _with(
        self, nodes: Nodes, class_of: Array, place: Array, start_place: Array
    ) -> Matches:
        return Matches(
            self.offsets,
            self.classes,
            self.tight,
            self.likelihood,
            self.distance_m,
            nodes,
            class_of,
            place,
            start_place,
        )


def _widen(ends: Array, columns: int) -> Array:
    """Ends [k, D] with columns added that were not known yet when they were kept."""
    if ends.shape[1] == columns:
        return ends
    out = np.full((len(ends), columns), np.nan)
    out[:, : ends.shape[1]] = ends
    return out


def _weights(ends: Array, moved: Array, loose: Array) -> Array:
    """Weights [D] of the projection: each useful column counts about the same."""
    columns = ends.shape[1]
    if len(ends) == 0 or len(moved) == 0:
        return np.zeros(columns)
    # Only columns that every state has can be compared along one line.
    whole = np.isfinite(ends).all(axis=0) & np.isfinite(moved).all(axis=0)
    weights = np.zeros(columns)
    if not whole.any():
        return weights
    spread = ends[:, whole].std(axis=0)
    noise = np.median(loose[:, whole], axis=0)
    mixed = np.random.default_rng(20).uniform(0.5, 1.0, columns)[whole]
    mixed *= np.where(np.arange(len(mixed)) % 2, 1.0, -1.0)
    weights[whole] = mixed / np.maximum(spread, USEFUL_SPREAD * noise)
    return weights


def _project(states: Array, weights: Array) -> Array:
    """Place [n] of each state on the line."""
    used = weights != 0
    return states[:, used] @ weights[used]


def _classes(nodes: Nodes, place: Array) -> tuple[Array, Array, Array, Array]:
    """Group equal states.

    Returns
    -------
    class_of
        int32 [k].
    first
        int64 [c]: first row of each class.
    ends, places
        Of each class; places ascend.
    """
    count = len(place)
    if count == 0:
        none = np.zeros(0)
        return np.zeros(0, np.int32), np.zeros(0, np.int64), nodes.ends, none
    order = np.argsort(place, kind="stable")
    sorted_place = place[order]
    fresh = np.ones(count, np.bool_)
    same = np.flatnonzero(sorted_place[1:] == sorted_place[:-1]) + 1
    if len(same):
        here, before = nodes.ends[order[same]], nodes.ends[order[same - 1]]
        equal = (here == before) | (np.isnan(here) & np.isnan(before))
        fresh[same] = ~equal.all(axis=1)
    ids = np.cumsum(fresh) - 1
    class_of = np.empty(count, np.int32)
    class_of[order] = ids
    heads = order[fresh]
    return class_of, nodes.rows[heads], nodes.ends[heads], sorted_place[fresh]


def _windows(
    motion: Motion,
    ends: Array,
    weights: Array,
    start_place: Array,
    class_place: Array,
    has_start: BoolArray,
) -> tuple[Int64Array, Int64Array]:
    """Pairs (row, class) that lie within the rounding of each other on the line."""
    none = np.zeros(0, np.int64)
    if not weights.any() or len(class_place) == 0:
        return none, none
    used = weights != 0
    size = np.abs(weights[used])
    width = motion.loose[:, used] @ size
    width = width + SLACK_EPS * (np.abs(ends[:, used]) @ size)
    ask = np.flatnonzero(has_start & np.isfinite(width) & np.isfinite(start_place))
    at, reach = start_place[ask], width[ask]
    centre = np.searchsorted(class_place, at)
    low = np.searchsorted(class_place, at - reach, "left")
    high = np.searchsorted(class_place, at + reach, "right")
    low = np.maximum(low, centre - REACH)
    high = np.minimum(high, centre + REACH)
    counts = np.maximum(high - low, 0)
    entry_row = np.repeat(ask, counts)
    begin = np.cumsum(counts) - counts
    entry_class = np.arange(len(entry_row)) - np.repeat(begin - low, counts)
    return entry_row.astype(np.int64), entry_class.astype(np.int64)


def _check(
    motion: Motion,
    layout: Layout,
    ends: Array,
    moved: Array,
    entry_row: Int64Array,
    entry_class: Int64Array,
    class_end: Array,
) -> _Checked:
    """Keep the pairs that agree in every column, and say how well."""
    off = np.abs((ends[entry_row] - class_end[entry_class]) - moved[entry_row])
    known = np.isfinite(off)
    metres = layout.metres
    some = (known & metres).any(axis=1) if len(metres) else known.any(axis=1)
    unit = off / motion.tight[entry_row]
    tight = some & (~known | (unit <= 1)).all(axis=1)
    loose = some & (~known | (off <= motion.loose[entry_row])).all(axis=1)
    rows = len(motion)
    has_tight = np.zeros(rows, np.bool_)
    has_tight[entry_row[tight]] = True
    keep = tight | (loose & ~has_tight[entry_row])
    place = off[:, metres]
    distance = np.where(known[:, metres], place, 0.0)[keep].max(axis=1, initial=0.0)
    unit = np.where(
        tight[keep, None], unit[keep], 2 * off[keep] / motion.loose[entry_row[keep]]
    )[:, metres]
    density = np.maximum(1 - (unit / 1.5) ** 2, 0.0) + TAIL
    likelihood = np.where(np.isfinite(unit), np.log(density), 0.0).sum(axis=1)
    entry_row, entry_class, tight = entry_row[keep], entry_class[keep], tight[keep]
    order = np.lexsort((-likelihood, entry_row))
    counts = np.bincount(entry_row, minlength=rows)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return _Checked(
        offsets,
        entry_class[order].astype(np.int32),
        tight[order],
        likelihood[order],
        distance[order],
    )
