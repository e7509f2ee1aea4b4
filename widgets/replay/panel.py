"""The Replay panel: wiring of a document, the form, and what came out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QScrollArea,
    QSizePolicy,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.widgets.curate.empty import EmptyPage
from isoscope.widgets.look import dress
from isoscope.widgets.panel import Panel
from isoscope.widgets.replay.empty import bare, why_not
from isoscope.widgets.replay.form import NO_MODEL, ReplayForm
from isoscope.widgets.replay.request import ModelChoice, command
from isoscope.widgets.replay.result import ResultView
from isoscope.widgets.replay.state import ReplayState

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.clock import ClockState
    from isoscope.core.replay.states import Replayed
    from isoscope.widgets.document import ReplayView
    from isoscope.widgets.replay.request import Request
    from isoscope.widgets.session import Document, Session

VIEWS: tuple[tuple[ReplayView, str, str], ...] = (
    ("ghost", "Ghost", "In the scene: what was stepped again as a ghost"),
    ("beside", "Side by side", "Two scenes, one camera (B in the scene)"),
    ("hidden", "Hide", "In the scene: only what was recorded"),
)


class ReplayPanel(Panel):
    """Steps the active document again, and says what that proves.

    The work is done by whoever hears `run_asked` (a document and a `Request`) and
    `cancel_asked`, and tells by the methods ``show_…`` how it goes.
    """

    key: ClassVar[str] = "replay"
    title: ClassVar[str] = "Replay"
    run_asked = Signal(object, object)
    cancel_asked = Signal(object)
    branching = Signal(object)  # somebody looks at a document's branches

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._document: Document | None = None
        self._states: WeakKeyDictionary[Document, ReplayState] = WeakKeyDictionary()
        self._envs: tuple[int, ...] = ()
        self._as_before = False  # a model stood in for the active document's engine
        # What stood in for the engine of a document before; asked when it is opened.
        self.remembered: Callable[[Document], ModelChoice] = lambda _: ModelChoice()
        self._make_parts()
        self.apply_theme()
        self.observe(session.active_changed, self._activate)
        self.observe(session.focus_changed, self._focus_changed)
        self.observe(session.clock.changed, self._on_clock)
        self._activate(session.active)

    def _make_parts(self) -> None:
        self.form, self.result, self.empty = ReplayForm(), ResultView(), EmptyPage()
        self.empty.button.setText("Choose a model…")
        self.empty.asked.connect(self.choose_model)
        inside = QWidget()
        inside.setObjectName("replay-inside")
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 4)
        column.setSpacing(3)
        column.addWidget(self.form)
        column.addWidget(self.result, 1)
        column.addStretch(0)
        policy = QSizePolicy.Policy
        self.form.setSizePolicy(policy.Preferred, policy.Maximum)
        self._pages = QStackedLayout(self)
        self._pages.setContentsMargins(0, 0, 0, 0)
        self._pages.addWidget(self.empty)
        # Where a window is low, the plot keeps its height and the rest is below.
        page = QScrollArea()
        page.setWidgetResizable(True)
        page.setFrameShape(QFrame.Shape.NoFrame)
        page.setWidget(inside)
        self._pages.addWidget(page)
        self.form.changed.connect(self._form_changed)
        self.form.run_asked.connect(self.run)
        self.form.cancel_asked.connect(self.cancel)
        self.form.copy.clicked.connect(self.copy_command)
        self.result.row_wanted.connect(self.go)
        self.result.past_wanted.connect(self.go_past)
        self.result.fields.tolerance_set.connect(self._set_tolerance)
        self.result.fields.refused.connect(lambda text: self.session.say("error", text))

    def title_tools(self) -> list[QWidget]:
        """How it is shown in the scene."""
        self.views: dict[ReplayView, QToolButton] = {}
        for view, text, about in VIEWS:
            button = QToolButton()
            button.setText(text)
            button.setToolTip(about)
            button.setProperty("flat", True)
            button.setCheckable(True)
            button.clicked.connect(lambda _=False, view=view: self._view(view))
            self.views[view] = button
        self._show_views()
        return list(self.views.values())

    @property
    def state(self) -> ReplayState | None:
        """How far the active document's re-simulation is."""
        return None if self._document is None else self.state_of(self._document)

    def state_of(self, document: Document) -> ReplayState:
        """How far a document's re-simulation is."""
        return self._states.setdefault(document, ReplayState())

    # -- the session -------------------------------------------------------------------

    def _activate(self, document: Document | None) -> None:
        for other, change in (
            (self._document, self.unobserve),
            (document, self.observe),
        ):
            if other is not None:
                change(other.replayed_changed, self._show)
                change(other.phase_changed, self._show)
                change(other.analysed, self._show)
                change(other.analysing_changed, self._show)
        self._document, self._envs = document, ()
        self._take_model(document)
        self._show()

    def _take_model(self, document: Document | None) -> None:
        """Show the model that stood in for its engine before."""
        known = ModelChoice() if document is None else self.remembered(document)
        path = None if document is None else document.recording.path
        self.form.model.folder = None if path is None else path.parent
        self.form.model.set_choice(known)
        self._as_before = bool(known.model)
        if self.form.by_model:
            self.form.set_engine("")

    def _focus_changed(self) -> None:
        document = self._document
        self._tell_branching()
        self.result.set_focus(None if document is None else document.focus)

    def _on_clock(self, state: ClockState, _old: ClockState) -> None:
        self.result.plot.set_cursor(state.row, state.beyond)
        self._tell_branching()

    def _tell_branching(self) -> None:
        """Have what is said of branches brought up to date, where it is seen."""
        if self.form.branching and self._document is not None and self.isVisible():
            self.branching.emit(self._document)

    def _form_changed(self) -> None:
        self._show()
        self._tell_branching()

    def _set_tolerance(self, name: str, value: float | None) -> None:
        self.form.set_tolerance(name, value)

    # -- showing -----------------------------------------------------------------------

    def _show(self, *_: object) -> None:
        document, state = self._document, self.state
        if self._as_before and bare(document):
            self._as_before = False
            self.form.set_engine("model")  # nothing else steps it
        why = why_not(document, by_model=self.form.by_model)
        shows = state is not None and (state.running or state.shown is not None)
        if why and not shows:
            helps = bare(document) and not why_not(document, by_model=True)
            self.empty.tell(why, button=helps)
            self._pages.setCurrentIndex(0)
            self.set_subtitle("")
            self._show_views()
            return
        assert document is not None
        assert state is not None
        self._pages.setCurrentIndex(1)
        envs = () if document.analysis is None else document.analysis.environments
        if envs != self._envs:
            self._envs = envs
            self.form.show_environments(envs, None)
        labelled = document.recording.labelled
        self.form.show_bare(bare(document))
        self.form.show_recorded("" if labelled is None else labelled.identity.engine)
        state.shown = document.replayed
        stale = (
            state.shown is not None
            and state.of is not None
            and (self._like(state.of) != self._like(self._request()))
        )
        self.form.show_state(state, stale=stale)
        self.result.show_result(document.replayed, self.form.tolerances)
        self.result.set_focus(document.focus)
        clock = self.session.clock
        self.result.plot.set_cursor(clock.row, clock.beyond)
        shown = document.replayed
        said = "" if shown is None else shown.name
        self.set_subtitle(state.running.lower() if state.running else said)
        self._show_views()

    @staticmethod
    def _like(request: Request) -> tuple[object, ...]:
        """What makes two requests the same; where the cursor is doesn't."""
        tolerances = tuple(sorted(request.tolerances.items()))
        parts = (request.way, request.env, request.start is None, request.steps)
        return (*parts, tolerances, request.engine, request.module, request.model)

    def _show_views(self) -> None:
        document = self._document
        there = document is not None and document.replayed is not None
        for view, button in getattr(self, "views", {}).items():
            button.setVisible(there)
            button.setChecked(document is not None and document.replay_view == view)

    def _view(self, view: ReplayView) -> None:
        if self._document is not None:
            self._document.set_replay_view(view)
            self._show_views()

    def show_running(self, document: Document, what: str) -> None:
        """Say what is being done for a document."""
        state = self.state_of(document)
        state.running, state.error = what, ""
        state.done = state.total = 0
        state.cancelling = False
        self._show_if(document)

    def show_progress(self, document: Document, done: int, total: int) -> None:
        """Say how far it is."""
        state = self.state_of(document)
        state.done, state.total = done, total
        if document is self._document:
            self.form.show_progress(state)

    def show_ended(
        self, document: Document, request: Request | None, found: Replayed | None
    ) -> None:
        """Show what came out of a request, or of a branch (None); None changes none."""
        state = self.state_of(document)
        state.running = ""
        if found is not None:
            state.of = request
            document.set_replayed(found)
        self._show_if(document)

    def show_failed(self, document: Document, error: str) -> None:
        """Say why nothing came of it; what was shown before stays."""
        state = self.state_of(document)
        state.running, state.error = "", error
        self._show_if(document)
        if document is self._document:
            self.form.doing.setText(error)

    def _show_if(self, document: Document) -> None:
        if document is self._document:
            self._show()

    # -- commands ----------------------------------------------------------------------

    def _request(self) -> Request:
        return self.form.request(self.session.clock.row)

    def run(self) -> None:
        """Step the active document again, as the form says."""
        document, state = self._document, self.state
        if document is None or state is None:
            return
        request = self._request()
        why = why_not(document, by_model=request.by_model)
        if why:
            self.session.say("warning", why.partition("\n")[0], why)
        elif request.by_model and not request.model.model:
            self.session.say("warning", f"By a model: {NO_MODEL}.")
        elif not state.running:
            self.run_asked.emit(document, request)

    def choose_model(self) -> None:
        """Have a model stand in for the engine, and ask for it."""
        self.form.set_engine("model")
        self.form.model.ask_model()

    def run_way(self, way: Any) -> None:
        """Step the active document again in one of the ways."""
        self.form.set_way(way)
        self.run()

    def cancel(self) -> None:
        """Stop stepping; what was shown before stays."""
        state = self.state
        if self._document is not None and state is not None and state.running:
            state.cancelling = True
            self.form.show_state(state, stale=False)
            self.cancel_asked.emit(self._document)

    def copy_command(self) -> None:
        """Put the command that does the same onto the clipboard."""
        path = None if self._document is None else self._document.recording.path
        if path is None:
            self.session.say("warning", "Without a file there is no command for it.")
            return
        text = command(self._request(), path)
        QGuiApplication.clipboard().setText(text)
        self.session.say("note", "The command is on the clipboard.", text)

    def go_past(self, step: int) -> None:
        """Go to a step past the recorded end, from 1."""
        document = self._document
        if document is not None and document.replay_view == "hidden":
            document.set_replay_view("ghost")
        self.session.clock.pause()
        self.session.clock.seek_past(step)

    def go(self, row: int) -> None:
        """Go to a native step, and look at its environment."""
        document = self._document
        if document is None or document.analysis is None:
            return
        env = document.analysis.owner(row)
        if document.analysis.shared and env in document.shown_envs:
            self.session.focus(env)
        self.session.clock.pause()
        self.session.clock.seek(row)

    # -- a panel's ---------------------------------------------------------------------

    def settled(self) -> bool:
        """Whether nothing is being stepped."""
        return not any(state.running for state in self._states.values())

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        t = self.tokens
        dress(
            self,
            t,
            f"""
            QPushButton#primary {{ background: {t.accent}; color: {t.accent_text};
                border-color: {t.accent}; }}
            QToolButton#replay-tab:checked {{ color: {t.text}; border: none;
                border-bottom: 2px solid {t.accent}; border-radius: 0px; }}
            QToolButton[flat="true"]:checked {{ color: {t.accent}; }}
            QTableWidget {{ background: {t.panel}; color: {t.text}; border: none;
                selection-background-color: {t.border}; selection-color: {t.text}; }}
            QWidget#replay-inside {{ background: {t.panel}; }}
            QSplitter::handle {{ background: {t.border}; }}
            QSplitter::handle:vertical {{ height: 1px; margin: 2px 10px; }}
            """,
        )
        self.result.set_look(t)
