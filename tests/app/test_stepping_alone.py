"""Findings that need each environment stepped again alone: from the window, by clicks.

And the process that does it: what it says, and what becomes of it.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from isoscope.app.alone import process
from isoscope.app.alone.process import step_alone
from isoscope.app.main import main
from isoscope.core.errors import CancelledError, IsoscopeError
from isoscope.core.isolation.explain.symptoms import SYMPTOMS
from isoscope.widgets.findings.alone import OFFER, STOP
from tests.app.conftest import SHIPPED, settle
from tests.app.stand_ins import WITHOUT_GL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.app.window import Window
    from isoscope.widgets.findings.panel import FindingsPanel

LEFT = Qt.MouseButton.LeftButton
FAULT = (1, 1, 4)  # environment, episode and control step
WAIT_MS = 120_000


def nothing(share: float) -> None:
    pass


def never() -> bool:
    return False


def demo(path: Path, *options: str) -> Path:
    told = ("--headless", "--envs", "2", "--steps", "6", "--device", "cpu", *options)
    assert main(["demo", *told, "--record", str(path), "--json"]) == 0
    return path


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Environments in one scene, one of which another reaches unseen."""
    path = tmp_path_factory.mktemp("alone") / "run.isoscope.h5"
    return demo(path, "--fault", "hidden-leak@{}:{}/{}".format(*FAULT))


@pytest.fixture
def window(make_window: Callable[..., Window], leaking: Path) -> Window:
    made = make_window(leaking, panels=WITHOUT_GL)
    made.set_layout("isolate")
    settle(made)
    return made


def findings_of(window: Window) -> FindingsPanel:
    return window.panels["findings"]  # type: ignore[return-value]  # by its key


def found(window: Window) -> list[Any]:
    document = window.session.active
    return [(f.id, f.env, f.episode, f.control_step) for f in document.findings]


def stepped(window: Window, qtbot: Any) -> None:
    document = window.session.active
    qtbot.waitUntil(lambda: document.stepping_alone is None, timeout=WAIT_MS)
    settle(window)


def test_a_click_in_findings_finds_what_was_hidden(window: Window, qtbot: Any) -> None:
    line, document = findings_of(window).alone, window.session.active
    assert found(window) == []
    assert line.isVisible()
    assert line.button.text() == OFFER
    QTest.mouseClick(line.button, LEFT)
    assert line.button.text() == STOP
    stepped(window, qtbot)
    assert found(window) == [("hidden-leak", *FAULT)]
    assert document.analysis.tainted is not None
    assert document.analysis.tainted.rows.any()
    assert document.analysis.alignment is not None
    assert not line.isVisible()
    said = document.findings[0].headline
    assert said.startswith("env 1 goes otherwise alone at episode 1, control step 4")


def test_diagnose_offers_it_where_it_bears_on_a_symptom(
    window: Window, qtbot: Any
) -> None:
    window.actions_by_id["help.diagnose"].trigger()
    card = window.diagnose
    bearing = [s for s in SYMPTOMS if "hidden-leak" in s.checks]
    other = next(s for s in SYMPTOMS if "hidden-leak" not in s.checks)
    assert bearing
    for symptom in bearing:
        QTest.mouseClick(card.buttons[symptom.key], LEFT)
        assert card.results.alone.isVisible()
    QTest.mouseClick(card.buttons[other.key], LEFT)
    assert not card.results.alone.isVisible()
    QTest.mouseClick(card.buttons[bearing[0].key], LEFT)
    card.area.ensureWidgetVisible(card.results.alone)
    QTest.mouseClick(card.results.alone.button, LEFT)
    stepped(window, qtbot)
    assert not card.results.alone.isVisible()
    headlines = [one.finding.headline for one in card.results.lines]
    assert any("goes otherwise alone" in one for one in headlines)


def test_it_can_be_stopped_and_begun_again(window: Window, qtbot: Any) -> None:
    line = findings_of(window).alone
    QTest.mouseClick(line.button, LEFT)
    QTest.mouseClick(line.button, LEFT)
    stepped(window, qtbot)
    assert found(window) == []
    assert line.isVisible()
    assert line.button.text() == OFFER


def test_a_window_that_closes_ends_it(window: Window) -> None:
    QTest.mouseClick(findings_of(window).alone.button, LEFT)
    begin = time.monotonic()
    window.close()  # the fixture looks for threads that stay
    assert time.monotonic() - begin < process.POLITE_S + 30


def test_what_cannot_be_stepped_is_not_offered(
    make_window: Callable[..., Window], recordings: Path
) -> None:
    window = make_window(recordings / SHIPPED, panels=WITHOUT_GL)
    settle(window)
    assert not findings_of(window).alone.isVisible()


def test_a_process_that_dies_is_told_with_its_last_words(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import sys; sys.exit('no such luck')")
    with pytest.raises(IsoscopeError, match="status 1 and no answer: no such luck"):
        step_alone(tmp_path / "x.h5", None, nothing, never, command)


def test_noise_instead_of_an_answer_is_no_answer(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "print('hello, I am an engine' * 9)")
    with pytest.raises(IsoscopeError, match="no answer"):
        step_alone(tmp_path / "x.h5", None, nothing, never, command)


def test_what_cannot_be_started_is_told(tmp_path: Path) -> None:
    with pytest.raises(IsoscopeError, match="starting a process"):
        step_alone(tmp_path / "x", None, nothing, never, (str(tmp_path / "none"),))


def test_a_file_that_is_gone_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(IsoscopeError, match=r"gone\.isoscope\.h5"):
        step_alone(tmp_path / "gone.isoscope.h5", None, nothing, never)


def test_it_ends_with_whoever_asked(tmp_path: Path) -> None:
    waits = "import sys, time; sys.stdin.buffer.read(); sys.exit(0)"
    with pytest.raises(CancelledError):
        step_alone(
            tmp_path / "x", None, nothing, lambda: True, (sys.executable, "-c", waits)
        )


def test_progress_only_grows_to_the_end(leaking: Path) -> None:
    shares: list[float] = []
    audit = step_alone(leaking, None, shares.append, never)
    assert [(f.id, f.env) for f in audit.findings] == [("hidden-leak", FAULT[0])]
    assert [check.id for check in audit.checks] == ["hidden-leak"]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
