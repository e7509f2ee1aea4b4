"""Vector environments: nothing changes, and rows are what the autoreset mode says."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from isoscope.core.envs.vector import HybridVectorEnv
from isoscope.core.tap.factories import TapFactory
from tests.core.tap.adapters.same import assert_same, column, single_run, vector_run

if TYPE_CHECKING:
    from tests.core.tap.adapters.conftest import Tap

N = 3
MODES = list(AutoresetMode)


def make(mode: AutoresetMode, count: int = N) -> Any:
    fns = [partial(gym.make, "CartPole-v1")] * count
    return SyncVectorEnv(fns, autoreset_mode=mode)


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
def test_nothing_changes(watched: Tap, mode: AutoresetMode) -> None:
    plain = vector_run(make(mode), 60)
    assert_same(vector_run(watched.attach(make(mode)), 60), plain)


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
def test_every_mode_tells_the_same_transitions(
    watched: Tap, mode: AutoresetMode
) -> None:
    """Against each environment alone, which is the same whoever resets it."""
    env = watched.attach(make(mode))
    env.reset(seed=3)
    ones = np.ones(N, np.int64)
    for _ in range(40):
        *_, terminated, truncated, _ = env.step(ones)
        done = terminated | truncated
        if mode is AutoresetMode.DISABLED and done.any():
            env.reset(options={"reset_mask": done})
    labelled = watched.labelled()
    assert labelled.identity.autoreset_mode == mode.name.lower()
    assert labelled.identity.seeds == [3, 4, 5]
    told = labelled.transitions()
    before = column(labelled, "observation_before")
    after = column(labelled, "observation_after")
    for number in range(N):
        mine = [k for k, t in enumerate(told) if t.env == number]
        alone = gym.make("CartPole-v1")
        seen, _ = alone.reset(seed=3 + number)
        episode, step, ends = 1, 0, False
        for k in mine:
            row = told[k]
            if row.valid == 0:
                if ends:
                    seen, _ = alone.reset()
                    episode, step, ends = episode + 1, 0, False
                assert np.isnan(row.reward)
                assert (row.terminated, row.truncated) == (-1, -1)
                assert not before.valid[k]
            else:
                assert not ends
                assert before.values[k].tobytes() == seen.tobytes()
                seen, reward, terminated, truncated, _ = alone.step(1)
                step += 1
                ends = terminated or truncated
                assert (row.reward, row.terminated) == (reward, terminated)
            assert (row.episode, row.control_step) == (episode, step)
            assert after.values[k].tobytes() == seen.tobytes()
        assert episode > 2
    resets = labelled.resets()
    by_itself = 0 if mode is AutoresetMode.DISABLED else 1
    assert [r.automatic for r in resets] == [0] * N + [by_itself] * (len(resets) - N)
    for reset in resets:
        row = told[reset.transition]
        assert (row.env, row.episode, row.control_step) == (reset.env, reset.episode, 0)


class Telling(gym.Wrapper[Any, Any, Any, Any]):
    """Tells something only at every second step, and why it ends."""

    def step(self, action: Any) -> Any:
        seen, reward, terminated, truncated, info = self.env.step(action)
        self.count = getattr(self, "count", 0) + 1
        if self.count % 2:
            info = {**info, "odd": float(self.count)}
        if terminated:
            info["terminated_reason"] = "fell"
        return seen, reward, terminated, truncated, info

    def reset(self, **kwargs: Any) -> Any:
        seen, info = self.env.reset(**kwargs)
        return seen, {**info, "fresh": 1}


@pytest.mark.parametrize("mode", MODES[:2], ids=lambda m: m.name)
def test_masked_infos_are_absent(watched: Tap, mode: AutoresetMode) -> None:
    fns = [lambda: Telling(gym.make("CartPole-v1"))] * N
    env = watched.attach(SyncVectorEnv(fns, autoreset_mode=mode))
    env.reset(seed=3)
    for _ in range(30):
        env.step(np.ones(N, np.int64))
    labelled = watched.labelled()
    told = labelled.transitions()
    odd, fresh = column(labelled, "info", "odd"), column(labelled, "info", "fresh")
    counts = dict.fromkeys(range(N), 0)
    ended = 0
    for k, row in enumerate(told):
        assert fresh.valid[k] == (row.valid == 0)
        counts[row.env] += row.valid == 1
        expected = row.valid == 1 and counts[row.env] % 2 == 1
        assert odd.valid[k] == expected, k
        if expected:
            assert odd.values[k] == counts[row.env]
        if row.terminated == 1:
            ended += 1
            assert row.reasons == {"terminated_reason": "fell"}
        else:
            assert row.reasons is None
    assert ended > N


def test_going_on_after_the_end_is_told_and_ends_nothing(watched: Tap) -> None:
    class Careless(SyncVectorEnv):
        def step(self, actions: Any) -> Any:
            self._autoreset_envs[:] = False
            return super().step(actions)

    fns = [partial(gym.make, "CartPole-v1", disable_env_checker=True)] * N
    env = watched.attach(Careless(fns, autoreset_mode=AutoresetMode.DISABLED))
    env.reset(seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the environment says so too
        for _ in range(15):
            env.step(np.ones(N, np.int64))
    labelled = watched.labelled()
    [failure] = labelled.failures()
    assert "without a reset" in failure.message
    assert len(labelled.transitions()) == N * 16
    assert labelled.transitions()[-1].valid == -1


def test_seen_from_inside_is_not_told_twice(watched: Tap) -> None:
    """Factories that are tapped tell their own; the batch adds what they can't know."""
    made = partial(gym.make, "CartPole-v1")

    def inner(number: int) -> Any:
        return watched.attach(made(), number)

    fns = [TapFactory(partial(inner, g), None, g) for g in range(4)]
    env = watched.attach(HybridVectorEnv(fns, workers=0, autoreset_mode="SameStep"))
    out = vector_run(env, 30)
    env.close()
    labelled = watched.labelled()
    identity = labelled.identity
    assert identity.autoreset_mode == "same_step"
    assert (identity.environments, identity.seeds) == (4, [3, 4, 5, 6])
    told = labelled.transitions()
    assert sum(t.valid == 1 for t in told) == 4 * 30
    rewards = np.sum([row[1] for row in out[1:-1]])
    assert sum(t.reward for t in told if t.valid == 1) == rewards
    assert {t.env for t in told} == set(range(4))


def test_numbers_go_on(watched: Tap) -> None:
    single_run(watched.attach(gym.make("CartPole-v1")), 3)
    vector_run(watched.attach(make(AutoresetMode.NEXT_STEP, 2)), 3)
    assert {t.env for t in watched.labelled().transitions()} == {0, 1, 2}
