"""Chains of steps: each step hangs on the one that left the state it began from.

A *segment* is a chain without a branch. Where one state was continued twice (a fork),
the segment ends and each child begins one of its own. Whose segment it is, is decided
elsewhere and may change as more steps come; what hangs on what does not.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import IntEnum


class Origin(IntEnum):
    """How a segment begins."""

    RESET = 0  # the 1e-5 s step of a reset, from a state of its own making
    ROOT = 1  # a state that no earlier step left
    FORK = 2  # one of several that continue the same state
    POOL = 3  # one of several equal states, which of them can't be told
    BLIND = 4  # its own start isn't recorded


@dataclass(slots=True)
class Pool:
    """Ends of several segments that are equal: each is continued once, at most.

    Attributes
    ----------
    tips
        The rows that left the state.
    taken
        How many of them have been continued.
    """

    tips: set[int]
    taken: int = 0


@dataclass(slots=True, eq=False)
class Segment:
    """One chain.

    Attributes
    ----------
    index
        Its place in `Chains.segments`.
    origin
        How it begins.
    start, tip
        Its first and its last row. A segment of no rows (`start` above `tip`) stands
        for the unrecorded state before another one's first row.
    parent_row
        The row whose end it continues, or -1.
    parent
        The segment of that row, or -1. For a POOL any one of the possible ones.
    at_once
        Whether it begins right behind `parent_row`, so without a restore between; or,
        from an unrecorded state, with the recording's first row.
    children
        The segments that continue its tip, in the order of their first rows.
    pool
        The equal states it came from.
    """

    index: int
    origin: Origin
    start: int
    tip: int
    parent_row: int = -1
    parent: int = -1
    at_once: bool = False
    children: list[int] = field(default_factory=list)
    pool: Pool | None = None


class Chains:
    """All segments, and which one each row is in; grows row by row.

    Attributes
    ----------
    segment_of, parent_of, before
        For each row: its segment, the row it continues, and the last row before it
        that has a state; -1 where there is none.
    live
        Tips that nothing has continued yet, with their segments; the oldest first.
    """

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.segment_of = array("i")
        self.parent_of = array("i")
        self.before = array("i")
        self.live: dict[int, int] = {}
        self.pools: dict[int, Pool] = {}
        self._next = array("i")  # the row that continues a row within its segment
        self._last = -1

    def __len__(self) -> int:
        """Rows so far."""
        return len(self.segment_of)

    @property
    def last_state(self) -> int:
        """The last row that has a state, or -1."""
        return self._last

    def _row(self, segment: int, parent: int) -> int:
        row = len(self.segment_of)
        self.segment_of.append(segment)
        self.parent_of.append(parent)
        self.before.append(self._last)
        self._next.append(-1)
        self._last = row
        return row

    def skip(self) -> None:
        """Take in a row without a state: it is passed over."""
        self.segment_of.append(-1)
        self.parent_of.append(-1)
        self.before.append(self._last)
        self._next.append(-1)

    def begin(self, origin: Origin, pool: Pool | None = None) -> Segment:
        """Take in a row that begins a segment of its own."""
        index = len(self.segments)
        row = self._row(index, -1)
        segment = Segment(index, origin, row, row, pool=pool)
        self.segments.append(segment)
        self.live[row] = index
        return segment

    def follow(self, parent: int) -> None:
        """Take in a row that continues `parent`: by growing its segment, or a fork."""
        index = self.segment_of[parent]
        segment = self.segments[index]
        if segment.tip == parent and not segment.children:
            row = self._row(index, parent)
            self._next[parent] = row
            segment.tip = row
            self.live.pop(parent, None)
            self.live[row] = index
            return
        if segment.tip != parent:
            self._split(segment, parent)
        self._branch(segment, parent)

    def follow_start(self, root: int) -> None:
        """Take in a row that begins where segment `root` began: an unrecorded state.

        That state gets a segment of no rows, which both of them continue.
        """
        segment = self.segments[root]
        if segment.origin is Origin.FORK and segment.parent_row < 0:
            self._branch(self.segments[segment.parent], -1)
            return
        start = segment.start
        unseen = Segment(len(self.segments), segment.origin, start, start - 1)
        self.segments.append(unseen)
        unseen.children.append(root)
        segment.origin, segment.parent = Origin.FORK, unseen.index
        # Whether it was restored or found in the scene: found, if the recording begins
        # there and somebody else goes on from it, too.
        segment.at_once = self.before[start] < 0
        self._branch(unseen, -1)

    def _branch(self, parent: Segment, parent_row: int) -> None:
        index = len(self.segments)
        before = self._last
        row = self._row(index, parent_row)
        at_once = parent_row >= 0 and before == parent_row
        segment = Segment(
            index, Origin.FORK, row, row, parent_row, parent.index, at_once
        )
        self.segments.append(segment)
        parent.children.append(index)
        self.live[row] = index

    def _split(self, segment: Segment, row: int) -> None:
        """Cut a segment behind `row`; what follows becomes its child."""
        head = self._next[row]
        index = len(self.segments)
        child = Segment(
            index,
            Origin.FORK,
            head,
            segment.tip,
            row,
            segment.index,
            self.before[head] == row,
            segment.children,
        )
        self.segments.append(child)
        for grandchild in child.children:
            self.segments[grandchild].parent = index
        segment.tip, segment.children = row, [index]
        self._next[row] = -1
        while head >= 0:
            self.segment_of[head] = index
            head = self._next[head]
        if child.tip in self.live:
            self.live[child.tip] = index

    # -- equal states -----------------------------------------------------------------

    def begin_from_pool(self, tips: list[int]) -> Segment:
        """Take in a row that continues one of these equal tips, which is unknown."""
        pool = Pool(set())
        for tip in tips:
            known = self.pools.get(tip)
            if known is None:
                pool.tips.add(tip)
            elif not known.tips <= pool.tips:
                pool.tips |= known.tips
                pool.taken += known.taken
        pool.taken += 1
        for tip in pool.tips:
            self.pools[tip] = pool
        segment = self.begin(Origin.POOL, pool)
        segment.parent = self.segment_of[tips[0]]
        if pool.taken >= len(pool.tips):
            for tip in pool.tips:
                self.live.pop(tip, None)
        return segment

    def leave_pool(self, tip: int) -> None:
        """A tip of a pool is told from the others after all: it is none of them."""
        pool = self.pools.pop(tip, None)
        if pool is None:
            return
        pool.tips.discard(tip)
        if pool.taken >= len(pool.tips):
            for other in pool.tips:
                self.live.pop(other, None)

    def forget(self, keep: int) -> None:
        """Let go of the tips that have waited longest, all but `keep` of them."""
        for tip in list(self.live)[: max(len(self.live) - keep, 0)]:
            del self.live[tip]
