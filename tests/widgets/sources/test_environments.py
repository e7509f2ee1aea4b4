"""Scenes and environments in the Sources panel, with real clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from isoscope.core.isolation.sentence import what_it_is
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.timeline.lanes import timeline_of
from isoscope.widgets.clocks.facts import facts_at
from isoscope.widgets.scene.nothing import NO_POSITIONS, nothing_to_draw
from isoscope.widgets.session import Session
from isoscope.widgets.signals.defaults import default_plots, label_of
from isoscope.widgets.signals.resolve import resolve
from isoscope.widgets.sources.panel import SourcesPanel
from isoscope.widgets.sources.rows import Kind, actors_section, scene_section
from isoscope.widgets.sources.texts import env_text
from isoscope.widgets.sources.tree import ROW, below
from isoscope.widgets.transport.readout import Readout
from tests.widgets.opened import analysed_document, open_document
from tests.widgets.scene.grid.made import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from PySide6.QtGui import QStandardItem

    from isoscope.widgets.session import Document

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot) -> Iterator[SourcesPanel]:
    made = SourcesPanel(session)
    qtbot.addWidget(made)
    made.resize(260, 480)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.release()


@pytest.fixture
def missed(session: Session, recordings: Path) -> Document:
    document = analysed_document(recordings / "shared_cartpole_missed_restore.h5")
    session.add(document)
    return document


def plain_run(folder: Path, *, clipped: bool) -> Path:
    """Two environments' control steps, resets among them; their actions as chosen."""
    out = folder / "plain.isoscope.h5"
    groups = ("observation_after", "raw_action", "action")
    fields = [r.Field(name="value", shape=(), unit="", group=group) for group in groups]
    with Recorder(out, r.Identity()) as recorder:
        frame = recorder.frame(fields, "f4", over="transitions")
        for k in range(16):
            turn, env = divmod(k, 2)
            told = r.Transition(
                env=env,
                episode=1,
                control_step=turn,
                reward=1.0 if turn else np.nan,
                valid=int(turn > 0),
                wall_ns=(k + 1) * 10**9,
            )
            frame.put(0, float(k))
            if turn:
                frame.put(1, float(turn % 2))
                if clipped:
                    frame.put(2, float(turn % 2))
            recorder.transition(told, frame)
    return out


@pytest.fixture
def plain(tmp_path: Path) -> Document:
    return analysed_document(plain_run(tmp_path, clipped=False))


def scene(panel: SourcesPanel, document: Document) -> QStandardItem:
    top = panel.model.item_of(document)
    assert top is not None
    return next(c for c in below(top) if c.data(ROW).kind is Kind.SCENE)


def env_item(panel: SourcesPanel, document: Document, env: int) -> QStandardItem:
    return next(c for c in below(scene(panel, document)) if c.data(ROW).env == env)


def click(panel: SourcesPanel, what: QStandardItem, qtbot) -> None:
    box = panel.tree.visualRect(what.index())
    qtbot.mouseClick(panel.tree.viewport(), LEFT, pos=box.center())


def click_check(panel: SourcesPanel, what: QStandardItem, qtbot) -> None:
    option = QStyleOptionViewItem()
    panel.tree.initViewItemOption(option)
    panel.tree.rows.initStyleOption(option, what.index())
    option.rect = panel.tree.visualRect(what.index())
    box = panel.tree.style().subElementRect(
        QStyle.SubElement.SE_ItemViewItemCheckIndicator, option, panel.tree
    )
    qtbot.mouseClick(panel.tree.viewport(), LEFT, pos=box.center())
    qtbot.waitUntil(panel.settled)


def test_environments_stand_below_their_scene_with_their_findings(missed) -> None:
    section = scene_section(missed)
    assert (section.text, section.right) == ("Scene · shared", "2 env")
    one, two = section.children
    assert (one.text, one.badge) == ("env 0", ("error", 1))
    assert (two.text, two.badge) == ("env 1", ("", 0))
    assert "went on from env 1's state" in one.tip


