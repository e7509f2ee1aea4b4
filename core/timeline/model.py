"""The lanes of a timeline, and what is known beside the file; frozen, no drawing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.timeline.pieces import Items, Marks, RowBits, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.model import Labels, Severity
    from isoscope.core.recording.tracks import Array, Int64Array

# How much an arc matters, by what it means.
_ARC_RANKS: dict[Severity | None, int] = {None: 1, "note": 2, "warning": 3, "error": 4}


class LaneKind(Enum):
    """What a lane is made of, and so how it is painted."""

    STEPS = "steps"  # a bar a row, as high as its h
    OWNER = "owner"  # a colour a row
    RESIDUAL = "residual"  # a bar a row, logarithmic
    ITEMS = "items"
    CHUNKS = "chunks"  # items of action chunks
    EVENTS = "events"  # marks only


def nothing() -> tuple[Items, Marks]:
    """What lies on an empty lane."""
    return Items.none(), Marks()


@dataclass(frozen=True, eq=False)
class Lane:
    """One lane.

    Attributes
    ----------
    key
        Names the lane within its timeline, such as ``"env:3"``.
    label
        What stands at its left.
    about
        One line that explains it.
    kind
        How it is painted.
    env
        The environment whose colour it has; None for a neutral one.
    rows
        A value for every row, where the kind has them.
    make
        Gives what lies on the lane; asked once, when it is first looked at, since of
        a thousand environments a few are in sight.
    actor
        Index of the actor it stands for, where it stands for one.
    """

    key: str
    label: str
    about: str
    kind: LaneKind
    env: int | None = None
    rows: RowBits | None = None
    make: Callable[[], tuple[Items, Marks]] = nothing
    actor: int | None = None

    @cached_property
    def _content(self) -> tuple[Items, Marks]:
        return self.make()

    @property
    def items(self) -> Items:
        """The items on it."""
        return self._content[0]

    @property
    def marks(self) -> Marks:
        """The marks on it."""
        return self._content[1]

    @property
    def pinned(self) -> bool:
        """Whether it stays in place while the others scroll."""
        return self.kind not in (LaneKind.ITEMS, LaneKind.CHUNKS)


@dataclass(frozen=True, slots=True)
class Arc:
    """The state after row `source` was gone on from in row `target`.

    `severity` says what it means: ``"error"`` for a missed restore, ``"note"`` for a
    rewind on purpose, None for the usual restore of an environment's own snapshot.
    """

    source: int
    target: int
    severity: Severity | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class FindingMark:
    """Something wrong or doubtful, on the row where it begins.

    `shape` is drawn instead of the severity's own, where it is given.
    """

    row: int
    severity: Severity
    text: str
    env: int | None = None
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Taint:
    """Rows low .. high (inclusive) that are not to be trusted; of one environment."""

    low: int
    high: int
    env: int | None = None
    text: str = ""


@dataclass(frozen=True, eq=False)
class TimelineExtras:
    """What is known of a recording beyond what its file says.

    Attributes
    ----------
    labels
        Whose each step was, where the recording doesn't say so itself.
    arcs
        Where a state was gone on from elsewhere than in the next row.
    findings
        Drawn with a shape for their severity.
    residual
        float64 [T]: how far each step begins from the state that it is said to go on
        from; NaN where unknown.
    tainted
        Rows that a fault reaches.
    """

    labels: Labels | None = None
    arcs: tuple[Arc, ...] = ()
    findings: tuple[FindingMark, ...] = ()
    residual: Array | None = None
    tainted: tuple[Taint, ...] = ()


@dataclass(frozen=True, eq=False)
class Timeline:
    """All lanes of one document at one moment.

    Attributes
    ----------
    rows
        Rows indexed.
    expected
        Rows there may be in the end; equals `rows` when indexed.
    lanes
        Pinned ones first.
    labels
        Whose each step was, as far as known.
    extras
        What was given beside the recording.
    typical_h_s
        The usual h; NaN where unknown.
    residual_span
        Residuals that the strip's bottom and top stand for; None without a strip.
    pale
        Environments that are not shown: their lanes are only hinted at.
    focus
        The environment that is looked at, or None.
    chosen
        The item that is looked at, by the key of its lane.
    row_is
        What a row is: ``"native step"`` or ``"control step"``.
    in_file
        Rows, from the first one, that memory had no room for: what is looked at of
        them is read again from the recording.
    """

    rows: int
    expected: int
    lanes: tuple[Lane, ...]
    labels: Labels | None = None
    extras: TimelineExtras = field(default_factory=TimelineExtras)
    typical_h_s: float = float("nan")
    residual_span: tuple[float, float] | None = None
    pale: frozenset[int] = frozenset()
    focus: int | None = None
    chosen: dict[str, int] = field(default_factory=dict)
    in_file: int = 0
    row_is: str = "native step"

    def lane(self, key: str) -> Lane | None:
        """The lane of this key, or None."""
        return next((lane for lane in self.lanes if lane.key == key), None)

    @cached_property
    def arc_ends(self) -> tuple[tuple[Marks, Int64Array], tuple[Marks, Int64Array]]:
        """The arcs' targets and their sources as marks, with each mark's arc."""
        arcs = self.extras.arcs
        ranks = np.array([_ARC_RANKS[arc.severity] for arc in arcs], np.uint8)
        sources = np.array([arc.source for arc in arcs], np.int64)
        targets = np.array([arc.target for arc in arcs], np.int64)
        by_target = np.argsort(targets, kind="stable")
        by_source = np.argsort(sources, kind="stable")
        return (
            (Marks(targets[by_target], ranks[by_target]), by_target),
            (Marks(sources[by_source], ranks[by_source]), by_source),
        )

    @cached_property
    def taints(self) -> dict[int | None, tuple[Int64Array, Int64Array]]:
        """First and last rows of the tainted spans, by environment (None: any)."""
        rows: dict[int | None, list[tuple[int, int]]] = {}
        for taint in self.extras.tainted:
            rows.setdefault(taint.env, []).append((taint.low, taint.high))
        both = {env: np.array(spans, np.int64).T for env, spans in rows.items()}
        return {env: (low, high) for env, (low, high) in both.items()}

    @cached_property
    def events(self) -> Marks:
        """Every mark worth finding again, for the overview."""
        kept = []
        for lane in self.lanes:
            if lane.kind is LaneKind.EVENTS:
                kept.append(lane.marks)
            elif lane.kind is LaneKind.STEPS:
                zero = np.flatnonzero(lane.marks.shapes == Shape.ZERO)
                kept.append(Marks(lane.marks.rows[zero], lane.marks.shapes[zero]))
        return Marks.merged(kept)
