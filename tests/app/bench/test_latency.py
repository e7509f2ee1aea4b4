from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtOpenGLWidgets import QOpenGLWidget

from isoscope.app.bench.latency import Latency, Painting


@pytest.fixture
def latency(qapp) -> Latency:
    return Latency()


def test_what_was_painted_meanwhile_does_not_count(latency: Latency) -> None:
    latency.taken = [(1.0, 1.5)]
    assert latency.p999_s([]) == pytest.approx(0.5)
    # half of the first stretch is inside, all of the second, none of the third
    painting = [(0.9, 1.1), (1.2, 1.3), (1.6, 2.0)]
    assert latency.p999_s(painting) == pytest.approx(0.3)


def test_what_is_posted_is_heard(latency: Latency, qtbot) -> None:
    latency.begin()
    qtbot.waitUntil(lambda: len(latency.taken) > 5)
    latency.end()
    assert all(heard >= posted for posted, heard in latency.taken)


class Painted(QOpenGLWidget):
    """Counts its pictures."""

    count = 0

    def paintGL(self) -> None:  # noqa: N802
        self.count += 1


@pytest.mark.gl
def test_all_of_a_picture_counts_as_painting_once(qtbot) -> None:
    painting = Painting()
    try:
        widget = Painted()
        qtbot.addWidget(widget)
        view: Any = SimpleNamespace(canvas_widget=widget)
        painting.watch(view)
        with qtbot.waitExposed(widget):
            widget.show()
        qtbot.waitUntil(lambda: bool(painting.composed) and widget.count > 0)
        painting.clear()
        before = widget.count
        widget.update()
        qtbot.waitUntil(lambda: widget.count == before + 1)
        qtbot.waitUntil(lambda: bool(painting.composed))
        assert len(painting.spent) == 1
        (begin, end), (composing, shown) = painting.spent[0], painting.composed[0]
        assert begin <= end <= shown
        assert composing <= shown
    finally:
        painting.remove()
