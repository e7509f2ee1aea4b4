"""The strip below the tree: the chosen value whole, where it is, and copying."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QGuiApplication, QPainter
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from isoscope.core.recording.labelled.places import LabelledPlace, labelled_place
from isoscope.core.recording.superdex.places import (
    Place,
    creation_place,
    step_place,
)
from isoscope.core.series import CONTROL, values_a_point
from isoscope.widgets.inspector.nodes import Kind, Node
from isoscope.widgets.inspector.texts import exact_text, type_text, whole_lines
from isoscope.widgets.look import mono, scaled
from isoscope.widgets.row_words import step_words
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent, QResizeEvent

    from isoscope.widgets.session import Document


class ValueBox(QWidget):
    """Lines of text, painted: the title, where it is, and as much value as fits."""

    resized = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._t = DARK
        self._title, self._about, self._place = "", "", ""
        self._lines: list[str] = []
        self._quiet = False
        self.setAccessibleName("The chosen value")

    def set_look(self, t: Tokens) -> None:
        """Take colours and fonts."""
        self._t = t
        self._bold = scaled(self.font(), 1.0, bold=True)
        self._mono = mono(self.font(), 0.92)
        self.update()

    def show_value(
        self, title: str, about: str, place: str, lines: list[str], quiet: bool
    ) -> None:
        """Show these texts; `quiet` dims the value, which then is a word."""
        now = (title, about, place, lines, quiet)
        if now != (self._title, self._about, self._place, self._lines, self._quiet):
            self._title, self._about, self._place, self._lines, self._quiet = now
            text = f"{title}: {' '.join(' '.join(lines).split())}, {place}"
            self.setAccessibleDescription(text)
            self.setToolTip(place)
            self.updateGeometry()
            self.update()

    def lines_that_fit(self) -> int:
        """Lines of the value there is room for."""
        each = QFontMetrics(self._mono).lineSpacing()
        return max((self.height() - 2 * self._line()) // max(each, 1), 1)

    def _line(self) -> int:
        return QFontMetrics(self._bold).lineSpacing() + 1

    def sizeHint(self) -> QSize:  # noqa: N802
        """Title, place and three lines; one line if there is only a hint."""
        lines = 5 if self._lines else 1
        return QSize(200, lines * QFontMetrics(self.font()).lineSpacing() + 4)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Title, place and one line; one line if there is only a hint."""
        lines = 3 if self._lines else 1
        return QSize(60, lines * QFontMetrics(self.font()).lineSpacing() + 4)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Tell that another number of lines may fit."""
        self.resized.emit()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draw the lines."""
        painter, t, width = QPainter(self), self._t, self.width()
        bold, fixed = QFontMetrics(self._bold), QFontMetrics(self._mono)
        painter.setFont(self._bold)
        painter.setPen(QColor(t.text))
        title = bold.elidedText(self._title, Qt.TextElideMode.ElideMiddle, width)
        y = bold.ascent() + 1
        painter.drawText(0, y, title)
        left = bold.horizontalAdvance(title) + 8
        painter.setFont(self.font())
        painter.setPen(QColor(t.dim))
        plain = QFontMetrics(self.font())
        painter.drawText(
            left,
            y,
            plain.elidedText(self._about, Qt.TextElideMode.ElideRight, width - left),
        )
        y += self._line()
        painter.setFont(self._mono)
        painter.drawText(
            0, y, fixed.elidedText(self._place, Qt.TextElideMode.ElideMiddle, width)
        )
        y += 2
        painter.setPen(QColor(t.dim if self._quiet else t.text))
        for line in self._lines[: self.lines_that_fit()]:
            y += fixed.lineSpacing()
            painter.drawText(
                0, y, fixed.elidedText(line, Qt.TextElideMode.ElideRight, width)
            )
        painter.end()


