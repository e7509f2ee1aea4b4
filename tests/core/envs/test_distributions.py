"""Distributions: bounds, shares, quantiles, and inertia that stays a body's."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.envs.randomisation.distributions import (
    AnyDistribution,
    Choice,
    Constant,
    LogUniform,
    Normal,
    TruncatedNormal,
    Uniform,
    draw_all,
)
from isoscope.core.envs.randomisation.inertia import is_valid, stretch
from isoscope.core.errors import UsageError

ALL: tuple[AnyDistribution, ...] = (
    Constant(unit="kg", value=2.5),
    Uniform(unit="kg", low=-1.0, high=3.0),
    LogUniform(unit="1", low=0.1, high=10.0),
    Normal(unit="m", mean=1.0, std=2.0),
    Normal(unit="m", mean=1.0, std=2.0, clip=(0.0, 2.0)),
    TruncatedNormal(unit="m", mean=1.0, std=2.0, low=0.0, high=1.5),
    Choice(unit="1", values=(3.0, -1.0, 7.0), weights=(1.0, 2.0, 0.0)),
)
U = np.linspace(0.0, 1.0, 2001)[:-1]


@pytest.mark.parametrize("one", ALL, ids=lambda d: type(d).__name__)
def test_every_draw_is_within_the_bounds(one: AnyDistribution) -> None:
    low, high = one.bounds()
    values = one.quantile(U)
    assert (values >= low).all()
    assert (values <= high).all()
    assert np.isfinite(values).all()


@pytest.mark.parametrize("one", ALL, ids=lambda d: type(d).__name__)
def test_distributions_are_written_with_their_kind_and_unit(
    one: AnyDistribution,
) -> None:
    text = msgspec.json.encode(one)
    assert msgspec.json.decode(text, type=AnyDistribution) == one
    assert one.unit.encode() in text


def test_quantiles_are_those_of_the_distribution() -> None:
    middle = np.array([0.25, 0.5])
    assert ALL[1].quantile(middle).tolist() == [0.0, 1.0]
    assert ALL[2].quantile(middle) == pytest.approx([10**-0.5, 1.0])
    exact = NormalDist(1.0, 2.0)
    assert ALL[3].quantile(U[1:]) == pytest.approx(
        [exact.inv_cdf(p) for p in U[1:].tolist()]
    )
    # of the truncated one: P(X <= x) as a share of what lies between
    cut = ALL[5].quantile(U)
    inside = exact.cdf(1.5) - exact.cdf(0.0)
    shares = [(exact.cdf(x) - exact.cdf(0.0)) / inside for x in cut.tolist()]
    assert shares == pytest.approx(U.tolist(), abs=1e-9)


def test_a_choice_has_its_weights() -> None:
    values = ALL[6].quantile(U)
    assert (values == 3.0).mean() == pytest.approx(1 / 3, abs=1e-3)
    assert (values == -1.0).mean() == pytest.approx(2 / 3, abs=1e-3)
    assert not (values == 7.0).any()


def test_mass_piled_up_at_clip_bounds_is_what_is_drawn_there() -> None:
    low, high = ALL[4].piled_up()
    values = ALL[4].quantile(U)
    assert low == pytest.approx(NormalDist().cdf(-0.5))
    assert (values == 0.0).mean() == pytest.approx(low, abs=1e-3)
    assert (values == 2.0).mean() == pytest.approx(high, abs=1e-3)
    for other in (*ALL[:4], *ALL[5:]):
        assert other.piled_up() == (0.0, 0.0)


@given(seed=st.integers(0, 2**32), split=st.integers(0, 10))
@settings(max_examples=20, deadline=None)
def test_k_draws_at_once_are_k_draws(seed: int, split: int) -> None:
    whole = draw_all(ALL, np.random.default_rng(seed), 10)
    generator = np.random.default_rng(seed)
    parts = [draw_all(ALL, generator, k) for k in (split, 10 - split)]
    assert np.array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Uniform(unit="m", low=1.0, high=0.0),
        lambda: Uniform(unit="m", low=-1e308, high=1e308),
        lambda: LogUniform(unit="m", low=0.0, high=1.0),
        lambda: Normal(unit="m", mean=0.0, std=0.0),
        lambda: Normal(unit="m", mean=math.nan, std=1.0),
        lambda: Normal(unit="m", mean=0.0, std=1.0, clip=(1.0, 0.0)),
        lambda: TruncatedNormal(unit="m", mean=0.0, std=1.0, low=30.0, high=31.0),
        lambda: Choice(unit="m", values=()),
        lambda: Choice(unit="m", values=(1.0,), weights=(0.0,)),
        lambda: Constant(unit="m", value=math.inf),
    ],
)
def test_distributions_that_cannot_be_are_refused(make: Any) -> None:
    with pytest.raises(UsageError, match="setting up a distribution"):
        make()


def body(masses: list[float], places: list[list[float]]) -> Any:
    """The inertia of point masses about the origin."""
    total = np.zeros((3, 3))
    for mass, place in zip(masses, places, strict=True):
        r = np.array(place)
        total += mass * (r @ r * np.eye(3) - np.outer(r, r))
    xx, yy, zz = np.diag(total)
    return np.array([xx, yy, zz, total[0, 1], total[0, 2], total[1, 2]])


COORDINATE = st.floats(-2.0, 2.0)
FACTOR = st.floats(0.05, 20.0)


@given(
    masses=st.lists(st.floats(0.01, 5.0), min_size=4, max_size=4),
    places=st.lists(
        st.lists(COORDINATE, min_size=3, max_size=3), min_size=4, max_size=4
    ),
    factors=st.tuples(FACTOR, FACTOR, FACTOR),
)
@settings(max_examples=60, deadline=None)
def test_a_stretched_body_is_a_body(
    masses: list[float], places: list[list[float]], factors: tuple[float, float, float]
) -> None:
    inertia = body(masses, places)
    stretched = stretch(inertia, *factors, np)
    assert is_valid(stretched)
    exact = body(masses, (np.array(places) * np.array(factors)).tolist())
    assert stretched == pytest.approx(exact, rel=1e-9, abs=1e-9 * exact.max())


def test_what_breaks_the_triangle_inequality_is_no_body() -> None:
    good = [[1.0, 1.0, 1.0, 0, 0, 0], [1.0, 1.0, 2.0, 0, 0, 0], [0.0] * 6]
    bad = [[1.0, 1.0, 2.1, 0, 0, 0], [-1.0, 1, 1, 0, 0, 0], [math.nan] * 6]
    assert is_valid(np.array(good)).tolist() == [True] * 3
    assert is_valid(np.array(bad)).tolist() == [False] * 3
    # products of inertia can do it too
    assert not is_valid(np.array([1.0, 1.0, 1.0, 0.9, 0.9, -0.9]))
