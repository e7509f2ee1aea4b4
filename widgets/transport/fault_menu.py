"""The menu of faults that a run takes, by what they show, and whom they hit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.widgets.document import Document
    from isoscope.widgets.live_state import FaultChoice

MOST_ENVS = 64


class FaultMenu(QMenu):
    """Lists faults; the environment that is hit is chosen above them.

    Attributes
    ----------
    target
        The environment that is hit.
    """

    chosen = Signal(str, int)  # the fault's name, the environment

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setToolTipsVisible(True)
        self.target = 0
        self.by_name: dict[str, QAction] = {}
        self.envs = QMenu(self)
        self._group = QActionGroup(self)
        self._shown: tuple[object, ...] = ()
        self._focus: int | None = None

    def show_choices(
        self, faults: Sequence[FaultChoice], document: Document | None
    ) -> None:
        """List these faults, and the environments of the document."""
        analysis = None if document is None else document.analysis
        envs = () if analysis is None else analysis.environments[:MOST_ENVS]
        focus = None if document is None else document.focus
        if focus is not None and focus != self._focus and focus in envs:
            self.target = focus  # whoever looks at one means that one
        self._focus = focus
        if envs and self.target not in envs:
            self.target = envs[0]
        shown = (tuple(faults), envs, self.target)
        if shown == self._shown:
            return
        listed = self._shown[:1] == shown[:1]
        self._shown = shown
        if not listed:
            self._list(faults)
        self._list_envs(envs)

    def _list(self, faults: Sequence[FaultChoice]) -> None:
        self.clear()
        self.by_name = {}
        self.addMenu(self.envs)
        found: dict[str, list[FaultChoice]] = {}
        for fault in faults:
            found.setdefault(fault.finds[0] if fault.finds else "", []).append(fault)
        for kind, own in found.items():
            self.addSection(f"shows as {kind}" if kind else "others")
            for fault in own:
                words = fault.name.replace("-", " ")
                action = self.addAction(words[:1].upper() + words[1:])
                about = fault.about[:1].upper() + fault.about[1:]
                action.setToolTip(about)
                action.setStatusTip(about)
                action.triggered.connect(
                    lambda _=False, name=fault.name: self.chosen.emit(name, self.target)
                )
                self.by_name[fault.name] = action

    def _list_envs(self, envs: Sequence[int]) -> None:
        self.envs.clear()
        self.envs.setTitle(f"In environment {self.target}")
        for env in envs:
            action = self.envs.addAction(f"environment {env}")
            action.setCheckable(True)
            action.setChecked(env == self.target)
            action.triggered.connect(lambda _=False, env=env: self._aim(env))
            self._group.addAction(action)

    def _aim(self, env: int) -> None:
        self.target = env
        self.envs.setTitle(f"In environment {env}")
        self._shown = (*self._shown[:2], env)
