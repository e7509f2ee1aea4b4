"""Isolation under time-multiplexing: together as alone, but for a missed restore."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.app.environments import EnvFactory
from isoscope.app.main import main
from isoscope.core.envs.stages import Stages, WrappedStages

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.envs.lanes import LaneGroup

N = 4
SEEDS = (3, 1, 4, 1)
TASKS = {
    "CartPole": {"max_steps": 6},
    "DoublePendulumRail": {"max_steps": 5},
    "Pusher": {"max_steps": 4, "simulation_hz": 100},
}


def factory(task: str, scene: Any, stages: Stages | None = None) -> EnvFactory:
    return EnvFactory(
        task, TASKS[task], scene=scene, stages=stages, integrator="semi_implicit"
    )


def traces(envs: list[Any], steps: int) -> list[list[Any]]:
    """Everything each environment gives back; they take turns."""
    found: list[list[Any]] = [[] for _ in envs]
    rngs = [np.random.default_rng(i) for i in range(N)]
    for one, seed, trace in zip(envs, SEEDS, found, strict=True):
        trace.append(one.reset(seed=seed)[0])
    for _ in range(steps):
        for one, rng, trace in zip(envs, rngs, found, strict=True):
            action = rng.uniform(-1, 1, one.action_space.shape).astype(np.float32)
            observation, reward, terminated, truncated, _ = one.step(action)
            trace.append(np.append(observation, [reward, terminated, truncated]))
            if terminated or truncated:
                trace.append(one.reset()[0])
    for one in envs:
        one.close()
    return found


def first_difference(a: list[Any], b: list[Any]) -> int | None:
    for at, (x, y) in enumerate(zip(a, b, strict=True)):
        if not np.array_equal(x, y):
            return at
    return None


@pytest.mark.parametrize("task", TASKS)
def test_together_as_alone(task: str) -> None:
    together, alone = factory(task, "shared"), factory(task, "independent")
    a = traces([together(i) for i in range(N)], 9)
    b = traces([alone(i) for i in range(N)], 9)
    assert [first_difference(x, y) for x, y in zip(a, b, strict=True)] == [None] * N


class MissedRestore(WrappedStages):
    """Env 2 goes on from whatever is there, once."""

    def restore(self, lanes: LaneGroup) -> None:
        if not bool(lanes.at(2, episode=1, control_step=4).any()):
            super().restore(lanes)


def test_a_missed_restore_shows_in_that_environment_at_that_step() -> None:
    faulty = factory("CartPole", "shared", MissedRestore(Stages()))
    alone = factory("CartPole", "independent")
    a = traces([faulty(i) for i in range(N)], 6)
    b = traces([alone(i) for i in range(N)], 6)
    found = [first_difference(x, y) for x, y in zip(a, b, strict=True)]
    assert found == [None, None, 4, None]


# -- by the command line ---------------------------------------------------------------


def demo(path: Path, envs: int, *more: str) -> Path:
    told = ["--envs", str(envs), "--steps", "7", "--device", "cpu"]
    given = ["demo", "--headless", *told, "--record", str(path), "--json", *more]
    assert main(given) == 0
    return path


def asked(capsys: pytest.CaptureFixture[str], *given: str) -> tuple[int, Any]:
    capsys.readouterr()
    status = main([*given, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_recordings_together_and_alone_are_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    together = demo(tmp_path / "together.isoscope.h5", N)
    for env in range(N):
        alone = demo(tmp_path / f"{env}.isoscope.h5", 1, "--seed", str(env))
        _, said = asked(capsys, "compare", str(together), str(alone))
        assert said["first_divergence"] is None
        (pair,) = said["pairs"]
        assert (pair["env_a"], pair["env_b"], pair["how"]) == (env, 0, "starts")
        assert pair["compared_steps"] == 1 + 2 * 7
    status, found = asked(capsys, "audit", str(together))
    assert (status, found["findings"]) == (0, [])
    assert next(c["ran"] for c in found["checks"] if c["id"] == "hidden-leak")


@pytest.mark.parametrize(
    ("fault", "key", "other"),
    [("missed-restore", "missed-restore", 1), ("hidden-leak", "hidden-leak", None)],
)
def test_the_audit_names_the_step_and_whose_state_it_was(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    fault: str,
    key: str,
    other: int | None,
) -> None:
    path = demo(tmp_path / "run.isoscope.h5", N, "--fault", f"{fault}@2:1/4")
    status, said = asked(capsys, "audit", str(path))
    assert status == 1
    (found,) = said["findings"]
    assert found["id"] == key
    assert (found["env"], found["episode"], found["control_step"]) == (2, 1, 4)
    if other is not None:
        assert found["other_env"] == other
    # asked not to step again, only what the file shows is found
    _, said = asked(capsys, "audit", str(path), "--no-step-again")
    assert [f["id"] for f in said["findings"]] == [key] * (other is not None)
