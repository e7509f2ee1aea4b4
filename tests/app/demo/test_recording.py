"""A demo's recording holds what environments returned, and what was stored of it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.app.demo.recording import DemoRecorder
from isoscope.app.demo.run import DemoRun
from isoscope.app.demo.settings import DemoSettings
from isoscope.app.main import main
from isoscope.core import tap
from isoscope.core.envs.faults.order import parse_order

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_stored_rows_belong_to_the_transitions_that_the_tap_wrote(
    mode: Any, tmp_path: Path
) -> None:
    settings = DemoSettings(
        envs=2,
        steps=5,
        device="cpu",
        autoreset=mode,
        integrator="semi_implicit",
        task_settings={"max_steps": 2},
        faults=(parse_order("handle-as-env@1:1/2"),),
    )
    recorder = DemoRecorder(settings, tmp_path / "run.isoscope.h5")
    told: list[int] = []
    with ExitStack() as stack:
        stack.callback(recorder.close)
        run = stack.enter_context(DemoRun(settings, recorder.around))
        recorder.listen(run)
        session = tap.current()
        assert session is not None
        beside = recorder._beside
        assert beside is not None

        def numbers(rollout: Any, rows: Any) -> None:
            told.extend(beside._numbers[id(rows)].tolist())

        run.parts.rollout.stored.connect(numbers)
        done = run.run()
    assert done.faults[0].happened == ["1:1/2"]
    assert tap.current() is None
    # two rows of resets at the start; those of later ones lie between
    match mode:
        case "next_step":
            assert told == list(range(2, 12))
        case "same_step":
            assert told == [2, 3, 4, 6, 8, 9, 10, 12, 14, 15]
        case "disabled":
            assert told == [2, 3, 4, 5, 8, 9, 10, 11, 14, 15]


def test_the_audit_finds_a_fault_in_what_was_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.isoscope.h5"
    run = ["demo", "--headless", "--device", "cpu", "--envs", "2", "--steps", "4"]
    record = ["--record", str(file), "--fault", "missed-restore@1:1/3"]
    assert main([*run, *record]) == 0
    capsys.readouterr()
    assert main(["audit", str(file)]) == 1
    assert "episode 1, control step 3" in capsys.readouterr().out
    # a file that is there is not replaced
    assert main([*run, *record]) == 2
    assert "--overwrite" in capsys.readouterr().err
