"""From candidates to parents, row by row: which earlier state a step continues.

Where one candidate is left there is nothing to decide. Where several fit, states that
nothing has continued yet come first, and if two of those can't be told apart the step
hangs on all of them: a guess is never made.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import IntEnum
from math import exp
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.segments import Chains, Origin

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.attribution.candidates import Matches
    from isoscope.core.recording.tracks import Array

# Logarithm of how much less likely it is that a state is continued a second time, or
# after a reset came right behind it, than that a waiting one is continued.
AGAIN = -7.0
# A choice less certain than this is not made.
CERTAIN = 0.99
# A candidate within rounding of the state itself, not only of the velocity.
LOOSE_CONFIDENCE = 0.999


class Code(IntEnum):
    """What a row offers to go by."""

    NORMAL = 0
    RESET_H = 1  # as long as a reset's step
    EMPTY = 2  # no state at all
    BLIND = 3  # a state, but not where it began
    RESET_AGAIN = 4  # as RESET_H, and begins where the reset right before it began
    LOST = 5  # a state of which nothing is finite


@dataclass(slots=True)
class _Choice:
    """A candidate state, as a row, and the logarithm of its weight."""

    row: int
    weight: float
    waiting: bool


class Linker:
    """Hangs the rows of one block after another on their parents.

    Parameters
    ----------
    chains
        Grown in place.
    explain
        Called with a row (of the recording) that no candidate explains; gives the row
        that it continues, or -1 if none does.
    same_start
        Called with such a row; gives the segment whose first row began in the same
        state, or -1.
    """

    def __init__(
        self,
        chains: Chains,
        explain: Callable[[int], int],
        same_start: Callable[[int], int],
    ) -> None:
        self.chains = chains
        self.explain = explain
        self.same_start = same_start
        self.confidence = array("d")  # of each row's parent
        self._superseded: set[int] = set()

    def block(self, matches: Matches, codes: Array, start: int) -> None:
        """Take in the rows start .. start + len(codes)."""
        chains = self.chains
        table = _ClassTable(matches, chains, start)
        segment_of, segments, live = chains.segment_of, chains.segments, chains.live
        offsets, classes = matches.offsets.tolist(), matches.classes.tolist()
        tight = matches.tight.tolist()
        likelihood = matches.likelihood.tolist()
        confidence, only = self.confidence, table.only
        for i, code in enumerate(codes.tolist()):
            low, high = offsets[i], offsets[i + 1]
            if code == Code.NORMAL and high - low == 1 and only[classes[low]] >= 0:
                parent = only[classes[low]]
                segment = segments[segment_of[parent]]
                waits = segment.tip == parent and parent in live
                if waits and parent not in chains.pools:
                    chains.follow(parent)
                    confidence.append(1.0 if tight[low] else LOOSE_CONFIDENCE)
                    table.add(start + i)
                    continue
            if code == Code.EMPTY:
                chains.skip()
                confidence.append(0.0)
                continue
            entries = [(classes[k], likelihood[k], tight[k]) for k in range(low, high)]
            confidence.append(self._place(start + i, code, entries, table))
            table.add(start + i)

    def forget(self, keep: int) -> None:
        """Let go of the tips that have waited longest, all but `keep` of them."""
        self.chains.forget(keep)
        self._superseded &= self.chains.live.keys()

    def _place(
        self,
        row: int,
        code: int,
        entries: list[tuple[int, float, bool]],
        table: _ClassTable,
    ) -> float:
        """Take in one row that needs thought; returns the confidence in its parent."""
        chains = self.chains
        if code == Code.BLIND:
            chains.begin(Origin.BLIND)
            return 0.0
        if code == Code.LOST:
            # All such states look alike, so that nothing tells what it continues.
            chains.begin(Origin.ROOT)
            return 1.0
        if code in (Code.RESET_H, Code.RESET_AGAIN):
            return self._reset(row, code, entries, table)
        choices = table.choices(entries, self._superseded)
        if not choices:
            parent = self.explain(row)
            if parent >= 0:
                chains.follow(parent)
                return CERTAIN
            root = self.same_start(row)
            if root >= 0:
                chains.follow_start(root)
                return CERTAIN
            chains.begin(Origin.ROOT)
            return 1.0
        best, sure = self._best(choices)
        if sure >= CERTAIN and (best.waiting or best.row not in chains.pools):
            table.remove(best.row)
            chains.leave_pool(best.row)
            chains.follow(best.row)
            return sure if entries[0][2] else min(sure, LOOSE_CONFIDENCE)
        waiting = [c for c in choices if c.waiting and c.weight > best.weight + AGAIN]
        tips = [c.row for c in waiting or choices]
        chains.begin_from_pool(tips)
        for tip in tips:
            if tip not in chains.live:
                table.remove(tip)
        return 0.0

    def _best(self, choices: list[_Choice]) -> tuple[_Choice, float]:
        """The likeliest choice and the probability of its segment."""
        best = max(choices, key=lambda c: (c.weight, c.row))
        home = self.chains.segment_of[best.row]
        total = same = 0.0
        for choice in choices:
            weight = exp(choice.weight - best.weight)
            total += weight
            if self.chains.segment_of[choice.row] == home:
                same += weight
        return best, same / total

    def _reset(
        self,
        row: int,
        code: int,
        entries: list[tuple[int, float, bool]],
        table: _ClassTable,
    ) -> float:
        """A step as short as a reset's: one, unless it goes on from the row before."""
        chains = self.chains
        before = chains.last_state
        if before >= 0 and code == Code.RESET_H:
            here = table.class_of(before)
            if any(entry[0] == here for entry in entries):
                table.remove(before)
                chains.follow(before)
                return 1.0
        if before in chains.live and not self._is_reset(before):
            self._superseded.add(before)
        chains.begin(Origin.RESET)
        return 1.0

    def _is_reset(self, row: int) -> bool:
        segment = self.chains.segments[self.chains.segment_of[row]]
        return segment.origin is Origin.RESET and segment.start == row