def test_a_scene_each_is_no_shared_one(panel, session, tmp_path, qtbot) -> None:
    path = record(tmp_path / "own.isoscope.h5", envs=3, turns=6, shared=False)
    document = analysed_document(path)
    session.add(document)
    section = scene(panel, document)
    assert section.data(ROW).text == "Scenes · one each"
    assert "a scene of its own" in section.toolTip()
    click(panel, env_item(panel, document, 1), qtbot)
    assert document.focus == 1
    click(panel, section, qtbot)
    assert document.focus is None
    said = what_it_is(document.recording, document.analysis.attribution)
    assert said.startswith("3 environments, each in a scene of its own, ")
    lane = timeline_of(document.recording).lane("owner")
    assert lane is not None
    assert lane.label == "taken by"


def test_actors_of_several_scenes_stand_with_their_own_and_are_there_from_the_start(
    tmp_path,
) -> None:
    path = tmp_path / "own.isoscope.h5"
    with Recorder(path, r.Identity(environments=2)) as recorder:
        names = ("CartPole", "Articulated"), ("CartPole/Cart", "Rigid")
        for name, kind in names:
            for scene in (0, 1):
                recorder.actor(
                    r.ActorInfo(name=name, type=kind, scene=scene, created_row=scene)
                )
        crate = r.ActorInfo(name="Crate", type="Rigid", scene=1, created_row=3)
        recorder.actor(crate)
        for row in range(6):
            recorder.native(r.NativeStep(env=row % 2, scene=row % 2, h_s=0.02))
    document = open_document(path)
    section = actors_section(document)
    assert section is not None
    first, second, new = section.children
    assert [(c.text, c.actor) for c in first.children] == [("Cart", 2)]
    assert [(c.text, c.actor) for c in second.children] == [("Cart", 3)]
    assert (first.right, second.right, new.right) == (
        "scene 0",
        "scene 1",
        "from step 3",
    )
    assert second.children[0].right == ""
    lanes = [lane.label for lane in timeline_of(document.recording).lanes]
    assert "CartPole" not in lanes
    assert "Crate" in lanes


def test_environments_that_tell_of_no_scene_are_only_environments(plain, qtbot) -> None:
    section = scene_section(plain)
    assert (section.text, section.right) == ("Environments", "2 env")
    assert section.children[0].tip.startswith("env 0: 8 control steps")
    assert nothing_to_draw(plain) == NO_POSITIONS.format(who="These environments do")
    plots = default_plots(plain.recording)
    assert [resolve(plain.recording, ref).field for ref in plots] == [
        "observation after",
        "raw action",
        "reward",
    ]
    assert label_of(plain.recording, plots[1]) == "control step · raw action"
    readout = Readout()
    qtbot.addWidget(readout)
    readout.set_recording(plain.recording, plain.analysis)
    readout.set_row(3)
    assert readout.texts()[0] == ("row", "3")
    names = [fact.name for fact in facts_at(plain, 3)]
    assert names[0] == "row"
    assert "native step" not in names
    runs = [fact.value for fact in facts_at(plain, 3) if fact.name == "clocks run"]
    assert all(value.startswith("row ") for value in runs)
    assert runs


def test_of_an_action_that_is_told_both_ways_the_clipped_one_is_plotted(
    tmp_path,
) -> None:
    document = analysed_document(plain_run(tmp_path, clipped=True))
    fields = [ref.field for ref in default_plots(document.recording)]
    assert fields == ["observation_after/value", "action/value", "reward"]


def test_the_chip_says_where_each_is_at_the_cursor(missed, recordings) -> None:
    assert env_text(missed, 1, 0) == "not begun"
    assert env_text(missed, 0, 0) == "ep 1 · reset"
    assert env_text(missed, 0, 0, short=True) == "1/0"
    assert env_text(missed, 0, 33) == "ep 1 · 8"
    assert env_text(missed, 1, 33) == "ep 1 · 8"
    assert env_text(missed, 0, 39) == "ep 1 · 10"
    assert env_text(missed, 1, 42) == "ep 1 · 10"
    short = analysed_document(recordings / "shared_cartpole_short_episodes.h5")
    own = short.analysis.rows_of(0)
    last = int(own[np.diff(short.labels.episode[own]).nonzero()[0][0]])
    following = short.analysis.next_row(0, last)
    for row in range(last + 1, following):
        assert env_text(short, 0, row) == "ep 1 ended"
    free = analysed_document(recordings / "rigid_contacts_all.h5")
    assert env_text(free, 0, 5) == "one run"


