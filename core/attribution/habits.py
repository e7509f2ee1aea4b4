"""How a program goes about its environments: pauses, resets, double resets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.lineages import Birth
from isoscope.core.attribution.segments import Origin

if TYPE_CHECKING:
    from isoscope.core.attribution.claims import Ownership
    from isoscope.core.attribution.lineages import Lineage
    from isoscope.core.attribution.segments import Chains
    from isoscope.core.recording.tracks import Array, Int64Array

# Odds, before anything is seen, that resets don't come right behind the last step.
OTHER_HABIT = 0.1


class Pauses:
    """How long an environment waits between two of its turns.

    Parameters
    ----------
    rows
        Native steps between the end of a visit and the begin of the next one to the
        same lineage, of all visits.
    """

    def __init__(self, rows: Int64Array) -> None:
        self.sorted = np.sort(rows)
        self.longest = int(self.sorted[-1]) if len(rows) else 0
        self.mean = float(self.sorted.mean()) if len(rows) else 1.0

    def chance(self, rows: Int64Array) -> Array:
        """Chance [n] of a pause of at least so many native steps [n].

        As often as seen; beyond the longest pause it falls off with the mean one.
        """
        count = len(self.sorted)
        at_least = count - np.searchsorted(self.sorted, rows)
        beyond = np.maximum(rows - self.longest, 0) / max(self.mean, 1.0)
        shrink = np.exp(-np.minimum(beyond, 600.0))
        out: Array = (at_least + 0.5) / (count + 1.0) * shrink
        return out


def belief_in_habit(found: Ownership, lineages: list[Lineage]) -> float:
    """How likely it is that every reset comes right behind its own last step."""
    if found.indirect or not found.direct:
        return 0.0
    together = most_together(lineages)
    chance = (1.0 / max(together, 1)) ** found.direct
    return 1.0 / (1.0 + OTHER_HABIT * chance)


def most_together(lineages: list[Lineage]) -> int:
    """The most lineages that go on side by side."""
    turns = [(x.start, 1) for x in lineages] + [(x.last + 1, -1) for x in lineages]
    now = most = 0
    for _, change in sorted(turns):
        now += change
        most = max(most, now)
    return most


def is_bare(lineage: Lineage) -> bool:
    """Whether it is a reset that nobody stepped from."""
    return lineage.birth is Birth.RESET and lineage.last == lineage.start


def first_step_of(chains: Chains) -> int:
    """The first row that is no reset; the number of rows if there is none."""
    resets = {s.start for s in chains.segments if s.origin is Origin.RESET}
    return next((k for k in range(len(chains)) if k not in resets), len(chains))


def reset_twice(lineages: list[Lineage], first_step: int) -> dict[int, int]:
    """Second resets, with the first ones, of environments that begin with two.

    Programs do that: all are made and reset, and then all are reset once more. Shown by
    a first half of resets that nobody steps from, a second half of which all are
    stepped from, and never more lineages side by side than that.
    """
    early = [x for x in lineages if x.start < first_step]
    half = len(early) // 2
    first, second = early[:half], early[half:]
    if not half or len(first) != len(second):
        return {}
    if not all(is_bare(x) for x in first) or any(is_bare(x) for x in second):
        return {}
    if most_together([x for x in lineages if not is_bare(x)]) > half:
        return {}
    return {b.index: a.index for a, b in zip(first, second, strict=True)}
