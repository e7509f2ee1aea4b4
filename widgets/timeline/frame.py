"""Everything that one picture of the timeline is painted from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage

from isoscope.widgets.look import scaled

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from isoscope.core.clock import TimeAxis
    from isoscope.core.recording.tracks import Array
    from isoscope.core.timeline.model import Timeline
    from isoscope.core.timeline.view import Columns, View
    from isoscope.widgets.theme import Tokens
    from isoscope.widgets.timeline.layout import Layout
    from isoscope.widgets.timeline.palette import Palette

LEFT_MIDDLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT_MIDDLE = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
CENTRE = Qt.AlignmentFlag.AlignCenter


@dataclass(frozen=True, eq=False)
class Frame:
    """What to paint, where, in which colours.

    Attributes
    ----------
    forward
        Whether the axis never goes back.
    scale
        Device pixels a logical pixel.
    progress
        What to say over the rows that are still to come; empty when there are none.
    """

    timeline: Timeline
    view: View
    layout: Layout
    axis: TimeAxis
    forward: bool
    theme: Tokens
    colours: Palette
    font: QFont
    scale: float
    progress: str = ""

    @property
    def unit(self) -> int:
        """Device pixels of a hairline."""
        return max(round(self.scale), 1)

    @property
    def columns(self) -> Columns:
        """Rows under each device pixel."""
        return self.view.columns(self.scale)

    @property
    def plot(self) -> QRectF:
        """Where lanes are painted, from the ruler down."""
        place = self.layout
        high = place.lanes_bottom - place.ruler_top
        return QRectF(place.left, place.ruler_top, place.plot_width, high)

    def x_mid(self, row: float) -> float:
        """Canvas x of a row's centre."""
        return self.layout.left + self.view.x_mid(row)

    def x_of(self, row: float) -> float:
        """Canvas x of a row coordinate."""
        return self.layout.left + self.view.x_of(row)


def colour(name: str, alpha: int = 255) -> QColor:
    """A colour ``"#rrggbb"`` with this opacity, 0 .. 255."""
    made = QColor(name)
    made.setAlpha(alpha)
    return made


def small(font: QFont, share: float = 0.92) -> QFont:
    """The font, a little smaller."""
    return scaled(font, share)


def text_width(font: QFont, text: str) -> float:
    """Pixels that a text takes."""
    return QFontMetricsF(font).horizontalAdvance(text)


def elided(font: QFont, text: str, width: float) -> str:
    """The text, cut with an ellipsis where it doesn't fit."""
    return QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, width)


def draw_pixels(painter: QPainter, pixels: Array, target: QRectF) -> None:
    """Paint uint32 [height, width] premultiplied ARGB into a rectangle."""
    high, wide = pixels.shape
    image = QImage(
        pixels.tobytes(),
        wide,
        high,
        4 * wide,
        QImage.Format.Format_ARGB32_Premultiplied,
    )
    painter.drawImage(target, image)