class Details(QWidget):
    """The strip, for the chosen row of the tree."""

    plot_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("details")
        self._document: Document | None = None
        self._node: Node | None = None
        self._row = 0
        self._found: tuple[Node, Place | LabelledPlace | None] | None = None
        self.box = ValueBox()
        self.box.resized.connect(
            lambda: self.show_node(self._document, self._node, self._row)
        )
        self.copy_value = self._button("Copy value", "Copy the exact value as text")
        self.copy_python = self._button(
            "Copy as Python", "Copy a program that reads exactly this value with h5py"
        )
        self.plot = self._button("Plot", "Plot this field in Signals")
        self.copy_value.clicked.connect(self.copy_the_value)
        self.copy_python.clicked.connect(self.copy_the_program)
        self.plot.clicked.connect(self.plot_wanted)
        self._foot = QWidget()
        line = QHBoxLayout(self._foot)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(4)
        for button in (self.copy_value, self.copy_python, self.plot):
            line.addWidget(button)
        line.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.setSpacing(3)
        layout.addWidget(self.box, 1)
        layout.addWidget(self._foot)

    @staticmethod
    def _button(text: str, tip: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setProperty("flat", True)
        button.setToolTip(tip)
        button.setAccessibleName(text)
        button.setEnabled(False)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return button

    def show_node(self, document: Document | None, node: Node | None, row: int) -> None:
        """Show a row of the tree at a native row."""
        if node is not self._node or document is not self._document:
            self._found = None
        self._document, self._node, self._row = document, node, row
        value = None if node is None else node.value_at(row)
        self.copy_value.setEnabled(value is not None)
        self.copy_python.setEnabled(value is not None and self._place() is not None)
        track = None if node is None else node.track
        self.plot.setEnabled(track is not None and track.dtype.kind in "fiub")
        self._foot.setVisible(node is not None and node.is_value)
        if node is None or not node.is_value:
            hint = "Choose a field to see where in the file it is."
            self.box.show_value("", hint, "", [], True)
            return
        owner = "step" if node.actor is None else node.actor.name
        if node.owner == CONTROL:
            owner = "control step"
        unit = node.unit
        ending = " [unit unknown]" if unit is None else f" [{unit}]" if unit else ""
        about = node.meaning.about + (
            " · at creation" if node.kind is Kind.REFERENCE else ""
        )
        recording = None if document is None else document.recording
        lines = [f"absent: not recorded in {step_words(recording)} {row}"]
        place = ""
        if value is not None:
            each = values_a_point(node.field)
            lines = whole_lines(value, self.box.lines_that_fit(), each)
            place = str(self._place() or "")
        if value is not None:
            about = f"{type_text(value.dtype, value.shape)} · {about}"
        if node.is_odd(row):
            about = f"odd here: {about}"
        part = f" {node.name}" if node.kind is Kind.COMPONENT else ""
        title = f"{owner} · {node.field}{part}{ending}"
        self.box.show_value(title, about.strip(" ·"), place, lines, value is None)

    def _place(self) -> Place | LabelledPlace | None:
        """Where the value is; looked up once a row, then only the event differs."""
        node = self._node
        if node is None or not node.is_value:
            return None
        document = self._document
        if document is not None and document.recording.labelled is not None:
            return self.place()
        if self._found is None or self._found[0] is not node or self._found[1] is None:
            self._found = node, self.place()
        found = self._found[1]
        if not isinstance(found, Place) or node.kind is Kind.REFERENCE:
            return found
        parts = found.object.split("/", 3)  # "", "events", the number, the rest
        parts[2] = str(self._event())
        return Place(found.file, "/".join(parts), found.attribute)

    def _event(self) -> int:
        events = () if self._document is None else self._document.recording.steps.event
        return int(events[self._row]) if self._row < len(events) else -1

    def place(self) -> Place | LabelledPlace | None:
        """Where the shown value is, looked up in the file now; None if it can't be."""
        document, node = self._document, self._node
        if document is None or node is None or node.value_at(self._row) is None:
            return None
        reference = node.kind is Kind.REFERENCE
        labelled = labelled_place(
            document.recording, node.owner, node.field, self._row, creation=reference
        )
        if labelled is not None:
            return labelled
        if node.kind is Kind.REFERENCE and node.actor is not None:
            events = document.recording.steps.event
            created = node.actor.created_native
            if created >= len(events):
                return None
            handle, before = node.actor.handle, int(events[created])
            return creation_place(document.source, before, handle, node.name)
        known = None if node.actor is None else node.actor.handle
        return step_place(document.source, self._event(), known, node.field)

    def copy_the_value(self) -> None:
        """Put the exact value onto the clipboard."""
        value = None if self._node is None else self._node.value_at(self._row)
        if value is not None:
            QGuiApplication.clipboard().setText(exact_text(value))

    def copy_the_program(self) -> None:
        """Put the program that reads the value onto the clipboard."""
        place = self.place()
        if place is not None:
            component = None if self._node is None else self._node.component
            QGuiApplication.clipboard().setText(place.python(component))

    def set_look(self, t: Tokens) -> None:
        """Take colours and fonts."""
        self.box.set_look(t)
