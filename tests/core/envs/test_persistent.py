"""Persistent parameters drawn for each episode: what comes out, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.envs.drawing import tell_piled_up
from isoscope.core.envs.randomisation.distributions import (
    Constant,
    LogUniform,
    Normal,
    Uniform,
)
from isoscope.core.envs.randomisation.inertia import is_valid
from isoscope.core.envs.randomisation.persistent import (
    PersistentDraw,
    PersistentParameters,
    PersistentPlan,
)
from isoscope.core.errors import UsageError
from tests.core.envs.making import batch, env, rails
from tests.core.envs.rail_scene import RailScene


def parameters(*draws: PersistentDraw) -> PersistentParameters:
    scene = RailScene("cartpole", 2)
    plan = PersistentPlan(draws=draws)
    return PersistentParameters(plan, scene, scene.persistent_configuration())


def draw(entry: str, distribution: Any, **kwargs: Any) -> PersistentDraw:
    return PersistentDraw(name="x", entry=entry, distribution=distribution, **kwargs)


FACTOR = Uniform(unit="1", low=0.5, high=2.0)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("scale", [0.05, 0.15]), ("add", [0.05, 3.05]), ("set", [0.05, 3.0])],
)
def test_operations_reach_only_what_they_index(
    operation: Any, expected: list[float]
) -> None:
    made = parameters(draw("damping", FACTOR, operation=operation, index=(1,)))
    values = made.values(np.array([[3.0], [1.0]]))
    assert list(values) == ["damping"]
    assert values["damping"][0] == pytest.approx(expected)
    if operation == "scale":
        assert values["damping"][1].tolist() == [0.05, 0.05]


def test_a_heavier_link_has_more_inertia_too() -> None:
    made = parameters(draw("mass", FACTOR, index=(0,)))
    values = made.values(np.array([[2.0], [0.5]]))
    assert values["mass"].tolist() == [[2.0, 1.0], [0.5, 1.0]]
    assert values["inertia"][:, 0, 0].tolist() == [2.0, 0.5]
    assert values["inertia"][:, 1, 0].tolist() == [1.0, 1.0]
    alone = parameters(draw("mass", FACTOR, with_inertia=False))
    assert list(alone.values(np.ones((2, 1)))) == ["mass"]


@given(factor=st.floats(0.01, 100.0), axis=st.sampled_from("xyz"))
@settings(max_examples=30, deadline=None)
def test_every_inertia_is_a_bodys(factor: float, axis: Any) -> None:
    wide = LogUniform(unit="1", low=0.01, high=100.0)
    made = parameters(draw("inertia", wide, operation="stretch", axis=axis))
    assert is_valid(made.values(np.array([[factor]]))["inertia"]).all()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (draw("mass", Normal(unit="1", mean=1.0, std=0.1)), "bound the distribution"),
        (draw("mass", Uniform(unit="1", low=0.0, high=1.0)), "above 0"),
        (
            draw("mass", Uniform(unit="kg", low=-1.0, high=1.0), operation="add"),
            "above 0",
        ),
        (draw("damping", Constant(unit="1", value=-1.0)), "negative"),
        (draw("inertia", FACTOR, operation="add"), "no body has"),
        (draw("inertia", FACTOR, operation="stretch"), "x, y or z"),
        (draw("inertia", Normal(unit="1", mean=1.0, std=0.1)), "above 0"),
        (draw("mass", FACTOR, operation="stretch"), "only an inertia"),
        (draw("mass", FACTOR, index=(2,)), "indices 0 to 1"),
        (draw("colour", FACTOR), "has no colour"),
    ],
)
def test_what_could_come_out_impossible_is_refused(
    bad: PersistentDraw, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        parameters(bad)


def test_draws_of_one_entry_are_looked_at_together() -> None:
    """Each alone leaves 0.4 kg of 1 kg; one after the other would leave -0.2 kg."""
    lighter = Uniform(unit="kg", low=-0.6, high=0.0)
    two = [
        PersistentDraw(name=name, entry="mass", distribution=lighter, operation="add")
        for name in "ab"
    ]
    parameters(two[0])
    with pytest.raises(UsageError, match=r"parameter b: a mass of -0\.2 could come"):
        parameters(*two)
    fixed = draw("mass", Constant(unit="kg", value=2.0), operation="set")
    parameters(two[0], fixed, two[1])


def test_names_are_unique() -> None:
    with pytest.raises(UsageError, match="twice"):
        parameters(draw("mass", FACTOR), draw("damping", FACTOR))


def test_piled_up_mass_is_reported_by_draw() -> None:
    clipped = Normal(unit="1", mean=1.0, std=0.5, clip=(0.5, 2.0))
    plan = PersistentPlan(
        draws=(
            draw("mass", clipped),
            PersistentDraw(name="y", entry="damping", distribution=FACTOR),
        )
    )
    assert plan.piled_up() == {"x": clipped.piled_up()}


def test_piled_up_mass_is_told_once_for_all_environments(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clipped = Normal(unit="1", mean=1.0, std=0.5, clip=(0.5, 9.0))
    plan = PersistentPlan(draws=(draw("mass", clipped),), in_shared_scenes="reapply")
    tell_piled_up.cache_clear()
    made = [env(env_id=i, persistent=plan) for i in range(2)]
    assert made[1].lanes.draws.piled_up == plan.piled_up()
    assert [r.getMessage() for r in caplog.records] == [
        "drawing x: 15.9 % of the values are its lower bound and 0 % its "
        "upper, since it is clipped; a truncated_normal piles up nothing"
    ]


def test_values_are_stored_and_are_what_the_scene_has() -> None:
    plan = PersistentPlan(draws=(draw("damping", FACTOR),))
    many = batch(n=3, persistent=plan, max_steps=2, autoreset_mode="SameStep")
    _, info = many.reset(seed=1)
    first = info["draws"]["x"]
    assert len(set(first.tolist())) == 3
    dampings = rails(many).persistent_configuration()["damping"]
    assert np.array_equal(dampings, np.stack([first * 0.05] * 2, 1))
    for _ in range(2):
        many.step(np.zeros((3, 1), np.float32))
    second = many.lanes.draws.values["x"]
    assert not np.equal(first, second).any()
    one = env(scene="independent", persistent=plan)
    _, own = one.reset(seed=1)
    assert own["draws"]["x"] == first[0]


def test_names_of_the_task_are_taken() -> None:
    plan = PersistentPlan(
        draws=(PersistentDraw(name="target_x", entry="mass", distribution=FACTOR),)
    )
    with pytest.raises(UsageError, match="target_x"):
        env("Pusher", scene="independent", persistent=plan)
