"""Where the cursor is, in every time: numbers in slots, so that nothing jiggles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from isoscope.widgets.look import scaled
from isoscope.widgets.row_words import row_word
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from isoscope.core.analysis import Analysis
    from isoscope.core.recording.model import Labels, Recording
    from isoscope.core.recording.tracks import Array

SPACE_PX = 5
BETWEEN_PX = 14
UNKNOWN = "—"
_TIME = "{:.5f} s"


class Readout(QWidget):
    """``native 152 · recording 2.88002 s · scene — · control 1/9``.

    A time that the source doesn't know is a dash, never a number.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self._t = DARK
        self._recording: Recording | None = None
        self._labels: Labels | None = None
        self._scene_s: Array = np.zeros(0)
        self._seen: dict[str, _Range] = {}
        self._row = self._beyond = 0
        self.painted_row = -1
        self._slots: list[tuple[str, str]] = []  # name, widest text
        self.set_look(DARK)
        self.set_recording(None)

    def set_look(self, t: Tokens) -> None:
        """Take colours and fonts."""
        self._t = t
        self._small = scaled(self.font(), 0.92)
        self.update()

    def set_recording(
        self, recording: Recording | None, analysis: Analysis | None = None
    ) -> None:
        """Show numbers of this recording; also after it has grown.

        `analysis` says whose each step was, and the scene's time, where the recording
        doesn't.
        """
        if recording is not self._recording:
            self._seen.clear()
        self._recording = recording
        self._labels = None if recording is None else recording.labels
        self._scene_s = np.zeros(0)
        if recording is not None:
            self._scene_s = recording.steps.scene_time_s
        if analysis is not None:
            self._labels = analysis.labels
            if not self._range("scene", self._scene_s).known:
                self._scene_s = analysis.attribution.scene_time_s
        rows = 0 if recording is None else len(recording)
        slots = [(row_word(recording), "0" * len(str(max(rows - 1, 0))))]
        if recording is None:
            slots += [("recording", UNKNOWN), ("scene", UNKNOWN)]
        else:
            times = recording.steps.time_s
            slots.append(("recording", self._range("recording", times).widest))
            slots.append(("scene", self._range("its", self._scene_s).widest))
            labels = self._labels
            if labels is not None and len(labels):
                control = self._range("control", labels.control_step).high
                if control >= 0:
                    episode = self._range("episode", labels.episode).high
                    slots.append(("control", f"{episode:.0f}/{control:.0f}"))
        if slots != self._slots:
            self._slots = slots
            self.updateGeometry()
        self.update()

    def _range(self, name: str, values: Array) -> _Range:
        found = self._seen.setdefault(name, _Range())
        found.take(values)
        return found

    def set_row(self, row: int, beyond: int = 0) -> None:
        """Show the numbers of a row; costs one repaint of this widget.

        `beyond` is how many steps past the last row the cursor is; of those no time was
        recorded.
        """
        if (row, beyond) != (self._row, self._beyond):
            self._row, self._beyond = row, beyond
            self.update()

    def texts(self) -> list[tuple[str, str]]:
        """Name and value of each number that is shown."""
        recording, row = self._recording, self._row
        if recording is None or row >= len(recording):
            return [(name, UNKNOWN) for name, _ in self._slots]
        if self._beyond:
            native = f"{row}+{self._beyond}"
            rest = [(name, UNKNOWN) for name, _ in self._slots[1:]]
            return [(self._slots[0][0], native), *rest]
        values = [
            f"{row}",
            _time(recording.steps.time_s, row),
            _time(self._scene_s, row),
        ]
        labels = self._labels
        if len(self._slots) > 3 and labels is not None:
            values.append(UNKNOWN)
            if row < len(labels) and labels.control_step[row] >= 0:
                episode = int(labels.episode[row])
                before = f"{episode}/" if episode >= 0 else ""
                values[-1] = f"{before}{int(labels.control_step[row])}"
        return [
            (name, value) for (name, _), value in zip(self._slots, values, strict=True)
        ]

    @property
    def text(self) -> str:
        """All of it as one line."""
        return " · ".join(f"{name} {value}" for name, value in self.texts())

    def sizeHint(self) -> QSize:  # noqa: N802
        """Room for the widest numbers."""
        names, values = QFontMetrics(self._small), QFontMetrics(self.font())
        width = sum(
            names.horizontalAdvance(name) + SPACE_PX + values.horizontalAdvance(widest)
            for name, widest in self._slots
        )
        between = BETWEEN_PX * (len(self._slots) - 1)
        return QSize(width + between + 2, values.height() + 4)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """At least the native step."""
        names, values = QFontMetrics(self._small), QFontMetrics(self.font())
        name, widest = self._slots[0]
        return QSize(
            names.horizontalAdvance(name)
            + SPACE_PX
            + values.horizontalAdvance(widest)
            + 2,
            values.height() + 4,
        )

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draw names dim and values right-aligned in their slots."""
        painter = QPainter(self)
        names, values = QFontMetrics(self._small), QFontMetrics(self.font())
        base = (self.height() + values.ascent() - values.descent()) // 2
        x = 0
        for (name, value), (_, widest) in zip(self.texts(), self._slots, strict=True):
            slot = max(
                values.horizontalAdvance(widest), values.horizontalAdvance(value)
            )
            if x + names.horizontalAdvance(name) + SPACE_PX + slot > self.width():
                break
            painter.setFont(self._small)
            painter.setPen(QColor(self._t.dim))
            painter.drawText(x, base, name)
            x += names.horizontalAdvance(name) + SPACE_PX
            unknown = value == UNKNOWN
            painter.setFont(self.font())
            painter.setPen(QColor(self._t.dim if unknown else self._t.text))
            at = x if unknown else x + slot - values.horizontalAdvance(value)
            painter.drawText(at, base, value)
            x += slot + BETWEEN_PX
        painter.end()
        self.painted_row = self._row


def _time(times: Array, row: int) -> str:
    value = float(times[row]) if row < len(times) else float("nan")
    return _TIME.format(value) if np.isfinite(value) else UNKNOWN


class _Range:
    """Least and most of a column that may grow; each value is looked at once."""

    def __init__(self) -> None:
        self.low, self.high, self._taken = np.inf, -np.inf, 0
        self._of: Array = np.zeros(0)

    def take(self, values: Array) -> None:
        """Look at what is new, or at everything where it is another column."""
        again = len(values) < self._taken or (
            self._taken > 0 and values[self._taken - 1] != self._of[self._taken - 1]
        )
        if again:
            self.low, self.high, self._taken = np.inf, -np.inf, 0
        new = values[self._taken :]
        new = new[np.isfinite(new)]
        if len(new):
            self.low = min(self.low, float(new.min()))
            self.high = max(self.high, float(new.max()))
        self._of, self._taken = values, len(values)

    @property
    def known(self) -> bool:
        """Whether any value is."""
        return self.high >= self.low

    @property
    def widest(self) -> str:
        """The widest text that any of these times may have."""
        if not self.known:
            return UNKNOWN
        longest = max((_TIME.format(v) for v in (self.low, self.high)), key=len)
        return "".join("0" if c.isdigit() else c for c in longest)
