"""``isoscope record``: what it writes, and how it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isoscope.app.main import main
from isoscope.core.recording.registry import load
from tests.app.cli import as_json, printed, refused

if TYPE_CHECKING:
    from pathlib import Path

FACTORY = """
import gymnasium
calls = []
def make():
    return gymnasium.make("CartPole-v1")
def broken():
    raise RuntimeError("no such asset")
def leaves():
    raise SystemExit(7)
def batch():
    return gymnasium.make_vec("CartPole-v1", num_envs=2)
class Old(gymnasium.Wrapper):
    def step(self, action):
        return self.env.step(action)[:4]
def old():
    return Old(make())
def lean(seen):
    return (seen[..., 2] > 0).astype(int)
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FACTORY)
    return path


@pytest.mark.parametrize("envs", ["1", "3"])
def test_a_run_is_recorded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, envs: str
) -> None:
    out = tmp_path / "run.isoscope.h5"
    arguments = ["--env", "CartPole-v1", "--envs", envs, "--steps", "40"]
    told = as_json(capsys, "record", *arguments, "--out", str(out))
    assert told["schema"] == "isoscope.record/1"
    assert told["bytes"] == out.stat().st_size
    labelled = load(out).labelled
    assert labelled is not None
    kept = labelled.transitions()
    assert {t.env for t in kept} == set(range(int(envs)))
    # Where they reset themselves, a step in forty may be a reset.
    taken = sum(t.valid == 1 for t in kept)
    assert int(envs) * 40 - told["episodes"] <= taken <= int(envs) * 40
    assert labelled.identity.environments == int(envs)
    assert not labelled.failures()


def test_a_factory_is_told_with_its_source(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, module: Path
) -> None:
    out = tmp_path / "run.isoscope.h5"
    arguments = ["--module", f"{module}:make", "--policy", f"{module}:lean"]
    printed(capsys, "record", *arguments, "--steps", "9", "--out", str(out))
    labelled = load(out).labelled
    assert labelled is not None
    assert labelled.identity.factory == f"{module}:make"
    assert len(labelled.identity.source_hash) == 64


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "either --env ID or --module"),
        (["--env", "CartPole-v1", "--module", "a.py:b"], "either --env ID or --module"),
        (["--env", "Nothing-v9"], "Nothing"),
        (["--env", "Nothing-v9", "--envs", "2"], "Nothing"),
        (["--env", "CartPole-v1", "--envs", "0"], "give 1 or more"),
        (["--env", "CartPole-v1", "--envs", "2", "--vector", "none"], "--vector sync"),
        (["--module", "nowhere.py:make"], "there is no file"),
        (["--module", "MINE:broken"], "no such asset"),
        (["--module", "MINE:absent"], "has no function absent"),
        (["--module", "MINE:leaves"], "SystemExit: 7"),
        (["--module", "MINE:batch"], "makes a vector environment"),
        (["--module", "MINE:batch", "--envs", "2"], "makes a vector environment"),
        (["--env", "CartPole-v1", "--envs", "9" * 15], "or fewer"),
        (["--env", "CartPole-v1", "--snapshots", "-1"], "0 for none"),
        (["--env", "CartPole-v1", "--policy", "clever"], "FILE:FUNCTION"),
        (["--env", "CartPole-v1", "--seed", "-3"], "give 0 or more"),
    ],
)
def test_bad_arguments_leave_one_line_and_no_file(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    module: Path,
    arguments: list[str],
    said: str,
) -> None:
    out = tmp_path / "run.isoscope.h5"
    given = [a.replace("MINE", str(module)) for a in arguments]
    assert said in refused(capsys, "record", *given, "--steps", "5", "--out", str(out))
    assert not out.exists()


def test_a_file_is_replaced_only_when_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "run.isoscope.h5"
    out.write_text("precious")
    arguments = ["record", "--env", "CartPole-v1", "--steps", "5", "--out", str(out)]
    refused(capsys, *arguments)
    assert out.read_text() == "precious"
    for wrong in (["Nothing-v9"], ["Nothing-v9", "--envs", "2"]):
        given = [*arguments, "--overwrite", "--env", *wrong]
        assert "Nothing" in refused(capsys, *given)
        assert out.read_text() == "precious"
    printed(capsys, *arguments, "--overwrite")
    assert load(out).labelled is not None
    assert [p for p in tmp_path.iterdir() if p.is_file()] == [out]


def test_an_environment_of_another_kind_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, module: Path
) -> None:
    given = ["--module", f"{module}:old", "--out", str(tmp_path / "run.isoscope.h5")]
    assert main(["record", *given, "--steps", "3"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert "the tap turned itself off" in told[0]
    assert "stepping failed" in told[1]
