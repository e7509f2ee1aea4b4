"""Which rows are transitions: one rollout seen in all three modes."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.envs.vector import (
    HybridVectorEnv,
    TransitionStream,
    VectorEnvError,
    autoreset_mode_of,
    valid_transitions,
)
from tests.core.envs.vector.worlds import Counting, cartpole

Row = tuple[Any, ...]
LENGTHS = st.lists(
    st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple),
    min_size=1,
    max_size=3,
)


def flat(obs: Any, lane: int) -> tuple[float, ...]:
    if isinstance(obs, dict):
        return tuple(n for key in sorted(obs) for n in flat(obs[key], lane))
    return tuple(np.ravel(obs[lane]).tolist())


def exported(envs: Any, steps: int) -> list[list[Row]]:
    """Act by what is seen, and export every environment's transitions."""
    mode = autoreset_mode_of(envs)
    stream = TransitionStream(mode, envs.num_envs)
    obs, _ = envs.reset(seed=0)
    stream.reset(obs)
    found: list[list[Row]] = [[] for _ in range(envs.num_envs)]
    done = np.zeros(envs.num_envs, dtype=np.bool_)
    for _ in range(steps):
        if mode is AutoresetMode.DISABLED and done.any():
            obs, _ = envs.reset(options={"reset_mask": done.copy()})
            stream.reset(obs, done)
        seen = [sum(flat(obs, lane)) for lane in range(envs.num_envs)]
        actions = np.array([[n % 7] for n in seen], dtype=np.float32)
        obs, *rest = envs.step(actions)
        step = stream.step(actions, obs, *rest)
        done = step.terminated | step.truncated
        for lane in np.flatnonzero(step.valid):
            found[lane].append(
                (
                    flat(step.obs, lane),
                    flat(step.actions, lane),
                    float(step.rewards[lane]),
                    flat(step.next_obs, lane),
                    bool(step.terminated[lane]),
                    bool(step.truncated[lane]),
                )
            )
    envs.close()
    return found


@settings(deadline=None, max_examples=30)
@given(lengths=LENGTHS, nested=st.booleans(), ours=st.booleans())
def test_all_modes_export_the_same_transitions(
    lengths: list[tuple[int, ...]], nested: bool, ours: bool
) -> None:
    factories = [partial(Counting, part, nested=nested) for part in lengths]
    kind: Any = HybridVectorEnv if ours else SyncVectorEnv
    steps = 25
    next_step, same_step, disabled = (
        exported(kind(factories, autoreset_mode=mode), steps) for mode in AutoresetMode
    )
    for lane, part in enumerate(lengths):
        assert len(same_step[lane]) == steps
        assert same_step[lane] == disabled[lane]
        kept = next_step[lane]
        # resets took rows, so the same rollout ends earlier
        assert kept == same_step[lane][: len(kept)]
        resets, at = 0, -1
        for episode in range(steps):  # the rows after each end, counted by hand
            at += part[min(episode, len(part) - 1)] + (episode > 0)
            resets += at < steps - 1
        assert len(kept) == steps - resets


def test_a_window_of_five_rows_has_four_transitions_each() -> None:
    # episodes of 2 and 3: rows 2 and 3 are resets
    factories = [partial(Counting, (2, 99)), partial(Counting, (3, 99))]
    found = exported(SyncVectorEnv(factories), 5)
    assert [len(rows) for rows in found] == [4, 4]


@pytest.mark.parametrize("key", ["final_obs", "final_observation"])
def test_finals_as_batched_arrays(key: str) -> None:
    # as environments with native batches give them
    obs = {"a": np.zeros((2, 3)), "b": (np.zeros(2),)}
    finals = {"a": np.ones((2, 3)), "b": (np.ones(2),)}
    stream = TransitionStream(AutoresetMode.SAME_STEP, 2)
    stream.reset(obs)
    done, no = np.array([False, True]), np.zeros(2, dtype=bool)
    step = stream.step(np.zeros(2), obs, np.zeros(2), done, no, {key: finals})
    assert step.next_obs["a"].tolist() == [[0, 0, 0], [1, 1, 1]]
    assert step.next_obs["b"][0].tolist() == [0, 1]
    assert obs["a"].sum() == 0


