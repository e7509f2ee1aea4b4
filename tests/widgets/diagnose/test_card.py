"""Diagnose, by clicks: symptoms, what bears on them, and where it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from isoscope.core.isolation.explain.symptoms import SYMPTOMS
from isoscope.widgets.diagnose.card import DiagnoseCard
from isoscope.widgets.look import sheet
from isoscope.widgets.session import Session
from isoscope.widgets.theme import tokens
from tests.widgets.opened import analysed_document

if TYPE_CHECKING:
    from pathlib import Path

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def card(qtbot, session: Session) -> DiagnoseCard:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(1200, 800)
    made = DiagnoseCard(window, session)
    with qtbot.waitExposed(window):
        window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=5000)
    return made


def test_every_symptom_can_be_walked_through(card, session, recordings: Path) -> None:
    session.add(analysed_document(recordings / "shared_cartpole_missed_restore.h5"))
    card.open_card()
    assert card.isVisible()
    assert len(card.buttons) == len(SYMPTOMS) == 12
    for symptom in SYMPTOMS:
        button = card.buttons[symptom.key]
        assert button.isVisible()
        assert button.text() == symptom.text
        QTest.mouseClick(button, LEFT)
        assert button.isChecked()
        for key in symptom.checks:
            assert f"<b>{key}</b>" in card.results.told
        assert "To record." in card.results.told


def test_a_click_on_a_finding_goes_there(card, session, recordings: Path) -> None:
    session.add(analysed_document(recordings / "shared_cartpole_missed_restore.h5"))
    card.open_card()
    QTest.mouseClick(card.buttons["picture-of-another"], LEFT)
    lines = [ln for ln in card.results.lines if ln.finding.id == "missed-restore"]
    assert lines
    assert "could not run here" in card.results.told
    QTest.mouseClick(lines[0], LEFT)
    assert not card.isVisible()
    chosen = session.active.chosen_finding
    assert chosen is not None
    assert chosen.id == "missed-restore"


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_severities_have_their_colours(
    card, session, recordings: Path, qapp, theme: str
) -> None:
    before = qapp.styleSheet()
    t = tokens(theme)
    qapp.setStyleSheet(sheet(t))
    try:
        session.add(analysed_document(recordings / "shared_cartpole_missed_restore.h5"))
        card.open_card()
        inks = {"error": t.error, "warning": t.warning, "note": t.dim}
        seen = set()
        for symptom in SYMPTOMS:
            QTest.mouseClick(card.buttons[symptom.key], LEFT)
            for line in card.results.lines:
                severity = line.finding.severity
                assert line.sign.text().endswith(severity)
                line.sign.ensurePolished()
                ink = line.sign.palette().windowText().color().name()
                assert ink == QColor(inks[severity]).name()
                seen.add(severity)
        assert "error" in seen
    finally:
        qapp.setStyleSheet(before)


def test_enter_goes_there_as_well(card, session, recordings: Path) -> None:
    session.add(analysed_document(recordings / "shared_cartpole_missed_restore.h5"))
    card.open_card()
    QTest.mouseClick(card.buttons["alike-starts"], LEFT)
    QTest.keyClick(card.results.lines[0], Qt.Key.Key_Return)
    assert session.active.chosen_finding is not None


def test_without_a_recording_it_says_what_would_be_looked_for(card) -> None:
    card.open_card()
    QTest.mouseClick(card.buttons["gpu-not-faster"], LEFT)
    assert "has not run yet" in card.results.told
    assert "Nothing is open" in card.about.text()
    assert card.results.lines == []


def test_it_follows_what_is_open(card, session, recordings: Path) -> None:
    card.open_card()
    QTest.mouseClick(card.buttons["picture-of-another"], LEFT)
    assert not card.results.lines
    session.add(analysed_document(recordings / "shared_cartpole_missed_restore.h5"))
    assert card.results.lines
    QTest.keyClick(card.buttons["picture-of-another"], Qt.Key.Key_Escape)
    assert not card.isVisible()
