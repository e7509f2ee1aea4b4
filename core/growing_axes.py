"""The times of a recording that grows: what was worked out for a row stays so.

Each call costs what the new rows are many. `isoscope.core.timeaxis` says what an axis
is; the usual h, which every row of the native time lasts, is settled by the first rows.
They grow where the recording's steps do, in memory or beyond it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.tracks import Track
from isoscope.core.timeaxis import LONGEST_S, TimeAxis, TimeKind

if TYPE_CHECKING:
    from isoscope.core.recording.model import StepTable
    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import Array, Int64Array

SETTLED = 1024  # rows by which the usual h is known well enough
_REAL = np.dtype(np.float64)


class _Grown:
    """One time: its durations, where each row ends, whether it ever went back."""

    def __init__(self, kind: TimeKind, spill: Spill | None) -> None:
        self.kind = kind
        self.known = False  # whether any row says it
        self._stamps, self._lasts, self._ends = (
            Track(_REAL, (), spill=spill) for _ in range(3)
        )
        self._forward = True

    def __len__(self) -> int:
        return len(self._lasts)

    @property
    def last_stamp(self) -> float:
        """What the last row says; NaN where there is none."""
        return float(self._stamps.values[-1]) if len(self) else float("nan")

    def append(self, stamps: Array, lasts: Array) -> None:
        """Append rows."""
        if not len(lasts):
            return
        before = self._stamps.values[-1:]
        with np.errstate(invalid="ignore"):
            steps = np.diff(np.concatenate([before, stamps]))
        self._forward &= bool((steps >= 0).all()) and bool(np.isfinite(stamps[0]))
        self.known = self.known or bool(np.isfinite(stamps).any())
        begin = float(self._ends.values[-1]) if len(self) else 0.0
        self._stamps.append(stamps)
        self._lasts.append(lasts)
        self._ends.append(begin + np.cumsum(lasts))

    def axis(self) -> TimeAxis:
        """The time as far as it goes now."""
        return TimeAxis(
            self.kind,
            self._stamps.values,
            self._lasts.values,
            self._ends.values,
            self._forward,
        )


class GrowingAxes:
    """The times over one recording's rows, the usual one first."""

    def __init__(self) -> None:
        self._begin(None)
        self._focus: int | None = None

    def _begin(self, spill: Spill | None) -> None:
        self._recording, self._scene, self._native, self._control = (
            _Grown(kind, spill)
            for kind in (
                TimeKind.RECORDING,
                TimeKind.SCENE,
                TimeKind.NATIVE,
                TimeKind.CONTROL,
            )
        )
        self._h_known = False

    def axes(
        self,
        steps: StepTable,
        control_s: Array,
        focus: int | None = None,
        own: Int64Array | None = None,
    ) -> list[TimeAxis]:
        """The times that something is known of, and the native one.

        Parameters
        ----------
        control_s
            float64 [n]: the control time of each row's own environment; rows beyond it
            are not there yet.
        focus, own
            The environment whose control time it is to be, and its rows.
        """
        rows = min(len(steps), len(control_s))
        done = len(self._native)
        if done < SETTLED < rows or rows < done:
            self._begin(steps.spill)
        elif focus != self._focus:
            self._control = _Grown(TimeKind.CONTROL, steps.spill)
        self._focus = focus
        self._take_steps(steps, len(self._native), rows)
        self._take_control(steps.h_s, control_s, own, len(self._control), rows)
        found = [self._recording] if self._h_known else []
        found += [self._scene] if self._scene.known else []
        # Without a known h nothing is known of it but where resets are.
        found += [self._control] if self._control.known and self._h_known else []
        return [axis.axis() for axis in (*found, self._native)]

    def _take_steps(self, steps: StepTable, start: int, stop: int) -> None:
        if stop <= start:
            return
        part = slice(start, stop)
        h_s = steps.h_s[part]
        lasts = _lasting(h_s)
        self._h_known = self._h_known or bool(np.isfinite(h_s).any())
        self._recording.append(steps.time_s[part], lasts)
        self._scene.append(steps.scene_time_s[part], lasts)
        known = steps.h_s[: min(stop, 4 * SETTLED)]
        known = known[np.isfinite(known) & (known > 0)]
        each = min(float(np.median(known)), LONGEST_S) if len(known) else 0.02
        numbers = np.arange(start, stop, dtype=float)
        self._native.append(numbers, np.full(stop - start, each))

    def _take_control(
        self,
        h_s: Array,
        control_s: Array,
        own: Int64Array | None,
        start: int,
        stop: int,
    ) -> None:
        if stop <= start:
            return
        values, h_s = control_s[start:stop], h_s[start:stop]
        counted = np.isfinite(values) & (values > 0) & (h_s > 0)
        lasts = np.where(counted, _lasting(h_s), 0.0)
        if own is not None:
            low, high = np.searchsorted(own, [start, stop])
            mine = own[low:high] - start
            kept = np.zeros(stop - start)
            kept[mine] = lasts[mine]
            lasts = kept
            # Between its own rows an environment's time stands still.
            at = np.searchsorted(mine, np.arange(stop - start), "right") - 1
            stamps = np.full(stop - start, self._control.last_stamp)
            stamps[at >= 0] = values[mine[at[at >= 0]]]
            values = stamps
        self._control.append(values, lasts)


def _lasting(h_s: Array) -> Array:
    lasts = np.where(np.isfinite(h_s) & (h_s > 0), h_s, 0.0)
    return np.asarray(np.minimum(lasts, LONGEST_S))
