"""The window: puts panels, actions, settings and the workspace together.

It owns no time and no data. What can be done is in `commands`, what can be found in
`finder`, how it looks in `frame`, and which documents are open in the workspace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QAbstractButton, QApplication, QMainWindow

from isoscope import resources
from isoscope.app.actions import Actions
from isoscope.app.links import is_link, parse_link
from isoscope.app.panels import PANELS, make_panel
from isoscope.app.screenshot import save_png
from isoscope.app.theming import Theming
from isoscope.app.window.arrangement import Arrangement
from isoscope.app.window.attach import Attach
from isoscope.app.window.commands import NEED_DOCUMENT, Commands
from isoscope.app.window.demo import Demo
from isoscope.app.window.dropping import dropped_files
from isoscope.app.window.finder import Finder
from isoscope.app.window.frame import Frame
from isoscope.app.window.layouts import home_of
from isoscope.app.window.menus import build_menus, fill_layouts, fill_when_opened
from isoscope.app.window.missing import MissingPanel
from isoscope.app.window.pacing import Pacing
from isoscope.app.window.sentence_bar import pressed, sentence_now
from isoscope.app.window.tabbing import passing_behind
from isoscope.app.window.view_link import show_link
from isoscope.app.window.wiring import told_of, wire_panels
from isoscope.core.errors import IsoscopeError, one_line
from isoscope.widgets.diagnose.card import DiagnoseCard
from isoscope.widgets.keys import BY_ID
from isoscope.widgets.keys_page import key_text
from isoscope.widgets.theme import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from PySide6.QtGui import (
        QCloseEvent,
        QDragEnterEvent,
        QDragLeaveEvent,
        QDropEvent,
        QKeyEvent,
        QShowEvent,
    )

    from isoscope.app.branch_view import BranchView
    from isoscope.app.settings import ThemeChoice
    from isoscope.app.workspace import Workspace
    from isoscope.core.clock import ClockState
    from isoscope.widgets.panel import Panel
    from isoscope.widgets.session import Bookmark, Document

SMALLEST = (900, 560)


class Window(QMainWindow):
    """The main window.

    Parameters
    ----------
    workspace
        What is open; with its session and settings.
    theme
        The theme to begin with; the settings' by default.
    panels
        Keys and places of the panels, as `PANELS`; tests leave some out.
    """

    def __init__(
        self,
        workspace: Workspace,
        theme: ThemeChoice | None = None,
        panels: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.workspace = workspace
        self.session = workspace.session
        self.settings = workspace.settings
        self.setWindowTitle("Isoscope")
        self.setWindowIcon(QIcon(str(resources.icon("isoscope.svg"))))
        self.setMinimumSize(*SMALLEST)
        self.setAcceptDrops(True)
        self.pacing = Pacing(self, self.session)
        workspace.attaching.every_s = lambda: self.pacing.every_s
        self.theming = Theming(self.session, theme or self.settings.values.theme)
        places = PANELS if panels is None else panels
        self.panels = {key: self._make_panel(key, places[key]) for key in places}
        self.frame = Frame(self.panels, tokens(self.session.theme))
        self.docks = self.frame.docks
        self.setCentralWidget(self.frame)
        self.arrangement = Arrangement(self.docks, self.settings)
        self.finder = Finder(self)
        self.attach = Attach(self)
        self.diagnose = DiagnoseCard(self.frame, self.session)
        self.demo = Demo(self)
        self.branches: BranchView | None = None  # where there is a Replay panel
        self.actions_by_id = Actions(self, Commands(self).handlers())
        wire_panels(self)
        self._fill_header()
        self._connect()
        self.arrangement.place_window(self)
        self._on_active(self.session.active)
        for panel in self.panels.values():
            if isinstance(panel, MissingPanel):
                self.session.say("error", panel.why)

    def _make_panel(self, key: str, where: str) -> Panel:
        try:
            return make_panel(key, self.session, where)
        except (IsoscopeError, ModuleNotFoundError) as error:
            why = f"the {key} panel can't be shown: {one_line(error)}"
            return MissingPanel(key, why, self.session)

    def _fill_header(self) -> None:
        header = self.frame.header
        build_menus(self, header.menu_bar)
        fill_when_opened(self, header.layout_menu, fill_layouts)
        key = key_text(BY_ID["view.palette"].keys[0])
        header.palette_button.setText(f"{key}  find a command")
        header.show_layout(self.arrangement.title)

    def _connect(self) -> None:
        session, frame = self.session, self.frame
        session.messaged.connect(frame.message_bar.show_message)
        session.theme_changed.connect(self._on_theme)
        session.added.connect(self._on_added)
        session.removed.connect(self._on_removed)
        session.active_changed.connect(self._on_active)
        session.clock.changed.connect(self._on_clock)
        session.interpolate_changed.connect(self._on_interpolate)
        session.set_interpolate(self.settings.values.interpolate)
        self.workspace.opening_changed.connect(self._show_sentence)
        frame.sentence_bar.pressed.connect(lambda key: pressed(self, key))
        frame.header.start_asked.connect(self.toggle_start)
        frame.header.palette_asked.connect(self.finder.ask_everything)
        self.docks.reset_asked.connect(self.arrangement.reset)
        self.docks.dropped.connect(self.open_files)
        page = frame.start_page
        page.open_asked.connect(self.actions_by_id["file.open"].trigger)
        page.attach_asked.connect(self.actions_by_id["file.attach"].trigger)
        page.demo_asked.connect(self.actions_by_id["file.demo"].trigger)
        page.shipped_asked.connect(self.actions_by_id["file.shipped"].trigger)
        page.back_asked.connect(lambda: frame.show_start(False))
        page.recent_asked.connect(lambda name: self.open_files([name]))
        frame.bookmark_card.saved.connect(self._replace_bookmark)
        frame.bookmark_card.removed.connect(self._replace_bookmark)

    # -- opening -----------------------------------------------------------------------

    def open_files(
        self,
        files: Sequence[str | Path],
        at: str = "",
        then: Callable[[Document], None] | None = None,
    ) -> None:
        """Open recordings, or links; the last one becomes the active one.

        Parameters
        ----------
        files
            Paths; one that begins with ``isoscope:`` is a link.
        at, then
            A position in the last one, and what to call with each when it is there.
        """
        for number, file in enumerate(files, 1):
            if is_link(str(file)):
                self.open_link(str(file))
            else:
                self.workspace.open(file, at if number == len(files) else "", then)
        self.frame.show_start(False)

    def open_link(self, text: str) -> None:
        """Open the view that a link names; one that is none is told in the bar."""
        try:
            show_link(self, parse_link(text))
        except IsoscopeError as error:
            self.session.say("error", f"opening a link: {error}")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802
        """Say what a drop will do."""
        files = dropped_files(event.mimeData())
        if files:
            self.frame.veil.show_for(files)
            event.acceptProposedAction()

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:  # noqa: N802
        """Nothing is dropped."""
        self.frame.veil.hide()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        """Open what is dropped."""
        self.frame.veil.hide()
        files = dropped_files(event.mimeData())
        if files:
            event.acceptProposedAction()
            self.open_files(files)

    # -- what is shown -----------------------------------------------------------------

    def toggle_start(self) -> None:
        """Go to the start page, or back from it."""
        self.frame.start_page.show_recent(self.settings.values.recent)
        self.frame.start_page.can_go_back(bool(self.session.documents))
        starting = self.frame.starting
        self.frame.show_start(not starting or not self.session.documents)

    def toggle_keys(self) -> None:
        """Show the keys, or put them away."""
        page = self.frame.keys_page
        if page.isVisible():
            page.close_card()
        else:
            page.open_card()

    def toggle_full_screen(self) -> None:
        """Fill the screen, or stop filling it."""
        on = not self.isFullScreen()
        if on:
            self.showFullScreen()
        else:
            self.showNormal()
        self.actions_by_id.check("view.fullscreen", on)

    def set_theme(self, choice: ThemeChoice, *, remember: bool = True) -> None:
        """Choose dark, light, or as the system is."""
        self.theming.choose(choice)
        if remember:
            self.settings.values.theme = choice
            self.settings.save()

    def set_layout(self, key: str) -> None:
        """Arrange the panels by a named layout, as it was left."""
        self.arrangement.choose(key)
        self.frame.header.show_layout(self.arrangement.title)

    def show_finding(self, at: int) -> None:
        """Look at a finding of the active document, with the panels that show it."""
        self.bring_into_view("findings")
        self.session.show_finding(at)

    def show_export(self) -> None:
        """Have the Export panel in view."""
        self.bring_into_view("export")

    def show_replay(self) -> None:
        """Have the Replay panel in view."""
        self.bring_into_view("replay")

    def bring_into_view(self, key: str) -> None:
        """Have a panel in view, by the layout that it belongs to if it is hidden."""
        dock = self.docks.docks.get(key)
        if dock is None:
            return
        if dock.isHidden():
            home = home_of(key, self.arrangement.layouts)
            if home is not None:
                self.set_layout(home.key)
        self.docks.raise_panel(key)

    def focusNextPrevChild(self, on: bool) -> bool:  # noqa: N802
        """Go on to the next, or the one before, that can be seen."""
        with passing_behind(self.panels.values()):
            return super().focusNextPrevChild(on)

    def settled(self) -> bool:
        """Whether nothing is still to be opened, indexed, computed or drawn."""
        panels = [p for p in self.panels.values() if p.isVisible()]
        return (
            self.arrangement.done
            and not self.workspace.busy
            and all(panel.settled() for panel in panels)
        )

    def save_picture(self, path: Path) -> None:
        """Save the window as it is now, as PNG.

        Raises
        ------
        IsoscopeError
            If it can't be written; nothing half written stays.
        """
        save_png(self, path)

    def _show_sentence(self) -> None:
        self.frame.sentence_bar.show_sentence(sentence_now(self.workspace))

    # -- what changes ------------------------------------------------------------------

    def _on_added(self, document: Document) -> None:
        for signal in told_of(document):
            signal.connect(self._on_document)
        self._on_document()

    def _on_removed(self, document: Document) -> None:
        for signal in told_of(document):
            signal.disconnect(self._on_document)
        self._on_document()

    def _on_document(self, *_: object) -> None:
        self._enable()
        self._show_sentence()

    def _on_active(self, document: Document | None) -> None:
        if document is not None:
            self.frame.show_start(False)
        name = f"{document.name} — " if document is not None else ""
        self.setWindowTitle(f"{name}Isoscope")
        self._enable()
        self._show_sentence()
        coming = self.workspace.opening or self.workspace.attaching.joining
        if document is None and not coming and self.arrangement.done:
            self.frame.show_start(False)
            self.toggle_start()

    def _enable(self) -> None:
        document = self.session.active
        actions = self.actions_by_id
        actions.enable(NEED_DOCUMENT, document is not None)
        running = document is not None and (
            self.workspace.indexing(document) or document.analysing is not None
        )
        actions.enable(("file.cancel",), running)
        actions.enable(("view.next_document",), len(self.session.documents) > 1)

    def _on_clock(self, state: ClockState, old: ClockState) -> None:
        if (state.loop, state.follow) != (old.loop, old.follow):
            self.actions_by_id.check("loop.toggle", state.loop)
            self.actions_by_id.check("run.follow", state.follow)

    def _on_interpolate(self, on: bool) -> None:
        self.actions_by_id.check("run.interpolate", on)
        if on != self.settings.values.interpolate:
            self.settings.values.interpolate = on
            self.settings.save()

    def _on_theme(self, name: str) -> None:
        self.frame.apply_theme(tokens(name))

    def _replace_bookmark(self, old: Bookmark, new: Bookmark | None = None) -> None:
        document = self.session.active
        if document is not None:
            kept = [mark for mark in document.bookmarks if mark != old]
            document.set_bookmarks(kept if new is None else [*kept, new])

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Enter presses the button that has the focus, since Space plays."""
        focused = QApplication.focusWidget()
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and isinstance(focused, QAbstractButton):
            focused.click()
        else:
            super().keyPressEvent(event)

    # -- coming and going --------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        """Put painting off that a run asks for too often."""
        if event.type() is QEvent.Type.UpdateRequest and self.pacing.puts_off():
            return True
        return super().event(event)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Arrange the docks once their room is known."""
        super().showEvent(event)
        self.pacing.watch()
        if not self.arrangement.done:
            self.frame.column.activate()
            self.arrangement.arrange()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """Remember, stop the threads, let the panels go."""
        self.demo.let_go()
        self.arrangement.keep(self)
        self.theming.release()
        self._disconnect()
        for panel in self.panels.values():
            panel.release()
        self.workspace.shut_down()
        self.demo.shut_down()
        super().closeEvent(event)

    def _disconnect(self) -> None:
        """No signal of the session reaches this window any more."""
        session = self.session
        for signal, slot in (
            (session.messaged, self.frame.message_bar.show_message),
            (session.theme_changed, self._on_theme),
            (session.added, self._on_added),
            (session.removed, self._on_removed),
            (session.active_changed, self._on_active),
            (session.clock.changed, self._on_clock),
            (session.interpolate_changed, self._on_interpolate),
            (self.workspace.opening_changed, self._show_sentence),
        ):
            signal.disconnect(slot, missing_ok=True)
        for document in session.documents:
            for told in told_of(document):
                told.disconnect(self._on_document, missing_ok=True)
