"""Diagnose in the window: from the Help menu, by clicks, to the finding."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.app.conftest import settle

LEFT = Qt.MouseButton.LeftButton
PICTURES = os.environ.get("ISOSCOPE_TEST_PICTURES", "")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_help_diagnose_leads_to_what_was_found(
    make_window, recordings: Path, theme: str, qtbot
) -> None:
    window = make_window(recordings / "shared_cartpole_missed_restore.h5", theme=theme)
    qtbot.waitUntil(lambda: window.session.active.analysis is not None, timeout=20000)
    window.actions_by_id["help.diagnose"].trigger()
    card = window.diagnose
    assert card.isVisible()
    QTest.mouseClick(card.buttons["picture-of-another"], LEFT)
    settle(window)
    if PICTURES:
        window.grab().save(str(Path(PICTURES) / f"diagnose-{theme}.png"))
    assert window.rect().contains(card.card.geometry())
    QTest.mouseClick(card.results.lines[0], LEFT)
    assert not card.isVisible()
    assert window.session.active.chosen_finding.id == "missed-restore"
