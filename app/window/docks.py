"""The docks: each panel in a frame of its own, arranged by a named layout."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.app.window.dropping import dropped_files
from isoscope.app.window.layouts import Layout, Node, Split, Tabs, anchor, leaves
from isoscope.widgets.elided import ElidedLabel

if TYPE_CHECKING:
    from PySide6.QtGui import QDragEnterEvent, QDropEvent

    from isoscope.widgets.panel import Panel

STATE_VERSION = 2
# An OpenGL surface that moves to another top-level window loses what is in it, so the
# scene keeps its place and the others move around it.
FIXED = frozenset({"scene"})
LEFT = Qt.DockWidgetArea.LeftDockWidgetArea


class DockTitle(QFrame):
    """The strip on top of a dock: its title, its neighbours in tabs, its tools."""

    tab_asked = Signal(str)
    menu_asked = Signal(QPoint)

    def __init__(self, panel: Panel) -> None:
        super().__init__()
        self.setObjectName("dock_title")
        title = QLabel(panel.title)
        title.setObjectName("dock_name")
        self._tab_row = QHBoxLayout()
        self._tab_row.setSpacing(2)
        self.tabs: list[QToolButton] = []
        # Changes with every step in some: cut, and never a reason to lay out anew.
        self.subtitle = ElidedLabel()
        self.subtitle.setObjectName("dim")
        self.subtitle.set_text(panel.subtitle)
        letters = self.subtitle.fontMetrics().averageCharWidth()
        self.subtitle.setMinimumWidth(panel.subtitle_letters * letters)
        panel.subtitle_changed.connect(self.subtitle.set_text)
        line = QHBoxLayout(self)
        line.setContentsMargins(9, 0, 6, 0)
        line.setSpacing(10)
        line.addWidget(title)
        line.addLayout(self._tab_row)
        line.addWidget(self.subtitle, 1)
        for tool in panel.title_tools():
            line.addWidget(tool)
        self.setFixedHeight(self.fontMetrics().height() + 11)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(
            lambda at: self.menu_asked.emit(self.mapToGlobal(at))
        )

    def sizeHint(self) -> QSize:  # noqa: N802
        """As high as every other, whatever tools are in it."""
        return QSize(super().sizeHint().width(), self.height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """As narrow as the panel below it may be."""
        return QSize(80, self.height())

    def show_tabs(self, neighbours: list[tuple[str, str]]) -> None:
        """Name the other panels in this place: (key, title)."""
        for old in self.tabs:
            self._tab_row.removeWidget(old)
            old.deleteLater()
        self.tabs = []
        for key, text in neighbours:
            button = QToolButton()
            button.setText(text)
            button.setProperty("flat", True)
            button.clicked.connect(lambda _=False, key=key: self.tab_asked.emit(key))
            self._tab_row.addWidget(button)
            self.tabs.append(button)


class Dock(QDockWidget):
    """One panel in its frame."""

    dropped = Signal(list)

    def __init__(self, panel: Panel, parent: QMainWindow) -> None:
        super().__init__(panel.title, parent)
        self.setObjectName(f"dock_{panel.key}")
        self.panel = panel
        self.title = DockTitle(panel)
        self.setTitleBarWidget(self.title)
        body = QFrame()
        body.setObjectName("dock_body")
        inside = QVBoxLayout(body)
        inside.setContentsMargins(1, 0, 1, 2)
        inside.addWidget(panel)
        self.setWidget(body)
        feature = QDockWidget.DockWidgetFeature
        features = feature.DockWidgetClosable
        if panel.key not in FIXED:
            features |= feature.DockWidgetMovable | feature.DockWidgetFloatable
        self.setFeatures(features)
        # A dock behind another one's tab is visible to Qt, somewhere out of the window.
        self.visibilityChanged.connect(lambda seen: panel.set_behind(not seen))
        # Out of the window it has to take drops itself.
        self.topLevelChanged.connect(self.setAcceptDrops)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802
        """Take files."""
        if dropped_files(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        """Tell which files were dropped."""
        event.acceptProposedAction()
        self.dropped.emit(dropped_files(event.mimeData()))


class DockArea(QMainWindow):
    """All docks; a plain widget inside the window.

    Parameters
    ----------
    panels
        By key, in the order of the menu.
    """

    reset_asked = Signal()
    dropped = Signal(list)

    def __init__(self, panels: dict[str, Panel], parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Widget)
        self.setObjectName("dock_area")
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.setDockOptions(
            QMainWindow.DockOption.AllowNestedDocks
            | QMainWindow.DockOption.AllowTabbedDocks
        )
        self.docks = {key: Dock(panel, self) for key, panel in panels.items()}
        for key, dock in self.docks.items():
            dock.title.tab_asked.connect(self.raise_panel)
            dock.title.menu_asked.connect(lambda at, key=key: self._menu(key, at))
            dock.dropped.connect(self.dropped)
            dock.visibilityChanged.connect(self._tell_tabs)
            dock.dockLocationChanged.connect(self._tell_tabs)

    # -- arranging -----------------------------------------------------------------

    def arrange(self, layout: Layout) -> None:
        """Put the docks where the layout says; the others are hidden."""
        for dock in self.docks.values():
            dock.setFloating(False)
            self.removeDockWidget(dock)
        first = self.docks[next(leaves(layout.tree))]
        self.addDockWidget(LEFT, first)
        self._split(layout.tree)
        for key in layout.panels:
            self.docks[key].show()
        # The others have a place, too, though hidden: what Qt saves would else not have
        # them, and it shows those that a saved arrangement doesn't have.
        for key in self.docks.keys() - set(layout.panels):
            self.addDockWidget(LEFT, self.docks[key])
            self.docks[key].hide()
        self._raise_first(layout.tree)
        self._size(layout.tree, self.width(), self.height())

    def _split(self, node: Node) -> None:
        if isinstance(node, Tabs):
            for before, after in pairwise(node.panels):
                self.tabifyDockWidget(self.docks[before], self.docks[after])
        elif isinstance(node, Split):
            firsts = [next(leaves(part)) for part, _ in node.parts]
            for before, after in pairwise(firsts):
                way = _orientation(node)
                self.splitDockWidget(self.docks[before], self.docks[after], way)
            for part, _ in node.parts:
                self._split(part)

    def _raise_first(self, node: Node) -> None:
        if isinstance(node, Tabs):
            self.docks[node.panels[0]].raise_()
        elif isinstance(node, Split):
            for part, _ in node.parts:
                self._raise_first(part)

    def _size(self, node: Node, width: float, height: float) -> None:
        if not isinstance(node, Split):
            return
        total = sum(weight for _, weight in node.parts)
        whole = width if node.way == "row" else height
        sizes = [whole * weight / total for _, weight in node.parts]
        docks = [self.docks[anchor(part, node.way)] for part, _ in node.parts]
        self.resizeDocks(docks, [round(size) for size in sizes], _orientation(node))
        for (part, _), size in zip(node.parts, sizes, strict=True):
            if node.way == "row":
                self._size(part, size, height)
            else:
                self._size(part, width, size)

    def save(self) -> str:
        """The present arrangement, as text."""
        return bytes(self.saveState(STATE_VERSION).toBase64().data()).decode()

    def restore(self, state: str) -> bool:
        """Arrange as it was saved; False, and nothing changed, if that can't be."""
        decoded = QByteArray.fromBase64(state.encode())
        return not decoded.isEmpty() and self.restoreState(decoded, STATE_VERSION)

    # -- single panels ---------------------------------------------------------------

    def raise_panel(self, key: str) -> None:
        """Show a panel, in front of its neighbours."""
        dock = self.docks[key]
        dock.show()
        dock.raise_()
        self._tell_tabs()

    def visible_panels(self) -> list[Panel]:
        """The panels that can be seen now: open, and in front of their neighbours."""
        return [
            dock.panel
            for dock in self.docks.values()
            if dock.isVisible() and not dock.visibleRegion().isEmpty()
        ]

    def _menu(self, key: str, at: QPoint) -> None:
        dock = self.docks[key]
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(f"Hide {dock.panel.title}", dock.hide)
        if key not in FIXED:
            text = "Dock it" if dock.isFloating() else "Take it out of the window"
            menu.addAction(text, lambda: dock.setFloating(not dock.isFloating()))
        menu.addSeparator()
        menu.addAction("Reset the layout", self.reset_asked.emit)
        menu.popup(at)

    # -- tabs ------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        """Panels may have come to lie upon each other."""
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._tell_tabs()
        return handled

    def _tell_tabs(self) -> None:
        for key, dock in self.docks.items():
            together = [
                d for d in self.tabifiedDockWidgets(dock) if isinstance(d, Dock)
            ]
            names = {d.panel.key: d.panel.title for d in together if not d.isHidden()}
            order = [k for k in self.docks if k in names and k != key]
            shown = [(k, names[k]) for k in order]
            if shown != dock.property("neighbours"):
                dock.setProperty("neighbours", shown)
                dock.title.show_tabs(shown)


def _orientation(split: Split) -> Qt.Orientation:
    horizontal = split.way == "row"
    return Qt.Orientation.Horizontal if horizontal else Qt.Orientation.Vertical
