"""All clocks of a recording side by side, and from any of them to any other.

The recording's own time runs through. The scene's time, the control time and the
numbers of control steps belong to an environment and go back at every reset, so that
one value of theirs may name several rows: each episode has one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.controltime import control_time_s
from isoscope.core.errors import UsageError
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.attribution.result import Attribution
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

NATIVE, RECORDING, SCENE, CONTROL, WALL = (
    "native",
    "recording",
    "scene",
    "control",
    "wall",
)


@dataclass(frozen=True, slots=True)
class Stream:
    """Something sampled beside the steps, such as a camera.

    Attributes
    ----------
    name
        What it is called.
    clock
        Which of the clocks its stamps are of.
    stamps_s
        float64 [n].
    capture_id
        int64 [n]: the source's own number of each sample, or None. A number that
        repeats is the same sample stamped again.
    """

    name: str
    clock: str
    stamps_s: Array
    capture_id: Int64Array | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    """Samples of a stream laid beside the steps.

    Attributes
    ----------
    rows
        int64 [n]: the row that was the latest when the sample was taken; -1 before the
        first.
    late_s
        float64 [n]: how long after that row's stamp.
    restamped
        Samples whose capture id is that of an earlier one.
    dropped
        How many capture ids are missing between two samples: (sample after, missing).
    """

    rows: Int64Array
    late_s: Array
    restamped: tuple[int, ...]
    dropped: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Clocks:
    """The clocks of a recording, a stamp a row.

    Attributes
    ----------
    columns
        float64 [T] by clock; NaN where unknown. ``"native"`` is the row's number.
    env, episode, control_step, substep
        int32 [T]: -1 where unknown.
    chunks
        Text [T] and int64 [T] by name, of sources that have chunks: ``"key"`` and
        ``"slot"``.
    """

    columns: dict[str, Array]
    env: Array
    episode: Array
    control_step: Array
    substep: Array
    chunks: dict[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        """Rows."""
        return len(self.env)

    def at(self, row: int) -> dict[str, float]:
        """What all clocks say at a row; NaN where unknown.

        Raises
        ------
        UsageError
            If there is no such row.
        """
        if not 0 <= row < len(self):
            raise UsageError(f"no native step {row}; there are {len(self)}")
        return {name: float(column[row]) for name, column in self.columns.items()}

    def rows_at(self, clock: str, value: float, env: int | None = None) -> Int64Array:
        """The rows nearest to a value of a clock, one for each run of it, ascending.

        Parameters
        ----------
        clock
            One of `columns`.
        value
            Seconds (a number, for ``"native"``).
        env
            Whose rows to look at; all rows by default.

        Returns
        -------
        int64 [k]
            For each stretch over which the clock runs through (an episode, say) and
            that covers the value to within half a step, the row nearest to it. If there
            is none, the one nearest row of all. Empty if the clock is unknown.

        Raises
        ------
        UsageError
            If there is no such clock.
        """
        if clock not in self.columns:
            known = ", ".join(self.columns)
            raise UsageError(f"no clock {clock!r}; there is {known}")
        column = self.columns[clock]
        mine = np.isfinite(column)
        if env is not None:
            mine = mine & (self.env == env)
        found: list[int] = []
        for rows in self._runs(clock, mine):
            stamps = column[rows]
            at = int(np.searchsorted(stamps, value))
            near = [k for k in (at - 1, at) if 0 <= k < len(rows)]
            best = min(near, key=lambda k: (abs(stamps[k] - value), k))
            reach = _half_step(stamps, best)
            if abs(float(stamps[best]) - value) <= reach:
                found.append(int(rows[best]))
        if not found and mine.any():
            rows = np.flatnonzero(mine)
            found = [int(rows[np.argmin(np.abs(column[rows] - value))])]
        return np.array(sorted(found), np.int64)

    def _runs(self, clock: str, mine: BoolArray) -> list[Int64Array]:
        """Rows of each stretch over which the clock does not go back."""
        rows = np.flatnonzero(mine)
        if not len(rows):
            return []
        column = self.columns[clock]
        # A clock that belongs to an environment runs through its own rows only.
        own = self.env[rows] if clock in (SCENE, CONTROL) else np.zeros(len(rows))
        order = np.lexsort((rows, own))
        rows, own = rows[order], own[order]
        stamps = column[rows]
        cut = (np.diff(stamps) < 0) | (np.diff(own) != 0)
        return np.split(rows, np.flatnonzero(cut) + 1)

    def lay(self, stream: Stream) -> Matched:
        """Lay the samples of a stream beside the steps, by its clock and capture ids.

        Raises
        ------
        UsageError
            If the stream's clock is none of these, or goes back.
        """
        if stream.clock not in self.columns:
            known = ", ".join(self.columns)
            raise UsageError(f"no clock {stream.clock!r}; there is {known}")
        column = self.columns[stream.clock]
        rows = np.flatnonzero(np.isfinite(column))
        stamps = column[rows]
        if (np.diff(stamps) < 0).any():
            raise UsageError(
                f"{stream.name} can't be laid over the {stream.clock} time, which goes "
                "back; use the recording's or the wall's"
            )
        at = np.searchsorted(stamps, stream.stamps_s, "right") - 1
        matched = np.where(at >= 0, rows[np.maximum(at, 0)], -1) if len(rows) else at
        late = np.full(len(at), np.nan)
        late[at >= 0] = stream.stamps_s[at >= 0] - stamps[at[at >= 0]]
        restamped: tuple[int, ...] = ()
        dropped: list[tuple[int, int]] = []
        if stream.capture_id is not None and len(stream.capture_id):
            ids = stream.capture_id
            _, first = np.unique(ids, return_index=True)
            again = np.ones(len(ids), np.bool_)
            again[first] = False
            restamped = tuple(np.flatnonzero(again).tolist())
            fresh = np.flatnonzero(~again)
            ahead = np.diff(ids[fresh]) - 1
            dropped = [
                (int(fresh[k + 1]), int(ahead[k])) for k in np.flatnonzero(ahead > 0)
            ]
        return Matched(matched.astype(np.int64), late, restamped, tuple(dropped))


def _half_step(stamps: Array, at: int) -> float:
    """Half of the longer interval beside a stamp; nothing if it stands alone."""
    around = np.diff(stamps[max(at - 1, 0) : at + 2])
    return float(around.max(initial=0.0)) / 2


def clocks_of(
    recording: Recording, found: Attribution, wall_s: Array | None = None
) -> Clocks:
    """The clocks of an attributed recording.

    The scene's time is the recorded one where there is one, else it is added up from
    each reset: 1e-5 s, and h for every step since, as the restores leave it.

    Parameters
    ----------
    wall_s
        float64 [T]: the computer's time of each row; the recording's by default, where
        it has one.
    """
    rows = len(found)
    wall_s = recording.wall_s if wall_s is None else wall_s
    steps, labels = recording.steps, found.labels
    recorded = steps.scene_time_s[:rows]
    scene = np.where(np.isfinite(recorded), recorded, found.scene_time_s)
    h_s = steps.h_s[:rows]
    columns = {
        NATIVE: np.arange(rows, dtype=np.float64),
        RECORDING: np.array(steps.time_s[:rows]),
        SCENE: scene,
        CONTROL: control_time_s(labels, h_s, found.substeps),
    }
    if wall_s is not None:
        columns[WALL] = wall_s[:rows]
    return Clocks(
        columns, labels.env, labels.episode, labels.control_step, labels.substep
    )


def ends_of_control_steps(found: Attribution) -> BoolArray:
    """Bool [T]: rows after which a control step, or a reset, is done."""
    labels = found.labels
    done = labels.kind == StepKind.RESET
    if found.substeps is not None:
        whole = (labels.kind == StepKind.SUBSTEP) & (labels.control_step >= 0)
        done |= whole & (labels.substep == found.substeps - 1)
    return np.asarray(done)
