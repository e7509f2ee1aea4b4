"""Visits to a lineage, and how many native steps a control step has.

A *run* is a stretch of native steps of one lineage that follow one another at once,
without a restore between; a reset's step is a run of its own. An environment is left
only between two of its control steps, so every whole run is a multiple of M, the number
of substeps. M is the greatest common divisor of the runs, and believed only if at least
two environments take turns. A run whose last state was given up says nothing about M:
it may be somebody's who stepped the scene by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.lineages import Birth
from isoscope.core.attribution.order import Turn

if TYPE_CHECKING:
    from isoscope.core.attribution.claims import Ownership
    from isoscope.core.attribution.lineages import Lineage
    from isoscope.core.attribution.segments import Chains
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array


@dataclass(frozen=True, slots=True)
class Runs:
    """All runs, in order.

    Attributes
    ----------
    first
        int64 [k]: the first row of each.
    length
        int64 [k]: its native steps; those without a state are not counted.
    lineage
        int64 [k].
    reset
        bool [k]: whether it is the step of a reset.
    follows
        bool [k]: whether it goes on at once from the run before, in the same lineage.
    last
        int64 [k]: the last row of each.
    run_of
        int64 [T]: the run of each row; -1 where the row has no state.
    given_up
        bool [k]: whether its last state was given up: the environment went back to an
        earlier one of its own. It may have been broken off anywhere.
    aside
        bool [k]: whether all of it was stepped right behind somebody's turn, without a
        restore, and then given up. Somebody may have stepped the scene by hand.
    """

    first: Int64Array
    length: Int64Array
    lineage: Int64Array
    reset: BoolArray
    follows: BoolArray
    last: Int64Array
    run_of: Int64Array
    given_up: BoolArray
    aside: BoolArray

    def __len__(self) -> int:
        """How many there are."""
        return len(self.first)


@dataclass(frozen=True, slots=True)
class Branches:
    """Where branches that were given up begin and end.

    Attributes
    ----------
    heads
        First rows of those that began right behind a turn, without a restore.
    tips
        Last rows of all of them.
    """

    heads: frozenset[int] = frozenset()
    tips: frozenset[int] = frozenset()


def find_branches(lineages: list[Lineage], owned: Ownership) -> Branches:
    """All branches that were given up, where several environments are there.

    With only one, whatever it does is one branch after the other.
    """
    if owned.envs < 2:
        return Branches()
    merged = [x for x in lineages if owned.merged[x.index] >= 0]
    tips = {r.left_row for x in lineages for r in x.rewinds}
    return Branches(
        frozenset(x.start for x in merged),
        frozenset(tips | {x.last for x in merged}),
    )


def find_runs(
    chains: Chains,
    lineage_of_row: Array,
    lineages: list[Lineage],
    branches: Branches | None = None,
    joined: frozenset[int] = frozenset(),
) -> Runs:
    """Cut the rows into runs; `lineage_of_row` is [T], -1 for rows without a state.

    `joined` are rows that follow at once on the one before, although it can't be seen.
    """
    branches = branches or Branches()
    rows = np.flatnonzero(lineage_of_row >= 0)
    parents = np.frombuffer(chains.parent_of, np.int32)[rows]
    before = np.frombuffer(chains.before, np.int32)[rows]
    lineage = lineage_of_row[rows].astype(np.int64)
    heads = [x.start for x in lineages if x.birth is Birth.RESET]
    reset = np.zeros(len(lineage_of_row), np.bool_)
    reset[heads] = True
    reset = reset[rows]
    goes_on = np.zeros(len(rows), np.bool_)
    goes_on[1:] = (parents[1:] == before[1:]) & (lineage[1:] == lineage[:-1])
    goes_on &= parents >= 0
    goes_on[1:] |= np.isin(rows[1:], list(joined)) & (lineage[1:] == lineage[:-1])
    cut = ~goes_on | reset
    cut[1:] |= reset[:-1]
    cut |= np.isin(rows, list(branches.heads))
    begins = np.flatnonzero(cut)
    number = np.cumsum(cut) - 1
    run_of = np.full(len(lineage_of_row), -1, np.int64)
    run_of[rows] = number
    length = np.diff(np.concatenate([begins, [len(rows)]]))
    first = rows[begins]
    last = rows[begins + length - 1] if len(rows) else begins
    given_up = np.isin(last, list(branches.tips)) & ~reset[begins]
    return Runs(
        first,
        length,
        lineage[begins],
        reset[begins],
        goes_on[begins],
        last,
        run_of,
        given_up,
        given_up & np.isin(first, list(branches.heads)),
    )


def broken_off(runs: Runs, count: int) -> BoolArray:
    """Bool [k]: runs that were given up and are no whole control steps.

    They belong to none: somebody stepped the scene, and nobody went on from there.
    """
    out: BoolArray = runs.given_up & (runs.length % count != 0)
    return out


@dataclass(frozen=True, slots=True)
class Substeps:
    """M, and how it is known.

    Attributes
    ----------
    count
        M, or None where it is undecidable.
    how
        One line for people.
    odd_runs
        First rows of runs that are no multiple of M, the recording's first and last
        one left out: a control step that was broken off, or an M that is wrong.
    """

    count: int | None
    how: str
    odd_runs: tuple[int, ...] = ()


def find_substeps(
    runs: Runs,
    lineages: list[Lineage],
    nameless: BoolArray,
    pooled: set[int],
    unexplained: frozenset[int] = frozenset(),
) -> Substeps:
    """M from the lengths of the runs.

    Parameters
    ----------
    runs, lineages
        Of the recording.
    nameless
        bool [lineages]: those that can't be told from others; their runs don't count.
    pooled
        Rows that left one of several equal states; runs up to them don't count.
    unexplained
        First rows in a state that nothing explains. What is next to one may have been
        torn apart anywhere, and doesn't count where there are others that do.
    """
    usable = ~runs.reset & ~nameless[runs.lineage]
    usable &= ~np.isin(runs.last, list(pooled)) & ~runs.given_up
    final = np.zeros(len(lineages), np.int64)
    np.maximum.at(final, runs.lineage, runs.last)
    returned = usable & (runs.last < final[runs.lineage])
    # A run that is followed at once within its lineage was not interrupted.
    returned[:-1] &= ~runs.follows[1:] | runs.aside[1:]
    took = [x.index for x in lineages if x.birth is Birth.THIEF]
    took_turns = usable & np.isin(runs.lineage, took)
    taking_turns = np.unique(runs.lineage[returned | took_turns])
    if len(taking_turns) < 2 or int(returned.sum()) < 2:
        return Substeps(
            None, "undecidable: no two environments take turns, so nothing shows it"
        )
    inner = returned.copy()
    edge = np.zeros(len(runs), np.bool_)
    edge[0] = lineages[int(runs.lineage[0])].birth is not Birth.RESET
    edge[-1] = True
    if int((inner & ~edge).sum()) >= 1:
        inner &= ~edge
    whole = ~_next_to_a_tear(runs, unexplained)
    if int((inner & whole).sum()) >= 2:
        inner &= whole
    count = int(np.gcd.reduce(runs.length[inner]))
    ends = usable & ~returned & ~edge & whole
    fits = runs.length[ends] % count == 0
    if not fits.all() and int(fits.sum()) <= int((~fits).sum()):
        count = int(np.gcd(count, np.gcd.reduce(runs.length[ends])))
    checked = usable & ~edge & whole
    odd = runs.first[checked & (runs.length % count != 0)]
    how = f"every uninterrupted run is a multiple of it ({int(usable.sum())} runs)"
    return Substeps(count, how, tuple(int(row) for row in odd))


def _next_to_a_tear(runs: Runs, unexplained: frozenset[int]) -> BoolArray:
    """Bool [k]: runs that may be parts of longer ones.

    There is a row without a state inside or next to them, which may have been theirs,
    or the step before or after them begins in a state that nothing explains.
    """
    rows = len(runs.run_of)
    stateless = np.concatenate([[False], runs.run_of < 0, [False]])
    out: BoolArray = stateless[runs.first] | stateless[runs.last + 2]
    out |= runs.length < runs.last + 1 - runs.first
    starts = np.array([row for row in unexplained if row < rows], np.int64)
    out[runs.run_of[starts]] = True
    out[np.maximum(runs.run_of[np.maximum(starts - 1, 0)], 0)] = True
    return out


def check_substeps(runs: Runs, count: int, how: str) -> Substeps:
    """M as given by somebody; runs that contradict it are listed."""
    edge = np.zeros(len(runs), np.bool_)
    if len(runs):
        edge[0] = edge[-1] = True
    checked = ~runs.reset & ~edge & ~runs.given_up
    odd = runs.first[checked & (runs.length % count != 0)]
    return Substeps(count, how, tuple(int(row) for row in odd))


def head_rest(runs: Runs, lineages: list[Lineage], count: int) -> int:
    """Rows at the recording's beginning that end a control step begun before it."""
    if not len(runs) or runs.reset[0]:
        return 0
    return int(runs.length[0]) % count


def find_turns(runs: Runs, lineages: list[Lineage], count: int) -> list[Turn]:
    """All turns: control steps of `count` rows, and resets.

    Rows are assumed to lie side by side within a run; a row without a state inside one
    only shifts the first row of its turns.
    """
    turns: list[Turn] = []
    rest = head_rest(runs, lineages, count)
    # What was done on the side was nobody's turn: it would throw out the order.
    no_turn = runs.aside | broken_off(runs, count)
    columns = (runs.first, runs.length, runs.lineage, runs.reset, runs.follows, no_turn)
    lists = zip(*(c.tolist() for c in columns), strict=True)
    for number, (first, length, lineage, reset, follows, aside) in enumerate(lists):
        if aside:
            continue
        if reset:
            turns.append(Turn(first, lineage, reset=True))
            continue
        at = first
        if number == 0 and rest:
            turns.append(Turn(first, lineage))
            at += rest
        while at < first + length:
            soft = at > first or follows
            turns.append(Turn(at, lineage, soft))
            at += count
    return turns
