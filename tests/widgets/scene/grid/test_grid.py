"""What the grid shows, without a window: cells, rows, chips, places, copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.isolation.findings import Finding
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.registry import open_source
from isoscope.widgets.scene.grid.arrange import GAP, arranged
from isoscope.widgets.scene.grid.cells import MOST_CELLS, Chip
from isoscope.widgets.scene.grid.mode import GridMode
from isoscope.widgets.scene.grid.owners import OwnRows
from isoscope.widgets.scene.model import SceneModel
from isoscope.widgets.session import Document
from isoscope.widgets.theme import DARK
from tests.widgets.opened import analysed_document, open_document
from tests.widgets.scene.grid.made import Batch, record

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.widgets.scene.grid.picture import GridPicture


class Shown:
    """A document's grid at a cursor."""

    def __init__(self, document: Document) -> None:
        self.document, self.mode, self.model = document, GridMode(), SceneModel()
        self.model.follow(document.recording)

    def at(self, cursor: int) -> GridPicture:
        complete = False
        while not complete:
            picture, self.caption, complete = self.mode.follow(
                self.document, self.model, cursor, DARK
            )
        self.picture = picture
        return picture

    def place(self, cell: int) -> np.ndarray:
        """Where the cube is that is drawn in a cell; NaN where none is."""
        told = self.picture.cells[cell]
        (actor,) = range(len(self.model.shapes)) if told.only is None else told.only
        at = told.first + actor
        if self.picture.colours[at, 3] == 0:
            return np.full(3, np.nan)
        return self.picture.transforms[at, :, 3]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("analysed", [True, False])
def test_each_cell_shows_its_own_last_state(
    tmp_path: Path, shared: bool, analysed: bool
) -> None:
    path = record(tmp_path / "run.isoscope.h5", 5, 4, shared=shared)
    opened = analysed_document(path) if analysed else open_document(path)
    shown = Shown(opened)
    shown.at(12)  # turn 3, of which environments 0, 1, 2 have had theirs
    assert [cell.env for cell in shown.mode.cells] == [0, 1, 2, 3, 4]
    assert [cell.row for cell in shown.mode.cells] == [10, 11, 12, 8, 9]
    for env in range(5):
        step = 3 if env < 3 else 2
        assert shown.place(env) == pytest.approx([env / 10, step / 10, 0], abs=1e-6)
        assert shown.mode.cells[env].control_step == step


def test_before_its_first_step_nothing_is_drawn(tmp_path: Path) -> None:
    for shared in (True, False):
        path = record(tmp_path / f"{shared}.isoscope.h5", 4, 2, shared=shared)
        shown = Shown(open_document(path))
        picture = shown.at(1)
        assert [c.row for c in shown.mode.cells] == [0, 1, -1, -1]
        assert shown.mode.cells[3].detail == "no step yet"
        assert picture.cells[3].only == ()


def test_scenes_of_their_own_share_one_copy_of_the_actors(tmp_path: Path) -> None:
    apart = Shown(open_document(record(tmp_path / "a.isoscope.h5", 6, 2, shared=False)))
    assert len(apart.at(11).transforms) == 6
    assert [cell.only for cell in apart.picture.cells] == [(e,) for e in range(6)]
    together = Shown(
        open_document(record(tmp_path / "t.isoscope.h5", 6, 2, shared=True))
    )
    assert len(together.at(11).transforms) == 6
    assert [cell.first for cell in together.picture.cells] == list(range(6))


def test_ends_and_findings_are_chips(tmp_path: Path) -> None:
    path = record(tmp_path / "run.isoscope.h5", 3, 4, shared=True, lasts=4)
    document = analysed_document(path)
    assert document.analysis is not None
    wrong = Finding(
        id="missed-restore",
        severity="error",
        message="",
        remedy="",
        env=2,
        native=(8, 8),
        tainted=((8, 11),),
    )
    document.analysis.audit.findings[:] = [wrong]
    shown = Shown(document)
    shown.at(11)
    terminated = Chip("terminated", "text", "term.")
    truncated = Chip("truncated", "warning", "cut")
    assert shown.mode.cells[0].chips == (terminated,)
    assert shown.mode.cells[1].chips == (terminated, truncated)
    assert shown.mode.cells[2].chips == (Chip("▲ missed-restore", "error"), terminated)
    shown.at(8)
    assert shown.mode.cells[0].chips == ()
    assert shown.mode.cells[2].chips == (Chip("▲ missed-restore", "error"),)
    shown.at(5)
    assert shown.mode.cells[2].chips == ()
    assert "missed-restore" not in shown.mode.about(2)


