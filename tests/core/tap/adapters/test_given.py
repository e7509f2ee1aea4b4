"""Whatever an environment gives is recorded bit for bit, or is absent; nobody fails."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from isoscope.core.recording.registry import load
from isoscope.core.tap.adapters import scalars
from tests.core.tap.adapters.same import column

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.core.tap.adapters.conftest import Tap

VECTOR = spaces.Box(-1, 1, (3,), np.float32)
BYTES = spaces.Box(0, 255, (3,), np.uint8)
STILL = np.zeros(3, np.float32)


class Gives(gym.Env[Any, Any]):
    """Gives what it is told to, at its k-th step."""

    action_space = VECTOR

    def __init__(
        self,
        space: Any = VECTOR,
        seen: Callable[[int], Any] = lambda k: np.full(3, k, np.float32),
        reward: Any = 0.5,
        ends: tuple[Any, Any] = (False, False),
        info: dict[Any, Any] | None = None,
    ) -> None:
        self.observation_space = space
        self.seen, self.rest = seen, (reward, *ends, info or {})
        self.k = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.k = 0
        return self.seen(0), {}

    def step(self, action: Any) -> Any:
        self.k += 1
        return self.seen(self.k), *self.rest


def stepped(watched: Tap, env: Any, steps: int = 3) -> Any:
    """What is recorded of a reset and some steps."""
    env = watched.attach(env)
    env.reset(seed=1)
    for _ in range(steps):
        env.step(STILL)
    return watched.labelled()


@pytest.mark.parametrize(
    ("space", "given"),
    [
        (VECTOR, np.array([0.1, np.nan, 1e300])),
        (VECTOR, [0.1, 0.2, 0.3]),
        (BYTES, np.array([0.7, np.nan, -1.0], np.float32)),
        (BYTES, np.array([300, -1, 7])),
        (spaces.Box(-9, 9, (3,), np.int32), np.array([1, 2, 2**40])),
        (spaces.Box(0, 9, (3,), np.int64), np.array([1, 2, 2**64 - 1], np.uint64)),
        (spaces.Box(-1, 1, (1, 3), np.float32), np.array([0.1, 0.2, 0.3])),
    ],
)
def test_an_observation_of_another_dtype_loses_nothing(
    watched: Tap, space: Any, given: Any
) -> None:
    labelled = stepped(watched, Gives(space, lambda _: given))
    expected = np.asarray(given)
    for when, first in (("after", 0), ("before", 1)):
        found = column(labelled, f"observation_{when}")
        assert found.values.dtype == expected.dtype
        assert found.valid.tolist() == [k >= first for k in range(4)]
        assert found.values[3].tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "given", [0.5, np.full(1, 0.5, np.float32), np.zeros((3, 3)), None, "a", [[1], []]]
)
def test_an_observation_of_another_shape_is_absent(watched: Tap, given: Any) -> None:
    env = Gives(VECTOR, lambda k: STILL if k == 2 else given)
    labelled = stepped(watched, env)
    after = column(labelled, "observation_after")
    assert after.valid.tolist() == [False, False, True, False]
    assert column(labelled, "observation_before").valid.tolist() == [*[False] * 3, True]


@pytest.mark.parametrize("space", [VECTOR, spaces.Dict({"a": VECTOR})])
@pytest.mark.parametrize(
    ("reward", "ended", "expected"),
    [
        (np.array([1.5]), np.array([True]), (1.5, 1)),
        (np.float32(1.5), np.bool_(False), (1.5, 0)),
        (2, 0, (2.0, 0)),
        (None, None, (np.nan, -1)),
        (np.zeros(2), np.ones(2, np.bool_), (np.nan, -1)),
        ("2", "yes", (np.nan, -1)),
        (10**400, object(), (np.nan, -1)),
    ],
)
def test_rewards_and_flags_that_are_odd(
    watched: Tap, space: Any, reward: Any, ended: Any, expected: tuple[float, int]
) -> None:
    seen = (lambda _: STILL) if space is VECTOR else (lambda _: {"a": STILL})
    env = Gives(space, seen, reward, (ended, False))
    rows = stepped(watched, env).transitions()
    assert len(rows) == 4
    np.testing.assert_equal((rows[1].reward, rows[1].terminated), expected)
    assert rows[2].valid == (-1 if expected[1] == 1 else 1)


def test_infos_that_are_odd(watched: Tap) -> None:
    class Whole(int):
        pass

    info = {
        "ordered": OrderedDict(a=1.0),
        "huge": Whole(10**400),
        "x": 2.0,
        "reward_terms": np.ones(2),
    }
    labelled = stepped(watched, Gives(info=info))
    assert sorted(labelled.names("info")) == ["ordered/a", "x"]
    assert column(labelled, "info", "ordered/a").values[1] == 1.0
    assert labelled.names("reward_term") == []


def test_more_names_than_there_is_room_for_are_counted(
    watched: Tap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalars, "MOST_NAMES", 3)
    env = watched.attach(Gives(info={f"k{k}": 1.0 for k in range(5)}))
    env.reset()
    for _ in range(2):
        env.step(STILL)
    watched.file.close()
    found = load(watched.path)
    assert found.labelled is not None
    assert found.labelled.names("info") == ["k0", "k1", "k2"]
    assert [(d.what, d.count) for d in found.labelled.dropped()] == [("info", 2)] * 2
    assert "4 records were dropped" in found.problems[0].message


def test_options_are_those_that_were_given(watched: Tap) -> None:
    class Takes(Gives):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            options.pop("x")
            options["list"].append(2)
            return super().reset(seed=seed)

    env = watched.attach(Takes())
    env.reset(options={"x": 5, "list": [1], "\ud800": "\udfff"})
    labelled = watched.labelled()
    expected = {"x": 5, "list": [1], "\\ud800": "\\udfff"}
    assert labelled.transitions()[0].options == expected
    assert labelled.resets()[0].options == expected


def test_keys_that_read_the_same_are_told_apart(watched: Tap) -> None:
    space = spaces.Dict({"a/b": VECTOR, "a": spaces.Dict({"b": VECTOR})})
    given = {"a/b": STILL, "a": {"b": STILL + 1}}
    labelled = stepped(watched, Gives(space, lambda _: given))
    assert sorted(labelled.names("observation_after")) == ["a/b", "a/b#2"]
    found = {
        float(column(labelled, "observation_after", name).values[0, 0])
        for name in ("a/b", "a/b#2")
    }
    assert found == {0.0, 1.0}


def test_environments_that_threads_step_do_not_mix(watched: Tap) -> None:
    space = spaces.Dict({"a": spaces.Box(-1e9, 1e9, (40,), np.float64)})

    def gives(number: int) -> Any:
        def seen(k: int) -> dict[str, Any]:
            return {"a": np.full(40, 1000.0 * number + k)}

        info = {"who": float(number), f"only {number}": 1.0, "list": []}
        return watched.attach(Gives(space, seen, info=info))

    envs = [gives(number) for number in range(4)]
    for env in envs:  # where what writes them is made
        env.reset(seed=1)
        env.step(STILL)

    def go_on(env: Any) -> None:
        for _ in range(150):
            env.step(STILL)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=go_on, args=(env,)) for env in envs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    labelled = watched.labelled()
    rows = labelled.transitions()
    assert len(rows) == 4 * 152
    after = column(labelled, "observation_after", "a")
    who = column(labelled, "info", "who")
    for k, row in enumerate(rows):
        expected = 1000.0 * row.env + row.control_step
        assert after.valid[k]
        assert (after.values[k] == expected).all(), (k, row.env)
        assert who.valid[k] == (row.control_step > 0)
        assert not who.valid[k] or who.values[k] == row.env
    for number in range(4):
        only = column(labelled, "info", f"only {number}").valid
        assert {rows[k].env for k in np.flatnonzero(only)} == {number}


def test_what_was_before_the_tap_is_absent(watched: Tap) -> None:
    env = Gives()
    env.reset()
    env.step(STILL)
    env = watched.attach(env)
    for _ in range(2):
        env.step(STILL)
    env.reset()
    env.step(STILL)
    labelled = watched.labelled()
    told = [(t.episode, t.control_step, t.valid) for t in labelled.transitions()]
    assert told == [(-1, -1, -1), (-1, -1, -1), (1, 0, 0), (1, 1, 1)]
    before = column(labelled, "observation_before").valid
    assert before.tolist() == [False, True, False, True]


def batch(mode: AutoresetMode, make: Callable[[], Any], count: int = 2) -> Any:
    return SyncVectorEnv([make] * count, autoreset_mode=mode)


class Ends(Gives):
    """Ends at its third step."""

    def step(self, action: Any) -> Any:
        seen, reward, _, truncated, info = super().step(action)
        return seen, reward, self.k == 3, truncated, info


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda m: m.name)
def test_what_was_before_the_tap_of_a_batch_is_absent(
    watched: Tap, mode: AutoresetMode
) -> None:
    env, still = batch(mode, Ends), np.zeros((2, 3), np.float32)
    env.reset()
    for _ in range(3):
        env.step(still)
    env = watched.attach(env)
    if mode is AutoresetMode.DISABLED:
        env.reset(options={"reset_mask": np.array([True, True])})
    for _ in range(3):
        *_, ended, _, _ = env.step(still)
    assert ended.any() or mode is AutoresetMode.NEXT_STEP
    labelled = watched.labelled()
    told = labelled.transitions()[::2]
    assert labelled.failures() == []
    if mode is AutoresetMode.DISABLED:
        expected = [(1, 0, 0), (1, 1, 1), (1, 2, 1), (1, 3, 1)]
    else:  # the first of NEXT_STEP is a reset, which nobody can know
        expected = [(-1, -1, -1)] * 3
        expected += [(1, 0, 0)] if mode is AutoresetMode.SAME_STEP else []
    assert [(t.episode, t.control_step, t.valid) for t in told] == expected
    before = column(labelled, "observation_before").valid[::2]
    assert not before[0]
    assert before[1]


def test_a_first_reset_of_some_ends_nothing(watched: Tap) -> None:
    env = batch(AutoresetMode.DISABLED, Ends)
    env.reset()
    env = watched.attach(env)
    env.reset(options={"reset_mask": np.array([True, False])})
    env.step(np.zeros((2, 3), np.float32))
    labelled = watched.labelled()
    told = [(t.env, t.episode, t.valid) for t in labelled.transitions()]
    assert told == [(0, 1, 0), (0, 1, 1), (1, -1, -1)]
    before = column(labelled, "observation_before")
    assert before.valid.tolist() == [False, True, True]


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda m: m.name)
@pytest.mark.parametrize(
    ("space", "value"),
    [
        (spaces.Text(4), "ab"),
        (spaces.Sequence(VECTOR), (STILL,)),
        (
            spaces.Graph(VECTOR, None),
            spaces.GraphInstance(np.zeros((2, 3), np.float32), None, None),
        ),
    ],
)
def test_parts_that_no_column_holds_are_left_out(
    watched: Tap, mode: AutoresetMode, space: Any, value: Any
) -> None:
    whole = spaces.Dict({"odd": space, "x": VECTOR})

    def make() -> Any:
        return Ends(whole, lambda k: {"odd": value, "x": STILL + k})

    env = watched.attach(batch(mode, make, 3))
    env.reset()
    for _ in range(5):
        *_, ended, _, _ = env.step(np.zeros((3, 3), np.float32))
        if mode is AutoresetMode.DISABLED and ended.any():
            env.reset(options={"reset_mask": ended})
    labelled = watched.labelled()
    assert labelled.names("observation_after") == ["x"]
    after = column(labelled, "observation_after", "x")
    rows = labelled.transitions()
    assert after.values[:, 0].tolist() == [float(row.control_step) for row in rows]
    assert {row.episode for row in rows} == {1, 2}


def test_steps_asked_for_and_fetched_apart_are_told_once(watched: Tap) -> None:
    made = AsyncVectorEnv([Ends] * 2, context="fork")
    env, still = watched.attach(made), np.zeros((2, 3), np.float32)
    try:
        env.reset_async(seed=7)
        env.reset_wait()
        env.step(still)
        env.step_async(still)
        env.step_wait()
        env.step(still)
        env.reset(seed=8)
        env.step_async(still)
        env.step_wait()
    finally:
        env.close()
    labelled = watched.labelled()
    told = [(t.episode, t.control_step, t.seed) for t in labelled.transitions()[::2]]
    assert told == [
        *[(1, 0, 7), (1, 1, -1), (1, 2, -1), (1, 3, -1)],
        *[(2, 0, 8), (2, 1, -1)],
    ]
    before = column(labelled, "observation_before").values[::2, 0]
    assert before[[1, 2, 3, 5]].tolist() == [0.0, 1.0, 2.0, 0.0]
