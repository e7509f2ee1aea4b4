"""SAME_STEP's last observation: both autoreset modes have the same true transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from isoscope.app.environments import EnvFactory
from isoscope.core.dataset.readers.registry import open_episodes
from tests.app.cli import as_json
from tests.trial.test_case_1 import rows_of
from tests.trial.vector_runs import counting, record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N = 2
STEPS = 14


def factory(scene: Any) -> EnvFactory:
    settings = {"max_steps": 3, "upright_rad": 0.045}
    return EnvFactory("CartPole", settings, scene=scene, integrator="semi_implicit")


def sync(scene: str) -> Callable[[str], Any]:
    def make(mode: str) -> Any:
        made = factory(scene)
        return SyncVectorEnv(
            [lambda i=i: made(i) for i in range(N)], autoreset_mode=mode
        )

    return make


def resident(mode: str) -> Any:
    return factory("shared").batch(N, autoreset_mode=mode)


def transitions(vector: Any, mode: str) -> tuple[list[set[Any]], list[int], int]:
    """True transitions of each lane by the mode's own rule, their numbers, the ends.

    The action is a function of the observation, so that the true rollout is the same,
    whichever rows the mode gives to resets.
    """
    before, _ = vector.reset(seed=100)
    done = np.zeros(N, np.bool_)
    lanes: list[set[Any]] = [set() for _ in range(N)]
    counts, ends = [0] * N, 0
    for _ in range(STEPS):
        action = (40.0 * before[:, 3:4]).astype(np.float32)
        after, reward, terminated, truncated, info = vector.step(action)
        for i in range(N):
            true_next = after[i]
            if mode == "SameStep" and (terminated[i] or truncated[i]):
                assert info["_final_obs"][i]
                true_next = info["final_obs"][i]
                # the observation that is given is the next episode's first
                assert not np.array_equal(true_next, after[i])
                ends += 1
            if mode == "SameStep" or not done[i]:
                lanes[i].add(
                    (
                        before[i].tobytes(),
                        action[i].tobytes(),
                        float(reward[i]),
                        true_next.tobytes(),
                        bool(terminated[i]),
                        bool(truncated[i]),
                    )
                )
                counts[i] += 1
        done = (terminated | truncated) & (mode == "NextStep")
        before = after
    return lanes, counts, ends


@pytest.mark.parametrize("make", [sync("shared"), sync("independent"), resident])
def test_both_modes_have_the_same_transitions(make: Any) -> None:
    found = {}
    for mode in ("NextStep", "SameStep"):
        vector = make(mode)
        found[mode] = transitions(vector, mode)
        vector.close()
    slow, slow_counts, _ = found["NextStep"]
    fast, fast_counts, ends = found["SameStep"]
    assert ends >= 4
    assert fast_counts == [STEPS] * N
    for i in range(N):
        assert len(slow[i]) == slow_counts[i] < STEPS
        # up to where the shorter one ends
        assert slow[i] < fast[i]


@pytest.mark.parametrize("format", ["robomimic", "shards"])
def test_both_modes_export_the_same_set(
    format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {}
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        path, out = tmp_path / f"{mode.name}.isoscope.h5", tmp_path / mode.name
        record(path, counting([2, 3], mode), 8, lambda _: np.zeros((2, 1), np.float32))
        # An action that never moves is a warning; nothing blocks.
        done = as_json(
            capsys, "export", str(path), "--format", format, "--out", str(out)
        )
        assert done["read_back"] == "equal"
        written = open_episodes(out)
        found[mode] = {env: set(rows) for env, rows in rows_of(written).items()}
        written.close()
    slow, fast = found.values()
    for env, length in ((0, 2), (1, 3)):
        # What the done row led to is the final observation, never the reset's.
        ends = [row for row in fast[env] if row[4]]
        assert ends
        assert all(row[3][1] == length and row[3][0] == row[0][0] for row in ends)
        assert slow[env] < fast[env]  # up to where the shorter one ends
