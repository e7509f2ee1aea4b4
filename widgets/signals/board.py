"""The plots, what lies over them, and their buttons, as one widget to scroll."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from isoscope.widgets.signals.canvas import Canvas
from isoscope.widgets.signals.heads import Heads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from PySide6.QtGui import QResizeEvent

    from isoscope.widgets.signals.resolve import PlotSpec
    from isoscope.widgets.signals.span import Span
    from isoscope.widgets.theme import Tokens


class Board(QWidget):
    """Holds the stack below and the canvas above it.

    Parameters
    ----------
    stamp
        The clock's chosen time at a row.
    """

    def __init__(self, stamp: Callable[[int], float]) -> None:
        super().__init__()
        self.canvas = Canvas(stamp, self)
        self.heads = Heads(self.canvas)
        self._specs: list[PlotSpec] = []

    def set_theme(self, t: Tokens) -> None:
        """Take the theme's colours."""
        self.canvas.set_theme(t)

    def show_specs(self, specs: list[PlotSpec], t: Tokens) -> bool:
        """Show these plots; whether they are others than before."""
        if specs == self._specs:
            return False
        self._specs = list(specs)
        self.canvas.stack.set_specs(specs)
        self.canvas.stack.set_theme(t, self.font())
        self.heads.set_specs(specs)
        self.setMinimumHeight(self.canvas.stack.least_height())
        return True

    def load(self, span: Span, times: bool) -> None:
        """Fetch the rows of `span` and lay the plots out."""
        stack = self.canvas.stack
        stack.show_times(times)
        self.canvas.set_span(span)
        stack.load(span)
        self._place_heads()
        self.canvas.invalidate()

    def loading(self, span: Span, times: bool) -> Iterator[None]:
        """The same a part at a time, painting included; others may have a turn between.

        What is shown stays until all is there.
        """
        self.canvas.stack.show_times(times)
        yield from self.canvas.stack.loading(span)
        self._place_heads()
        yield from self.canvas.drawing(span)

    def _place_heads(self) -> None:
        stack = self.canvas.stack
        self.heads.place([stack.header(i) for i in range(len(stack.plots))])

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Fill with the canvas."""
        self.canvas.setGeometry(self.rect())
