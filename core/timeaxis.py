"""One time over the native steps: what it says at each, and how long each lasts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

# No step lasts longer when played, whatever is recorded; 30,000 years.
LONGEST_S = 1e12
LOOKED_AT = 4096  # rows, to tell what is typical


class TimeKind(StrEnum):
    """Which time the cursor plays over and is shown in."""

    NATIVE = "native"
    RECORDING = "recording"
    SCENE = "scene"
    CONTROL = "control"
    WALL = "wall"


@dataclass(frozen=True, eq=False)
class TimeAxis:
    """One time over the rows.

    Attributes
    ----------
    kind
        Which time.
    stamps
        float64 [T]: what is shown for a row, in seconds (row numbers for NATIVE); NaN
        where unknown. May go backwards: scene and control time do.
    durations_s
        float64 [T], finite and not negative: how long a row lasts when played at
        rate 1.
    ends_s
        float64 [T]: the durations' sum up to and with each row, where somebody keeps
        it who has looked at the durations, too.
    forward
        Whether the stamps are known everywhere and never go back; None where nobody
        has looked.
    """

    kind: TimeKind
    stamps: Array
    durations_s: Array
    ends_s: Array | None = None
    forward: bool | None = None

    @cached_property
    def typical_s(self) -> float:
        """How long a row lasts: the median of the first ones that do; NaN if none."""
        lasting = self.durations_s[:LOOKED_AT]
        lasting = lasting[lasting > 0]
        return float(np.median(lasting)) if len(lasting) else float("nan")

    @classmethod
    def native(cls, h_s: Array) -> TimeAxis:
        """Every row lasts equally long: the median h [T], or 1/50 s if unknown."""
        known = h_s[np.isfinite(h_s) & (h_s > 0)]
        # Capped: made-up values may be so large that their sum overflows.
        known = np.minimum(known, LONGEST_S)
        each = float(np.median(known)) if len(known) else 0.02
        rows = len(h_s)
        return cls(TimeKind.NATIVE, np.arange(rows, dtype=float), np.full(rows, each))

    @classmethod
    def recording(cls, time_s: Array, h_s: Array) -> TimeAxis:
        """Each row lasts its h [T]; shown is the recording's own time [T]."""
        lasts = np.where(np.isfinite(h_s) & (h_s > 0), h_s, 0.0)
        lasts = np.minimum(lasts, LONGEST_S)
        return cls(TimeKind.RECORDING, time_s, lasts)

    def __post_init__(self) -> None:
        """Refuse durations that time could not be counted with."""
        if self.ends_s is not None:
            return
        lasts = self.durations_s
        if not bool(np.all(np.isfinite(lasts) & (lasts >= 0))):
            raise ValueError(f"a duration of the {self.kind} time is no time")

    def __len__(self) -> int:
        """Rows covered: the columns of a growing source may differ in their last."""
        return min(len(self.stamps), len(self.durations_s))

    def cut(self, rows: int) -> TimeAxis:
        """The first rows of it."""
        if rows == len(self.stamps) == len(self.durations_s):
            return self
        ends_s = None if self.ends_s is None else self.ends_s[:rows]
        return TimeAxis(
            self.kind, self.stamps[:rows], self.durations_s[:rows], ends_s, None
        )
