"""Compare two recordings of the same environments: what can be claimed of them.

For "the trajectories changed when I regrouped the workers": A and B may step the same
environments in another order, under other numbers, or only some of them. Steps are
compared by environment, episode and place in the episode, never by native row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.claims import claims
from isoscope.core.replay.configuration import configuration_differences
from isoscope.core.replay.differences import Differences, differences
from isoscope.core.replay.divergence import divergence_at, parting, place
from isoscope.core.replay.fields import Common, common
from isoscope.core.replay.forms import (
    Comparison,
    Divergence,
    FieldMaximum,
    PairOfEnvironments,
)
from isoscope.core.replay.matching import Matching, match
from isoscope.core.replay.remarks import not_checkable, notes

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.matching import Pair

# Above what float32 against float64 makes of 30 control steps of a falling pole.
TOLERANCE = 1e-3
# Velocities over a reset's own step (1e-5 s) are mostly rounding.
SHORT_STEP_S = 1e-4


@dataclass(slots=True)
class Compared:
    """Everything that the parts of a report are made from.

    Attributes
    ----------
    a, b
        The recordings.
    shared
        Their fields.
    matching
        Their environments and steps.
    rows, twins
        int64 [n]: all compared steps, pair after pair.
    seen
        How these differ.
    first
        For each pair its first divergence.
    tolerance
        As given.
    by_bits
        Whether any other bit is a divergence.
    """

    a: Examined
    b: Examined
    shared: Common
    matching: Matching
    rows: Array
    twins: Array
    seen: Differences
    first: list[Divergence | None]
    tolerance: float
    by_bits: bool

    def compared_steps(self) -> list[int]:
        """For each pair, the steps of which anything could be compared."""
        stops = np.cumsum([len(pair.rows) for pair in self.matching.pairs])
        counts = np.concatenate([[0], np.cumsum(self.seen.compared)])
        upto = counts[np.concatenate([[0], stops]).astype(np.int64)]
        return [int(n) for n in np.diff(upto)]


def compare(a: Examined, b: Examined, tolerance: float | None = None) -> Comparison:
    """Compare two recordings whose steps have been given to their environments.

    Parameters
    ----------
    a, b
        The recordings.
    tolerance
        Differences up to this times (1 + the larger value) are no divergence. None (the
        default) means that every bit counts, unless the precisions differ: then
        `TOLERANCE` does.
    """
    shared = common(a, b)
    matching = match(a, b, shared.fields)
    same_precision = all(f.a.dtype == f.b.dtype for f in shared.fields)
    by_bits = tolerance is None and same_precision and matching.pace.by == "place"
    allowed = TOLERANCE if tolerance is None else tolerance
    empty = np.zeros(0, np.int64)
    rows = np.concatenate([empty, *(p.rows for p in matching.pairs)])
    twins = np.concatenate([empty, *(p.twins for p in matching.pairs)])
    short = a.recording.steps.h_s[rows] < SHORT_STEP_S
    seen = differences(shared.fields, rows, twins, allowed, short)
    all_seen = Compared(a, b, shared, matching, rows, twins, seen, [], allowed, by_bits)
    all_seen.first = list(_first_of_each(all_seen))
    return _report(all_seen)


def _first_of_each(seen: Compared) -> list[Divergence | None]:
    """The first divergence of each pair."""
    judged = seen.seen.differs if seen.by_bits else seen.seen.beyond
    found: list[Divergence | None] = []
    start = 0
    for pair in seen.matching.pairs:
        own = np.flatnonzero(judged[start : start + len(pair.rows)])
        if len(own):
            at, alike = int(own[0]), "equal" if seen.by_bits else "similar"
            fields = seen.shared.fields
            found.append(divergence_at(seen.a, seen.b, fields, pair, at, alike))
        else:
            found.append(parting(seen.a, seen.b, pair) if pair.parted else None)
        start += len(pair.rows)
    return found


def _report(seen: Compared) -> Comparison:
    firsts = [d for d in seen.first if d is not None]
    first = min(firsts, key=_when, default=None)
    changed = configuration_differences(seen.a, seen.b, seen.shared, seen.matching)
    unchecked = not_checkable(seen)
    return Comparison(
        a=seen.a.file,
        b=seen.b.file,
        engine=_engine(seen),
        claims=claims(seen, changed, first, unchecked),
        first_divergence=first,
        judged_by="bits" if seen.by_bits else "tolerance",
        tolerance=seen.tolerance,
        max_difference=_maxima(seen),
        configuration_differences=changed,
        snapshots_used=[],
        compared_steps=int(seen.seen.compared.sum()),
        not_checkable=unchecked,
        pairs=[
            _pair(pair, one, compared)
            for pair, one, compared in zip(
                seen.matching.pairs, seen.first, seen.compared_steps(), strict=True
            )
        ],
        notes=notes(seen),
    )


def _when(divergence: Divergence) -> tuple[int, int]:
    """By native step of A; what only B has comes after all that both have."""
    native = divergence.native
    twin = divergence.in_b.native if divergence.in_b is not None else None
    last = np.iinfo(np.int64).max
    return (last if native is None else native, last if twin is None else twin)


def _engine(seen: Compared) -> str | None:
    engines = {
        seen.a.recording.notes.get("engine"),
        seen.b.recording.notes.get("engine"),
    }
    return engines.pop() if len(engines) == 1 else None


def _pair(pair: Pair, first: Divergence | None, compared: int) -> PairOfEnvironments:
    return PairOfEnvironments(
        env_a=pair.env,
        env_b=pair.twin,
        how=pair.how,
        compared_steps=compared,
        first_divergence=first,
    )


def _maxima(seen: Compared) -> list[FieldMaximum]:
    found = [
        FieldMaximum(
            actor=one.field.actor,
            field=one.field.name,
            value=one.largest,
            unit=one.field.unit,
            at=place(seen.a, int(seen.rows[one.at])) if one.at >= 0 else None,
            differing_steps=one.differing,
            compared_steps=one.compared,
        )
        for one in seen.seen.fields
    ]
    return sorted(found, key=lambda one: -one.value)
