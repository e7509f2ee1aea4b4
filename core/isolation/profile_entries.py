"""A profiler's entries as columns, in groups that were measured together."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.labelled_tables import Table

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array, Int64Array

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


class Entries(Table):
    """Entries of a profile."""

    NAME = "profile"

    value = property(lambda self: self.column("value"), doc="float64 [n], in its unit.")
    name = property(lambda self: self.column("name"), doc="Numbers of texts, [n].")
    parent = property(lambda self: self.column("parent"), doc="The same, [n].")
    transition = property(lambda self: self.column("transition"), doc="int64 [n].")
    row = property(lambda self: self.column("row"), doc="int64 [n].")

    @cached_property
    def seconds(self) -> Array:
        """float64 [n]: values in seconds; NaN for what is no time."""
        unit = self.column("unit")
        factor = np.full(len(self), np.nan)
        for number in np.unique(unit).tolist():
            known = SECONDS.get(self.labelled.text(number))
            if known is not None:
                factor[unit == number] = known
        found: Array = self.value * factor
        return found

    @cached_property
    def top(self) -> Array:
        """Bool [n]: entries that nothing contains."""
        parent = self.parent
        empty = [n for n in np.unique(parent).tolist() if not self.labelled.text(n)]
        return np.asarray(np.isin(parent, empty))

    @cached_property
    def group(self) -> Int64Array:
        """int64 [n]: entries that were measured together have one number.

        A group begins where the environment, the transition or the native row changes,
        or a whole comes that the group has already.
        """
        if not len(self):
            return np.zeros(0, np.int64)
        place = np.stack([self.env, self.transition, self.row], axis=1)
        new = np.ones(len(self), np.bool_)
        new[1:] = (place[1:] != place[:-1]).any(axis=1)
        tops = np.flatnonzero(self.top)
        # The same whole again, right where one was before: another measurement.
        begun = np.cumsum(new)
        same = np.flatnonzero(
            (self.name[tops[1:]] == self.name[tops[:-1]])
            & (begun[tops[1:]] == begun[tops[:-1]])
        )
        new[tops[same + 1]] = True
        found: Int64Array = np.cumsum(new).astype(np.int64) - 1
        return found
