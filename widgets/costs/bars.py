"""One bar a worker: how long its turn takes, and on which stages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QHelpEvent, QPainter
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from isoscope.core.costs.naming import Stage
from isoscope.widgets.costs.words import envs, seconds, share
from isoscope.widgets.look import mono, scaled
from isoscope.widgets.theme import DARK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QPaintEvent

    from isoscope.core.costs.report import CostReport, WorkerCosts
    from isoscope.widgets.theme import Tokens

MOST_BARS = 8
BAR_PX, GAP_PX, PAD_PX = 18, 6, 10
# Places in the theme's row of colours; what is not here is dim.
_COLOURS = {
    Stage.SUBSTEPS: 0,
    Stage.RESTORE: 1,
    Stage.CAPTURE: 6,
    Stage.OBSERVE: 2,
    Stage.REWARD: 3,
    Stage.CONVERT: 5,
    Stage.RESET: 4,
    Stage.RENDER: 7,
}


class StageBars(QWidget):
    """Stacked bars, the slowest worker first, all on one scale."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workers: tuple[WorkerCosts, ...] = ()
        self._slowest: WorkerCosts | None = None
        self._t = DARK
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Stages of a turn by worker")

    def set_look(self, t: Tokens) -> None:
        """Take colours."""
        self._t = t
        self.update()

    def show_report(self, report: CostReport | None) -> None:
        """Show these workers."""
        self._workers = () if report is None else report.workers
        self._slowest = None if report is None else report.slowest
        said = [
            f"{w.name}: "
            + ", ".join(f"{s.value} {seconds(spent)}" for s, spent in w.stages.items())
            for w in self._workers[:MOST_BARS]
        ]
        self.setAccessibleDescription("; ".join(said))
        self.setFixedHeight(self.sizeHint().height())
        self.update()

    @property
    def shown(self) -> tuple[WorkerCosts, ...]:
        """Those that have a bar."""
        return self._workers[:MOST_BARS]

    def sizeHint(self) -> QSize:  # noqa: N802
        """A line a worker."""
        if not self._workers:
            return QSize(200, 0)
        lines = len(self.shown) + (len(self._workers) > MOST_BARS) + 1
        return QSize(200, lines * (BAR_PX + GAP_PX) + GAP_PX)

    # -- where things are --------------------------------------------------------------

    def _name_px(self) -> int:
        metrics = QFontMetrics(scaled(self.font(), 0.9))
        wide = max((metrics.horizontalAdvance(_name(w)) for w in self.shown), default=0)
        return min(wide + 12, self.width() // 3)

    def _value_px(self) -> int:
        return QFontMetrics(mono(self.font(), 0.88)).horizontalAdvance("0000 ms") + 12

    def pieces(self) -> Iterator[tuple[WorkerCosts, Stage, float, QRectF]]:
        """Worker, stage, seconds and place of each piece, from left to right."""
        left = PAD_PX + self._name_px()
        room = self.width() - left - self._value_px() - PAD_PX
        longest = max((_length(w) for w in self.shown), default=0.0)
        if longest <= 0 or room <= 0:
            return
        for line, worker in enumerate(self.shown):
            x, top = float(left), GAP_PX + line * (BAR_PX + GAP_PX)
            for stage, spent in _stages(worker):
                wide = room * max(spent, 0.0) / longest
                yield worker, stage, spent, QRectF(x, top, wide, BAR_PX)
                x += wide

    def about(self, at: QPoint) -> str:
        """What is under a place, for people."""
        for worker, stage, spent, box in self.pieces():
            if box.contains(at.toPointF()):
                whole = worker.turn_s
                outside = stage is Stage.WAIT and Stage.WAIT not in worker.stages
                of = (
                    "between two turns"
                    if outside
                    else f"{share(spent, whole)} of a turn"
                )
                named = (
                    f"{worker.name} ({envs(worker)})" if worker.envs else worker.name
                )
                return f"{named}\n{stage.value}: {seconds(spent)}, {of}"
        return ""

    def event(self, event: QEvent) -> bool:
        """Say what is under the resting pointer."""
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.about(event.pos()), self)
            return True
        return super().event(event)

    # -- painting ----------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Paint the bars with the stages' names in them, where there is room."""
        t, painter = self._t, QPainter(self)
        names, values = scaled(self.font(), 0.9), mono(self.font(), 0.88)
        small = QFontMetrics(names)
        name_px = self._name_px()
        middle = Qt.AlignmentFlag.AlignVCenter
        for line, worker in enumerate(self.shown):
            top = GAP_PX + line * (BAR_PX + GAP_PX)
            slowest = worker is self._slowest
            painter.setFont(names)
            painter.setPen(QColor(t.text if slowest else t.dim))
            cut = small.elidedText(
                _name(worker), Qt.TextElideMode.ElideRight, name_px - 8
            )
            painter.drawText(QRectF(PAD_PX, top, name_px, BAR_PX), middle, cut)
            painter.setFont(values)
            painter.setPen(QColor(t.text))
            right = QRectF(0, top, self.width() - PAD_PX, BAR_PX)
            told = seconds(worker.turn_s)
            painter.drawText(right, middle | Qt.AlignmentFlag.AlignRight, told)
        painter.setFont(names)
        for _, stage, _, box in self.pieces():
            if box.width() < 0.5:
                continue
            colour = self._colour(stage)
            if stage is Stage.WAIT:
                painter.fillRect(box, QBrush(QColor(t.dim), Qt.BrushStyle.BDiagPattern))
            else:
                painter.fillRect(box.adjusted(0, 0, -1, 0), colour)
            if small.horizontalAdvance(stage.value) + 8 <= box.width():
                waits = stage is Stage.WAIT
                ink = QColor(t.text) if waits else _ink(colour, t)
                painter.setPen(ink)
                painter.drawText(box.adjusted(4, 0, 0, 0), middle, stage.value)
        left_out = len(self._workers) - MOST_BARS
        if left_out > 0:
            top = GAP_PX + MOST_BARS * (BAR_PX + GAP_PX)
            painter.setPen(QColor(t.dim))
            text = f"and {left_out} more, faster ones"
            painter.drawText(QRectF(PAD_PX, top, self.width(), BAR_PX), middle, text)
        self._paint_legend(painter, small)
        painter.end()

    def _paint_legend(self, painter: QPainter, small: QFontMetrics) -> None:
        """Paint which stage has which colour, in the order of the bars."""
        stages = dict.fromkeys(s for w in self.shown for s, _ in _stages(w))
        x, top = float(PAD_PX), self.height() - GAP_PX - BAR_PX
        words = sum(13 + small.horizontalAdvance(stage.value) for stage in stages)
        between = (self.width() - 2 * PAD_PX - words) / max(len(stages) - 1, 1)
        between = min(max(between, 4.0), 12.0)
        for stage in sorted(stages, key=list(Stage).index):
            dot = QRectF(x, top + (BAR_PX - 9) / 2, 9, 9)
            if stage is Stage.WAIT:
                brush = QBrush(QColor(self._t.dim), Qt.BrushStyle.BDiagPattern)
                painter.fillRect(dot, brush)
            else:
                painter.fillRect(dot, self._colour(stage))
            painter.setPen(QColor(self._t.dim))
            wide = small.horizontalAdvance(stage.value)
            box = QRectF(x + 13, top, wide + 4, BAR_PX)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, stage.value)
            x += 13 + wide + between

    def _colour(self, stage: Stage) -> QColor:
        place = _COLOURS.get(stage)
        return QColor(self._t.faint if place is None else self._t.environments[place])


def _ink(colour: QColor, t: Tokens) -> QColor:
    dark, light = (t.window, t.text) if t.name == "dark" else (t.text, t.panel)
    return QColor(dark if colour.lightnessF() > 0.5 else light)


def _name(worker: WorkerCosts) -> str:
    return f"{worker.name} · {envs(worker)}" if worker.envs else worker.name


def _stages(worker: WorkerCosts) -> Iterator[tuple[Stage, float]]:
    yield from worker.stages.items()
    if not math.isnan(worker.wait_s) and Stage.WAIT not in worker.stages:
        yield Stage.WAIT, worker.wait_s


def _length(worker: WorkerCosts) -> float:
    return sum(max(spent, 0.0) for _, spent in _stages(worker))
