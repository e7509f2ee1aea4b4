"""Everything that rows still to come may change: lineages, environments, M, the order.

Taken together here, so that it can be done again, from the chains, whenever a result is
wanted: the cost is that of the lineages and of a few passes over the columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.by_labels import Named, apply_names, by_labels
from isoscope.core.attribution.by_order import (
    FoundOrder,
    apply_fixed,
    apply_rounds,
    cut,
    find_order,
    places_by_rounds,
)
from isoscope.core.attribution.habits import Pauses
from isoscope.core.attribution.lineages import Lineage, lineages
from isoscope.core.attribution.ownership import assign
from isoscope.core.attribution.runs import (
    Runs,
    Substeps,
    check_substeps,
    find_branches,
    find_runs,
    find_substeps,
    find_turns,
)
from isoscope.core.attribution.torn import join_torn, unexplained_starts

if TYPE_CHECKING:
    from isoscope.core.attribution.claims import Claim, Ownership
    from isoscope.core.attribution.labels import GivenLabels
    from isoscope.core.attribution.segments import Chains
    from isoscope.core.recording.tracks import Array, BoolArray


@dataclass(slots=True)
class Settled:
    """Lineages and environments as far as the rows taken in tell.

    Attributes
    ----------
    lineages
        In order of their first rows; those merged into another have no rows.
    lineage_of_row
        int32 [T]; -1 for rows without a state.
    lineage_of_segment
        For each segment of the chains.
    claims
        For each lineage. `Claim.orphan` is the lineage of the same environment before
        it, if there is one.
    merged
        For each lineage the one that it turned out to be a branch of, or -1.
    runs
        Visits to the lineages.
    substeps
        M.
    order
        ``"fixed"``, ``"rounds"`` or None.
    by_order
        First rows of the lineages that only the order shows.
    joined
        Rows that go on from the one before them although it can't be seen.
    named
        What labels say about the lineages.
    """

    lineages: list[Lineage]
    lineage_of_row: Array
    lineage_of_segment: list[int]
    claims: list[Claim]
    merged: list[int]
    runs: Runs
    substeps: Substeps
    order: str | None
    by_order: set[int]
    joined: frozenset[int]
    named: Named


def settle(
    chains: Chains,
    twins: set[int],
    lost: BoolArray,
    given: Substeps | None = None,
    labels: GivenLabels | None = None,
) -> Settled:
    """Settle all rows taken in so far.

    Parameters
    ----------
    chains
        What hangs on what.
    twins
        Waiting rows whose state equals another one's.
    lost
        bool [T]: rows with a state that is not finite.
    given
        M, where somebody says it.
    labels
        What somebody says about single steps.
    """
    found, lineage_of = lineages(chains)
    rows = _lineage_of_row(chains, lineage_of)
    pauses = _pauses(chains, find_runs(chains, rows, found))
    owned = assign(found, lineage_of, chains, pauses, twins, lost, dry=True)
    rows = _merge(rows, owned)
    runs = find_runs(chains, rows, found, find_branches(found, owned))
    substeps = _substeps(chains, runs, found, owned, given, lost)
    joined: frozenset[int] = frozenset()
    if substeps.count is not None and len(runs) and lost.any():
        found, rows, joined = join_torn(
            found, lineage_of, rows, chains, runs, substeps.count, lost
        )
    if joined:
        owned = assign(found, lineage_of, chains, pauses, twins, lost, dry=True)
        rows = _merge(rows, owned)
        runs = find_runs(chains, rows, found, find_branches(found, owned), joined)
    order = FoundOrder()
    if substeps.count is not None:
        turns = find_turns(runs, found, substeps.count)
        order = find_order(turns, found, owned.claims)
    found, rows = cut(found, lineage_of, rows, order.cuts, chains)
    owned = assign(
        found,
        lineage_of,
        chains,
        pauses,
        twins,
        lost,
        resets_behind=order.resets_behind,
    )
    rows = _merge(rows, owned)
    if order.kind == "fixed":
        apply_fixed(found, owned, order.places)
    elif order.kind == "rounds" and substeps.count is not None:
        places = {row: order.places[row] for row in order.cuts if row in order.places}
        apply_rounds(found, owned, places)
        runs = find_runs(chains, rows, found, find_branches(found, owned), joined)
        turns = find_turns(runs, found, substeps.count)
        while True:  # one answer may lead to another
            places = places_by_rounds(turns, found, owned.claims, order)
            if not apply_rounds(found, owned, places):
                break
    named = Named() if labels is None else by_labels(labels, rows)
    apply_names(found, owned, named)
    _put_in_order(found, owned)
    runs = find_runs(chains, rows, found, find_branches(found, owned), joined)
    return Settled(
        found,
        rows,
        [k if owned.merged[k] < 0 else owned.merged[k] for k in lineage_of],
        owned.claims,
        owned.merged,
        runs,
        substeps,
        order.kind,
        set(order.cuts),
        joined,
        named,
    )


def _lineage_of_row(chains: Chains, lineage_of: list[int]) -> Array:
    segment = np.frombuffer(chains.segment_of, np.int32)
    table = np.array([*lineage_of, -1], np.int32)  # the last is for segment -1
    return table[segment]


def _pauses(chains: Chains, runs: Runs) -> Pauses:
    """Rows between the end of a visit to a lineage and the begin of the next one."""
    parents = np.frombuffer(chains.parent_of, np.int32)[runs.first]
    back = (parents >= 0) & ~runs.follows
    return Pauses((runs.first - parents)[back].astype(np.int64))


def _merge(rows: Array, owned: Ownership) -> Array:
    """Rows of merged lineages go to the one that took them in."""
    table = np.array(
        [k if into < 0 else into for k, into in enumerate(owned.merged)] + [-1],
        np.int32,
    )
    return table[rows]


def _substeps(
    chains: Chains,
    runs: Runs,
    found: list[Lineage],
    owned: Ownership,
    given: Substeps | None,
    lost: BoolArray,
) -> Substeps:
    if given is not None and given.count is not None:
        return check_substeps(runs, given.count, given.how)
    if not len(runs):
        return Substeps(None, "undecidable: no native step can be told from another")
    nameless = np.array([c.nameless for c in owned.claims], np.bool_)
    starts = unexplained_starts(found, owned, lost)
    return find_substeps(runs, found, nameless, set(chains.pools), starts)


def _put_in_order(found: list[Lineage], owned: Ownership) -> None:
    """Let every lineage name the one of its environment before it."""
    last: dict[int, int] = {}
    for lineage in found:
        index = lineage.index
        if owned.merged[index] >= 0:
            continue
        claim = owned.claims[index]
        owned.claims[index] = replace(claim, orphan=last.get(claim.env, -1))
        last[claim.env] = index
