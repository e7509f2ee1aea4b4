"""Each symptom is walked through on a run in which all of them can be found."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from isoscope.app.demo.recording import DemoRecorder
from isoscope.app.demo.run import DemoRun
from isoscope.app.demo.settings import DemoSettings
from isoscope.app.main import main
from isoscope.core.envs.faults.order import parse_order
from isoscope.core.envs.manager import context
from isoscope.core.isolation.explain.symptoms import BY_KEY, SYMPTOMS
from isoscope.core.isolation.places import row_of
from tests.app.conftest import settle

if TYPE_CHECKING:
    from pathlib import Path

LEFT = Qt.MouseButton.LeftButton
# What is noticed, and what explains it in the recording below.
EXPLAINED = {
    "alike-starts": ("identical-start", 3),
    "actions-do-nothing": ("action-range", 1),
    "zero-reward-after-end": ("reset-row", 1),
    "friction-changes-others": ("config-changed", 2),
    "picture-of-another": ("stale-read", 3),
    "times-do-not-match": ("zero-step", 0),
    "gpu-not-faster": ("profile-sum", 0),
    "actions-out-of-range": ("action-range", 1),
    "old-arrays-change": ("aliasing", 1),
    "grouping-changes-trajectories": ("shared-task-state", 0),
    "time-limit-not-learnt": ("end-flags", 2),
    "right-observations-control-fails": ("action-range", 1),
}
FAULTS = (
    *("zero-step@0:1/3", "unclipped-action@1:1/4", "friction-leak@2:1/5"),
    *("stale-observation@3:1/4", "profile-units@0:1/6", "reset-row@1:2/0"),
    *("end-flags-both@2:2/1", "identical-start@3:3/0", "aliasing@1:3/2"),
    "shared-rng@0:3/0",
)


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded demo with a fault for every symptom."""
    file = tmp_path_factory.mktemp("spoilt") / "run.isoscope.h5"
    settings = DemoSettings(
        envs=4,
        steps=60,
        device="cpu",
        integrator="semi_implicit",
        faults=tuple(parse_order(text) for text in FAULTS),
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    context._managers.clear()
    recorder = DemoRecorder(settings, file)
    try:
        with ExitStack() as stack:
            stack.callback(recorder.close)
            run = stack.enter_context(DemoRun(settings, recorder.around))
            recorder.listen(run)
            done = run.run()
    finally:
        torch.set_num_threads(threads)
    assert all(one.happened for one in done.faults)
    return file


def test_every_symptom_has_its_run() -> None:
    assert set(EXPLAINED) == set(BY_KEY)
    for key, (check, _) in EXPLAINED.items():
        assert check in BY_KEY[key].checks


def test_each_symptom_leads_to_its_finding(make_window, spoilt: Path, qtbot) -> None:
    window = make_window(spoilt)
    session = window.session

    def looked() -> bool:
        analysis = session.active.analysis
        return analysis is not None and analysis.audit is not None

    qtbot.waitUntil(looked, timeout=60_000)
    card = window.diagnose
    for symptom in SYMPTOMS:
        check, env = EXPLAINED[symptom.key]
        window.actions_by_id["help.diagnose"].trigger()
        assert card.isVisible()
        QTest.mouseClick(card.buttons[symptom.key], LEFT)
        settle(window)
        assert "found here" in card.results.told
        line = next(
            one for one in card.results.lines if one.finding.id == check
        )  # in the order of the symptom's checks
        card.area.ensureWidgetVisible(line)
        settle(window)
        QTest.mouseClick(line, LEFT)
        assert not card.isVisible(), symptom.key
        chosen = session.active.chosen_finding
        assert (chosen.id, chosen.env) == (check, env), symptom.key
        assert session.clock.row == row_of(chosen)


def test_what_could_not_run_says_what_to_record(
    make_window, recordings: Path, qtbot
) -> None:
    window = make_window(recordings / "shared_cartpole_2env.h5")
    qtbot.waitUntil(lambda: window.session.active.analysis is not None, timeout=60_000)
    card = window.diagnose
    for symptom in SYMPTOMS:
        window.actions_by_id["help.diagnose"].trigger()
        QTest.mouseClick(card.buttons[symptom.key], LEFT)
        settle(window)
        assert card.results.lines == []
        assert "could not run here" in card.results.told
        assert "it needs" in card.results.told
        assert "To record." in card.results.told
        QTest.keyClick(card, Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: not card.isVisible())


def test_the_command_line_names_them_as_well(
    spoilt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for key, (check, env) in EXPLAINED.items():
        assert main(["explain", key, str(spoilt), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        (found,) = [one for one in told["checks"] if one["id"] == check]
        assert found["state"] == "found", key
        assert found["do"]
        assert env in [finding["env"] for finding in found["findings"]]
