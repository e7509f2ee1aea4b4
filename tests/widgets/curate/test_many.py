"""Ten thousand episodes in the Curate panel cost what is seen of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt

from isoscope.core.dataset.memory import MemoryEpisodes
from isoscope.core.dataset.model import Episode
from isoscope.widgets.curate.episodes_model import EpisodesModel
from isoscope.widgets.curate.panel import CuratePanel
from isoscope.widgets.session import Session
from tests.core.dataset.made import FEATURES
from tests.widgets.curate.chosen import document_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.tracks import Array

COUNT = 10_000
REWARD = next(f for f in FEATURES if f.role == "reward")


class Counted(MemoryEpisodes):
    """Episodes that note what is read of them."""

    reads: list[int]

    def read(
        self, episode: int, feature: str, start: int = 0, stop: int | None = None
    ) -> Array:
        """Note it."""
        self.reads.append(episode)
        return super().read(episode, feature, start, stop)


@pytest.fixture(scope="module")
def many() -> Counted:
    rewards = np.arange(3.0)
    episodes = [
        Episode(k, f"e{k}", 3, env=0, number=k + 1, terminated=True)
        for k in range(COUNT)
    ]
    made = Counted(
        "many", (REWARD,), episodes, [{"reward": rewards + k} for k in range(COUNT)], 50
    )
    made.reads = []
    return made


@pytest.fixture
def panel(many: Counted, qtbot) -> Iterator[CuratePanel]:
    session = Session()
    made_panel = CuratePanel(session)
    qtbot.addWidget(made_panel)
    made_panel.resize(900, 500)
    with qtbot.waitExposed(made_panel):
        made_panel.show()
    many.reads.clear()
    session.add(document_of(many))
    yield made_panel
    made_panel.release()


def test_each_is_read_once_those_in_view_first(
    panel: CuratePanel, many: Counted, qtbot
) -> None:
    seen = len(panel.table.visible_rows())
    assert 5 < seen < 100
    panel.table.verticalScrollBar().setValue(panel.table.verticalScrollBar().maximum())
    qtbot.waitUntil(panel.settled, timeout=60_000)
    assert sorted(many.reads) == list(range(COUNT))
    assert many.reads[:seen] == list(range(seen))
    # The end was scrolled to before all that lies between had its turn.
    assert many.reads.index(COUNT - 1) < COUNT // 2


def test_only_rows_in_view_are_painted(
    panel: CuratePanel, qtbot, monkeypatch: pytest.MonkeyPatch
) -> None:
    qtbot.waitUntil(panel.settled, timeout=60_000)
    painted: list[int] = []
    text = EpisodesModel.text

    def noted(self: EpisodesModel, row: int, column: int) -> str:
        painted.append(row)
        return text(self, row, column)

    monkeypatch.setattr(EpisodesModel, "text", noted)
    panel.table.verticalScrollBar().setValue(50_000)
    panel.table.viewport().repaint()
    view = panel.table.visible_rows()
    assert painted
    assert set(painted) <= set(range(view.start - 1, view.stop + 1))


def test_all_of_them_are_chosen_filtered_and_judged_at_once(
    panel: CuratePanel, qtbot
) -> None:
    qtbot.waitUntil(panel.settled, timeout=60_000)
    told: list[int] = []
    qtbot.keyClick(panel.table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert len(panel.table.chosen()) == COUNT
    model = panel.table.selectionModel()
    model.selectionChanged.connect(lambda *_: told.append(1))
    qtbot.keyClicks(panel.filter.line, "index >= 5000")
    qtbot.waitUntil(panel.settled, timeout=60_000)
    assert len(panel.model.items) == COUNT // 2
    chosen = panel.table.chosen()
    assert [item.source for item in chosen] == list(range(COUNT // 2, COUNT))
    assert len(told) < 20  # not once for each row
    panel.commands["reject"]()
    assert "5,000 of 10,000 episodes" in panel.totals.said.text()
    panel.undo()
    assert "10,000 of 10,000 episodes" in panel.totals.said.text()
