"""Labels beside places in the world: whole wherever the place is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QRect, QSize
from PySide6.QtWidgets import QWidget

from isoscope.widgets.scene.corners import WorldLabel
from isoscope.widgets.theme import DARK

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

SIZE = QSize(400, 300)
CLIP = np.eye(4)  # places are where they are seen, -1 .. 1


@pytest.mark.parametrize("x", [-0.99, -0.5, 0.0, 0.5, 0.99])
@pytest.mark.parametrize("lean", [-1, 0, 1])
def test_a_label_near_a_side_is_seen_whole(qtbot: QtBot, x: float, lean: int) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.resize(SIZE)
    label = WorldLabel(parent, "where it was recorded", "#fff", DARK)
    taken: list[QRect] = []
    label.follow(CLIP, np.array([x, 0.0, 0.0]), SIZE, taken, lean)
    assert not label.isHidden()
    assert QRect(0, 0, SIZE.width(), SIZE.height()).contains(label.geometry())
    assert taken == [label.geometry()]


def test_a_place_out_of_the_picture_has_no_label(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    label = WorldLabel(parent, "far away", "#fff", DARK)
    label.follow(CLIP, np.array([5.0, 0.0, 0.0]), SIZE, [])
    assert label.isHidden()
