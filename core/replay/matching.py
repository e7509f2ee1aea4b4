"""Lay the steps of two recordings over one another, environment by environment.

The recordings may hold the same environments in another order of stepping, under other
numbers, or only some of them. So environments are paired by the states that their
episodes begin in (`pairing`). Within a pair, episodes go by number and steps by their
place in the episode, the reset first, so that M need not be known (`places`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.episodes import Episode, episodes_of
from isoscope.core.replay.fields import Field, states
from isoscope.core.replay.pairing import How, Starts, offsets, pair_up
from isoscope.core.replay.places import Matched, Pace, common_steps

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array


@dataclass(frozen=True, slots=True)
class Parted:
    """An episode that goes on in one recording and was ended in the other.

    `row` is the first step that only A has, `twin_row` the first that only B has; -1
    for the one in which it ended.
    """

    episode: int
    row: int
    twin_row: int


@dataclass(slots=True)
class Pair:
    """An environment of A, the environment of B that it is, and their common steps.

    Attributes
    ----------
    env, twin
        Their numbers in A and in B.
    how
        How they were paired.
    rows, twins
        int64 [n]: native steps in A and B that are the same step, in order.
    parted
        The episode whose lengths differ, if one does; what comes after is not compared,
        since from there on the two are in different places of their schedules.
    skipped
        Episodes of A that could not be laid over one of B.
    """

    env: int
    twin: int
    how: How
    rows: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    twins: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    parted: Parted | None = None
    skipped: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Matching:
    """All pairs, in order of their environments in A, and who is left over."""

    pairs: list[Pair]
    left_a: list[int]
    left_b: list[int]
    pace: Pace


def match(a: Examined, b: Examined, fields: list[Field]) -> Matching:
    """Pair the environments and lay their steps over one another."""
    mine, theirs = episodes_of(a), episodes_of(b)
    starts_a, starts_b = Starts(fields, "a", a, mine), Starts(fields, "b", b, theirs)
    layer = _Layer(fields, Pace.of(a, b))
    pairs = [Pair(*three) for three in pair_up(starts_a, starts_b)]
    off = offsets([(p.env, p.twin) for p in pairs], starts_a, starts_b)
    for pair in pairs:
        others = {e.number: e for e in theirs[pair.twin]}
        layer.lay(pair, mine[pair.env], others, off.get((pair.env, pair.twin), 0))
    pairs.extend(layer.lay_single(starts_a, starts_b))
    pairs.sort(key=lambda p: (p.env, p.twin))
    in_a, in_b = {p.env for p in pairs}, {p.twin for p in pairs}
    return Matching(
        pairs,
        [env for env in mine if env not in in_a],
        [env for env in theirs if env not in in_b],
        layer.pace,
    )


class _Layer:
    """Lays episodes over one another, each once."""

    def __init__(self, fields: list[Field], pace: Pace) -> None:
        self.fields, self.pace = fields, pace
        # Episodes that are laid, or lie behind where their schedules part.
        self._done_a: set[tuple[int, int]] = set()
        self._done_b: set[tuple[int, int]] = set()

    def lay(
        self, pair: Pair, mine: list[Episode], theirs: dict[int, Episode], offset: int
    ) -> None:
        """Fill in the common steps of a pair, up to where the schedules part."""
        rows, twins = [pair.rows], [pair.twins]
        for episode in mine:
            number = episode.number + offset
            other = theirs.get(number)
            if other is None:
                continue
            self._done_a.add((pair.env, episode.number))
            self._done_b.add((pair.twin, number))
            if pair.parted is not None:
                continue
            matched = self._steps(episode, other)
            if matched is None:
                pair.skipped.append(episode.number)
                continue
            rows.append(matched.rows)
            twins.append(matched.twins)
            if _goes_on(matched, episode, other):
                pair.parted = Parted(
                    episode.number, matched.row_after, matched.twin_after
                )
        pair.rows, pair.twins = np.concatenate(rows), np.concatenate(twins)

    def lay_single(self, a: Starts, b: Starts) -> list[Pair]:
        """Episodes that only their start tells: nobody knows whose they are."""
        found = []
        for state, ours in a.by_state.items():
            left = [e for e in ours if (e.env, e.number) not in self._done_a]
            others = [
                e
                for e in b.by_state.get(state, ())
                if (e.env, e.number) not in self._done_b
            ]
            if len(left) == len(others) == 1:
                one, other = left[0], others[0]
                pair = Pair(one.env, other.env, "starts")
                theirs = {other.number: other}
                self.lay(pair, [one], theirs, other.number - one.number)
                found.append(pair)
        return found

    def _steps(self, episode: Episode, other: Episode) -> Matched | None:
        """The common steps of two episodes; None where nothing says which they are."""
        if episode.whole and other.whole:
            return common_steps(episode.rows, other.rows, self.pace)
        shift = self._shift(episode, other)
        if shift is None and episode.free and other.free:
            shift = 0
        if shift is None:
            return None
        mine, theirs = episode.rows[max(shift, 0) :], other.rows[max(-shift, 0) :]
        return common_steps(mine, theirs, self.pace)

    def _shift(self, episode: Episode, other: Episode) -> int | None:
        """How many steps later B begins than A; below 0 the other way round."""
        for one, two, sides, sign in (
            (episode, other, "ab", 1),
            (other, episode, "ba", -1),
        ):
            # Is the first state of `two` one of those of `one`?
            wanted = states(self.fields, sides[1], two.rows[:1])
            if wanted.shape[1] == 0 or not np.isfinite(wanted).any():
                return None
            there = states(self.fields, sides[0], one.rows)
            same = (there == wanted) | (np.isnan(there) & np.isnan(wanted))
            hits = np.flatnonzero(same.all(axis=1))
            if len(hits):
                return sign * int(hits[0])
        return None


def _goes_on(matched: Matched, episode: Episode, other: Episode) -> bool:
    """Whether one went on where the other was ended, and not merely cut off."""
    if matched.row_after >= 0 and matched.twin_after < 0:
        return not other.last
    if matched.twin_after >= 0 and matched.row_after < 0:
        return not episode.last
    return False