class _ClassTable:
    """Which rows left each of the states that the matches of one block name."""

    def __init__(self, matches: Matches, chains: Chains, start: int) -> None:
        self.chains = chains
        rows, of = matches.nodes.rows, matches.class_of
        count = int(of.max()) + 1 if len(of) else 0
        size = np.bincount(of, minlength=count)
        alone = size[of] == 1
        only = np.full(count, -1, np.int64)
        only[of[alone]] = rows[alone]
        self.only: list[int] = only.tolist()
        # Classes of several rows are few; who is in them changes as rows are taken in.
        self._class_of = dict(
            zip(rows[~alone].tolist(), of[~alone].tolist(), strict=True)
        )
        self._of_all: dict[int, int] = dict(
            zip(rows.tolist(), of.tolist(), strict=True)
        )
        self._waiting: dict[int, list[int]] = {}
        self._latest: dict[int, int] = {}
        for row, k in self._class_of.items():
            if row < start:
                self._put(row, k)

    def _put(self, row: int, k: int) -> None:
        self._latest[k] = row
        if row in self.chains.live:
            self._waiting.setdefault(k, []).append(row)

    def class_of(self, row: int) -> int:
        """The class of any row that was searched, else -1."""
        return self._of_all.get(row, -1)

    def add(self, row: int) -> None:
        """Take in a row that now has its place in the chains."""
        k = self._class_of.get(row)
        if k is not None:
            self._put(row, k)

    def remove(self, row: int) -> None:
        """Note that a row no longer waits to be continued."""
        k = self._class_of.get(row)
        if k is not None:
            waiting = self._waiting.get(k, [])
            if row in waiting:
                waiting.remove(row)

    def choices(
        self, entries: list[tuple[int, float, bool]], superseded: set[int]
    ) -> list[_Choice]:
        """The rows behind these entries, with their weights."""
        found = []
        for k, likelihood, _ in entries:
            row = self.only[k]
            if row >= 0:
                waiting = row in self.chains.live
                late = 0.0 if waiting and row not in superseded else AGAIN
                found.append(_Choice(row, likelihood + late, waiting))
                continue
            rows = self._waiting.get(k, [])
            for row in rows:
                late = AGAIN if row in superseded else 0.0
                found.append(_Choice(row, likelihood + late, True))
            if not rows and k in self._latest:
                found.append(_Choice(self._latest[k], likelihood + AGAIN, False))
        return found
