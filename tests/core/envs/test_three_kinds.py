"""Independent, shared in turn, resident: the same numbers, bit for bit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.envs.randomisation.distributions import (
    Choice,
    LogUniform,
    Uniform,
)
from isoscope.core.envs.randomisation.disturbances import (
    Disturbance,
    DisturbancePlan,
)
from isoscope.core.envs.randomisation.persistent import (
    PersistentDraw,
    PersistentPlan,
)
from tests.core.envs.making import batch, env

MODES = ("NextStep", "SameStep", "Disabled")
PLAN = PersistentPlan(
    draws=(
        PersistentDraw(
            name="masses",
            entry="mass",
            distribution=LogUniform(unit="1", low=0.5, high=2.0),
        ),
        PersistentDraw(
            name="slope",
            entry="gravity",
            index=(0,),
            operation="add",
            distribution=Uniform(unit="m/s²", low=-0.2, high=0.2),
        ),
    ),
    in_shared_scenes="reapply",
)
DISTURBED = DisturbancePlan(
    actions=(
        Disturbance(
            quantity="control",
            unit="1",
            noise_std=0.3,
            correlation_s=0.1,
            every="substep",
            bias_std=0.1,
        ),
    ),
    observations=(
        Disturbance(
            quantity="position", unit="m", noise_std=0.01, every="frame", frame_steps=3
        ),
        Disturbance(quantity="linear_vel", unit="m/s", noise_std=0.1, bias_std=0.2),
    ),
    action_delay=Choice(unit="control steps", values=(0.0, 1.0, 2.0)),
    observation_delay=Choice(unit="control steps", values=(0.0, 1.0)),
)
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "randomised": {"persistent": PLAN},
    "disturbed": {"disturbances": DISTURBED},
    "both": {"persistent": PLAN, "disturbances": DISTURBED},
}


def trace(vector: Any, mode: str, steps: int, seed: int) -> list[Any]:
    """All that a caller sees, and what the info says of every row."""
    rng = np.random.default_rng(seed)
    shape = vector.action_space.shape
    observation, info = vector.reset(seed=seed)
    seen: list[Any] = [observation.copy(), info["valid"].copy()]
    for _ in range(steps):
        action = rng.uniform(-3.5, 3.5, shape).astype(np.float32)
        observation, reward, terminated, truncated, info = vector.step(action)
        rows: list[Any] = [observation, reward, terminated, truncated, info["valid"]]
        rows += [info["control_step"]]
        nobody = np.zeros(len(reward), np.bool_)
        mask = info.get("_final_obs", nobody)
        rows += [mask, list(info.get("final_obs", nobody)[mask])]
        mask = info.get("_reward_terms", nobody)
        terms = info.get("reward_terms", {})
        rows += [mask, [float(v) for v in terms.get("upright_reward", nobody)[mask]]]
        seen.extend(np.array(row) for row in rows)
        ended = terminated | truncated
        if mode == "Disabled" and ended.any():
            observation, _ = vector.reset(options={"reset_mask": ended})
            seen.append(observation.copy())
    return seen


def three(n: int, mode: str, **kwargs: Any) -> list[Any]:
    def makers(scene: str) -> list[Any]:
        return [lambda i=i: env(scene=scene, env_id=i, **kwargs) for i in range(n)]

    return [
        SyncVectorEnv(makers("independent"), autoreset_mode=mode),
        SyncVectorEnv(makers("shared"), autoreset_mode=mode),
        batch(n=n, autoreset_mode=mode, **kwargs),
    ]


def assert_same(traces: list[list[Any]]) -> None:
    first, *others = traces
    for other in others:
        assert len(first) == len(other)
        for at, (a, b) in enumerate(zip(first, other, strict=True)):
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), (at, a, b)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", SETTINGS)
def test_the_same_trajectories_in_all_three(what: str, mode: str) -> None:
    kwargs = SETTINGS[what] | {"max_steps": 9, "upright_rad": 0.08}
    made = three(3, mode, **kwargs)
    traces = [trace(vector, mode, 40, 11) for vector in made]
    assert_same(traces)
    for vector in made:
        vector.close()


@given(
    n=st.integers(1, 5),
    seed=st.integers(0, 2**31),
    mode=st.sampled_from(MODES),
    max_steps=st.integers(1, 6),
    ahead=st.integers(2, 9),
)
@settings(max_examples=12, deadline=None)
def test_whatever_the_batch_and_however_much_is_drawn_ahead(
    n: int, seed: int, mode: str, max_steps: int, ahead: int
) -> None:
    made = three(n, mode, max_steps=max_steps, disturbances=DISTURBED)
    made.append(
        batch(
            n=n,
            autoreset_mode=mode,
            max_steps=max_steps,
            disturbances=DISTURBED,
            ahead=ahead,
        )
    )
    assert_same([trace(vector, mode, 12, seed) for vector in made])
    for vector in made:
        vector.close()


def test_a_world_alone_among_many_goes_as_it_does_alone() -> None:
    many, alone = batch(n=7), env(scene="independent")
    observations, _ = many.reset(seed=[9, 8, 7, 6, 5, 4, 3])
    first, _ = alone.reset(seed=6)
    assert np.array_equal(observations[3], first)


@given(turns=st.lists(st.integers(0, 3), max_size=40), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_whoever_steps_next_in_a_shared_scene(turns: list[int], seed: int) -> None:
    """Turns need no order; resets and ends of others matter to nobody."""
    together = [env(env_id=i, max_steps=4, disturbances=DISTURBED) for i in range(4)]
    alone = [
        env(scene="independent", env_id=i, max_steps=4, disturbances=DISTURBED)
        for i in range(4)
    ]
    for i, (a, b) in enumerate(zip(together, alone, strict=True)):
        assert np.array_equal(a.reset(seed=seed + i)[0], b.reset(seed=seed + i)[0])
    for k, i in enumerate(turns):
        action = np.array([0.1 * k], np.float32)
        results = [one.step(action) for one in (together[i], alone[i])]
        assert np.array_equal(results[0][0], results[1][0])
        assert results[0][1:] == results[1][1:]
        if results[0][2] or results[0][3]:
            assert np.array_equal(together[i].reset()[0], alone[i].reset()[0])
    for one in together + alone:
        one.close()


def test_invalid_and_non_finite_lanes_do_not_touch_the_others() -> None:
    kwargs: dict[str, Any] = {"on_nonfinite": "invalidate", "force_scale_n": 10.0}
    made = three(3, "NextStep", **kwargs)
    for vector in made:
        vector.reset(seed=4)
    rows: list[Any] = []
    for k in range(6):
        action = np.full((3, 1), 0.5, np.float32)
        if k == 2:
            action[1] = np.nan
        rows.append([vector.step(action) for vector in made])
    for results in rows:
        for a, b in pairwise(results):
            assert all(np.array_equal(x, y) for x, y in zip(a[:4], b[:4], strict=True))
            assert np.array_equal(a[4]["valid"], b[4]["valid"])
    assert rows[2][2][4]["usable"].tolist() == [True, False, True]
    assert rows[3][2][4]["transition"].tolist() == [True, False, True]


def test_next_step_and_same_step_give_the_same_transitions() -> None:
    """By each mode's own rule for which rows are transitions, and to what they lead."""
    found: dict[str, list[set[Any]]] = {}
    for mode in ("NextStep", "SameStep"):
        made = batch(n=2, autoreset_mode=mode, max_steps=3)
        before, _ = made.reset(seed=1)
        lanes: list[set[Any]] = [set(), set()]
        for _ in range(16):
            action = before[:, :1].astype(np.float32)  # a policy of what it sees
            after, reward, terminated, truncated, info = made.step(action)
            for i in range(2):
                true_next = after[i]
                if "final_obs" in info and info["_final_obs"][i]:
                    true_next = info["final_obs"][i]
                if info["transition"][i]:
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
            before = after
        found[mode] = lanes
    for slow, fast in zip(found["NextStep"], found["SameStep"], strict=True):
        assert len(slow) == 12
        assert len(fast) == 16
        assert slow < fast
