"""Restored twice: 5 steps or 35 between, what follows a snapshot is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from isoscope.core.replay.scene_engine import SceneEngine
from tests.app.cli import as_json, printed
from tests.trial.falling_run import EVERY, record

if TYPE_CHECKING:
    from pathlib import Path

FROM = f"control:0/1/{EVERY + 1}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("case6") / "run.isoscope.h5")


def test_it_is_a_function_of_the_state(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("replay", str(recorded), "--twice", "--from", FROM, "--steps", "20")
    (one,) = as_json(capsys, *given)["twice"]
    assert one["equal"]
    assert one["first_difference"] is None
    assert one["steps"] == 80
    assert "Restored twice" in printed(capsys, *given)


def test_one_that_is_not_is_a_finding(
    recorded: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An engine that keeps something beside the state: each restore is a bit other."""
    restored: list[int] = []
    step = SceneEngine.step
    restore = SceneEngine.restore_bytes

    def counted(self: Any, data: bytes, worlds: Any = None) -> None:
        restored.append(1)
        restore(self, data, worlds)

    def stepped(self: Any, h_s: float, worlds: Any) -> None:
        step(self, h_s * (1 + 1e-9 * len(restored)), worlds)

    monkeypatch.setattr(SceneEngine, "restore_bytes", counted)
    monkeypatch.setattr(SceneEngine, "step", stepped)
    given = ("replay", str(recorded), "--twice", "--from", FROM, "--steps", "5")
    told = as_json(capsys, *given, status=1)
    (one,) = told["twice"]
    assert not one["equal"]
    assert one["first_difference"] == 0
    assert "function of the state" in one["why"]