def test_a_click_looks_at_an_environment_and_at_the_scene_again(
    panel, session, missed, qtbot
) -> None:
    click(panel, env_item(panel, missed, 1), qtbot)
    assert missed.focus == 1
    click(panel, scene(panel, missed), qtbot)
    assert missed.focus is None


def test_who_is_looked_at_elsewhere_is_chosen_here(panel, session, missed) -> None:
    session.focus(1)
    assert panel.tree.currentIndex() == env_item(panel, missed, 1).index()


def test_a_check_box_hides_an_environment(panel, session, missed, qtbot) -> None:
    click_check(panel, env_item(panel, missed, 1), qtbot)
    assert missed.hidden_envs == {1}
    click_check(panel, env_item(panel, missed, 1), qtbot)
    assert missed.hidden_envs == set()
    missed.set_hidden_envs({0})
    qtbot.waitUntil(panel.settled)
    state = env_item(panel, missed, 0).checkState()
    assert state is Qt.CheckState.Unchecked


def test_the_menu_shows_one_or_all(panel, session, missed) -> None:
    row = env_item(panel, missed, 1).data(ROW)
    actions = {a.text(): a for a in panel.menu_for(row, missed).actions()}
    actions["Show only this"].trigger()
    assert missed.hidden_envs == {0}
    actions["Show all"].trigger()
    assert missed.hidden_envs == set()
    actions["Look at env 1"].trigger()
    assert missed.focus == 1


def test_another_recording_is_offered_as_an_independent_twin(
    panel, session, missed, recordings, qtbot
) -> None:
    twin = open_document(recordings / "independent_cartpole_env0.h5")
    session.add(twin, activate=False)
    row = panel.model.item_of(twin).data(ROW)
    name = "Use as independent twin of shared_cartpole_missed_restore.h5"
    actions = {a.text(): a for a in panel.menu_for(row, twin).actions()}
    with qtbot.waitSignal(panel.twin_requested) as heard:
        actions[name].trigger()
    assert heard.args == [missed, twin]
    missed.twin = twin
    row = panel.model.item_of(missed).data(ROW)
    actions = {a.text(): a for a in panel.menu_for(row, missed).actions()}
    with qtbot.waitSignal(panel.twin_requested) as heard:
        actions["Compare with independent_cartpole_env0.h5 no more"].trigger()
    assert heard.args == [missed, None]


def test_the_chips_are_painted_where_they_changed(
    panel, session, missed, qtbot
) -> None:
    qtbot.waitUntil(panel.settled)
    session.clock.seek(2)
    before = panel.tree.viewport().grab().toImage()
    session.clock.seek(33)
    qtbot.wait(30)
    after = panel.tree.viewport().grab().toImage()
    assert before != after
    box = panel.tree.visualRect(env_item(panel, missed, 0).index())
    colours = {
        after.pixelColor(x, box.center().y() + 1).name()
        for x in range(box.left(), box.left() + 60)
    }
    assert panel.tokens.environment(0) in colours


def test_the_analysis_brings_them(panel, session, recordings, qtbot) -> None:
    plain = open_document(recordings / "shared_cartpole_2env.h5")
    session.add(plain)
    kinds = [row.data(ROW).kind for row in below(panel.model.item_of(plain))]
    assert kinds == [Kind.SECTION]
    found = analysed_document(recordings / "shared_cartpole_2env.h5").analysis
    plain.set_analysis(found)
    assert len(below(scene(panel, plain))) == 2


def test_steps_of_nobody_are_counted(recordings) -> None:
    document = analysed_document(recordings / "shared_cartpole_2env.h5")
    document.analysis.labels.env[:7] = -1
    last = scene_section(document).children[-1]
    assert last.text == "7 steps unknown"
    document = analysed_document(recordings / "shared_cartpole_2env.h5")
    document.analysis.labels.env[:1] = -1
    assert scene_section(document).children[-1].text == "1 step unknown"
