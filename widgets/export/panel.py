"""The Export panel: wiring of a document's chosen episodes, the form and the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QScrollArea,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from isoscope.core.dataset.validate.report import Waiver
from isoscope.core.errors import IsoscopeError
from isoscope.widgets.curate.background import Background
from isoscope.widgets.curate.empty import EmptyPage, why_empty
from isoscope.widgets.export.buttons import Buttons
from isoscope.widgets.export.form import ExportForm
from isoscope.widgets.export.going import row_of
from isoscope.widgets.export.preview import in_the_window, preview, refused
from isoscope.widgets.export.report_view import ReportView
from isoscope.widgets.export.request import command, whoever
from isoscope.widgets.export.sheet import sheet
from isoscope.widgets.export.state import ExportState
from isoscope.widgets.export.words import with_waivers
from isoscope.widgets.look import dress
from isoscope.widgets.panel import Panel

if TYPE_CHECKING:
    from PySide6.QtGui import QShowEvent

    from isoscope.core.dataset.curate.edits import Choice
    from isoscope.core.dataset.exporters.report import ExportReport
    from isoscope.core.dataset.validate.report import Report
    from isoscope.core.dataset.validate.rule import Where
    from isoscope.widgets.curate.curation import Curation
    from isoscope.widgets.export.preview import Preview
    from isoscope.widgets.export.request import Request
    from isoscope.widgets.session import Document, Session

SOON_MS = 200


class ExportPanel(Panel):
    """Writes what is chosen of the active document as a dataset.

    The work is done by whoever hears `validate_asked`, `export_asked` (a document and a
    `Request`) and `cancel_asked`, and tells by the methods ``show_…`` how it goes.
    """

    key: ClassVar[str] = "export"
    title: ClassVar[str] = "Export"
    wanted = Signal(object)
    validate_asked = Signal(object, object)
    export_asked = Signal(object, object)
    cancel_asked = Signal(object)
    episode_asked = Signal(str)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._document: Document | None = None
        self._curation: Curation | None = None
        self._states: WeakKeyDictionary[Document, ExportState] = WeakKeyDictionary()
        self._preview: Preview | None = None
        self.background = Background(self, "isoscope-export")
        self._due = QTimer(self)
        self._due.setSingleShot(True)
        self._due.timeout.connect(self._ask_preview)
        self._report_due = QTimer(self)
        self._report_due.setSingleShot(True)
        self._report_due.timeout.connect(self._to_report)
        self._make_parts()
        self.apply_theme()
        self.observe(session.active_changed, self._activate)
        self._activate(session.active)

    def _make_parts(self) -> None:
        self.form, self.buttons = ExportForm(), Buttons()
        self.report = ReportView()
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 6)
        column.setSpacing(2)
        column.addWidget(self.form)
        column.addWidget(self.report, 1)
        self.scroll_area = scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what is in it takes it
        scroll.setWidget(inside)
        inside.setObjectName("export-inside")
        self.empty = EmptyPage()
        self._pages = QStackedLayout(self)
        self._pages.setContentsMargins(0, 0, 0, 0)
        self._pages.addWidget(self.empty)
        page = QWidget()
        whole = QVBoxLayout(page)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(scroll, 1)
        whole.addWidget(self.buttons)  # always in view
        self._pages.addWidget(page)
        self.form.changed.connect(self._form_changed)
        self.form.browse_asked.connect(self._browse)
        buttons = self.buttons
        buttons.validate.clicked.connect(lambda: self._ask(self.validate_asked))
        buttons.export.clicked.connect(lambda: self._ask(self.export_asked))
        buttons.cancel.clicked.connect(self._cancel)
        buttons.copy.clicked.connect(self.copy_command)
        buttons.folder.clicked.connect(self.open_folder)
        self.report.went.connect(self.go)
        self.report.waived.connect(self.waive)
        self.report.restored.connect(self.restore)

    @property
    def state(self) -> ExportState | None:
        """How far the active document's export is."""
        document = self._document
        if document is None:
            return None
        return self._states.setdefault(document, ExportState())

    # -- the session -------------------------------------------------------------------

    def _activate(self, document: Document | None) -> None:
        for other, change in (
            (self._document, self.unobserve),
            (document, self.observe),
        ):
            if other is not None:
                change(other.curation_changed, self._curation_changed)
                change(other.phase_changed, self._want)
                change(other.analysing_changed, self._tell_empty)
        self._document = document
        self._curation_changed()
        self._want()

    def _want(self, *_: object) -> None:
        document = self._document
        if document is not None and document.curation is None and self.isVisible():
            self.wanted.emit(document)
        self._tell_empty()

    def _tell_empty(self, *_: object) -> None:
        text, _button = why_empty(self._document)
        self.empty.tell(text, button=False)
        self._pages.setCurrentIndex(0 if self._curation is None else 1)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Ask for the episodes once somebody looks."""
        super().showEvent(event)
        self._want()
        self._due.start(0)

    def _curation_changed(self) -> None:
        document = self._document
        curation = None if document is None else document.curation
        if curation is not self._curation:
            if self._curation is not None:
                self.unobserve(self._curation.workspace.changed, self._edited)
            self._curation, self._preview = curation, None
            self.background.forget()
            state = self.state
            if curation is not None and state is not None and document is not None:
                self.observe(curation.workspace.changed, self._edited)
                path = document.recording.path
                hz = curation.episodes.control_hz
                self.form.fields.show_fields(curation.episodes.features, state.fields)
                self.form.show_source(path, state.target, hz=hz)
        self._tell_empty()
        self._show()
        self._due.start(SOON_MS)

    def _edited(self) -> None:
        self._show()
        self._due.start(SOON_MS)

    def _form_changed(self) -> None:
        state = self.state
        if state is not None:
            state.target = self.form.typed
            state.fields = self.form.fields.typed
            state.error = ""
        self._show()
        self._due.start(SOON_MS)

    # -- the preview -------------------------------------------------------------------

    def _ask_preview(self) -> None:
        curation = self._curation
        if curation is None or not self.isVisible():
            return
        try:
            request = self._request()
        except IsoscopeError as error:
            self._preview = None
            self.buttons.show_problem(str(error))
            return
        choice = curation.choice

        def found(made: Preview) -> None:
            self._preview = made
            self.form.fields.show_names(made.names)
            self._show()

        self.background.ask(
            "preview",
            lambda: preview(curation.kept(choice), request),
            found,
            self.buttons.show_problem,
        )

    def _request(self) -> Request:
        state = self.state
        waivers = () if state is None else tuple(state.waivers.values())
        return replace(self.form.request(), waivers=waivers)

    # -- showing -----------------------------------------------------------------------

    def _show(self) -> None:
        state, curation = self.state, self._curation
        if state is None or curation is None:
            self.set_subtitle("")
            return
        self.form.lock(bool(state.running))
        self.buttons.show_state(state, self._preview)
        report = state.report
        if report is not None:
            report = with_waivers(report, state.waivers)
        self.report.show_report(report, stale=state.of is not curation.choice)
        self.set_subtitle(state.running.lower() if state.running else self.form.format)

    def show_running(self, document: Document, what: str) -> None:
        """Say what is being done for a document."""
        state = self._states.setdefault(document, ExportState())
        state.running, state.progress = what, 0.0
        state.error, state.done = "", None
        self._show_if(document)

    def show_progress(self, document: Document, done: int, total: int) -> None:
        """Say how far it is."""
        state = self._states.setdefault(document, ExportState())
        state.progress = done / total if total else 0.0
        if document is self._document:
            self.buttons.show_progress(state)

    def show_ended(
        self,
        document: Document,
        choice: Choice,
        report: Report,
        done: ExportReport | None,
    ) -> None:
        """Show a validation of a choice, and what was written of it, if it was."""
        state = self._states.setdefault(document, ExportState())
        state.running, state.report, state.of = "", report, choice
        state.done = done
        self._show_if(document)
        if document is self._document and done is None:
            self._report_due.start(50)  # once it has its room

    def _to_report(self) -> None:
        """Have the report in view, from its sentence on."""
        self.scroll_area.verticalScrollBar().setValue(self.report.y() - 4)

    def show_failed(self, document: Document, error: str) -> None:
        """Say why nothing came of it."""
        state = self._states.setdefault(document, ExportState())
        state.running, state.error = "", in_the_window(error)
        self._show_if(document)

    def _show_if(self, document: Document) -> None:
        if document is self._document:
            self._show()

    # -- commands ----------------------------------------------------------------------

    def _ask(self, signal: Any) -> None:
        document, state = self._document, self.state
        if document is None or state is None or state.running:
            return
        try:
            request = self._request()
        except IsoscopeError as error:
            state.error = str(error)
            self._show()
            return
        if signal is self.export_asked:  # what was written just now is there
            path = document.recording.path
            state.error = refused(request, path)
            if state.error:
                self._show()
                return
        signal.emit(document, request)

    def _cancel(self) -> None:
        if self._document is not None:
            self.cancel_asked.emit(self._document)

    def waive(self, rule: str, why: str) -> None:
        """Let a rule fail, and say why; it travels with the data."""
        state = self.state
        if state is not None and why.strip():
            state.waivers[rule] = Waiver(rule=rule, by=whoever(), why=why.strip())
            self._show()

    def restore(self, rule: str) -> None:
        """Take a waiver back."""
        state = self.state
        if state is not None:
            state.waivers.pop(rule, None)
            self._show()

    def copy_command(self) -> None:
        """Put the command that does the same onto the clipboard."""
        document, curation = self._document, self._curation
        path = None if document is None else document.recording.path
        if curation is None or path is None:
            self.session.say("warning", "Without a file there is no command for it.")
            return
        try:
            request = self._request()
        except IsoscopeError as error:
            self.session.say("error", str(error))
            return
        edits = curation.workspace
        journal = edits.path if edits.edits else None
        text = command(request, path, journal, curation.transitions)
        QGuiApplication.clipboard().setText(text)
        self.session.say("note", "The command is on the clipboard.", text)

    def open_folder(self) -> None:
        """Show the folder that was written into."""
        state = self.state
        if state is None or state.done is None:
            return
        target = Path(state.done.target)
        folder = target if target.is_dir() else target.parent
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self.session.say("note", f"It is in {folder}")

    def _browse(self) -> None:
        dialog = QFileDialog(self, "Put the dataset into", "")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setModal(False)
        name = Path(self.form.target.text()).name
        dialog.fileSelected.connect(
            lambda folder: self.form.target.setText(str(Path(folder) / name))
        )
        dialog.finished.connect(dialog.deleteLater)
        dialog.show()

    def go(self, where: Where) -> None:
        """Go to a place where a rule fails."""
        document, curation = self._document, self._curation
        if document is None or curation is None:
            return
        if where.episode is not None:
            self.episode_asked.emit(where.episode)
        row = row_of(where, curation)
        env = where.env
        if env is not None and env in document.shown_envs and document.focus != env:
            self.session.focus(env)
        if row is None:
            self.session.say("note", "This place is at no native step.")
            return
        self.session.clock.pause()
        self.session.clock.seek(row)

    # -- a panel's ---------------------------------------------------------------------

    def settled(self) -> bool:
        """Whether what is shown is up to date."""
        if not self.isVisible() or self.visibleRegion().isEmpty():
            return True
        waiting = self._due.isActive() or self._report_due.isActive()
        return not (waiting or self.background.busy)

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        t = self.tokens
        dress(self, t, sheet(t))
        self.report.set_look(t)

    def release(self) -> None:
        """Ask no more."""
        self._due.stop()
        self._report_due.stop()
        super().release()
        self.background.close()
