"""Any Gymnasium environment: nothing changes, and everything it gives is recorded."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import ClipAction, TimeLimit

from isoscope.core.tap.adapters.hooks import is_hooked
from tests.core.tap.adapters.same import assert_same, column, single_run

if TYPE_CHECKING:
    from tests.core.tap.adapters.conftest import Tap


class Talker(gym.Env[Any, Any]):
    """Has a Dict of everything, infos that come and go, and writes into its arrays."""

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            {
                "image": spaces.Box(0, 255, (2, 2, 3), np.uint8),
                "pose": spaces.Box(-1, 1, (3,), np.float64),
                "which": spaces.Discrete(4, start=2),
                "text": spaces.Text(5),
            }
        )
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        self._pose = np.zeros(3)
        self.fails = False

    def _seen(self) -> dict[str, Any]:
        image = np.full((2, 2, 3), self.count % 256, np.uint8)
        return {"image": image, "pose": self._pose, "which": 2, "text": "abc"}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        self._pose[:] = self.np_random.uniform(size=3)
        return self._seen(), {"options": options}

    def step(self, action: Any) -> Any:
        if self.fails:
            raise ArithmeticError("singular")
        self.count += 1
        self._pose += 0.25  # in place: what was given before changes too
        action *= 0  # and what was given to it
        info: dict[str, Any] = {"reward_terms": {"lean": 0.5, "alive": self.count}}
        if self.count % 2:
            info["odd"] = np.int32(self.count)
        if self.count == 3:
            info["terminated_reason"] = "three"
        return self._seen(), 0.5, self.count == 3, False, info


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1", "MountainCar-v0"])
def test_nothing_changes(watched: Tap, name: str) -> None:
    plain = single_run(gym.make(name), 60)
    seen = single_run(watched.attach(gym.make(name)), 60)
    assert_same(seen, plain)


def test_all_that_comes_out_is_recorded(watched: Tap) -> None:
    out = single_run(watched.attach(gym.make("CartPole-v1")), 60)
    labelled = watched.labelled()
    told = labelled.transitions()
    rows = out[:-2]
    assert len(told) == len(rows)
    after = column(labelled, "observation_after")
    before = column(labelled, "observation_before")
    for k, (transition, row) in enumerate(zip(told, rows, strict=True)):
        assert after.values[k].tobytes() == row[0].tobytes()
        if len(row) == 2:
            assert transition.valid == 0
            assert transition.control_step == 0
            assert not before.valid[k]
            continue
        assert transition.valid == 1
        assert transition.reward == row[1]
        assert (transition.terminated, transition.truncated) == row[2:4]
        assert before.values[k].tobytes() == rows[k - 1][0].tobytes()
    assert [t.episode for t in told if t.valid == 0] == list(
        range(1, 1 + sum(len(row) == 2 for row in rows))
    )
    assert told[0].seed == 3
    assert labelled.identity.seeds == [3]
    assert len({t.action_rng_digest for t in told}) > len(told) // 2


def test_a_dict_is_recorded_leaf_by_leaf(watched: Tap) -> None:
    env = watched.attach(Talker())
    env.reset(seed=1, options={"easy": True})
    poses = []
    for _ in range(3):
        given = np.array([2.0, 0.5], np.float32)
        poses.append(env.step(given)[0]["pose"].copy())
    labelled = watched.labelled()
    pose = column(labelled, "observation_after", "pose")
    # Owned: the environment went on writing into the very same array.
    np.testing.assert_array_equal(pose.values[1:], poses)
    np.testing.assert_array_equal(
        pose.values[:3], column(labelled, "observation_before", "pose").values[1:]
    )
    assert column(labelled, "observation_after", "image").values[2].max() == 2
    assert column(labelled, "observation_after", "which").values.tolist() == [2] * 4
    assert "text" not in labelled.names("observation_after")
    raw = column(labelled, "raw_action")
    assert raw.values[1].tolist() == [2.0, 0.5]  # as given, before it was written to
    # Nobody clips here as far as anybody knows: only the raw action is told.
    assert not column(labelled, "action").valid.any()
    assert column(labelled, "reward_term", "alive").values[1:].tolist() == [1, 2, 3]
    assert column(labelled, "info", "odd").valid.tolist() == [False, True, False, True]
    assert labelled.transitions()[3].reasons == {"terminated_reason": "three"}
    assert labelled.resets()[0].options == {"easy": True}
    assert labelled.resets()[0].automatic == 0


def test_clipping_is_told_where_it_is_done(watched: Tap) -> None:
    env = watched.attach(ClipAction(TimeLimit(Talker(), 9)))
    env.reset(seed=1)
    env.step(np.array([2.0, np.nan], np.float32))
    labelled = watched.labelled()
    clipped = column(labelled, "action").values[1]
    assert clipped[0] == 2.0  # ClipAction's own space has no limits
    assert np.isnan(clipped[1]) or not column(labelled, "action").valid[1]


def test_within_limits_clipping_changes_nothing(watched: Tap) -> None:
    env = watched.attach(gym.make("Pendulum-v1"))
    env.reset(seed=1)
    for value in (1.5, 2.5):
        env.step(np.array([value], np.float32))
    labelled = watched.labelled()
    assert column(labelled, "raw_action").values[1:, 0].tolist() == [1.5, 2.5]
    assert column(labelled, "action").valid.tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
def test_an_action_is_recorded_as_it_was_given(watched: Tap, dtype: Any) -> None:
    env = watched.attach(gym.make("Pendulum-v1", disable_env_checker=True))
    env.reset(seed=1)
    given = np.array([1.1], dtype)
    env.step(given)
    labelled = watched.labelled()
    assert labelled.names("raw_action") == ["value"]
    raw = column(labelled, "raw_action")
    assert raw.valid.tolist() == [False, True]
    assert raw.values[1, 0] == given[0]
    assert column(labelled, "action").values[1, 0] == np.float32(given[0])


def test_what_is_raised_is_raised_and_told(watched: Tap) -> None:
    env = watched.attach(Talker())
    env.reset(seed=1)
    env.fails = True  # it is the very same object
    with pytest.raises(ArithmeticError, match="singular"):
        env.step(np.zeros(2, np.float32))
    env.fails = False
    env.step(np.zeros(2, np.float32))
    labelled = watched.labelled()
    [failure] = labelled.failures()
    assert (failure.what, failure.env) == ("step", 0)
    assert "ArithmeticError: singular" in failure.message
    assert len(labelled.transitions()) == 2


def test_a_tap_that_fails_is_off_and_nobody_notices(
    watched: Tap, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    env = watched.attach(gym.make("CartPole-v1"))
    single = env.reset(seed=3)

    def fails(*_: object, **__: object) -> int:
        raise OSError("no more")

    monkeypatch.setattr(watched.file, "transition", fails)
    assert_same(single_run(env, 30), single_run(gym.make("CartPole-v1"), 30))
    assert not watched.session.on
    assert single
    assert capfd.readouterr().err.count("turned itself off") == 1


def test_what_is_never_used_appears_nowhere(watched: Tap) -> None:
    probe = watched.attach(gym.make("CartPole-v1"))
    probe.close()
    used = watched.attach(gym.make("CartPole-v1"))
    used.reset(seed=1)
    labelled = watched.labelled()
    assert labelled.identity.environments == 1
    assert [t.env for t in labelled.transitions()] == [0]


@pytest.mark.parametrize("copier", [copy.deepcopy, "pickle"])
def test_copies_go_without_the_tap(watched: Tap, copier: Any) -> None:
    env = watched.attach(Talker())
    env.reset(seed=1)
    if copier == "pickle":
        twin = pickle.loads(pickle.dumps(env))
    else:
        twin = copier(env)
    assert not is_hooked(twin, "step")
    action = np.ones(2, np.float32)
    assert twin.step(action)[0]["pose"].tolist() == (env._pose + 0.25).tolist()
    assert twin.count == 1
    assert env.count == 0
    assert len(watched.labelled().transitions()) == 1


def test_attaching_twice_is_attaching_once(watched: Tap) -> None:
    env = watched.attach(watched.attach(gym.make("CartPole-v1")))
    env.reset(seed=1)
    assert len(watched.labelled().transitions()) == 1


class Flat(gym.Env[Any, Any]):
    """Flat vectors of one dtype, in place; its infos are of one form and another."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-9, 9, (3,), np.float32)
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        self._seen = np.zeros(3, np.float32)
        self.told: list[dict[str, Any]] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._seen[:] = self.np_random.uniform(size=3)
        return self._seen, {}

    def step(self, action: Any) -> Any:
        k = len(self.told)
        self._seen += 0.25
        action *= 0
        info: dict[str, Any] = {"reward_terms": {"lean": 0.5 * k}, "size": k}
        if k % 3 == 1:
            info["size"] = 1 << 70  # too large to be told
            info["truncated_reason"] = f"reason {k}"
        if k % 4 == 2:
            info |= {"word": "none", "flag": np.bool_(True), "deep": {"a": k}}
        if k % 5 == 3:
            info["list"] = np.zeros(2)
        self.told.append(copy.deepcopy(info))
        return self._seen, np.float32(0.5), np.bool_(False), False, info


