"""Starts that no waiting state explains: what else they can be, and what they are not.

Three things hide a parent. A callback moved a body after the step (or somebody placed
it before): the other bodies still tell. The state is older than what is kept: the
recording itself is searched, within a budget that keeps the whole linear. Or the state
was never recorded: two steps that begin alike, the first of them without a parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.candidates import Matches, Nodes, search
from isoscope.core.attribution.linker import Code
from isoscope.core.attribution.segments import Chains, Origin

if TYPE_CHECKING:
    from isoscope.core.attribution.predictor import Motion, Predictor
    from isoscope.core.recording.tracks import Array, BoolArray

# A body speaks for a parent only if it moves this much further than rounding reaches.
SPEAKS = 16.0
FEW = 3  # rows that are too few to judge a body by
MOST = 0.5
DOUBTFUL = 0.3  # share of rows without candidates from which columns are doubted
TIPS_ASKED = 256
ROOTS_KEPT = 256
# Rows that may be read again in search of old states, for every row taken in.
SEARCH_BUDGET = 16
SEARCH_CHUNK = 8192
SEARCH_FREE = 1 << 20
# Rows that are looked at one by one: so many, and one for every so many taken in.
ATTEMPTS_FREE = 1000
ROWS_PER_ATTEMPT = 16


class Explainer:
    """Looks further where the search gives nothing.

    Parameters
    ----------
    predictor
        Reads older rows again.
    chains
        What has been taken in so far; not changed here.
    """

    def __init__(self, predictor: Predictor, chains: Chains) -> None:
        self.predictor = predictor
        self.chains = chains
        self._motion: Motion | None = None
        self._matches: Matches | None = None
        self._use: BoolArray = np.zeros(0, np.bool_)
        # Segments without a parent: their numbers, and where they began, [R, D].
        self._roots: list[int] = []
        self._root_starts: Array = np.zeros((0, 0))
        self._root_bounds: Array = np.zeros((0, 0))
        self._left_out: set[int] = set()  # actors
        self._seen_segments = 0
        self._searched = 0
        self._attempts = 0

    def look_at(self, motion: Motion, matches: Matches, use: BoolArray) -> None:
        """Say which block the rows that are asked for belong to."""
        self._note_roots()
        self._motion, self._matches, self._use = motion, matches, use

    # -- which columns to go by -----------------------------------------------------

    def columns_to_use(self) -> BoolArray:
        """Columns [D] to search by: all, without what did not match before."""
        layout = self.predictor.layout
        return ~np.isin(layout.actor, list(self._left_out))

    def doubtful(self, matches: Matches, codes: Array) -> bool:
        """Whether so many rows found nothing that some body may be in the way."""
        normal = codes == Code.NORMAL
        nothing = (np.diff(matches.offsets) == 0) & normal
        rows = int(normal.sum())
        return rows >= FEW and int(nothing.sum()) > DOUBTFUL * rows

    def columns_that_match(
        self, kept: Nodes, motion: Motion, previous: Array, use: BoolArray
    ) -> BoolArray:
        """Columns [D] of the bodies that find their parents, each searched alone.

        Bodies may move alike in all environments, so that one which matches proves
        nothing as long as all of them together do find parents.
        """
        layout = self.predictor.layout
        bodies = np.unique(layout.actor[use])
        speaks = dict(
            zip(np.unique(layout.actor), self._speaking(motion).T, strict=True)
        )
        rate: dict[int, float] = {}
        for body in bodies:
            rows = speaks[body]
            if int(rows.sum()) < FEW or len(bodies) < 2:
                continue
            alone = use & (layout.actor == body)
            found = np.diff(search(kept, motion, previous, layout, alone).offsets) > 0
            rate[int(body)] = float(found[rows].mean())
        best = max(rate.values(), default=0.0)
        out = use.copy()
        for body, share in rate.items():
            if best > MOST and share < MOST * best:
                out[layout.actor == body] = False
                self._left_out.add(body)
        return out

    def _columns(self) -> list[Array]:
        layout = self.predictor.layout
        return [
            np.flatnonzero(layout.actor == body) for body in np.unique(layout.actor)
        ]

    def _speaking(self, motion: Motion) -> BoolArray:
        """Whether each body [n, B] moves far enough to be told from any other."""
        metres = self.predictor.layout.metres
        out = []
        for columns in self._columns():
            far = np.abs(motion.moved[:, columns]) > SPEAKS * motion.loose[:, columns]
            out.append(far[:, metres[columns]].any(axis=1))
        return np.stack(out, 1)

    # -- a row that nothing explains --------------------------------------------------

    def parent(self, row: int) -> int:
        """The row that this one continues although the search did not find it, or -1.

        Raises no error; what can't be told is -1.
        """
        self._attempts += 1
        if self._attempts > ATTEMPTS_FREE + row // ROWS_PER_ATTEMPT:
            return -1  # hardly anything can be explained: not by these velocities
        found = self._by_some_bodies(row)
        return found if found >= 0 else self._in_older_rows(row)

    def _by_some_bodies(self, row: int) -> int:
        """The one waiting state from which most of the moving bodies go on exactly."""
        motion, matches = self._motion, self._matches
        if motion is None or matches is None:
            return -1
        i = row - motion.start
        nodes, live = matches.nodes, self.chains.live
        if not live:
            return -1
        asked = list(live)[-TIPS_ASKED:]
        at = np.searchsorted(nodes.rows, asked)
        at = np.minimum(at, len(nodes.rows) - 1)
        at = at[nodes.rows[at] == asked]
        off = np.abs((motion.end[i] - nodes.ends[at]) - motion.moved[i])
        moves = np.abs(motion.moved[i]) > SPEAKS * motion.loose[i]
        votes = np.zeros((2, len(at)), np.int64)  # against, and for
        for columns in self._columns():
            metres = columns[self.predictor.layout.metres[columns]]
            if moves[metres].any():
                agree = _fits(off[:, columns], motion.tight[i, columns])
                votes[agree.astype(int), np.arange(len(at))] += 1
        # Where a recording begins in the middle, this may be somebody's first row, and
        # a body that moves alike in all environments must not stand for the others.
        first = self.chains.segments[0].origin is Origin.ROOT
        alone = len(at) == 1 and nodes.rows[at[0]] == self.chains.last_state
        needed = votes[0] + 1 if first and not alone else votes[0]
        good = (votes[1] > 0) & (votes[1] >= needed)
        return int(nodes.rows[at[good][0]]) if int(good.sum()) == 1 else -1

    def _in_older_rows(self, row: int) -> int:
        """The latest row before those at hand whose end is this row's start."""
        motion, matches = self._motion, self._matches
        if motion is None or matches is None:
            return -1
        i, stop = row - motion.start, motion.start
        budget = SEARCH_FREE + SEARCH_BUDGET * row - self._searched
        while stop > 0 and budget > 0:
            low = max(stop - SEARCH_CHUNK, 0)
            older = self.predictor.read(low, stop)
            self._searched += stop - low
            budget -= stop - low
            columns = min(older.end.shape[1], motion.end.shape[1])
            use = self._use[:columns]
            off = (motion.end[i, :columns] - older.end[:, :columns]) - motion.moved[
                i, :columns
            ]
            off = np.abs(off[:, use])
            good = _fits(off, motion.tight[i, :columns][use])
            hits = np.flatnonzero(good)
            if len(hits):
                return low + int(hits[-1])
            stop = low
        return -1

    # -- states before a first row ----------------------------------------------------

    def same_start(self, row: int) -> int:
        """The segment whose first row, without a parent, began as this one; or -1."""
        motion = self._motion
        if motion is None:
            return -1
        self._note_roots()
        i = row - motion.start
        columns = self._root_starts.shape[1]
        use = self._use[:columns]
        here = (motion.end[i] - motion.moved[i])[:columns]
        off = np.abs(here - self._root_starts)[:, use]
        allowed = (motion.loose[i, :columns] + self._root_bounds)[:, use]
        metres = self.predictor.layout.metres[:columns][use]
        some = np.isfinite(off[:, metres]).any(axis=1)
        hits = np.flatnonzero(some & _fits(off, allowed))
        return self._roots[int(hits[0])] if len(hits) else -1

    def _note_roots(self) -> None:
        """Remember where segments without a parent began, of the block at hand."""
        motion, chains = self._motion, self.chains
        fresh = chains.segments[self._seen_segments :]
        self._seen_segments = len(chains.segments)
        if motion is None:
            return
        room = ROOTS_KEPT - len(self._roots)
        rows = [
            s.start - motion.start
            for s in fresh
            if s.origin is Origin.ROOT and s.start >= motion.start and s.tip >= s.start
        ][:room]
        if not rows:
            return
        self._roots += [chains.segment_of[motion.start + i] for i in rows]
        begins = (motion.end - motion.moved)[rows]
        self._root_starts = _stack(self._root_starts, begins)
        self._root_bounds = _stack(self._root_bounds, motion.loose[rows])


def _stack(above: Array, below: Array) -> Array:
    """Rows below others that may have fewer columns; NaN where these have none."""
    wide = np.full((len(above), below.shape[1]), np.nan)
    wide[:, : above.shape[1]] = above
    return np.vstack([wide, below])


def _fits(off: Array, bound: Array) -> BoolArray:
    """Whether each row [n] of deviations [n, D] is within its bound where known."""
    known = np.isfinite(off)
    return np.asarray(known.any(axis=1) & ((off <= bound) | ~known).all(axis=1))
