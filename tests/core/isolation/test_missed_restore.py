from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoscope.core.recording.model import Problem
from tests.core.isolation.worlds import (
    World,
    examine,
    found,
    push_of,
    reason_not_run,
)

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"


@pytest.mark.parametrize("prefix", ["", "fp64_"])
def test_the_engine_s_own(prefix: str) -> None:
    path = RECORDINGS / f"{prefix}shared_cartpole_missed_restore.h5"
    (finding,) = found(path, "missed-restore")
    assert finding.severity == "error"
    assert (finding.env, finding.other_env) == (0, 1)
    assert (finding.episode, finding.control_step) == (1, 9)
    truth = json.loads(path.with_suffix("").with_suffix(".truth.json").read_text())
    spoilt = [
        native
        for native, step in enumerate(truth["native_steps"])
        if step["env"] == 0 and step["episode"] == 1 and step["control_step"] >= 9
    ]
    assert finding.native == (spoilt[0], spoilt[-1])
    assert finding.tainted == ((spoilt[0], spoilt[-1]),)
    assert finding.headline == (
        "env 0 went on from env 1's state at episode 1, control step 9"
    )
    assert finding.message.startswith(finding.headline)
    distance = finding.evidence["distance_to_own_state_m"]
    assert 0.05 < distance < 0.2
    assert finding.evidence["residual_m"] < 1e-6


@pytest.mark.parametrize("prefix", ["", "fp64_"])
def test_every_other_step_is_attributed(prefix: str) -> None:
    path = RECORDINGS / f"{prefix}shared_cartpole_missed_restore.h5"
    truth = json.loads(path.with_suffix("").with_suffix(".truth.json").read_text())
    labels = examine(path).attribution.labels
    for native, step in enumerate(truth["native_steps"]):
        assert labels.env[native] == step["env"]
        assert labels.episode[native] == step["episode"]
        assert labels.control_step[native] == step["control_step"]


def _run(missed: set[tuple[int, int]], envs: int = 4, control_steps: int = 16) -> World:
    """Turns in a fixed order; `missed` are (environment, control step)."""
    world = World()
    for env in range(envs):
        world.reset(env, 0.3 * env)
    for k in range(1, control_steps + 1):
        for env in range(envs):
            world.step(env, push_of(env, k), restore=(env, k) not in missed)
    return world


@pytest.mark.parametrize(
    "missed",
    [
        {(2, 5)},
        {(0, 3)},
        {(1, 5), (3, 9)},
        {(1, 5), (2, 5)},
    ],
)
def test_one_and_several(missed: set[tuple[int, int]]) -> None:
    seen = found(_run(missed), "missed-restore")
    assert {(f.env, f.control_step) for f in seen} == missed
    for finding in seen:
        assert finding.other_env == (finding.env - 1) % 4


def test_it_is_doubtful_where_steps_are_missing() -> None:
    recording = _run({(2, 5)}).recording()
    recording.problems.append(Problem("event is missing", "/events/9", 1, "error"))
    (finding,) = found(recording, "missed-restore")
    assert finding.confidence == 0.5
    assert "lacks steps" in finding.message


def test_what_it_takes_to_run_is_told() -> None:
    reason = reason_not_run(RECORDINGS / "no_state.h5", "missed-restore")
    assert reason == "no step tells where it began"
    assert reason_not_run(_run(set()), "missed-restore") is None
