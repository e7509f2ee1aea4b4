"""Where each native step began, predicted from what was recorded at its end.

A predictor answers one question, column by column of the state: where did the bodies
stand before this step? Attribution then looks for the earlier step that left them
there. Another integrator gets another predictor; nothing else changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.attribution.rounding import Precision
    from isoscope.core.recording.tracks import Array, BoolArray


@dataclass(slots=True)
class Layout:
    """What the columns of a state are; columns are only ever added, at the end.

    Attributes
    ----------
    actor
        int32 [D]: index of the actor that a column belongs to.
    metres
        bool [D]: whether the column is a position in metres.
    """

    actor: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    metres: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))

    def __len__(self) -> int:
        """Columns so far."""
        return len(self.actor)

    def add(self, actor: int, columns: int, metres: bool) -> slice:
        """Append columns of one actor; returns where they are."""
        at = len(self)
        self.actor = np.append(self.actor, np.full(columns, actor, np.int32))
        self.metres = np.append(self.metres, np.full(columns, metres))
        return slice(at, at + columns)


@dataclass(frozen=True, slots=True)
class Motion:
    """Where the native steps start .. stop began and ended.

    All arrays are float64 [stop - start, D]; NaN where unknown. A state that is not
    finite (NaN in the recording) is written as `NOT_FINITE`, which equals itself.

    Attributes
    ----------
    end
        The state after the step, as recorded.
    moved
        How far it moved; it began at ``end - moved``. Kept apart because
        ``(end_i - end_j) - moved_i`` is exact where ``start_i - end_j`` is not.
    tight
        How far off the recorded numbers can be if the state before was recorded as it
        was: the rounding of the velocity alone.
    loose
        The same if the state itself was rounded on the way.
    """

    start: int
    stop: int
    end: Array
    moved: Array
    tight: Array
    loose: Array

    def __len__(self) -> int:
        """Native steps."""
        return self.stop - self.start


NOT_FINITE = 1e30


@runtime_checkable
class Predictor(Protocol):
    """What attribution needs to know about an integrator and its recording."""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    @property
    def layout(self) -> Layout:
        """The columns known so far; `read` may add some."""
        ...

    @property
    def precision(self) -> dict[tuple[int, str], Precision]:
        """How exactly each field used is written, by (actor index, field name)."""
        ...

    def read(self, start: int, stop: int) -> Motion:
        """Motion of the native steps start .. stop."""
        ...
