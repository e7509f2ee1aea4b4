"""Read what has come into a labelled recording since, in whatever thread follows it.

The result is plain columns: whoever draws takes them in later, in its own thread, at a
cost that only their number decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.labelled.records import Dropped, Failure
from isoscope.core.recording.model import StepKind
from isoscope.core.timeline.chunks import STATES, ChunkNews
from isoscope.core.timeline.pieces import Shape

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array, Int64Array

AT_ONCE = 32_768  # rows of a table; more is left for the next time
RESTORED = "restore"
INTERVENED = "intervention"


@dataclass(frozen=True, eq=False)
class EnvNews:
    """What became of environments, columns [n] in the order of the recording.

    Attributes
    ----------
    env, row
        int64: whose, and at the end of which native step; -1 where unknown.
    shape
        uint8 of `Shape`: `DONE`, `TRUNCATED`, `INTERVENTION`, `ERROR` where a restore
        failed (the snapshot is lost), `NOTE` where it just went on.
    number
        int64: of the transition; -1 for what is none.
    """

    env: Int64Array
    row: Int64Array
    shape: Array
    number: Int64Array

    def __len__(self) -> int:
        """How many."""
        return len(self.env)


@dataclass(frozen=True, slots=True)
class RunMark:
    """Something that happened to the run as a whole."""

    row: int
    shape: Shape
    text: str


@dataclass(frozen=True, eq=False)
class News:
    """What has come since the last time.

    Attributes
    ----------
    rows
        Native steps by now.
    chunks, envs, marks
        Events of chunks, of environments, of the run.
    more
        Whether there is more to be read at once.
    """

    rows: int
    chunks: ChunkNews | None = None
    envs: EnvNews | None = None
    marks: tuple[RunMark, ...] = ()
    more: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing but rows came."""
        return self.chunks is None and self.envs is None and not self.marks


class Feed:
    """Reads one recording's news. All of it belongs to one thread.

    Parameters
    ----------
    recording
        A labelled one; of another kind there are never any news.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._read: dict[str, int] = {}
        self._opening, self._opened = 0, False

    def news(self) -> News:
        """What has come since.

        Raises
        ------
        ReadError
            If it can't be read.
        """
        rows, labelled = len(self.recording), self.recording.labelled
        if labelled is None:
            return News(rows)
        chunks = self._chunks(labelled)
        parts = [self._transitions(labelled), self._events(labelled)]
        envs = _joined([part for part in parts if part is not None])
        marks = (*self._failures(labelled), *self._dropped(labelled))
        more = any(
            labelled.count(table) > self._read.get(table, 0)
            for table in ("chunks", "transitions", "events")
        )
        return News(rows, chunks, envs, marks, more)

    def _next(self, labelled: LabelledRecording, table: str) -> tuple[int, int]:
        start = self._read.get(table, 0)
        stop = min(labelled.count(table), start + AT_ONCE)
        self._read[table] = max(stop, start)
        return start, stop

    def _chunks(self, labelled: LabelledRecording) -> ChunkNews | None:
        start, stop = self._next(labelled, "chunks")
        if stop <= start:
            return None
        found = labelled.columns("chunks", start, stop)
        names = ("step", "epoch", "rank", "stage", "chunk")
        wall_ns = found["wall_ns"].astype(np.int64)
        wall_s = np.where(wall_ns < 0, np.nan, wall_ns / 1e9)
        state = [int(STATES.get(word, 0)) for word in found["state"].tolist()]
        slots = np.stack([found["first_slot"], found["stop_slot"]], axis=1)
        return ChunkNews(
            key=np.stack([found[n].astype(np.int64) for n in names], axis=1),
            state=np.array(state, np.uint8),
            slots=slots.astype(np.int32),
            time_s=found["time_s"].astype(np.float64),
            wall_s=wall_s,
            row=self._rows_at(wall_s),
            first=start,
            opening=self._resets(),
        )

    def _resets(self) -> int:
        """How many rows there are before the first that is no reset's."""
        labels = self.recording.labels
        if labels is not None and not self._opened:
            stepped = labels.kind[self._opening :] != StepKind.RESET
            self._opened = bool(stepped.any())
            more = int(stepped.argmax()) if self._opened else len(stepped)
            self._opening += more
        return self._opening

    def _rows_at(self, wall_s: Array) -> Int64Array:
        """The first native step taken after each moment; -1 where unknown.

        The steps' own times ascend but for what several processes were late with.
        """
        taken = self.recording.wall_s
        if taken is None or not len(taken) or not np.isfinite(taken[-1]):
            return np.full(len(wall_s), -1, np.int64)
        rows = np.searchsorted(taken, wall_s).astype(np.int64)
        return np.where(np.isfinite(wall_s), rows, -1)

    def _transitions(self, labelled: LabelledRecording) -> EnvNews | None:
        start, stop = self._next(labelled, "transitions")
        if stop <= start:
            return None

        def read(name: str) -> Array:
            return labelled.column("transitions", name, start, stop)

        shape = np.full(stop - start, Shape.NOTE, np.uint8)
        shape[read("truncated") == 1] = Shape.TRUNCATED
        shape[read("terminated") == 1] = Shape.DONE
        return EnvNews(
            read("env").astype(np.int64),
            read("last_row").astype(np.int64),
            shape,
            np.arange(start, stop, dtype=np.int64),
        )

    def _events(self, labelled: LabelledRecording) -> EnvNews | None:
        start, stop = self._next(labelled, "events")
        if stop <= start:
            return None
        found = labelled.columns("events", start, stop)
        kind = found["kind"]
        lost = (kind == RESTORED) & (found["ok"] == 0)
        kept = np.flatnonzero(lost | (kind == INTERVENED))
        shape = np.where(lost[kept], Shape.ERROR, Shape.INTERVENTION)
        return EnvNews(
            found["env"][kept].astype(np.int64),
            found["row"][kept].astype(np.int64),
            shape.astype(np.uint8),
            np.full(len(kept), -1, np.int64),
        )

    def _row(self, row: int, wall_ns: int) -> int:
        """Where something was told of: its row, else the last one by then."""
        taken = self.recording.wall_s
        if row >= 0 or taken is None or wall_ns < 0:
            return max(row, 0)
        return max(int(np.searchsorted(taken, wall_ns / 1e9, "right")) - 1, 0)

    def _failures(self, labelled: LabelledRecording) -> list[RunMark]:
        start, stop = self._next(labelled, "failures")
        if stop <= start:
            return []
        told = labelled.records("failures", Failure, start, stop)
        return [
            RunMark(
                self._row(f.row, f.wall_ns),
                Shape.ERROR,
                f"{f.what} failed: {f.message}" if f.message else f"{f.what} failed",
            )
            for f in told
        ]

    def _dropped(self, labelled: LabelledRecording) -> list[RunMark]:
        start, stop = self._next(labelled, "dropped")
        if stop <= start:
            return []
        told = labelled.records("dropped", Dropped, start, stop)
        return [
            RunMark(
                self._row(d.row, d.wall_ns),
                Shape.WARNING,
                f"{d.count:,} {d.what} were not recorded"
                + (f": {d.why}" if d.why else ""),
            )
            for d in told
        ]


def _joined(parts: list[EnvNews]) -> EnvNews | None:
    if len(parts) <= 1:
        return parts[0] if parts else None
    return EnvNews(
        np.concatenate([part.env for part in parts]),
        np.concatenate([part.row for part in parts]),
        np.concatenate([part.shape for part in parts]),
        np.concatenate([part.number for part in parts]),
    )
