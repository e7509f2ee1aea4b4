"""Lineages that were torn apart where a state was not finite.

A state that is not finite says nothing of what it continues, nor what continues it, so
that its environment's steps fall into lineages of their own. Where that happened inside
a control step they are put together again: an environment is left only between two of
its control steps, so what follows at once on an unfinished one is the rest of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.lineages import Birth
from isoscope.core.attribution.runs import head_rest

if TYPE_CHECKING:
    from isoscope.core.attribution.claims import Ownership
    from isoscope.core.attribution.lineages import Lineage
    from isoscope.core.attribution.runs import Runs
    from isoscope.core.attribution.segments import Chains
    from isoscope.core.recording.tracks import Array, BoolArray


def unexplained_starts(
    found: list[Lineage], owned: Ownership, lost: BoolArray
) -> frozenset[int]:
    """First rows of lineages that begin in a state that nothing explains."""
    return frozenset(
        x.start
        for x in found
        if owned.claims[x.index].gap or (x.birth is Birth.FIRST and lost[x.start])
    )


def join_torn(
    found: list[Lineage],
    lineage_of: list[int],
    rows: Array,
    chains: Chains,
    runs: Runs,
    count: int,
    lost: BoolArray,
) -> tuple[list[Lineage], Array, frozenset[int]]:
    """Put lineages together that were torn inside a control step.

    Parameters
    ----------
    found, lineage_of
        As `isoscope.core.attribution.lineages.lineages` gives them; `lineage_of` is
        renumbered in place.
    rows
        [T]: the lineage of each row.
    runs, count
        Of these lineages, and M.
    lost
        bool [T]: rows with a state that is not finite.

    Returns
    -------
    found, rows
        As given, but renumbered, without the lineages that were joined to others.
    joined
        Their first rows.
    """
    length = runs.length.tolist()
    length[0] -= head_rest(runs, found, count)
    into: dict[int, int] = {}
    joined: set[int] = set()
    for lineage in found:
        before = chains.before[lineage.start]
        if lineage.birth is not Birth.FIRST or before < 0:
            continue
        if not (lost[lineage.start] or lost[before]):
            continue
        run, own = int(runs.run_of[before]), int(runs.run_of[lineage.start])
        home = int(rows[before])
        home = into.get(home, home)
        if length[run] % count == 0 or runs.reset[run] or found[home].last != before:
            continue
        length[own] += length[run]
        into[lineage.index] = home
        joined.add(lineage.start)
        found[home].last = lineage.last
        found[home].segments += lineage.segments
        found[home].rewinds += lineage.rewinds
    if not joined:
        return found, rows, frozenset()
    kept = [x for x in found if x.index not in into]
    renumber = np.full(len(found) + 1, -1, np.int32)
    for new, lineage in enumerate(kept):
        renumber[lineage.index] = new
    for torn, home in into.items():
        renumber[torn] = renumber[home]
    for lineage in kept:
        lineage.index = int(renumber[lineage.index])
    lineage_of[:] = [int(renumber[k]) for k in lineage_of]
    return kept, renumber[rows], frozenset(joined)
