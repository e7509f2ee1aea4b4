"""Tab goes from one thing that can be seen to the next.

A panel behind another one's tab is visible to Qt, somewhere out of the window, so that
the focus would vanish into it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from isoscope.widgets.panel import Panel

NO_FOCUS = Qt.FocusPolicy.NoFocus


@contextmanager
def passing_behind(panels: Iterable[Panel]) -> Iterator[None]:
    """Let nothing take the focus, meanwhile, that is in a panel behind another one.

    Parameters
    ----------
    panels
        All panels; those in front are left as they are.
    """
    kept: list[tuple[QWidget, Qt.FocusPolicy]] = []
    for panel in panels:
        if panel.behind:
            inside: list[QWidget] = [panel, *panel.findChildren(QWidget)]
            kept += [(w, w.focusPolicy()) for w in inside if w.focusProxy() is None]
    try:
        for widget, _ in kept:
            widget.setFocusPolicy(NO_FOCUS)
        yield
    finally:
        for widget, policy in kept:
            widget.setFocusPolicy(policy)
