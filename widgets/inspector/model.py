"""The inspector's tree as Qt sees it; a cursor move changes no structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt

from isoscope.core.series import values_a_point
from isoscope.core.timeline.describe import owner_text
from isoscope.widgets.inspector.nodes import Kind, Node, build, structure
from isoscope.widgets.inspector.texts import ABSENT, inline_text, type_text, whole_lines
from isoscope.widgets.row_words import row_word, step_words

if TYPE_CHECKING:
    from PySide6.QtCore import QPersistentModelIndex

    from isoscope.core.recording.model import Recording

    AnyIndex = QModelIndex | QPersistentModelIndex

NAME, TYPE, VALUE, UNIT = range(4)
HEADERS = ("Field", "Type", "Value", "Unit")
TOOLTIP_LINES = 24
_DISPLAY = Qt.ItemDataRole.DisplayRole
_NOTHING = (-1, -1, -1, -1)


class InspectorModel(QAbstractItemModel):
    """Fields of one recording at one row."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.recording: Recording | None = None
        self.row = 0
        self.tops: list[Node] = []
        self._nodes: list[Node] = []
        self._ids: dict[int, int] = {}
        self._wanted = ""
        self._structure = _NOTHING
        self._changes = np.zeros(0, np.int64)

    # -- what is listed ------------------------------------------------------------

    def show_recording(self, recording: Recording | None, wanted: str = "") -> bool:
        """List what this recording holds and is wanted; True if rows changed."""
        now = _NOTHING if recording is None else structure(recording)
        same = recording is self.recording and wanted == self._wanted
        if same and now == self._structure:
            return False
        self.beginResetModel()
        self.recording, self._wanted, self._structure = recording, wanted, now
        self.tops = [] if recording is None else build(recording, wanted)
        self._nodes = [node for top in self.tops for node in top.walk()]
        self._ids = {id(node): at for at, node in enumerate(self._nodes)}
        self._changes = np.array(sorted(_changes(self._nodes)), np.int64)
        self.endResetModel()
        return True

    def set_row(self, row: int) -> None:
        """Show this native row; the view tells which cells that changes."""
        self.row = row

    def same_look(self, row: int) -> bool:
        """Whether this row and the shown one differ in their values only.

        Not so where an actor comes or goes, or a dtype is odd, in between or at one.
        """
        a, b = np.searchsorted(self._changes, (row, self.row), side="right")
        return bool(a == b)

    def node(self, index: AnyIndex) -> Node | None:
        """The row that an index stands for."""
        return self._nodes[index.internalId()] if index.isValid() else None

    def index_of(self, node: Node, column: int = 0) -> QModelIndex:
        """The index of a row."""
        at = self._ids.get(id(node))
        if at is None:
            return QModelIndex()
        return self.createIndex(node.place, column, at)

    def find(self, actor: int | None, name: str | None) -> Node | None:
        """The row of an actor (None: the step), or of a field of it."""
        for top in self.tops:
            if top.owner == actor:
                if name is None:
                    return top
                return next((n for n in top.children if n.name == name), top)
        return None

    # -- Qt's questions ------------------------------------------------------------

    def index(
        self,
        row: int,
        column: int,
        parent: AnyIndex = QModelIndex(),  # noqa: B008
    ) -> QModelIndex:
        """The index of a child."""
        above = self.node(parent)
        below = self._below(above)
        if not 0 <= row < len(below):
            return QModelIndex()
        return self.createIndex(row, column, self._ids[id(below[row])])

    def parent(self, index: AnyIndex = QModelIndex()) -> Any:  # noqa: B008
        """The index above."""
        node = self.node(index)
        if node is None or node.parent is None:
            return QModelIndex()
        return self.index_of(node.parent)

    def rowCount(self, parent: AnyIndex = QModelIndex()) -> int:  # noqa: B008, N802
        """Rows below an index."""
        if parent.column() > 0:
            return 0
        return len(self._below(self.node(parent)))

    def hasChildren(self, parent: AnyIndex = QModelIndex()) -> bool:  # noqa: B008, N802
        """Whether a row can be unfolded, without making what is below it."""
        node = self.node(parent)
        if node is not None and node.has_components:
            return parent.column() == 0
        return self.rowCount(parent) > 0

    def _below(self, node: Node | None) -> list[Node]:
        if node is None:
            return self.tops
        if not node.children and node.has_components:
            for child in node.components():
                self._ids[id(child)] = len(self._nodes)
                self._nodes.append(child)
        return node.children

    def columnCount(self, parent: AnyIndex = QModelIndex()) -> int:  # noqa: B008, N802
        """Name, type, value, unit."""
        return len(HEADERS)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY
    ) -> Any:
        """The columns' names."""
        return HEADERS[section] if role == _DISPLAY else None

    def data(self, index: AnyIndex, role: int = _DISPLAY) -> Any:
        """Texts; the view's delegate paints from the nodes themselves."""
        node = self.node(index)
        if node is None:
            return None
        if role == _DISPLAY:
            return self.text(node, index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.tooltip(node)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            parts = (self.text(node, column) for column in (NAME, VALUE, UNIT))
            return " ".join(part.strip() for part in parts if part.strip())
        return None

    def text(self, node: Node, column: int, room: int | None = None) -> str:
        """What a cell says; a value in so many characters, if it can be."""
        if column == NAME:
            return node.name
        if column == VALUE:
            if node.is_value:
                value = node.value_at(self.row)
                return ABSENT if value is None else inline_text(value, room)
            return self._group_text(node, room)
        if column == UNIT:
            return (node.unit or "") if node.is_value else ""
        return self._type_text(node)

    def _type_text(self, node: Node) -> str:
        if node.kind is Kind.COMPONENT:
            return ""
        if node.track is not None:
            odd = node.track.odd.get(self.row)
            if odd is not None:
                return f"≠ {type_text(odd.dtype, odd.shape)}"
            return type_text(node.track.dtype, node.track.shape)
        if node.value is not None:
            return type_text(node.value.dtype, node.value.shape)
        return ""

    def _group_text(self, node: Node, room: int | None) -> str:
        """What stands beside the name of a step or an actor."""
        if node.kind is Kind.STEP and self.recording is not None:
            events = self.recording.steps.event
            text = f"{row_word(self.recording)} {self.row}"
            if self.row < len(events):
                longer = f"{text} · event {events[self.row]}"
                return longer if room is None or len(longer) <= room else text
            return text
        if node.kind is Kind.CONTROL and self.recording is not None:
            return owner_text(self.recording.labels, self.row)
        actor = node.actor
        if node.kind is not Kind.ACTOR or actor is None:
            return ""
        if actor.alive(self.row):
            return actor.type
        if self.row < actor.created_native:
            return f"not before {actor.created_native}"
        return f"gone from {actor.destroyed_native}"

    def tooltip(self, node: Node) -> str:
        """Everything about a row."""
        if node.kind is Kind.CREATION:
            return (
                "What the actor's creation holds once. A transform here is the one "
                "after the first recorded step, not the initial one."
            )
        if node.kind is Kind.ACTOR and node.actor is not None:
            return f"{node.actor.name}\n{node.actor.type} · handle {node.actor.handle}"
        if not node.is_value:
            return ""
        lines = [f"{node.field}: {node.meaning.about}".rstrip(": ")]
        if node.kind is not Kind.COMPONENT:
            lines.append(self._type_text(node))
        if node.unit is None:
            lines.append("unit unknown")
        if node.is_odd(self.row) and node.track is not None:
            usual = type_text(node.track.dtype, node.track.shape)
            lines.append(f"odd: everywhere else it is {usual}")
        value = node.value_at(self.row)
        if value is None:
            step = step_words(self.recording)
            lines.append(f"absent: not recorded in {step} {self.row}")
        else:
            lines += whole_lines(value, TOOLTIP_LINES, values_a_point(node.field))
        return "\n".join(lines)


def _changes(nodes: list[Node]) -> set[int]:
    """Rows at which more than values changes."""
    rows: set[int] = set()
    for node in nodes:
        if node.kind is Kind.ACTOR and node.actor is not None:
            rows.add(node.actor.created_native)
            if node.actor.destroyed_native is not None:
                rows.add(node.actor.destroyed_native)
        elif node.track is not None and node.track.odd:
            rows.update(row + after for row in node.track.odd for after in (0, 1))
    return rows