def test_more_than_64_come_in_pages_by_who_is_looked_at(tmp_path: Path) -> None:
    document = open_document(record(tmp_path / "r.isoscope.h5", 70, 1, shared=True))
    shown = Shown(document)
    shown.at(69)
    assert len(shown.mode.cells) == MOST_CELLS
    assert shown.caption.title == "environments 1 to 64 of 70"
    document.focus = 66
    shown.at(69)
    assert [c.env for c in shown.mode.cells] == [64, 65, 66, 67, 68, 69]
    assert [c.chosen for c in shown.mode.cells].index(True) == 2
    document.set_hidden_envs(set(range(60)))
    shown.at(69)
    assert [c.env for c in shown.mode.cells] == list(range(60, 70))


def test_a_native_recording_without_labels_has_one_cell(recordings: Path) -> None:
    document = open_document(recordings / "shared_cartpole_2env.h5")
    shown = Shown(document)
    shown.at(20)
    assert [c.env for c in shown.mode.cells] == [-1]
    document = analysed_document(recordings / "shared_cartpole_2env.h5")
    shown = Shown(document)
    shown.at(20)
    assert [c.env for c in shown.mode.cells] == [0, 1]
    rows = [c.row for c in shown.mode.cells]
    assert [document.analysis.owner(row) for row in rows] == [0, 1]


def test_it_grows_with_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "live.isoscope.h5"
    with Recorder(path, r.Identity()) as recorder:
        batch = Batch(recorder, 3, shared=False)
        batch.step(0)
        recorder.flush()
        source = open_source(path)
        source.index()
        shown = Shown(Document(source))
        shown.at(0)
        assert [c.env for c in shown.mode.cells] == [0]
        for _ in range(3):
            batch.turn()
        recorder.flush()
        source.refresh()
        shown.model.follow(source.recording)
        shown.at(len(source.recording) - 1)
        assert [c.control_step for c in shown.mode.cells] == [4, 3, 3]
        assert shown.place(2) == pytest.approx([0.2, 0.3, 0], abs=1e-6)
        source.close()


def test_too_little_time_resolves_some_and_the_rest_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isoscope.widgets.scene.grid.mode.BUDGET_S", -1.0)
    document = open_document(record(tmp_path / "r.isoscope.h5", 4, 2, shared=True))
    shown = Shown(document)
    done = [shown.mode.follow(document, shown.model, 7, DARK)[2] for _ in range(4)]
    assert done == [False, False, False, True]  # one a turn


@given(
    count=st.integers(1, 64),
    width=st.floats(60, 4000),
    height=st.floats(60, 3000),
    top=st.floats(0, 50),
)
def test_every_cell_is_under_its_own_place_and_inside(count, width, height, top):
    where = arranged(count, width, height, top)
    assert where.columns * where.lines >= count
    assert where.columns * (where.lines - 1) < count
    for cell in range(count):
        box = where.box(cell)
        assert where.at(box.x + box.width / 2, box.y + box.height / 2) == cell
        assert box.x >= 0
        assert box.y >= top
        assert box.x + box.width <= width + GAP
        assert box.y + box.height <= height + GAP
    assert where.at(-1, top + 1) is None
    assert where.at(1, top - 1) is None


def test_own_rows_are_found_whatever_the_blocks(tmp_path: Path) -> None:
    document = open_document(record(tmp_path / "r.isoscope.h5", 3, 5, shared=True))
    recording = document.recording
    own = OwnRows()
    own.follow(recording)
    env = np.asarray(recording.labels.env)
    for one in range(3):
        for row in range(15):
            before = np.flatnonzero(env[: row + 1] == one)
            expected = int(before[-1]) if len(before) else -1
            assert own.last_row(one, row) == expected
