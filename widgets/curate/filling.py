"""Fills in what takes time to know of episodes: rewards and findings, in a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from isoscope.widgets.curate.episodes_model import FINDINGS, RETURN, SPARK
from isoscope.widgets.curate.series import key_of, reward_of, series_of

if TYPE_CHECKING:
    from isoscope.widgets.curate.background import Background
    from isoscope.widgets.curate.curation import Curation
    from isoscope.widgets.curate.episodes_model import EpisodesModel
    from isoscope.widgets.curate.series import Key, Series
    from isoscope.widgets.curate.table import EpisodesTable

AT_ONCE = 512  # episodes of one question: what is scrolled to doesn't wait long


class Filling(QObject):
    """Asks for the series of what is in view first, then of all the rest."""

    failed = Signal(str)

    def __init__(
        self, background: Background, model: EpisodesModel, table: EpisodesTable
    ) -> None:
        super().__init__(table)
        self._background, self._model, self._table = background, model, table
        self._curation: Curation | None = None
        self._asking: list[Key] = []
        self._broken = False
        self._known: tuple[Key, ...] = ()
        self._whole = False  # all that is listed is known
        self._from = 0  # what is listed before that is known
        table.scrolled.connect(self.look)

    def start(self, curation: Curation | None) -> None:
        """Begin anew with other episodes."""
        self._curation = curation
        self._model.series.clear()
        self._model.touching = None
        self._asking, self._broken, self._known = [], False, ()
        self._whole, self._from = False, 0
        self._model.has_reward = (
            curation is not None and reward_of(curation.episodes) is not None
        )

    def look_anew(self) -> None:
        """Other items are listed: ask for what is missing of them."""
        self._whole, self._from = False, 0
        self.look()

    def look(self) -> None:
        """Ask for what is missing, unless that is being done; where it is seen."""
        curation = self._curation
        if curation is None or self._broken or not self._table.isVisible():
            return
        self._look_touching()
        reward = reward_of(curation.episodes)
        if reward is None or self._asking or self._whole:
            return
        keys = self._missing()
        if not keys:
            self._whole = True
            return
        self._asking = keys
        episodes = curation.episodes

        def found(series: dict[Key, Series]) -> None:
            self._asking = []
            if curation is self._curation:
                first = not self._model.series
                self._model.series.update(series)
                if self._in_view(series):
                    self._model.refresh(RETURN)
                    self._model.refresh(SPARK)
                if first:
                    self._table.fit_columns()
                self.look()

        def failed(error: str) -> None:
            self._asking, self._broken = [], True
            self.failed.emit(error)

        self._background.ask(
            "series", lambda: series_of(episodes, reward, keys), found, failed
        )

    def _missing(self) -> list[Key]:
        """What is asked for next: what is in view, else the next ones."""
        items, known = self._model.items, self._model.series
        found = [key for key in self._view() if key not in known][:AT_ONCE]
        if found:
            return found
        for at in range(self._from, len(items)):
            key = key_of(items[at])
            if key in known:
                self._from += not found
                continue
            found.append(key)
            if len(found) == AT_ONCE:
                break
        return found

    def _view(self) -> list[Key]:
        items = self._model.items
        return [key_of(items[row]) for row in self._table.visible_rows()]

    def _in_view(self, series: dict[Key, Series]) -> bool:
        return any(key in series for key in self._view())

    def touch(self) -> None:
        """The findings are new."""
        self._known = ()
        self._look_touching()

    def _look_touching(self) -> None:
        curation = self._curation
        if curation is None or curation.touches is None:
            return
        items = curation.choice.items
        keys = tuple(key_of(item) for item in items)
        if keys == self._known:
            return
        self._known = keys
        touches = curation.touches

        def found(touching: list[list[int]]) -> None:
            if curation is self._curation:
                self._model.findings = list(touches.tainted.findings)
                self._model.touching = dict(zip(keys, touching, strict=True))
                self._model.refresh(FINDINGS)

        self._background.ask(
            "touches", lambda: touches.of(items), found, self.failed.emit
        )
