"""A panel over a session, shown, in a size that makes pixels easy to count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isoscope.widgets.session import Session
from isoscope.widgets.timeline.panel import TimelinePanel
from tests.widgets.timeline.stand_ins import document_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytestqt.qtbot import QtBot

    from isoscope.core.recording.model import Recording


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot: QtBot) -> Iterator[TimelinePanel]:
    made = TimelinePanel(session)
    qtbot.addWidget(made)
    made.resize(920, 260)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.release()


@pytest.fixture
def opened(
    session: Session, panel: TimelinePanel, qtbot: QtBot
) -> Callable[[Recording], TimelinePanel]:
    """Open a recording in the panel and wait until it is painted."""

    def open_it(recording: Recording) -> TimelinePanel:
        session.add(document_of(recording))
        qtbot.waitUntil(panel.settled)
        return panel

    return open_it
