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

# Neighbours on either side that are checked, at most; the right one is among the
# nearest. Where states crowd, fewer, so that the pairs stay in proportion to the rows.
REACH, LEAST_REACH = 512, 24
PAIRS_PER_ROW = 16
# Columns that tell states apart this many times worse than the best one don't count.
USEFUL = 100.0
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
    weights = _weights(nodes.ends, moved[has_start], motion.tight[has_start])
    place = _project(nodes.ends, weights)
    start_place = np.where(has_start, _project(ends - moved, weights), np.nan)
    known = _Classes.of(nodes, place)
    look = _Look(motion, layout, ends, moved, weights, start_place, known)
    # Nearly every start is found within the rounding of its velocity; only for the
    # rest does it pay to look as far as the rounding of the state itself reaches.
    pairs = look.pairs(has_start, motion.tight)
    near = look.check(pairs, _behind(nodes, known, previous, has_start))
    missing = has_start.copy()
    missing[near.rows[near.tight]] = False
    far = look.check(look.pairs(missing, motion.loose), near.only(missing))
    found = near.only(~missing) + far
    order = np.lexsort((-found.likelihood, found.rows))
    counts = np.bincount(found.rows, minlength=len(motion))
    return Matches(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        found.classes[order].astype(np.int32),
        found.tight[order],
        found.likelihood[order],
        found.distance_m[order],
        nodes,
        known.of_node,
        place,
        start_place,
    )


@dataclass(frozen=True, slots=True)
class _Entries:
    """Pairs of a row of the block and a class, and how well they agree."""

    rows: Int64Array
    classes: Int64Array
    tight: BoolArray
    likelihood: Array
    distance_m: Array

    def only(self, rows: BoolArray) -> _Entries:
        """The entries of these rows."""
        keep = rows[self.rows]
        return _Entries(*(getattr(self, name)[keep] for name in self.__slots__))

    def __add__(self, other: _Entries) -> _Entries:
        """These, and others."""
        return _Entries(
            *(
                np.concatenate([getattr(self, name), getattr(other, name)])
                for name in self.__slots__
            )
        )


@dataclass(frozen=True, slots=True)
class _Classes:
    """Equal states: the class of each node; first row, end and place of each class."""

    of_node: Array
    first: Int64Array
    ends: Array
    place: Array

    @classmethod
    def of(cls, nodes: Nodes, place: Array) -> _Classes:
        """Group the nodes; the classes are numbered in the order of their places."""
        if len(place) == 0:
            none = np.zeros(0, np.int64)
            return cls(none.astype(np.int32), none, nodes.ends, place)
        order = np.argsort(place, kind="stable")
        ascending = place[order]
        fresh = np.ones(len(place), np.bool_)
        same = np.flatnonzero(ascending[1:] == ascending[:-1]) + 1
        if len(same):
            here, before = nodes.ends[order[same]], nodes.ends[order[same - 1]]
            equal = (here == before) | (np.isnan(here) & np.isnan(before))
            fresh[same] = ~equal.all(axis=1)
        of_node = np.empty(len(place), np.int32)
        of_node[order] = np.cumsum(fresh) - 1
        heads = order[fresh]
        return cls(of_node, nodes.rows[heads], nodes.ends[heads], ascending[fresh])