def test_steps_of_flat_vectors_are_recorded_whatever_their_infos(watched: Tap) -> None:
    env = watched.attach(Flat())
    seen = [env.reset(seed=2)[0].copy()]
    given = []
    for k in range(40):
        dtype = np.float64 if k % 7 == 6 else np.float32
        given.append(np.array([0.1 * k - 2, 0.5], dtype))
        observation, *_, info = env.step(given[-1].copy())
        seen.append(observation.copy())
        info.clear()  # it is the caller's
    told = env.told
    labelled = watched.labelled()
    after, before = (
        column(labelled, f"observation_{when}") for when in ("after", "before")
    )
    assert after.values.tobytes() == np.array(seen).tobytes()
    assert before.values[1:].tobytes() == np.array(seen[:-1]).tobytes()
    raw = column(labelled, "raw_action")  # those of the other dtype are another track
    usual = [one.dtype == np.float32 for one in given]
    assert raw.valid[1:].tolist() == usual
    assert raw.values[1:][usual].tolist() == [
        one.tolist() for one in given if one.dtype == np.float32
    ]
    inside = [bool((np.abs(one) <= 1).all()) for one in given]
    assert column(labelled, "action").valid[1:].tolist() == inside
    rows = labelled.transitions()[1:]
    assert [t.control_step for t in rows] == list(range(1, 41))
    assert {t.reward for t in rows} == {0.5}
    reasons = [info.get("truncated_reason") for info in told]
    assert [(t.reasons or {}).get("truncated_reason") for t in rows] == reasons
    lean = column(labelled, "reward_term", "lean").values[1:]
    assert lean.tolist() == [0.5 * k for k in range(40)]
    for name, find in (
        ("size", lambda info: info["size"] if info["size"] < 1 << 63 else None),
        ("flag", lambda info: info.get("flag")),
        ("deep/a", lambda info: info.get("deep", {}).get("a")),
    ):
        expected = [find(info) for info in told]
        values = column(labelled, "info", name)
        assert values.valid[1:].tolist() == [one is not None for one in expected]
        there = [one for one in expected if one is not None]
        assert values.values[values.valid].tolist() == there
    assert {"word", "list"}.isdisjoint(labelled.names("info"))


def test_what_somebody_else_put_around_a_step_is_called(watched: Tap) -> None:
    env = Flat()
    calls: list[Any] = []
    inner = env.step

    def step(action: Any) -> Any:
        calls.append(action.tolist())
        return inner(action)

    env.step = step  # type: ignore[method-assign]
    tapped = watched.attach(env)
    tapped.reset(seed=1)
    tapped.step(np.array([0.5, 0.25], np.float32))
    assert calls == [[0.5, 0.25]]
    assert copy.deepcopy(tapped).step is step
    assert len(watched.labelled().transitions()) == 2


@pytest.mark.parametrize("name", ["reset", "step"])
def test_a_method_of_an_environment_that_nobody_kept_says_what_to_do(
    watched: Tap, name: str
) -> None:
    def step_of_what_is_dropped() -> Any:
        return getattr(watched.attach(Talker()), name)

    with pytest.raises(ReferenceError, match="keep it in a variable"):
        step_of_what_is_dropped()(np.zeros(2, np.float32))
    assert watched.session.on
