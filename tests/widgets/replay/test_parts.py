"""The claims bar, the request and its command, and the plot's mouse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from isoscope.core.replay.forms import Claim, Claims
from isoscope.core.replay.states import Trace
from isoscope.widgets.replay.claims import ClaimsBar
from isoscope.widgets.replay.form import ReplayForm
from isoscope.widgets.replay.plot import DifferencePlot
from isoscope.widgets.replay.request import ModelChoice, Request, command
from isoscope.widgets.replay.sentence import Sentence
from isoscope.widgets.replay.state import ReplayState
from isoscope.widgets.theme import DARK, LIGHT

LEFT = Qt.MouseButton.LeftButton


def claims(*answers: str) -> Claims:
    made = [Claim(answer=a, reason=f"because {a}") for a in answers]  # type: ignore[arg-type]  # one of three
    return Claims(
        same_configuration=made[0], within_tolerance=made[1], bit_for_bit=made[2]
    )


@pytest.fixture
def plot(qtbot) -> DifferencePlot:
    made = DifferencePlot()
    qtbot.addWidget(made)
    made.resize(500, 200)
    rows = np.arange(0, 400, 4)
    size = np.where(rows < 200, 0.0, (rows - 199.0) * 1e-5)
    limit = np.full(len(rows), 1e-3)
    made.show_traces(
        [
            Trace("Pole", "omega", "rad/s", env, rows + env, size, limit)
            for env in (0, 1)
        ],
        200,
    )
    made.show()
    qtbot.waitExposed(made)
    return made


def test_claims_are_told_in_words_and_signs(qtbot) -> None:
    bar = ClaimsBar()
    qtbot.addWidget(bar)
    bar.show_claims(claims("yes", "not_checkable", "no"))
    assert [line[:2] for line in bar.lines] == [
        ("same configuration", "yes"),
        ("within tolerance", "not checkable"),
        ("bit for bit", "no"),
    ]
    assert "within tolerance: not checkable" in bar.accessibleName()
    assert "because not_checkable" in bar.toolTip()
    bar.resize(400, bar.sizeHint().height())
    bar.show()
    pictures = []
    for theme in (DARK, LIGHT):
        bar.set_look(theme)
        pictures.append(bar.grab().toImage())
    # Each answer has a sign of its own: without any colour they still differ.
    grey = [image.convertToFormat(image.Format.Format_Grayscale8) for image in pictures]
    high = grey[0].height() // 3
    signs = [grey[0].copy(12, n * high, 16, high - 4) for n in range(3)]
    assert signs[0] != signs[1] != signs[2] != signs[0]
    bar.show_claims(None)
    assert not bar.isVisible()


def test_a_click_seeks_to_what_was_compared(plot: DifferencePlot, qtbot) -> None:
    for row in (100, 201, 320):
        place = QPoint(round(plot.x_of(row)), 60)
        with qtbot.waitSignal(plot.row_wanted) as told:
            QTest.mouseClick(plot, LEFT, pos=place)
        assert abs(told.args[0] - row) <= 3


def test_the_wheel_zooms_at_the_pointer_and_a_double_click_fits(
    plot: DifferencePlot,
) -> None:
    whole = plot.span
    at = QPointF(plot.x_of(300), 60)
    before = plot.row_at(at.x())
    for _ in range(4):
        event = QWheelEvent(
            at,
            plot.mapToGlobal(at),
            QPoint(),
            QPoint(0, 120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(plot, event)
    low, high = plot.span
    assert high - low < 0.5 * (whole[1] - whole[0])
    assert plot.row_at(at.x()) == pytest.approx(before)
    QTest.mouseDClick(plot, LEFT, pos=QPoint(200, 60))
    assert plot.span == whole


def test_it_is_drawn_with_its_band_mark_and_cursor(plot: DifferencePlot) -> None:
    plain = plot.grab().toImage()
    plot.set_cursor(300)
    assert plot.grab().toImage() != plain
    assert plot.value_at(300, 0) == pytest.approx(101e-5)
    assert plot.value_at(300, 1) is None, "env 1 was not compared in that step"
    plot.set_log(True)
    assert plot.log
    decades = plot.grab().toImage()
    plot.set_log(False)
    assert plot.grab().toImage() != decades
    plot.show_traces([], None)
    plot.grab()


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(), "isoscope replay r.isoscope.h5"),
        (
            Request("alone", 2, 17, 5, {"omega": 1e-3}),
            "isoscope replay r.isoscope.h5 --alone --from native:17 --env 2 --steps 5 "
            "--tolerance omega=0.001",
        ),
        (
            Request("twice", engine="superdex", module="a b.py:make"),
            "isoscope replay r.isoscope.h5 --twice --engine superdex "
            "--module 'a b.py:make'",
        ),
        (
            Request("alone", engine="model", model=ModelChoice("cart pole.json")),
            "isoscope replay r.isoscope.h5 --model 'cart pole.json'",
        ),
        (
            Request(
                engine="model", model=ModelChoice("m.xml", "a.npz", "semi_implicit")
            ),
            "isoscope replay r.isoscope.h5 --model m.xml --transitions a.npz "
            "--integrator semi_implicit",
        ),
        (
            Request("pinned", steps=3, engine="model"),
            "isoscope replay r.isoscope.h5 --pinned --steps 3 --model MODEL",
        ),
    ],
)
def test_the_command_says_the_same(request_: Request, words: str) -> None:
    assert command(request_, Path("r.isoscope.h5")) == words


def test_a_scene_s_module_is_asked_where_it_is_needed(qtbot) -> None:
    form = ReplayForm()
    qtbot.addWidget(form)
    form.show_state(ReplayState(), stale=False)
    form.show()
    form.show_recorded("isoscope")
    assert not form.module.isVisible()
    form.show_recorded("superdex")
    assert form.module.isVisible()
    form.module.setText("scene.py:make")
    assert form.request(3).module == "scene.py:make"
    form.set_engine("builtin", "scene.py:make")
    assert not form.module.isVisible()
    assert form.request(3).module == ""
    assert form.request(3).start is None
    form.start.setCurrentIndex(1)
    assert form.request(3).start == 3


def test_a_model_is_asked_for_where_one_stands_in(qtbot) -> None:
    form = ReplayForm()
    qtbot.addWidget(form)
    form.show()
    assert not form.model.isVisible()
    form.set_way("alone")
    form.set_engine("model")
    form.show_state(ReplayState(), stale=False)
    assert form.model.isVisible()
    assert not form.module.isVisible()
    assert form.way == "actions", "a model knows nobody to be alone with"
    assert not form.ways["alone"].isEnabled()
    assert not form.run.isEnabled()
    assert form.doing.text() == "choose the model first"
    form.model.set_choice(ModelChoice("cartpole", integrator="semi_implicit"))
    form.show_state(ReplayState(), stale=False)
    assert form.run.isEnabled()
    assert form.doing.text() == ""
    asked = form.request(0)
    assert asked.model == ModelChoice("cartpole", "", "semi_implicit")
    assert asked.name == "predicted by cartpole"
    form.set_engine("superdex", "scene.py:make")
    form.show_state(ReplayState(), stale=False)
    assert form.request(0).model == ModelChoice()
    assert form.ways["alone"].isEnabled()


def test_enter_goes_where_the_sentence_leads(qtbot) -> None:
    sentence = Sentence()
    qtbot.addWidget(sentence)
    sentence.say("Stepped alone, env 1 departs: by <much>", leads=True, wrong=True)
    assert "&lt;much&gt;" in sentence.text()
    with qtbot.waitSignal(sentence.asked):
        QTest.keyClick(sentence, Qt.Key.Key_Return)
    sentence.say("All equal.")
    with qtbot.assertNotEmitted(sentence.asked):
        QTest.mouseClick(sentence, LEFT)
