"""Alone against together: the environment's first step that another one reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from isoscope.app.commands.replay import _tolerances
from isoscope.app.environments import EnvFactory
from isoscope.app.main import main
from isoscope.app.replaying import make_builtin
from isoscope.core.errors import UsageError
from isoscope.core.replay.again import ReplayOptions, replay
from tests.core.replay.recorded import read, record_in_turn

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.replay.replay_forms import Replay

ALONE = ReplayOptions(mode="alone")


def demo(path: Path, fault: str, steps: int = 10) -> Path:
    """A demo of 4 CartPoles in one scene, with a fault."""
    options = ("--headless", "--steps", str(steps), "--fault", fault)
    assert main(["demo", *options, "--record", str(path), "--json"]) == 0
    return path


def places(seen: Replay) -> dict[int, tuple[int | None, int | None]]:
    """Episode and control step at which each environment departs."""
    return {
        p.env_a: (p.first_divergence.episode, p.first_divergence.control_step)
        for p in seen.pairs
        if p.first_divergence is not None
    }


def test_a_missed_restore(tmp_path: Path) -> None:
    path = demo(tmp_path / "run.isoscope.h5", "missed-restore@2:1/4")
    together = replay(read(path), make_builtin)
    assert together.first_divergence is None, "it is missed again"
    alone = replay(read(path), make_builtin, ALONE)
    assert places(alone) == {2: (1, 4)}
    first = alone.first_divergence
    assert first is not None
    assert "goes on from env 1's state" in first.why
    assert first.equal_steps == 6


def test_an_inertia_leak(tmp_path: Path) -> None:
    path = demo(tmp_path / "run.isoscope.h5", "inertia-leak@1:1/6")
    together = replay(read(path), make_builtin)
    assert together.claims.bit_for_bit.answer == "yes"
    alone = replay(read(path), make_builtin, ALONE)
    # Those after env 1 in the turn are reached in the same step, env 0 in the next.
    assert places(alone) == {0: (1, 7), 2: (1, 6), 3: (1, 6)}
    assert [one.key for one in alone.configuration_differences] == ["inertia"]
    assert alone.claims.same_configuration.answer == "no"


def test_an_inertia_leak_that_nothing_in_the_file_shows(tmp_path: Path) -> None:
    def leak(env: int, step: int, one: Any) -> None:
        if (env, step) == (1, 5):
            scene = one.unwrapped.scene
            old = scene.persistent_configuration()["inertia"]
            type(scene).configure(scene, "inertia", old * 1.25)

    made = EnvFactory("CartPole", {"max_steps": 20}, integrator="semi_implicit")
    examined = record_in_turn(tmp_path / "run.isoscope.h5", made, 3, 8, before=leak)
    labelled = examined.recording.labelled
    assert labelled is not None
    assert all(c.old is None for c in labelled.changes())
    alone = replay(examined, make_builtin, ALONE)
    assert places(alone) == {0: (1, 6), 1: (1, 5), 2: (1, 5)}


def test_clean_ones_stay(tmp_path: Path) -> None:
    made = EnvFactory("CartPole", {"max_steps": 4}, integrator="semi_implicit")
    examined = record_in_turn(tmp_path / "run.isoscope.h5", made, 4, 9)
    alone = replay(examined, make_builtin, ALONE)
    assert places(alone) == {}
    assert alone.claims.bit_for_bit.answer == "yes"


# -- the command -----------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = demo(tmp_path / "run.isoscope.h5", "missed-restore@2:1/4")
    capsys.readouterr()
    assert main(["replay", str(path)]) == 0
    assert "equal to the last bit" in capsys.readouterr().out
    given = ["--alone", "--twice", "--from", "control:2/1/3", "--steps", "2"]
    assert main(["replay", str(path), *given, "--env", "2"]) == 1
    said = capsys.readouterr().out
    assert "env 2 departs at episode 1, control step 4" in " ".join(said.split())
    assert main(["replay", str(path), "--pinned", "--json"]) == 0
    assert capsys.readouterr().out.startswith('{"schema":"isoscope.replay/1"')


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--pinned", "--alone"], "give one of them"),
        (["--steps", "0"], "at least 1"),
        (["--tolerance", "pose"], "as in translation=1e-6"),
        (["--tolerance", "height=1"], "no compared field"),
        (["--env", "9"], "has no environment 9"),
        (["--from", "nowhere"], "is no position"),
        (["--engine", "mujoco"], "there are builtin, superdex"),
        (["--engine", "superdex"], "recorded from isoscope"),
        (["--module", "train.py:make"], "only SuperDex's scenes"),
    ],
)
def test_bad_arguments(
    recorded: Path, given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(recorded), *given]) == 2
    error = capsys.readouterr().err
    assert said in " ".join(error.split())
    assert "Traceback" not in error


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = EnvFactory("CartPole", {"max_steps": 4}, integrator="semi_implicit")
    path = tmp_path_factory.mktemp("alone") / "run.isoscope.h5"
    record_in_turn(path, made, 2, 3)
    return path


def test_tolerances() -> None:
    assert _tolerances(["pose=1e-6", "omega=0"]) == {"pose": 1e-6, "omega": 0.0}
    for wrong in ("pose=", "=1", "pose=-1", "pose=nan", "pose=inf"):
        with pytest.raises(UsageError):
            _tolerances([wrong])
