"""What every panel is: a widget over the session that can say when it is painted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from isoscope.widgets.theme import Tokens, tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from psygnal import SignalInstance

    from isoscope.widgets.session import Session


class Panel(QWidget):
    """Base of the panels; the window puts each into a dock.

    A panel observes the session by :meth:`observe`, draws in `paintEvent` or a child
    that does, and answers :meth:`settled`. Work over 50 ms belongs to a worker.
    """

    key: ClassVar[str] = ""
    title: ClassVar[str] = ""
    subtitle_letters: ClassVar[int] = 0  # of it that go before the title bar's tools
    subtitle_changed = Signal(str)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.subtitle = ""
        self.behind = False  # another panel's tab is in front of it
        self._observed: list[tuple[SignalInstance, Callable[..., Any]]] = []
        self.observe(session.theme_changed, self._theme_changed)

    @property
    def tokens(self) -> Tokens:
        """The colours to draw with."""
        return tokens(self.session.theme)

    def set_subtitle(self, text: str) -> None:
        """Say in the title bar, dim, what is shown: ``"env 0"``, ``"min/max 1:4"``."""
        if text != self.subtitle:
            self.subtitle = text
            self.subtitle_changed.emit(text)

    def title_tools(self) -> list[QWidget]:
        """Widgets for the right end of the panel's title bar, from left to right.

        Asked once, after construction. Small flat buttons and labels; a QToolButton
        with the property ``flat`` gets the title bar's look.
        """
        return []

    def observe(self, signal: SignalInstance, slot: Callable[..., Any]) -> None:
        """Connect until `release`, so that no signal reaches a dead widget."""
        signal.connect(slot)
        self._observed.append((signal, slot))

    def unobserve(self, signal: SignalInstance, slot: Callable[..., Any]) -> None:
        """Disconnect what `observe` connected; nothing if it wasn't."""
        if (signal, slot) in self._observed:
            self._observed.remove((signal, slot))
            signal.disconnect(slot, missing_ok=True)

    def release(self) -> None:
        """Disconnect from everything; the window calls it before it closes."""
        for signal, slot in self._observed:
            signal.disconnect(slot, missing_ok=True)
        self._observed.clear()

    def set_behind(self, behind: bool) -> None:
        """Say whether another panel lies over it; Qt calls it visible all the same."""
        if behind != self.behind:
            self.behind = behind
            if not behind:
                self.came_to_front()

    def came_to_front(self) -> None:
        """Catch up with what happened while it was behind another one."""

    def settled(self) -> bool:
        """Whether nothing is still to be computed or drawn for the present state."""
        return True

    def apply_theme(self) -> None:
        """Take the colours of `tokens`; called when the theme changes."""
        self.update()

    def _theme_changed(self, _name: str) -> None:
        self.apply_theme()
