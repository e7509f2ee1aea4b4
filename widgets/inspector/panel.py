"""The Inspector panel: the tree of fields, the filter above it, the strip below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import QItemSelectionModel, Qt, QTimer
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QSplitter,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from isoscope.core.series import CONTROL
from isoscope.widgets.inspector.details import Details
from isoscope.widgets.inspector.model import InspectorModel
from isoscope.widgets.inspector.nodes import Kind, Node
from isoscope.widgets.inspector.view import InspectorView
from isoscope.widgets.look import dress
from isoscope.widgets.panel import Panel
from isoscope.widgets.session import Document, FieldRef

if TYPE_CHECKING:
    from PySide6.QtCore import QModelIndex
    from PySide6.QtGui import QShowEvent

    from isoscope.core.clock import ClockState
    from isoscope.core.series import Measure
    from isoscope.widgets.session import Session

GROWTH_MS = 200
QWIDGETSIZE_MAX = (1 << 24) - 1  # Qt's own, which PySide doesn't give


class InspectorPanel(Panel):
    """Every field at the cursor: name, type, value, unit; absent is said, never 0."""

    key: ClassVar[str] = "inspector"
    title: ClassVar[str] = "Inspector"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._document: Document | None = None
        self._opened: set[tuple[int | None, Kind]] = set()
        self._choosing = False
        self._unfolded_details: bool | None = None
        self._stale = False
        self.model = InspectorModel(self)
        self.view = InspectorView(self.model)
        self.details = Details()
        self.details.plot_wanted.connect(self.plot_chosen)
        self.filter = QLineEdit(placeholderText="Find an actor or field")
        self.filter.setAccessibleName("Find an actor or field")
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self._filter_changed)
        self._splitter = QSplitter(Qt.Orientation.Vertical)
        self._splitter.addWidget(self.view)
        self._splitter.addWidget(self.details)
        self._splitter.setStretchFactor(0, 1)
        self._splitter.setCollapsible(0, False)
        self._splitter.setHandleWidth(5)
        full = QWidget()
        layout = QVBoxLayout(full)
        layout.setContentsMargins(0, 6, 0, 0)
        layout.setSpacing(6)
        above = QVBoxLayout()
        above.setContentsMargins(8, 0, 8, 0)
        above.addWidget(self.filter)
        layout.addLayout(above)
        layout.addWidget(self._splitter, 1)
        self.empty = QLabel(
            "Open a recording to read its fields.",
            alignment=Qt.AlignmentFlag.AlignCenter,
        )
        self.empty.setObjectName("dim")
        self._pages = QStackedLayout(self)
        self._pages.setContentsMargins(0, 0, 0, 0)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(full)
        self._growth = QTimer(self)
        self._growth.setSingleShot(True)
        self._growth.timeout.connect(self._take_structure)
        self.view.selectionModel().currentChanged.connect(self._current_changed)
        self.view.expanded.connect(lambda index: self._unfolded(index, True))
        self.view.collapsed.connect(lambda index: self._unfolded(index, False))
        self.apply_theme()
        self.observe(session.clock.changed, self._clock_changed)
        self.observe(session.active_changed, self._activate)
        self.observe(session.selection_changed, self._selection_changed)
        self._activate(session.active)

    # -- what is shown -------------------------------------------------------------

    @property
    def chosen(self) -> Node | None:
        """The chosen row of the tree."""
        return self.model.node(self.view.currentIndex())

    def focus_filter(self) -> None:
        """Put the keyboard into the search box."""
        self.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter.selectAll()

    def plot_chosen(self) -> None:
        """Plot the chosen field; all of its components, or its measure."""
        node = self.chosen
        if node is None or node.track is None or self._document is None:
            return
        actor = node.owner
        measure: Measure | None = "count" if node.track.ragged else None
        self._document.add_plot(FieldRef(actor, node.field, node.component, measure))

    def settled(self) -> bool:
        """Whether the seen values are those at the cursor."""
        if not self.isVisible() or self.view.viewport().visibleRegion().isEmpty():
            return not self._growth.isActive()
        return (
            not self._growth.isActive()
            and not self._stale
            and self.view.painted_row == self.session.clock.row
        )

    # -- the session ---------------------------------------------------------------

    def _activate(self, document: Document | None) -> None:
        if self._document is not None:
            self.unobserve(self._document.grown, self._grown)
            self.unobserve(self._document.phase_changed, self._phase_changed)
        self._document = document
        self._pages.setCurrentIndex(0 if document is None else 1)
        if document is not None:
            self.observe(document.grown, self._grown)
            self.observe(document.phase_changed, self._phase_changed)
            self._opened = _first_opened(document)
        self._take_structure()

    def _grown(self, _rows: int) -> None:
        if not self._growth.isActive():
            self._growth.start(GROWTH_MS)

    def _phase_changed(self, _document: Document) -> None:
        self._take_structure()

    def _clock_changed(self, new: ClockState, old: ClockState) -> None:
        if new.row == old.row:
            return
        if not self.isVisible():
            self._stale = True
            return
        self._show_row(new.row)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what happened while hidden."""
        super().showEvent(event)
        if self._stale:
            self._show_row(self.session.clock.row)

    def _show_row(self, row: int) -> None:
        self._stale = False
        self.model.set_row(row)
        self.view.refresh_values()
        if self.details.isVisible():
            self._show_details()

    def _show_details(self) -> None:
        """The strip has one line until a value is chosen; then the user sizes it."""
        node = self.chosen
        self.details.show_node(self._document, node, self.model.row)
        wanted = node is not None and node.is_value
        if wanted != self._unfolded_details:
            self._unfolded_details = wanted
            self.details.updateGeometry()
            height = self.details.sizeHint().height()
            self.details.setMaximumHeight(QWIDGETSIZE_MAX if wanted else height)
            if wanted:
                rest = max(self._splitter.height() - height, 1)
                self._splitter.setSizes([rest, height])

    # -- the tree ------------------------------------------------------------------

    def _filter_changed(self, _text: str) -> None:
        self._take_structure()

    def _take_structure(self) -> None:
        """List what there is now; keeps what is unfolded and chosen."""
        recording = None if self._document is None else self._document.recording
        self.model.set_row(self.session.clock.row)
        if self.model.show_recording(recording, self.filter.text()):
            self._unfold()
            self._selection_changed()
        self._show_row(self.session.clock.row)

    def _unfold(self) -> None:
        searched = bool(self.filter.text().strip())
        self.view.blockSignals(True)
        for top in self.model.tops:
            for node in top.walk():
                if node.children and node.kind is not Kind.FIELD:
                    wanted = searched or _key(node) in self._opened
                    self.view.setExpanded(self.model.index_of(node), wanted)
        self.view.blockSignals(False)

    def _unfolded(self, index: QModelIndex, opened: bool) -> None:
        node = self.model.node(index)
        if node is not None and not self.filter.text().strip():
            (self._opened.add if opened else self._opened.discard)(_key(node))

    def _current_changed(self, index: QModelIndex, _old: QModelIndex) -> None:
        node = self.model.node(index)
        if node is not None and not self._choosing and node.owner != CONTROL:
            self._choosing = True
            field = node.field if node.track is not None else None
            self.session.select(node.owner, field)
            self._choosing = False
        self._show_details()

    def _selection_changed(self) -> None:
        if self._choosing or self._document is None:
            return
        chosen = self._document.selection
        if chosen.actor is None and chosen.field is None:
            return
        node = self.model.find(chosen.actor, chosen.field)
        if node is None:
            return
        self._choosing = True
        index = self.model.index_of(node)
        self.view.expand(index if node.children else index.parent())
        self.view.selectionModel().setCurrentIndex(
            index,
            QItemSelectionModel.SelectionFlag.ClearAndSelect
            | QItemSelectionModel.SelectionFlag.Rows,
        )
        self.view.scrollTo(index)
        self._choosing = False
        self._show_details()

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        t = self.tokens
        dress(self, t, "QSplitter::handle { background: transparent; }")
        self.view.set_look(t)
        self.details.set_look(t)

    def release(self) -> None:
        """Stop the timer too."""
        self._growth.stop()
        super().release()


def _key(node: Node) -> tuple[int | None, Kind]:
    return (node.owner, node.kind)


def _first_opened(document: Document) -> set[tuple[int | None, Kind]]:
    """Unfolded at first: the step, and the chosen or the first actor that moves."""
    opened: set[tuple[int | None, Kind]] = {
        (None, Kind.STEP),
        (CONTROL, Kind.CONTROL),
    }
    actors = document.recording.actors
    moving = [a for a in actors if not a.static and len(a.fields.tracks) > 3]
    first = document.actor(document.selection.actor) or next(
        iter(moving or actors), None
    )
    if first is not None:
        opened.add((first.index, Kind.ACTOR))
    return opened