@pytest.mark.parametrize(
    "infos",
    [
        {},
        {"final_obs": np.array([None, None], dtype=object)},
        {"final_obs": np.ones((2, 3)), "_final_obs": np.array([True, False])},
    ],
)
def test_a_done_row_without_its_final_observation_is_refused(infos: Any) -> None:
    stream = TransitionStream(AutoresetMode.SAME_STEP, 2)
    stream.reset(np.zeros((2, 3)))
    done, no = np.array([False, True]), np.zeros(2, dtype=bool)
    with pytest.raises(VectorEnvError, match="environment 1 ended and reset"):
        stream.step(np.zeros(2), np.zeros((2, 3)), np.zeros(2), done, no, infos)


def test_what_is_given_is_kept_though_the_environment_writes_into_it() -> None:
    envs = SyncVectorEnv([Counting] * 2, copy=False)
    obs, _ = envs.reset()
    stream = TransitionStream(AutoresetMode.NEXT_STEP, 2)
    stream.reset(obs)
    actions = np.zeros((2, 1), dtype=np.float32)
    first = stream.step(actions, *envs.step(actions))
    second = stream.step(actions, *envs.step(actions))
    assert [first.obs[0, 1], first.next_obs[0, 1], second.next_obs[0, 1]] == [0, 1, 2]
    assert second.obs[0, 1] == 1
    envs.close()


def test_going_on_after_the_end_is_refused_in_disabled() -> None:
    stream = TransitionStream(AutoresetMode.DISABLED, 2)
    no, one = np.zeros(2, dtype=bool), np.array([False, True])
    obs, zeros = np.zeros((2, 1)), np.zeros(2)
    with pytest.raises(VectorEnvError, match="no reset before"):
        stream.step(zeros, obs, zeros, no, no, {})
    with pytest.raises(VectorEnvError, match="tell of all"):
        stream.reset(obs, one)
    stream.reset(obs)
    stream.step(zeros, obs, zeros, no, one, {})
    stream.reset(obs, ~one)  # not the one that ended
    with pytest.raises(VectorEnvError, match="environment 1 went on after"):
        stream.step(zeros, obs, zeros, no, no, {})
    stream.reset(obs, one)
    assert stream.step(zeros, obs, zeros, no, no, {}).valid.all()


def test_returns_are_those_of_the_raw_rows() -> None:
    envs = SyncVectorEnv([partial(Counting, (2, 99)), partial(Counting, (3, 99))])
    obs, _ = envs.reset()
    ones = np.ones((2, 1), dtype=np.float32)
    steps = [(ones, *envs.step(ones)) for _ in range(5)]
    found = list(valid_transitions(AutoresetMode.NEXT_STEP, 2, obs, steps))
    raw = np.stack([step[2] for step in steps]).sum(axis=0)
    kept = np.stack([step.rewards * step.valid for step in found]).sum(axis=0)
    assert raw.tolist() == kept.tolist() == [4.0, 4.0]
    assert np.stack([step.reset_rows for step in found]).nonzero()[0].tolist() == [2, 3]
    envs.close()


@pytest.mark.parametrize("terminated", [False, True])
@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
def test_flags_stay_as_they_are(
    mode: AutoresetMode, terminated: bool, truncated: bool
) -> None:
    flags = np.array([terminated]), np.array([truncated])
    steps = [(np.zeros(1), np.ones((1, 1)), np.ones(1), *flags, {})]
    (step,) = valid_transitions(mode, 1, np.zeros((1, 1)), steps)
    found = step.terminated.tolist(), step.truncated.tolist()
    assert found == ([terminated], [truncated])
    assert step.valid.all()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_mode_is_read_from_inside_first(mode: AutoresetMode) -> None:
    envs = SyncVectorEnv([cartpole], autoreset_mode=mode)
    # as it is before 1.4, when another one was made meanwhile
    others = {"autoreset_mode": next(one for one in AutoresetMode if one is not mode)}
    envs.metadata = dict(envs.metadata) | others
    assert autoreset_mode_of(RecordEpisodeStatistics(envs)) is mode
    envs.close()


def test_the_mode_from_metadata_or_not_at_all() -> None:
    native = gymnasium.make_vec(
        "CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point"
    )
    assert autoreset_mode_of(native) is AutoresetMode.NEXT_STEP
    envs = SyncVectorEnv([cartpole])
    del envs.autoreset_mode
    envs.metadata = {"autoreset_mode": "SameStep"}
    assert autoreset_mode_of(envs) is AutoresetMode.SAME_STEP
    envs.metadata = {}
    with pytest.raises(VectorEnvError, match="does not say how"):
        autoreset_mode_of(envs)
    envs.metadata = {"autoreset_mode": "sometimes"}
    with pytest.raises(VectorEnvError, match="'sometimes'"):
        autoreset_mode_of(envs)
    envs.close()
    native.close()