def _behind(
    nodes: Nodes, known: _Classes, previous: Int64Array, has_start: BoolArray
) -> tuple[Int64Array, Int64Array]:
    """Each row with the class of the row before: a candidate wherever it lies."""
    if not len(nodes.rows):
        none = np.zeros(0, np.int64)
        return none, none
    at = np.minimum(np.searchsorted(nodes.rows, previous), len(nodes.rows) - 1)
    there = has_start & (previous >= 0) & (nodes.rows[at] == previous)
    return np.flatnonzero(there), known.of_node[at[there]].astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Look:
    """One block's starts, looked up among the classes."""

    motion: Motion
    layout: Layout
    ends: Array
    moved: Array
    weights: Array
    start_place: Array
    known: _Classes

    def pairs(self, rows: BoolArray, bound: Array) -> tuple[Int64Array, Int64Array]:
        """Pairs of these rows and classes within `bound` [n, D] on the line."""
        none = np.zeros(0, np.int64)
        used = self.weights != 0
        place = self.known.place
        ask = np.flatnonzero(rows & np.isfinite(self.start_place))
        if not used.any() or not len(place) or not len(ask):
            return none, none
        size = np.abs(self.weights[used])
        width = bound[np.ix_(ask, used)] @ size
        width = width + SLACK_EPS * (np.abs(self.ends[np.ix_(ask, used)]) @ size)
        at = self.start_place[ask]
        centre = np.searchsorted(place, at)
        low = np.searchsorted(place, at - width, "left")
        high = np.searchsorted(place, at + width, "right")
        reach, most = REACH, PAIRS_PER_ROW * len(self.motion)
        while True:
            near = np.maximum(low, centre - reach)
            counts = np.maximum(np.minimum(high, centre + reach) - near, 0)
            if reach <= LEAST_REACH or int(counts.sum()) <= most:
                break
            reach //= 2
        low = near
        begin = np.cumsum(counts) - counts
        classes = np.arange(int(counts.sum())) - np.repeat(begin - low, counts)
        return np.repeat(ask, counts), classes

    def check(
        self,
        pairs: tuple[Int64Array, Int64Array],
        more: tuple[Int64Array, Int64Array] | _Entries,
    ) -> _Entries:
        """Keep the pairs that agree in every column, and say how well."""
        motion, known = self.motion, self.known
        extra = (more.rows, more.classes) if isinstance(more, _Entries) else more
        count = max(len(known.first), 1)
        key = np.sort(
            np.concatenate([pairs[0] * count + pairs[1], extra[0] * count + extra[1]])
        )
        key = key[np.concatenate([[True], key[1:] != key[:-1]])] if len(key) else key
        rows, classes = np.divmod(key, count)
        # A class whose first member comes later can't have been there yet.
        earlier = known.first[classes] < rows + motion.start
        rows, classes = rows[earlier], classes[earlier]
        off = np.abs((self.ends[rows] - known.ends[classes]) - self.moved[rows])
        unknown = ~np.isfinite(off)
        metres = self.layout.metres
        some = ~unknown[:, metres].all(axis=1)
        tight = some & ((off <= motion.tight[rows]) | unknown).all(axis=1)
        loose = some & ((off <= motion.loose[rows]) | unknown).all(axis=1)
        best = np.zeros(len(motion), np.bool_)
        best[rows[tight]] = True
        keep = tight | (loose & ~best[rows])
        rows, classes, tight = rows[keep], classes[keep], tight[keep]
        off = np.where(unknown, 0.0, off)[keep][:, metres]
        allowed = np.where(tight[:, None], motion.tight[rows], motion.loose[rows] / 2)
        unit = off / allowed[:, metres]
        density = np.maximum(1 - (unit / 1.5) ** 2, 0.0) + TAIL
        likelihood = np.log(density).sum(axis=1)
        distance = off.max(axis=1, initial=0.0)
        return _Entries(rows, classes, tight, likelihood, distance)


def _widen(ends: Array, columns: int) -> Array:
    """Ends [k, D] with columns added that were not known yet when they were kept."""
    if ends.shape[1] == columns:
        return ends
    out = np.full((len(ends), columns), np.nan)
    out[:, : ends.shape[1]] = ends
    return out


def _weights(ends: Array, moved: Array, bound: Array) -> Array:
    """Weights [D] of the projection: the columns that tell states apart best."""
    columns = ends.shape[1]
    weights = np.zeros(columns)
    if len(ends) == 0 or len(moved) == 0:
        return weights
    # Only columns that every state has can be compared along one line.
    whole = np.isfinite(ends).all(axis=0) & np.isfinite(moved).all(axis=0)
    spread = np.zeros(columns)
    spread[whole] = ends[:, whole].std(axis=0)
    noise = np.full(columns, np.inf)
    noise[whole] = np.quantile(bound[:, whole], 0.9, axis=0)
    clear = spread / np.maximum(noise, SLACK_EPS)
    useful = whole & (spread > 0) & (clear >= clear.max() / USEFUL)
    mixed = np.random.default_rng(20).uniform(0.5, 1.0, columns)
    mixed *= np.where(np.arange(columns) % 2, 1.0, -1.0)
    weights[useful] = mixed[useful] / spread[useful]
    return weights


def _project(states: Array, weights: Array) -> Array:
    """Place [n] of each state on the line."""
    used = weights != 0
    places: Array = states[:, used] @ weights[used]
    return places
