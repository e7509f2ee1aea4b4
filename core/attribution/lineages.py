"""From segments to lineages: who goes on after a fork, who began anew.

A *lineage* is what one environment did between two moments at which that is in
question: from a reset, from a state that it took from somebody else, or from the
recording's beginning, up to where nothing continues it. To which environment a lineage
belongs is decided in `ownership`.

A state that was continued twice::

    ... v1 v2 | t1 t2 | v3 v4 ...        v3 and t1 both begin where v2 ended

The first child, if it came at once, belongs to whoever found that state in the scene:
it did not restore its own (the thief). The later child is the owner, going on from its
snapshot. If the first branch had ended before the second began, it may as well be that
the owner itself went back on purpose (a rewind): that depends on whether somebody
else's state was left behind, and is decided with the environments.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.segments import Origin

if TYPE_CHECKING:
    from isoscope.core.attribution.segments import Chains, Segment


class Birth(IntEnum):
    """How a lineage begins."""

    RESET = 0
    FIRST = 1  # a state that no earlier step left: the middle of somebody's episode
    THIEF = 2  # at once on somebody else's state: its own was not restored
    COPY = 3  # from a restored state that its owner goes on from too
    POOL = 4  # from one of several equal states
    BLIND = 5  # where it began isn't recorded


@dataclass(frozen=True, slots=True)
class Rewind:
    """An earlier state restored on purpose.

    Attributes
    ----------
    row
        The first row that goes on from it.
    left_row
        The last row before, whose state was given up.
    to_row
        The row whose end was restored; -1 for the unrecorded state before a first row.
    """

    row: int
    left_row: int
    to_row: int


@dataclass(slots=True, eq=False)
class Lineage:
    """One lineage.

    Attributes
    ----------
    birth
        How it begins.
    start, last
        Its first row, and the last one of its present branch.
    segments
        In order of their first rows, given-up branches included.
    parent_row
        The row whose end it took (THIEF, COPY); -1 if that is not recorded, and for
        other births.
    parent
        The segment of that state (THIEF, COPY), else -1.
    doubtful
        A THIEF that may be its victim's own branch, given up by a rewind.
    heir
        Of a doubtful one: the first row of the branch that went on instead.
    """

    index: int
    birth: Birth
    start: int
    last: int
    segments: list[int]
    parent_row: int = -1
    parent: int = -1
    doubtful: bool = False
    heir: int = -1
    rewinds: list[Rewind] = field(default_factory=list)


def lineages(chains: Chains) -> tuple[list[Lineage], list[int]]:
    """Build the lineages of all segments taken in so far.

    Returns
    -------
    lineages
        In order of their first rows.
    lineage_of
        For each segment, the index of its lineage.
    """
    segments = chains.segments
    # A segment of no rows stands before the one that begins with the same row.
    order = sorted(segments, key=lambda s: (s.start, s.tip))
    builder = _Builder(segments, _alone(chains, order))
    for segment in reversed(order):
        builder.decide(segment)
    lineage_of = [-1] * len(segments)
    found: list[Lineage] = []
    for segment in order:
        birth = builder.birth[segment.index]
        if birth is None:
            continue
        found.append(builder.trace(segment, birth))
    found.sort(key=lambda x: x.start)
    for number, lineage in enumerate(found):
        lineage.index = number
        for index in lineage.segments:
            lineage_of[index] = number
    if builder.alone:
        _all_rewinds(chains, found, lineage_of)
    return found, lineage_of


def _all_rewinds(chains: Chains, found: list[Lineage], lineage_of: list[int]) -> None:
    """With only one environment, whatever does not follow at once is a rewind."""
    for lineage in found:
        lineage.rewinds = []
    parents = np.frombuffer(chains.parent_of, np.int32)
    before = np.frombuffer(chains.before, np.int32)
    unseen = [
        s.start
        for s in chains.segments
        if s.origin is Origin.FORK and s.parent_row < 0 and before[s.start] >= 0
    ]
    back = np.flatnonzero((parents >= 0) & (parents != before)).tolist()
    for row in sorted([*back, *unseen]):
        home = lineage_of[chains.segment_of[row]]
        found[home].rewinds.append(Rewind(row, int(before[row]), int(parents[row])))


_BIRTHS = {
    Origin.RESET: Birth.RESET,
    Origin.ROOT: Birth.FIRST,
    Origin.POOL: Birth.POOL,
    Origin.BLIND: Birth.BLIND,
}


def _alone(chains: Chains, order: list[Segment]) -> bool:
    """Whether only one environment is there, so that every fork is a rewind.

    Two environments that take turns go back to where each had left off, again and
    again; one that tries things out goes back to earlier states. And whatever comes
    from one beginning is over before the next begins.
    """
    last = {s.index: s.tip for s in order}
    forks = 0
    for segment in reversed(order):
        if segment.children:
            forks += len(segment.children) - 1
            last[segment.index] = max(last[c] for c in segment.children)
    before = -1
    for segment in order:
        if segment.origin is Origin.FORK:
            continue
        if segment.start <= before:
            return False
        before = last[segment.index]
    parents = np.frombuffer(chains.parent_of, np.int32)
    home = np.frombuffer(chains.segment_of, np.int32)
    rows = np.flatnonzero(parents >= 0)
    back = parents[rows] != np.frombuffer(chains.before, np.int32)[rows]
    returns = back & (home[rows] == home[parents[rows]])
    return int(returns.sum()) <= forks


class _Builder:
    """Decides forks from the youngest to the oldest."""

    def __init__(self, segments: list[Segment], alone: bool) -> None:
        self.segments = segments
        self.alone = alone
        count = len(segments)
        self.birth: list[Birth | None] = [_BIRTHS.get(s.origin) for s in segments]
        self.goes_on: list[int] = [-1] * count  # the child that is the owner's
        self.last = [s.tip for s in segments]  # of the branch that goes on from here
        self.given_up: dict[int, list[int]] = {}  # branches, by the segment they left
        self.doubtful: dict[int, int] = {}  # a thief, and the row of its victim's heir

    def decide(self, segment: Segment) -> None:
        """Say which child goes on, and what the others are."""
        children = [self.segments[c] for c in segment.children]
        if not children:
            return
        if self.alone:
            self.given_up[segment.index] = [c.index for c in children[:-1]]
            self.goes_on[segment.index] = children[-1].index
            self.last[segment.index] = max(self.last[c.index] for c in children)
            return
        first = children[0]
        if first.at_once and len(children) > 1:
            self.birth[first.index] = Birth.THIEF
            if self.last[first.index] < children[1].start:
                self.doubtful[first.index] = children[1].start
            children = children[1:]
        owner = children[0]
        for child in children[1:]:
            if self.last[owner.index] < child.start:
                self.given_up.setdefault(segment.index, []).append(owner.index)
                owner = child
            else:
                self.birth[child.index] = Birth.COPY
        self.goes_on[segment.index] = owner.index
        self.last[segment.index] = self.last[owner.index]

    def _has_rows(self, index: int) -> bool:
        return self.segments[index].tip >= self.segments[index].start

    def trace(self, head: Segment, birth: Birth) -> Lineage:
        """Follow a lineage from its first segment."""
        path: list[int] = []
        rewinds: list[Rewind] = []
        todo = [head.index]
        while todo:
            here = todo.pop()
            while here >= 0:
                path.append(here)
                onward = self.goes_on[here]
                branches = [*self.given_up.get(here, []), onward]
                for left, taken in pairwise(branches):
                    to_row = self.segments[taken].parent_row
                    row = self.segments[taken].start
                    rewinds.append(Rewind(row, self.last[left], to_row))
                    todo.append(left)
                here = onward
        path.sort(key=lambda s: (self.segments[s].start, self.segments[s].tip))
        rewinds.sort(key=lambda r: r.row)
        taken = birth in (Birth.THIEF, Birth.COPY)
        parent_row = head.parent_row if taken else -1
        parent = head.parent if taken else -1
        # One that begins in an unrecorded state begins with the first row from there.
        rows = [self.segments[s].start for s in path if self._has_rows(s)]
        return Lineage(
            -1,
            birth,
            rows[0] if rows else head.start,
            self.last[head.index],
            path,
            parent_row,
            parent,
            head.index in self.doubtful,
            self.doubtful.get(head.index, -1),
            rewinds,
        )
