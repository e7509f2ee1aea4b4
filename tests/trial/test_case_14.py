"""NaN, Inf, huge, the engine's half: refused, or marked and kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.app.environments import EnvFactory
from isoscope.core.envs.errors import ActionError, NotResetError
from isoscope.core.envs.lane_options import LaneOptions

N, BAD = 4, 2


def batch(**settings: Any) -> Any:
    options = LaneOptions(on_nonfinite="invalidate", ahead=8)
    make = EnvFactory("CartPole", settings, options=options, integrator="semi_implicit")
    return make.batch(N)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_action_that_is_not_finite_is_refused_by_default(value: float) -> None:
    one = EnvFactory("CartPole", integrator="semi_implicit")()
    one.reset(seed=1)
    state = one.capture()
    with pytest.raises(ActionError, match="env 0: the action is not finite"):
        one.step(np.array([value], np.float32))
    assert one.capture() == state
    one.close()


def test_one_bad_lane_is_counted_located_and_touches_no_other() -> None:
    many, clean = batch(), batch()
    many.reset(seed=1)
    clean.reset(seed=1)
    bad_rows = []
    for k in range(1, 7):
        action = np.full((N, 1), 0.3, np.float32)
        good = clean.step(action)
        action[BAD] = np.nan if k == 3 else 0.3
        observation, reward, terminated, truncated, info = many.step(action)
        usable = info["usable"]
        bad_rows += [(k, int(i)) for i in np.flatnonzero(info["transition"] & ~usable)]
        if k == 3:
            assert (terminated[BAD], truncated[BAD]) == (False, True)
            last = many.last_step(BAD)
            assert np.isnan(last.raw_action).all()
            assert last.truncated_reasons == ("non-finite action",)
        others = np.arange(N) != BAD
        assert np.array_equal(observation[others], good[0][others])
        assert np.array_equal(reward[others], good[1][others])
        assert np.isfinite(observation).all()
    assert bad_rows == [(3, BAD)]
    many.close()
    clean.close()


def test_a_state_that_blows_up_is_marked_and_must_be_reset() -> None:
    make = EnvFactory(
        "CartPole",
        {"force_scale_n": 1e300},
        integrator="semi_implicit",
        scene="independent",
    )
    one = make()
    one.reset(seed=1)
    push = np.array([3.0], np.float32)
    with np.errstate(over="ignore"):  # such a state has no float32 observation
        for _ in range(4):
            *_, terminated, truncated, info = one.step(push)
            if not info["valid"]:
                break
    assert (terminated, truncated, info["valid"]) == (False, True, False)
    assert info["truncated_reason"] == "invalid state"
    last = one.last_step()
    assert not last.valid
    assert 2 in last.status
    with pytest.raises(NotResetError):
        one.step(push)
    observation, info = one.reset()
    assert info["valid"]
    assert np.isfinite(observation).all()
    one.close()


def test_a_joint_that_never_moves_is_exactly_still() -> None:
    one = EnvFactory(
        "CartPole",
        {"gravity": False, "damping": False, "reset_noise": 0.0},
        integrator="semi_implicit",
    )()
    one.reset(seed=1)
    seen = np.stack([one.step(np.zeros(1, np.float32))[0] for _ in range(5)])
    assert not seen.any()
    one.close()
