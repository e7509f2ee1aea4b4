"""Delays, noise and bias: when they come, how large they are, how they correlate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.core.envs.quantities import Layout, Quantity
from isoscope.core.envs.randomisation.distributions import Choice, Constant, Uniform
from isoscope.core.envs.randomisation.disturbances import (
    Disturbance,
    DisturbancePlan,
)
from isoscope.core.envs.randomisation.disturbing import Disturbing
from isoscope.core.envs.streams import Streams
from isoscope.core.envs.timing import Timing
from isoscope.core.errors import UsageError
from tests.core.envs.making import env
from tests.core.envs.rail_scene import RailScene

W = 400
ACTIONS = Layout((Quantity("push", "N", size=2),))
SEEN = Layout((Quantity("place", "m"), Quantity("speed", "m/s")))
TIMING = Timing(25, 50)


def disturbing(worlds: int = W, **plan: Any) -> Disturbing:
    return Disturbing(
        DisturbancePlan(**plan),
        RailScene("cartpole", worlds),
        ACTIONS,
        SEEN,
        TIMING,
        [Streams(s) for s in range(worlds)],
        16,
    )


def noises(made: Disturbing, steps: int) -> np.ndarray[Any, Any]:
    """[T, W, O]: what is added to observations of zero."""
    made.begin(None)
    zero = np.zeros((W, 2), np.float32)
    rows = [made.observation(zero, np.full(W, k), None) for k in range(steps)]
    return np.stack(rows)


def test_white_noise_has_its_size_and_no_memory() -> None:
    one = Disturbance(quantity="speed", unit="m/s", noise_std=2.0)
    added = noises(disturbing(observations=(one,)), 50)
    assert not added[:, :, 0].any()
    assert added[:, :, 1].std() == pytest.approx(2.0, rel=0.03)
    a, b = added[:-1, :, 1].ravel(), added[1:, :, 1].ravel()
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.03


def test_correlated_noise_forgets_by_its_time_and_keeps_its_size() -> None:
    one = Disturbance(quantity="place", unit="m", noise_std=0.5, correlation_s=0.2)
    added = noises(disturbing(observations=(one,)), 60)[:, :, 0]
    # its variance is the same from the first draw on
    for k in (0, 1, 10, 59):
        assert added[k].std() == pytest.approx(0.5, rel=0.15)
    for lag in (1, 5):
        expected = np.exp(-lag * 0.04 / 0.2)
        a, b = added[:-lag].ravel(), added[lag:].ravel()
        assert np.corrcoef(a, b)[0, 1] == pytest.approx(expected, abs=0.03)


def test_frames_hold_their_noise() -> None:
    one = Disturbance(
        quantity="place", unit="m", noise_std=1.0, every="frame", frame_steps=4
    )
    added = noises(disturbing(observations=(one,)), 9)[:, :, 0]
    assert np.array_equal(added[0], added[3])
    assert not np.equal(added[3], added[4]).any()
    assert np.array_equal(added[4], added[7])


def test_a_bias_is_drawn_once_an_episode() -> None:
    one = Disturbance(quantity="place", unit="m", bias_std=3.0)
    made = disturbing(observations=(one,))
    first = noises(made, 5)[:, :, 0]
    assert (first == first[0]).all()
    assert first[0].std() == pytest.approx(3.0, rel=0.12)
    second = noises(made, 2)[:, :, 0]
    assert not np.equal(first[0], second[0]).any()


@pytest.mark.parametrize(("every", "same"), [("substep", False), ("control", True)])
def test_noise_on_actions_comes_by_substep_or_by_control_step(
    every: Any, same: bool
) -> None:
    one = Disturbance(quantity="push", unit="N", noise_std=1.0, every=every)
    made = disturbing(actions=(one,))
    made.begin(None)
    zero, count = np.zeros((W, 2), np.float32), np.zeros(W, np.int64)
    a, b = (made.at_substep(zero, count, s, None) for s in range(2))
    assert np.array_equal(a, b) == same
    c = made.at_substep(zero, count + 1, 0, None)
    assert not np.equal(b, c).any()
    assert a.std() == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_actions_come_through_late_and_zero_until_then(delay: int) -> None:
    value = Constant(unit="control steps", value=float(delay))
    made = disturbing(2, action_delay=value)
    made.begin(None)
    given = [np.full((2, 2), k, np.float32) for k in range(1, 7)]
    through = [float(made.action(g, None)[0, 0]) for g in given]
    assert through == [0.0] * delay + [1.0, 2.0, 3.0, 4.0, 5.0, 6.0][: 6 - delay]


def test_observations_come_late_and_the_resets_until_then() -> None:
    late = Constant(unit="control steps", value=2.0)
    made = disturbing(1, observation_delay=late)
    made.begin(None)
    seen = [
        float(made.observation(np.full((1, 2), 10.0 + k), np.array([k]), None)[0, 0])
        for k in range(5)
    ]
    assert seen == [10.0, 10.0, 10.0, 11.0, 12.0]


def test_worlds_have_delays_of_their_own_and_wait_where_they_are_left_out() -> None:
    late = Choice(unit="control steps", values=(0.0, 2.0))
    made = disturbing(64, action_delay=late)
    made.begin(None)
    delays = made.state["delays"][:, 0]
    assert set(delays.tolist()) == {0.0, 2.0}
    some = np.arange(64) % 2 == 0
    made.action(np.full((64, 2), 1.0), some)
    made.action(np.full((64, 2), 2.0), None)
    third = made.action(np.full((64, 2), 3.0), None)[:, 0]
    expected = np.where(delays == 0.0, 3.0, np.where(some, 1.0, 0.0))
    assert np.array_equal(third, expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Disturbance(quantity="q", unit="m", noise_std=-1.0), "not negative"),
        (lambda: Disturbance(quantity="q", unit="m", frame_steps=0), "frame of 0"),
        (
            lambda: DisturbancePlan(
                action_delay=Uniform(unit="s", low=0.0, high=1.0),
            ),
            "control steps",
        ),
        (
            lambda: DisturbancePlan(
                observations=(Disturbance(quantity="q", unit="m", every="substep"),)
            ),
            "once a control step",
        ),
        (
            lambda: disturbing(actions=(Disturbance(quantity="q", unit="m"),)),
            "there are push",
        ),
        (
            lambda: disturbing(actions=(Disturbance(quantity="push", unit="m"),)),
            "it is in N",
        ),
    ],
)
def test_disturbances_that_cannot_be_are_refused(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


def test_an_environment_tells_what_was_applied_and_what_is_true() -> None:
    plan = DisturbancePlan(
        action_delay=Constant(unit="control steps", value=1.0),
        observations=(Disturbance(quantity="position", unit="m", bias_std=1.0),),
    )
    one, twin = env(disturbances=plan), env(scene="independent")
    one.reset(seed=1)
    twin.reset(seed=1)
    for value, applied in ((1.0, 0.0), (2.0, 1.0)):
        observation, *_ = one.step(np.array([value], np.float32))
        expected, *_ = twin.step(np.array([applied], np.float32))
        last = one.last_step()
        assert last is not None
        assert last.applied_action[0] == applied
        assert np.array_equal(last.true_observation_after, expected)
        assert np.array_equal(last.observation_after, observation)
        assert observation[2] != expected[2]
