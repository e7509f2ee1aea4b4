"""From the table of actions to Qt's: one QAction a row, with its keys bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence

from isoscope.widgets.keys import ACTIONS, BY_ID, Action
from isoscope.widgets.keys_page import key_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtWidgets import QWidget


class Actions:
    """The actions that work everywhere in the window, by their id.

    Parameters
    ----------
    owner
        The window; keys act wherever in it the focus is. A text box takes plain keys
        for itself, since Qt asks it first.
    handlers
        What each action does.

    Raises
    ------
    LookupError
        If the table and the handlers don't name the same actions.
    """

    def __init__(
        self, owner: QWidget, handlers: Mapping[str, Callable[[], object]]
    ) -> None:
        rows = [row for row in ACTIONS if bound(row)]
        wrong = {row.id for row in rows} ^ set(handlers)
        if wrong:
            raise LookupError(f"actions without a row or handler: {sorted(wrong)}")
        context = Qt.ShortcutContext.WindowShortcut
        self._actions = {
            row.id: self._make(owner, row, handlers[row.id], context) for row in rows
        }

    def bind(
        self, panel: QWidget, handlers: Mapping[str, Callable[[], object]]
    ) -> None:
        """Add actions whose keys act while this panel has the focus."""
        context = Qt.ShortcutContext.WidgetWithChildrenShortcut
        for id, handler in handlers.items():
            self._actions[id] = self._make(panel, BY_ID[id], handler, context)

    def __contains__(self, id: str) -> bool:
        """Whether there is an action of this id."""
        return id in self._actions

    def _make(
        self,
        owner: QWidget,
        row: Action,
        handler: Callable[[], object],
        context: Qt.ShortcutContext,
    ) -> QAction:
        action = QAction(row.text, owner)
        action.setShortcuts([QKeySequence(key) for key in row.keys])
        action.setShortcutContext(context)
        action.setAutoRepeat(row.repeats)
        action.setCheckable(row.kind == "check")
        keys = f" ({key_text(row.keys[0])})" if row.keys else ""
        action.setToolTip(row.about + keys)
        action.triggered.connect(lambda _checked=False: handler())
        owner.addAction(action)
        return action

    def __getitem__(self, id: str) -> QAction:
        """The QAction of this id."""
        return self._actions[id]

    def check(self, id: str, on: bool) -> None:
        """Show an action as on or off, without doing it."""
        self._actions[id].setChecked(on)

    def enable(self, ids: tuple[str, ...], on: bool) -> None:
        """Let actions be chosen, or not."""
        for id in ids:
            self._actions[id].setEnabled(on)


def bound(row: Action) -> bool:
    """Whether the window itself does this; the rest belongs to panels and menus."""
    return row.scope == "everywhere" and row.kind in ("action", "check")
