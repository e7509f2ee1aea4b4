"""What a labelled recording has told so far, kept in columns for those that draw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.tracks import Track
from isoscope.core.timeline.chunks import Chunks
from isoscope.core.timeline.growing_pieces import GrowingMarks
from isoscope.core.timeline.pieces import Shape

if TYPE_CHECKING:
    from isoscope.core.following.feed import EnvNews, News, RunMark
    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import Int64Array
    from isoscope.core.timeline.pieces import Marks

SAID = {
    Shape.DONE: "terminated",
    Shape.TRUNCATED: "truncated",
    Shape.INTERVENTION: "somebody intervened",
    Shape.ERROR: "its snapshot is lost: a restore failed",
}


@dataclass(frozen=True, slots=True)
class Ended:
    """How an environment stands at a row, beyond its place.

    Attributes
    ----------
    shape
        `DONE`, `TRUNCATED`, `ERROR` (its snapshot is lost), or `NOTE`: it runs.
    row
        At the end of which native step that was told; -1 if nothing was.
    number
        Its last transition; -1 for none.
    """

    shape: Shape
    row: int
    number: int

    @property
    def words(self) -> str:
        """In a word or two."""
        return {
            Shape.DONE: "terminated",
            Shape.TRUNCATED: "truncated",
            Shape.ERROR: "snapshot lost",
        }.get(self.shape, "running")


class EnvTold:
    """What became of one environment, ascending by row."""

    def __init__(self, env: int, spill: Spill | None) -> None:
        self.env = env
        self._rows = Track(np.dtype(np.int64), (), spill=spill)
        self._shapes = Track(np.dtype(np.uint8), (), spill=spill)
        self._numbers = Track(np.dtype(np.int64), (), spill=spill)
        self._marks = GrowingMarks(self._text, spill)

    def __len__(self) -> int:
        """How many things were told."""
        return len(self._rows)

    def take(self, news: EnvNews, at: Int64Array) -> None:
        """Take in news of this environment."""
        last = self._rows.values[-1] if len(self) else -1
        rows = np.maximum.accumulate(np.maximum(news.row[at], last))
        self._rows.append(rows)
        self._shapes.append(news.shape[at])
        self._numbers.append(news.number[at])
        marked = (news.shape[at] != Shape.NOTE) & (news.row[at] >= 0)
        self._marks.append(rows[marked], news.shape[at][marked])

    def rows_since(self, count: int) -> tuple[Int64Array, Int64Array]:
        """After the first `count` things: ends of control steps, and marked rows."""
        rows, numbers = self._rows.values[count:], self._numbers.values[count:]
        there = rows >= 0
        special = there & (self._shapes.values[count:] != Shape.NOTE)
        return rows[there & (numbers >= 0)], rows[special]

    @property
    def marks(self) -> Marks:
        """What is worth a mark."""
        return self._marks.marks()

    def at(self, row: int) -> Ended:
        """How it stands at a row."""
        at = int(np.searchsorted(self._rows.values, row, "right")) - 1
        if at < 0:
            return Ended(Shape.NOTE, -1, -1)
        shape = Shape(int(self._shapes.values[at]))
        numbers = self._numbers.values
        number = int(numbers[at])
        if number < 0 and at:  # what is no transition itself
            before = np.flatnonzero(numbers[max(at - 64, 0) : at] >= 0)
            number = int(numbers[max(at - 64, 0) + before[-1]]) if len(before) else -1
        if shape is Shape.INTERVENTION:
            shape = Shape.NOTE
        return Ended(shape, int(self._rows.values[at]), number)

    def _text(self, index: int) -> str:
        shape = Shape(int(self._marks.shapes[index]))
        return f"env {self.env}: {SAID.get(shape, 'goes on')}"


class Told:
    """All that was told: chunks, environments, the run.

    Parameters
    ----------
    spill
        Where its columns grow; by default in memory.

    Attributes
    ----------
    chunks
        The action chunks.
    envs
        By environment.
    marks
        Of the run as a whole: failures, dropped records.
    """

    def __init__(self, spill: Spill | None = None) -> None:
        self._spill = spill
        self.chunks = Chunks(spill)
        self.envs: dict[int, EnvTold] = {}
        self.marks: list[RunMark] = []

    def take(self, news: News) -> None:
        """Take in news; costs what they are many."""
        if news.chunks is not None:
            self.chunks.take(news.chunks)
        if news.envs is not None:
            self._take_envs(news.envs)
        self.marks += news.marks

    def _take_envs(self, news: EnvNews) -> None:
        order = np.argsort(news.env, kind="stable").astype(np.int64)
        grouped = news.env[order]
        for part in np.split(order, np.flatnonzero(np.diff(grouped)) + 1):
            if len(part) and news.env[part[0]] >= 0:
                env = int(news.env[part[0]])
                if env not in self.envs:
                    self.envs[env] = EnvTold(env, self._spill)
                self.envs[env].take(news, part)

    def ended(self, env: int, row: int) -> Ended:
        """How an environment stands at a row."""
        known = self.envs.get(env)
        return Ended(Shape.NOTE, -1, -1) if known is None else known.at(row)
