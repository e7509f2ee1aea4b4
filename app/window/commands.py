"""What each action of the table does in this window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QStandardPaths, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QFileDialog

from isoscope import resources
from isoscope.app.crashes import log_file
from isoscope.app.links import format_link
from isoscope.app.window import replays
from isoscope.app.window.view_link import link_of
from isoscope.core.errors import IsoscopeError
from isoscope.widgets.keys import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.app.window.window import Window
    from isoscope.core.clock import Clock
    from isoscope.widgets.session import Document

FAR = 10
FILTER = "Recordings (*.h5 *.hdf5 *.json);;All files (*)"
# Actions that need something to act on.
NEED_DOCUMENT = (
    "link.copy",
    "file.cancel",
    "file.reload",
    "file.close",
    "bookmark.add",
    "file.export",
    *(
        row.id
        for row in ACTIONS
        if row.id.startswith(("run.", "step.", "loop.", "replay."))
    ),
)


class Commands:
    """The handlers, by the ids of the table."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._told_native: set[int] = set()  # documents whose lack of steps was told

    @property
    def clock(self) -> Clock:
        """The one clock."""
        return self.window.session.clock

    @property
    def active(self) -> Document | None:
        """The document that is looked at."""
        return self.window.session.active

    def handlers(self) -> dict[str, Callable[[], object]]:
        """What to call for each id."""
        window, clock = self.window, self.clock
        return {
            "file.open": self.open,
            "file.attach": window.attach.open,
            "file.demo": lambda: window.demo.start(),
            "file.shipped": lambda: window.open_files([resources.shipped_recording()]),
            "file.start": window.toggle_start,
            "link.copy": self.copy_link,
            "link.open": self.open_clipboard_link,
            "file.screenshot": self.save_picture,
            "file.export": window.show_export,
            "curate.undo": lambda: self.edit("undo"),
            "curate.redo": lambda: self.edit("redo"),
            "file.cancel": self.cancel,
            "file.reload": self.reload,
            "file.close": self.close,
            "file.quit": window.close,
            "view.palette": window.finder.ask_everything,
            "view.find": window.finder.ask_things,
            "view.next_document": self.next_document,
            "view.reset": window.arrangement.reset,
            "view.fullscreen": window.toggle_full_screen,
            "run.play": clock.toggle,
            "run.reverse": lambda: clock.play(-1),
            "run.stop": clock.pause,
            "run.forward": lambda: clock.play(1),
            "run.faster": clock.faster,
            "run.slower": clock.slower,
            "run.interpolate": lambda: window.session.set_interpolate(
                not window.session.interpolate
            ),
            "step.next": lambda: self.step_control(1),
            "step.previous": lambda: self.step_control(-1),
            "step.next_10": lambda: self.step_control(FAR),
            "step.previous_10": lambda: self.step_control(-FAR),
            "step.native_next": lambda: clock.step(1),
            "step.native_previous": lambda: clock.step(-1),
            "step.event_next": lambda: self.step_event(1),
            "step.event_previous": lambda: self.step_event(-1),
            "step.home": clock.home,
            "step.end": clock.end,
            "run.follow": lambda: clock.set_follow(not clock.state.follow),
            "replay.show": window.show_replay,
            "replay.actions": lambda: replays.step(window, "actions"),
            "replay.alone": lambda: replays.step(window, "alone"),
            "replay.pinned": lambda: replays.step(window, "pinned"),
            "replay.first": lambda: replays.to_first(window),
            "loop.in": clock.loop_in_here,
            "loop.out": clock.loop_out_here,
            "loop.toggle": clock.toggle_loop,
            "bookmark.add": self.bookmark,
            "help.diagnose": window.diagnose.open_card,
            "help.keys": window.toggle_keys,
            "help.log": self.show_log,
        }

    # -- files -----------------------------------------------------------------------

    def open(self) -> None:
        """Ask for files; the window goes on meanwhile."""
        dialog = QFileDialog(self.window, "Open recordings", "", FILTER)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        document = self.active
        path = document.source.recording.path if document is not None else None
        if path is not None:
            dialog.setDirectory(str(path.parent))
        dialog.setModal(False)
        dialog.filesSelected.connect(self.window.open_files)
        dialog.finished.connect(dialog.deleteLater)
        dialog.show()

    def cancel(self) -> None:
        """Stop indexing the active document."""
        if self.active is not None:
            self.window.workspace.cancel(self.active)

    def reload(self) -> None:
        """Read the active document anew."""
        if self.active is not None:
            self.window.workspace.reload(self.active)

    def close(self) -> None:
        """Let the active document go."""
        if self.active is not None:
            self.window.workspace.close(self.active)

    def next_document(self) -> None:
        """Look at the next of the open documents."""
        session = self.window.session
        if session.active is not None and len(session.documents) > 1:
            at = session.documents.index(session.active) + 1
            session.activate(session.documents[at % len(session.documents)])

    def edit(self, what: Literal["undo", "redo"]) -> None:
        """Take the last edit of the active document's episodes back, or redo it."""
        curation = None if self.active is None else self.active.curation
        if curation is None:
            self._say("There is no edit: choose episodes in Curate first.")
            return
        workspace = curation.workspace
        can = workspace.can_undo if what == "undo" else workspace.can_redo
        if not can:
            self._say(f"There is nothing to {what}.")
            return
        try:
            (workspace.undo if what == "undo" else workspace.redo)()
        except IsoscopeError as error:
            self.window.session.say("error", str(error))

    # -- this view -------------------------------------------------------------------

    def copy_link(self) -> None:
        """Put a link to this view onto the clipboard."""
        link = link_of(self.window)
        if link is None:
            self._say("There is nothing to link to: open a recording first.")
            return
        QGuiApplication.clipboard().setText(format_link(link))
        self._say("A link to this view is on the clipboard.")

    def open_clipboard_link(self) -> None:
        """Open the view that the clipboard's text links to."""
        self.window.open_link(QGuiApplication.clipboard().text())

    def save_picture(self) -> None:
        """Save the window as a picture among the user's pictures, under a new name."""
        place = QStandardPaths.StandardLocation.PicturesLocation
        folder = Path(QStandardPaths.writableLocation(place) or Path.home())
        document = self.active
        stem = "isoscope"
        if document is not None:
            stem += f"-{Path(document.name).stem}-native-{self.clock.row}"
        path, number = folder / f"{stem}.png", 2
        while path.exists():
            path, number = folder / f"{stem}-{number}.png", number + 1
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.window.save_picture(path)
        except OSError as error:
            text = f"saving a picture to {path}: {error.strerror or error}"
            self.window.session.say("error", text)
        except IsoscopeError as error:
            self.window.session.say("error", str(error))
        else:
            self._say(f"Saved as {path}")

    # -- stepping --------------------------------------------------------------------

    def step_control(self, count: int) -> None:
        """Step by control steps; natively where none are known, and say so once."""
        document = self.active
        if document is None:
            return
        if self.clock.has_marks("control"):
            self.clock.step_mark("control", count)
            return
        if id(document) not in self._told_native:
            self._told_native.add(id(document))
            self._say(
                "No control steps are known in this recording: "
                "the arrow keys go by native steps."
            )
        self.clock.step(count)

    def step_event(self, count: int) -> None:
        """Step to another event; say so where there is none."""
        if self.active is None or self.clock.step_mark("event", count):
            return
        way = "after" if count > 0 else "before"
        self._say(f"There is no event {way} this step.")

    def bookmark(self) -> None:
        """Bookmark the cursor's row and offer to name it; or edit the one there."""
        document = self.active
        if document is None:
            return
        here = [mark for mark in document.bookmarks if mark.row == self.clock.row]
        mark = here[0] if here else self.window.workspace.add_bookmark()
        if mark is not None:
            self.window.frame.bookmark_card.edit(mark)

    # -- help --------------------------------------------------------------------------

    def show_log(self) -> None:
        """Show the log file, or where it is."""
        path = log_file()
        self._say(f"The log is {path}")
        if path.exists():
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))

    def _say(self, text: str) -> None:
        self.window.session.say("note", text)
