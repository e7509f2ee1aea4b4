"""What goes with control steps, as fields over the native steps that each one took.

A control step's observation, action and reward belong to all of its native steps: they
are there in every row from its first to its last that is its own environment's, and
absent in all others. So they can be plotted, looked at and exported like any field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.recording.labelled.records import Field
from isoscope.core.recording.near import near
from isoscope.core.recording.tracks import Track, Window

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.labelled import Key, LabelledRecording
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import AnyTrack, Array, BoolArray, Int64Array

OVER = "transitions"
COLUMNS = ("reward", "terminated", "truncated")
LATE_ROWS = 1 << 16  # native steps; what is told later than that may not be seen
_INT = np.dtype(np.int64)
_ABSENT = -1


class _Taken:
    """Which native steps each control step of one environment took."""

    def __init__(self, spill: Spill | None) -> None:
        self.first, self.last, self.number = (
            Track(_INT, (), spill=spill) for _ in range(3)
        )


class TransitionRows:
    """Finds the control step of native steps; takes in new ones when asked.

    Parameters
    ----------
    labelled, recording
        Whose control steps, and whose native steps.
    """

    def __init__(self, labelled: LabelledRecording, recording: Recording) -> None:
        self.labelled, self.recording = labelled, recording
        self._envs: dict[int, _Taken] = {}
        self._count = 0

    def find(self, rows: Int64Array) -> Int64Array:
        """int64 [n]: the control step (a row of transitions) of each; -1 for none."""
        out = np.full(len(rows), _ABSENT, np.int64)
        labels = self.recording.labels
        if labels is None or not len(rows):
            return out
        if not self.labelled.count("native"):  # then each row is a control step
            return np.where((rows >= 0) & (rows < len(labels.env)), rows, out)
        self._update()
        inside = (rows >= 0) & (rows < len(labels.env))
        env = np.full(len(rows), _ABSENT, np.int64)
        env[inside] = labels.env[rows[inside]]
        for whose in np.unique(env[inside]).tolist():
            taken = self._envs.get(whose)
            if taken is None or not len(taken.last):
                continue
            at = np.flatnonzero(env == whose)
            last, first = taken.last.values, taken.first.values
            place = np.minimum(np.searchsorted(last, rows[at]), len(last) - 1)
            there = (first[place] <= rows[at]) & (rows[at] <= last[place])
            out[at[there]] = taken.number.values[place[there]]
        return out

    def settled_for(self, row: int | None) -> int:
        """The first native step whose control step may still be told.

        Parameters
        ----------
        row
            Of the environment that is meant; None means any.
        """
        rows, labels = len(self.recording), self.recording.labels
        if labels is None or not self.labelled.count("native"):
            return rows
        self._update()
        envs = list(self._envs) if row is None else [int(labels.env[row])]
        taken = [self._envs[env] for env in envs if env in self._envs]
        told = [int(of.last.values[-1]) for of in taken if len(of.last)]
        # An environment that never ends its control step doesn't hold all others up.
        return max(min(told, default=-1) + 1, rows - LATE_ROWS)

    def _update(self) -> None:
        start, stop = self._count, self.labelled.count(OVER)
        if stop <= start:
            return
        self._count = stop
        env, first, last = (
            self.labelled.column(OVER, name, start, stop).astype(np.int64)
            for name in ("env", "first_row", "last_row")
        )
        known = (env >= 0) & (first >= 0) & (last >= first)
        number = np.arange(start, stop, dtype=np.int64)
        for whose in np.unique(env[known]).tolist():
            at = np.flatnonzero(known & (env == whose))
            taken = self._envs.get(whose)
            if taken is None:
                taken = self._envs[whose] = _Taken(self.recording.steps.spill)
            before = int(taken.last.values[-1]) if len(taken.last) else -1
            # One that ends before the last one ended can't be found by its rows.
            top = np.maximum.accumulate(np.concatenate([[before], last[at]]))
            at = at[last[at] > top[:-1]]
            taken.first.append(first[at])
            taken.last.append(last[at])
            taken.number.append(number[at])


class TransitionTrack(Track):
    """One field of the control steps, over the native steps.

    Attributes
    ----------
    field
        What it is.
    """

    def __init__(
        self,
        field: Field,
        dtype: np.dtype[Any],
        rows: TransitionRows,
        values: Track | None,
    ) -> None:
        super().__init__(dtype, tuple(field.shape), 0, 1)
        self.field = field
        self._rows, self._of, self.column = rows, values, field.name

    def __len__(self) -> int:
        """Rows covered."""
        return len(self._rows.recording)

    @property
    def values(self) -> Array:
        """[len, *shape], all of it; read now."""
        return self.read(0, len(self)).values

    @property
    def valid(self) -> BoolArray:
        """[len]: where it is there."""
        return self.read(0, len(self)).valid

    def read(self, start: int, stop: int) -> Window:
        """Rows start .. stop; rows of no control step come back invalid."""
        values, valid = self.pick(np.arange(start, max(stop, start), dtype=np.int64))
        return Window(start, stop, values, valid)

    def pick(self, rows: Int64Array) -> tuple[Array, BoolArray]:
        """These rows: values [n, *shape], and where there are any [n]."""
        values = np.zeros((len(rows), *self.shape), self.dtype)
        number = self._rows.find(rows)
        known = np.flatnonzero(number >= 0)
        valid = np.zeros(len(rows), np.bool_)
        for part in near(rows[known]):
            into = known[part]
            low = int(number[into].min())
            found, there = self._read(low, int(number[into].max()) + 1)
            at = number[into] - low
            values[into], valid[into] = found[at], there[at]
        return values, valid

    def settled_for(self, row: int | None) -> int:
        """The first native step whose value may still come; see `TransitionRows`."""
        return self._rows.settled_for(row)

    def _read(self, low: int, high: int) -> tuple[Array, BoolArray]:
        if self._of is not None:
            window = self._of.read(low, high)
            return window.values, window.valid
        found = self._rows.labelled.column(OVER, self.column, low, high)
        there = np.isfinite(found) if found.dtype.kind == "f" else found >= 0
        return found, np.asarray(there)

    def present_count(self) -> int:
        """In how many rows it is there."""
        return int(np.count_nonzero(self.valid))

    def present(self, row: int) -> bool:
        """Whether it is there in this row."""
        return bool(self.read(row, row + 1).valid[0])

    def at(self, row: int) -> Array | None:
        """The value in one row, or None where absent."""
        window = self.read(row, row + 1)
        return np.asarray(window.values[0]) if window.valid[0] else None

    @property
    def nbytes(self) -> int:
        """Bytes held: none, it is in the file."""
        return 0


def transition_tracks(
    labelled: LabelledRecording, rows: TransitionRows, known: dict[str, AnyTrack]
) -> dict[str, AnyTrack]:
    """The fields that are not among the known ones yet, by what they are called."""
    found: dict[str, AnyTrack] = {}
    if labelled.count(OVER):
        for name in COLUMNS:
            if name not in known:
                kind = np.dtype(np.float64 if name == "reward" else np.int32)
                unit = None if name == "reward" else ""
                field = Field(name=name, unit=unit, group=OVER)
                found[name] = TransitionTrack(field, kind, rows, None)
    for key, track in list(labelled.fields.items()):
        name = shown(key)
        if key.over != OVER or name in known or not isinstance(track, Track):
            continue
        told: Field = _said(getattr(track, "field"), labelled)  # noqa: B009 any track's
        found[name] = TransitionTrack(told, track.dtype, rows, track)
    return found


def _said(field: Field, labelled: LabelledRecording) -> Field:
    """The field with the names that the space gives its components, if it has none."""
    role = "action" if "action" in field.group else "observation"
    if role not in field.group:
        return field
    size = int(np.prod(field.shape, dtype=np.int64))
    for space in labelled.identity.spaces:
        names = field.names or tuple(space.names)
        if space.role != role or len(names) != size:
            continue
        unit, units = field.unit, space.units
        if unit is None and len(units) == size:
            unit = units[0] if len(set(units)) == 1 else ""
            if not unit:
                pairs = zip(names, units, strict=True)
                names = tuple(f"{name} [{u}]" if u else name for name, u in pairs)
        return msgspec.structs.replace(field, names=names, unit=unit)
    return field


def shown(key: Key) -> str:
    """What a field of the control steps is called."""
    return key.name if key.name == key.group else f"{key.group}/{key.name}"
