"""One line an environment, and the plot that proves a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.stretches import Stretch
from isoscope.widgets.session import FieldRef, Session
from isoscope.widgets.signals.by_env import MOST_ENVS, apart, chosen_envs, split
from isoscope.widgets.signals.notes import NO_NOTES, notes_of
from isoscope.widgets.signals.panel import SignalsPanel
from isoscope.widgets.signals.proof import proof_plots
from isoscope.widgets.signals.resolve import resolve
from isoscope.widgets.stretch import needs_zoom, stretch_of
from isoscope.widgets.theme import DARK
from tests.widgets.opened import analysed_document, open_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.widgets.session import Document

LEFT = Qt.MouseButton.LeftButton
MISSED, GRAVITY = "shared_cartpole_missed_restore", "shared_cartpole_leak_gravity"


@pytest.fixture
def missed(recordings: Path) -> Document:
    return analysed_document(recordings / f"{MISSED}.h5")


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot) -> Iterator[SignalsPanel]:
    made = SignalsPanel(session)
    qtbot.addWidget(made)
    made.resize(460, 360)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.release()


def test_each_environment_has_its_own_values_and_no_others(missed: Document) -> None:
    recording, analysis = missed.recording, missed.analysis
    base = resolve(recording, FieldRef(0, "pose", 1))
    made = split(base, analysis, (0, 1), None)
    assert [curve.name for curve in made.curves] == ["env 0", "env 1"]
    assert (base.field, made.field) == ("pose", "pose 1")
    values = recording.actors[0].fields.tracks["pose"].values[:, 1]
    for env, curve in enumerate(made.curves):
        line = curve.decimator.window(0, 126, 4000)
        assert np.array_equal(line.rows, analysis.rows_of(env))
        assert np.array_equal(line.values, values[line.rows].astype(float))


def test_a_value_holds_while_others_step(missed: Document) -> None:
    base = resolve(missed.recording, FieldRef(0, "pose", 1))
    one, two = split(base, missed.analysis, (0, 1), None).curves
    assert one.rows.at(33) == base.curves[0].rows.at(31)
    assert two.rows.at(33) == base.curves[0].rows.at(33)
    assert two.rows.at(0) is None  # it hasn't begun: absent, never zero


def test_a_line_breaks_where_another_s_state_was_taken(missed: Document) -> None:
    base = resolve(missed.recording, FieldRef(0, "pose", 1))
    (curve,) = split(base, missed.analysis, (0,), 0).curves
    line = curve.decimator.window(0, 126, 4000)
    ends = line.rows[~line.joined].tolist()
    assert ends == [31, 39, 122, 123]


def test_what_is_the_scene_s_own_is_not_split(recordings: Path) -> None:
    document = analysed_document(recordings / f"{GRAVITY}.h5")
    base = resolve(document.recording, FieldRef(None, "gravity", 1))
    assert split(base, document.analysis, (0, 1), None) is base


def test_components_of_one_colour_are_told_apart(missed: Document) -> None:
    base = resolve(missed.recording, FieldRef(0, "pose"))
    made = split(base, missed.analysis, (0, 1), 0)
    assert [c.name for c in made.curves] == ["1 0", "1 1", "0 0", "0 1"]
    colours = [c.colour_in(DARK) for c in made.curves]
    assert len(set(colours)) == 4
    assert made.curves[2].colour_in(DARK) == DARK.environment(0)


def test_too_many_environments_are_not_all_drawn() -> None:
    assert chosen_envs(tuple(range(64)), None) == tuple(range(MOST_ENVS))
    assert chosen_envs(tuple(range(64)), 40) == (40,)
    assert chosen_envs((0, 1, 2), 1) == (0, 2, 1)
    assert chosen_envs((0, 2), 1) == (0, 2, 1)


def test_few_components_get_plots_of_their_own(missed: Document) -> None:
    refs = [FieldRef(0, "pose"), FieldRef(0, "vcom"), FieldRef(0, "pose", 1)]
    assert apart(missed.recording, refs) == [
        FieldRef(0, "pose", 0),
        FieldRef(0, "pose", 1),
        FieldRef(0, "vcom"),  # of six numbers
        FieldRef(0, "pose", 1),
    ]


def test_the_analysis_splits_the_plots_that_nobody_chose(
    panel: SignalsPanel, session: Session, recordings: Path, qtbot
) -> None:
    document = open_document(recordings / f"{MISSED}.h5")
    session.add(document)
    qtbot.waitUntil(panel.settled)
    assert document.plots == [FieldRef(0, "pose")]
    assert panel.env_tool.isHidden()
    document.set_analysis(analysed_document(recordings / f"{MISSED}.h5").analysis)
    qtbot.waitUntil(panel.settled)
    assert document.plots == [FieldRef(0, "pose", 0), FieldRef(0, "pose", 1)]
    assert [c.name for c in panel.specs[0].curves] == ["env 0", "env 1"]
    assert panel.subtitle == "by environment"


def test_plots_that_the_user_chose_stay(
    panel: SignalsPanel, session: Session, recordings: Path, qtbot
) -> None:
    document = open_document(recordings / f"{MISSED}.h5")
    session.add(document)
    document.set_plots([FieldRef(0, "vcom", 3)])
    document.set_analysis(analysed_document(recordings / f"{MISSED}.h5").analysis)
    qtbot.waitUntil(panel.settled)
    assert document.plots == [FieldRef(0, "vcom", 3)]
    assert len(panel.specs[0].curves) == 2


def test_the_tool_draws_one_line_through_all_again(
    panel: SignalsPanel, session: Session, missed: Document, qtbot
) -> None:
    session.add(missed)
    qtbot.waitUntil(panel.settled)
    assert len(panel.specs[0].curves) == 2
    panel.env_tool.setParent(panel)
    panel.env_tool.show()
    qtbot.mouseClick(panel.env_tool, LEFT)
    qtbot.waitUntil(panel.settled)
    assert len(panel.specs[0].curves) == 1
    assert panel.subtitle == ""


def test_hidden_environments_have_no_line_and_the_others_are_pale(
    panel: SignalsPanel, session: Session, missed: Document, qtbot
) -> None:
    session.add(missed)
    session.focus(0)
    qtbot.waitUntil(panel.settled)
    curves = panel.specs[0].curves
    assert [(c.name, c.pale) for c in curves] == [("env 1", True), ("env 0", False)]
    assert panel.subtitle == "env 0"
    missed.set_hidden_envs({1})
    qtbot.waitUntil(panel.settled)
    assert [c.name for c in panel.specs[0].curves] == ["env 0"]


def test_a_changed_gravity_is_plotted_while_it_is_looked_at(
    panel: SignalsPanel, session: Session, recordings: Path, qtbot
) -> None:
    document = analysed_document(recordings / f"{GRAVITY}.h5")
    session.add(document)
    before = list(document.plots)
    session.show_finding(0)
    qtbot.waitUntil(panel.settled)
    assert panel.specs[0].ref == FieldRef(None, "gravity", 1)
    assert document.plots == before
    session.show_finding(None)
    qtbot.waitUntil(panel.settled)
    assert panel.specs[0].ref != FieldRef(None, "gravity", 1)


def test_the_plot_that_proves_is_the_worst_component(missed: Document) -> None:
    def found(**more: object) -> Finding:
        texts = {"headline": "", "message": "", "remedy": ""}
        return Finding(id="x", severity="error", **texts, **more)

    recording = missed.recording
    far = found(field="CartPole.pose", value=[1.0, 5.0], expected=[1.0, 2.0])
    assert proof_plots(recording, far) == [FieldRef(0, "pose", 1)]
    equal = found(field="CartPole.pose", value=[1.0, 2.0], expected=[1.0, 2.0])
    assert proof_plots(recording, equal) == [FieldRef(0, "pose", None)]
    assert proof_plots(recording, found(field="CartPole.pose", value="nan")) == [
        FieldRef(0, "pose", None)
    ]
    assert proof_plots(recording, found(field="Nobody.pose")) == []
    assert proof_plots(recording, found()) == []
    assert proof_plots(recording, None) == []


def test_notes_are_of_the_finding_that_is_looked_at(recordings: Path) -> None:
    document = analysed_document(recordings / "restore_twice.h5")
    assert notes_of(document).lines == ((15, "note", "rewind"), (30, "note", "rewind"))
    document.finding = 1
    assert notes_of(document).lines == ((30, "note", "rewind"),)
    assert notes_of(None) == NO_NOTES


def test_a_stretch_has_room_around_and_is_never_endless() -> None:
    def found(native) -> Finding:
        texts = {"headline": "", "message": "", "remedy": ""}
        return Finding(id="x", severity="error", native=native, **texts)

    class View:
        def __init__(self, low: float, high: float) -> None:
            self.low, self.high = low, high

    assert stretch_of(found((34, 34)), 126, (Stretch(34, 39, 0),)) == (10, 63)
    assert stretch_of(found((0, 0)), 10) == (-0.5, 9.5)
    low, high = stretch_of(found((100, 90_000)), 100_000)
    assert (low, high) == (-0.5 if 100 - 140 < 0 else 100 - 140, 640)
    assert stretch_of(found(None), 10) is None
    assert not needs_zoom((10, 63), View(-0.5, 125.5), 400)
    assert needs_zoom((10, 63), View(50, 125.5), 400)
    assert needs_zoom((10, 63), View(-0.5, 99_999.5), 400)
