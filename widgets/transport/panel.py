"""The Transport bar: commands to the clock, and what the clock says."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import QSize
from PySide6.QtGui import QAction, QActionGroup, QFontMetrics
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QToolButton,
    QWidget,
    QWidgetAction,
)

from isoscope.core.clock import RATES, TimeKind
from isoscope.widgets.look import dress
from isoscope.widgets.panel import Panel
from isoscope.widgets.row_words import row_word, step_words
from isoscope.widgets.session import Document, Phase
from isoscope.widgets.transport.buttons import GlyphButton, tell, text_button
from isoscope.widgets.transport.menu_line import MenuLine
from isoscope.widgets.transport.readout import Readout
from isoscope.widgets.transport.run_controls import RunControls
from isoscope.widgets.transport.ticker import Ticker
from isoscope.widgets.transport.times import about_time, time_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.clock import ClockState
    from isoscope.core.recording.model import Recording
    from isoscope.widgets.session import Session


class TransportPanel(Panel):
    """Play, step, speed, loop, which time, follow, and the readout.

    Owns the timer that drives the clock while it plays.
    """

    key: ClassVar[str] = "transport"
    title: ClassVar[str] = "Transport"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._document: Document | None = None
        self.ticker = Ticker(session.clock, self)
        self.readout = Readout()
        self.run = RunControls(self)
        # The times that are listed, and what rows are called there.
        self._times: tuple[tuple[TimeKind, ...], str] = ((), "")
        self._glyphs: list[GlyphButton] = []
        self._make_buttons()
        self._make_choices()
        self._lay_out()
        self.apply_theme()
        self.observe(session.clock.changed, self._clock_changed)
        self.observe(session.clock.axis_changed, self._times_changed)
        self.observe(session.active_changed, self._activate)
        self._activate(session.active)

    # -- parts ---------------------------------------------------------------------

    def _glyph(
        self, sign: str, name: str, tip: str, act: Callable[[], object]
    ) -> GlyphButton:
        button = GlyphButton(sign, name, tip, primary=sign == "play")
        button.clicked.connect(lambda: act())
        if sign in ("step", "step_back", "next", "previous"):
            button.setAutoRepeat(True)
        self._glyphs.append(button)
        return button

    def _make_buttons(self) -> None:
        clock = self.session.clock
        self.start = self._glyph(
            "start", "To the start", "To the start (Home)", clock.home
        )
        self.previous = self._glyph(
            "previous",
            "One control step back",
            "One control step back (Left)",
            lambda: clock.step_mark("control", -1),
        )
        self.step_back = self._glyph("step_back", "", "", lambda: clock.step(-1))
        self.play = self._glyph("play", "Play", "Play (Space)", clock.toggle)
        self.step = self._glyph("step", "", "", lambda: clock.step(1))
        self.next = self._glyph(
            "next",
            "One control step on",
            "One control step on (Right)",
            lambda: clock.step_mark("control", 1),
        )
        self.end = self._glyph("end", "To the end", "To the end (End)", clock.end)

    def _make_choices(self) -> None:
        clock = self.session.clock
        self.times = text_button("", "Which time to play over", "", self)
        self.times.setMenu(QMenu(self))
        self.times.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.rate = text_button("", "Speed", "Speed (+ and -)", self)
        self.rate.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu, group = QMenu(self), QActionGroup(self)
        self._rates: dict[float, QAction] = {}
        for rate in RATES:
            action = menu.addAction(rate_text(rate))
            action.setCheckable(True)
            action.triggered.connect(lambda _on=False, r=rate: clock.set_rate(r))
            group.addAction(action)
            self._rates[rate] = action
        self._offer_any_rate(menu)
        self.rate.setMenu(menu)
        self.loop_in = text_button(
            "[", "Begin the loop here", "Begin the loop here ([)", self
        )
        self.loop_in.clicked.connect(clock.loop_in_here)
        self.loop = text_button("loop", "Loop", "", self)
        self.loop.setCheckable(True)
        self.loop.clicked.connect(clock.set_loop)
        self.loop_out = text_button(
            "]", "End the loop here", "End the loop here (])", self
        )
        self.loop_out.clicked.connect(clock.loop_out_here)
        self.follow = text_button(
            "follow",
            "Follow the end",
            "Stay at the end while it grows (Alt+Right)",
            self,
        )
        self.follow.setCheckable(True)
        self.follow.clicked.connect(clock.set_follow)
        metrics = QFontMetrics(self.rate.font())
        self.rate.setMinimumWidth(metrics.horizontalAdvance("0.05× ▾") + 20)

    def _offer_any_rate(self, menu: QMenu) -> None:
        """A line below the usual rates, for any other."""
        self.any_rate = MenuLine()
        self.any_rate.setPlaceholderText("other: 0.3")
        self.any_rate.setAccessibleName("Another speed")
        self.any_rate.setToolTip("Any speed above 0; Enter takes it")
        self.any_rate.setMaximumWidth(110)
        self.any_rate.returnPressed.connect(self._take_rate)
        line = QWidgetAction(menu)
        line.setDefaultWidget(self.any_rate)
        menu.addSeparator()
        menu.addAction(line)

    def _take_rate(self) -> None:
        text = self.any_rate.text().strip().rstrip("×x")
        try:
            rate = float(text)
        except ValueError:
            rate = 0.0
        if not 0 < rate < math.inf:
            self.session.say("warning", f"a speed of {text!r}: give a number above 0")
            return
        self.session.clock.set_rate(rate)
        self.any_rate.clear()
        self.rate.menu().close()

    def _lay_out(self) -> None:
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 4, 10, 4)
        layout.setSpacing(6)
        layout.addStretch(1)
        layout.addWidget(self.run)
        layout.addWidget(self.times)
        layout.addSpacing(4)
        for button in self._glyphs:
            layout.addWidget(button)
        layout.addSpacing(4)
        layout.addWidget(self.rate)
        loop = QHBoxLayout()
        loop.setSpacing(2)
        for words in (self.loop_in, self.loop, self.loop_out):
            loop.addWidget(words)
        layout.addLayout(loop)
        layout.addWidget(self.follow)
        layout.addSpacing(6)
        layout.addWidget(self.readout)
        layout.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        seen = (self.rate, self.loop_in, self.loop, self.loop_out, self.follow)
        for before, after in pairwise([self.times, *self._glyphs, *seen]):
            QWidget.setTabOrder(before, after)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Wide enough for the buttons."""
        return QSize(360, super().minimumSizeHint().height())

    # -- what the session says -----------------------------------------------------

    def _activate(self, document: Document | None) -> None:
        if self._document is not None:
            self.unobserve(self._document.phase_changed, self._phase_changed)
            self.unobserve(self._document.analysed, self._analysed)
            self.unobserve(self._document.live_changed, self._run_changed)
        self._document = document
        if document is not None:
            self.observe(document.phase_changed, self._phase_changed)
            self.observe(document.analysed, self._analysed)
            self.observe(document.live_changed, self._run_changed)
        self._run_changed()
        self._times_changed()

    def _run_changed(self) -> None:
        self.run.show_document(self._document)

    def _phase_changed(self, _document: Document) -> None:
        self._run_changed()
        self._times_changed()

    def _analysed(self) -> None:
        self._times_changed()

    def _times_changed(self) -> None:
        """The recording grew, is another one, or other times can be chosen."""
        clock, document = self.session.clock, self._document
        if document is None:
            self.readout.set_recording(None)
        else:
            self.readout.set_recording(document.recording, document.analysis)
        times = clock.kinds, row_word(self._recording)
        if times != self._times:
            self._times = times
            self._list_times()
            self._name_steps()
        for action in self.times.menu().actions():
            action.setChecked(action.data() == clock.state.kind)
        self._show_state(clock.state)

    def _list_times(self) -> None:
        menu, clock = self.times.menu(), self.session.clock
        menu.clear()
        for kind in clock.kinds:
            name = time_name(kind, self._recording)
            action = menu.addAction(f"{name}: {about_time(kind, self._recording)}")
            action.setCheckable(True)
            action.setData(kind)
            action.triggered.connect(lambda _on=False, k=kind: clock.set_time(k))

    def _name_steps(self) -> None:
        step = step_words(self._recording)
        for button, way, key in ((self.step_back, "back", ","), (self.step, "on", ".")):
            button.setAccessibleName(f"One {step} {way}")
            tell(button, f"One {step} {way} ({key})")

    @property
    def _recording(self) -> Recording | None:
        return None if self._document is None else self._document.recording

    def _clock_changed(self, new: ClockState, old: ClockState) -> None:
        if (new.row, new.beyond) != (old.row, old.beyond):
            self.readout.set_row(new.row, new.beyond)
        if _without_row(new) != _without_row(old):
            self._show_state(new)

    def _show_state(self, state: ClockState) -> None:
        """Everything but the numbers; not needed for a move of the cursor."""
        clock, some = self.session.clock, state.rows > 0
        self.ticker.follow(state)
        self.readout.set_row(state.row, state.beyond)
        for button in self._glyphs:
            button.setEnabled(some)
        known = some and clock.has_marks("control")
        for button, way in ((self.previous, "back (Left)"), (self.next, "on (Right)")):
            button.setEnabled(known)
            reason = "" if known or not some else ": not known for this recording"
            tell(button, f"One control step {way}{reason}")
        self.play.set_sign("pause" if state.playing else "play")
        word = "Pause" if state.playing else "Play"
        self.play.setAccessibleName(word)
        tell(self.play, f"{word} (Space)")
        recording = self._recording
        self.times.setText(f"clock: {time_name(state.kind, recording)} ▾")
        about = about_time(state.kind, recording)
        tell(self.times, f"Which time to play over: {about}")
        self.times.setEnabled(len(clock.kinds) > 1)
        self.rate.setText(f"{rate_text(state.rate)} ▾")
        for rate, action in self._rates.items():
            action.setChecked(rate == state.rate)
        self.loop.setChecked(state.loop)
        low, high = state.span
        where = (
            "all steps"
            if (state.loop_in, state.loop_out) == (None, None)
            else f"{row_word(recording)} {_end(state.loop_in, 0)} to "
            f"{_end(state.loop_out, high)}"
        )
        tell(self.loop, f"Loop {where} (Ctrl+L)")
        self.loop.setText(
            f"loop {low}–{high}" if state.loop and where != "all steps" else "loop"
        )
        for words in (self.loop_in, self.loop, self.loop_out, self.rate):
            words.setEnabled(some)
        growing = self._document is not None and (
            self._document.phase in (Phase.OPENING, Phase.INDEXING, Phase.LIVE)
        )
        self.follow.setVisible(growing)
        self.follow.setChecked(state.follow)

    def settled(self) -> bool:
        """Whether the numbers are those at the cursor."""
        if not self.isVisible() or self.readout.visibleRegion().isEmpty():
            return True
        return self.readout.painted_row == self.session.clock.row

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        t = self.tokens
        dress(self, t)
        for button in self._glyphs:
            button.set_look(t)
        self.readout.set_look(t)

    def release(self) -> None:
        """Stop the timer too."""
        self.ticker.timer.stop()
        super().release()


def rate_text(rate: float) -> str:
    """``0.05×``, ``1×``."""
    return f"{rate:g}×"


def _end(row: int | None, otherwise: int) -> int:
    return otherwise if row is None else row


def _without_row(state: ClockState) -> tuple[object, ...]:
    return (
        state.rows,
        state.direction,
        state.rate,
        state.loop,
        state.loop_in,
        state.loop_out,
        state.follow,
        state.kind,
    )
