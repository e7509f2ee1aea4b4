"""Time-multiplexed in one scene: alone all are equal; a missed restore is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.app.main import main
from tests.app.cli import as_json, printed

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ENVS, STEPS, MISSED = 4, 8, 4


def demo(path: Path, *fault: str) -> str:
    shared = ("--headless", "--envs", str(ENVS), "--scene", "shared")
    options = (*shared, "--steps", str(STEPS), *fault, "--record", str(path), "--json")
    assert main(["demo", *options]) == 0
    return str(path)


def test_interleaved_is_as_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = demo(tmp_path / "run.isoscope.h5")
    capsys.readouterr()
    told = as_json(capsys, "replay", path, "--alone")
    assert [one["answer"] for one in told["claims"].values()] == ["yes"] * 3
    assert [one["env_a"] for one in told["pairs"]] == list(range(ENVS))
    assert all(one["first_divergence"] is None for one in told["pairs"])


def test_the_one_that_skips_its_restore_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = ("--fault", f"missed-restore@2:1/{MISSED}")
    path = demo(tmp_path / "run.isoscope.h5", *fault)
    capsys.readouterr()
    told = as_json(capsys, "replay", path, "--alone", status=1)
    apart = [p["env_a"] for p in told["pairs"] if p["first_divergence"] is not None]
    assert apart == [2]
    first = told["first_divergence"]
    assert (first["env"], first["episode"], first["control_step"]) == (2, 1, MISSED)
    assert first["substep"] == 0
    assert "goes on from env 1's state" in first["why"]
    said = printed(capsys, "replay", path, "--alone", status=1)
    assert f"env 2 departs at episode 1, control step {MISSED}" in said
