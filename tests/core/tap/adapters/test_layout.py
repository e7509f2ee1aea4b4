"""Where values lie in states: found only where samples leave no doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.core.recording.labelled.records import Field
from isoscope.core.tap.adapters.superdex.layout import SAMPLES, Learner, learn

FIELDS = [
    *(Field(name="translation", shape=(3,), actor=k) for k in range(2)),
    *(Field(name="rotation", shape=(4,), actor=k) for k in range(2)),
    Field(name="rate", shape=(2,), actor=2),
    Field(name="force", shape=(2,), actor=2),
]


def samples(kind: Any, turns: bool = True) -> list[tuple[bytes, list[float]]]:
    """Two bodies, the second of which never turns; rates that lie apart; no force."""
    chance = np.random.default_rng(3)
    found = []
    for _ in range(SAMPLES):
        places = chance.normal(size=(2, 3)).astype(kind)
        places[:, 2] = 0
        turned = np.array([[0, 0, 0, 1]] * 2, kind)
        if turns:
            turned[0] = chance.normal(size=4)
        rates = chance.normal(size=2).astype(kind)
        state = b"odd"
        for place, turn in zip(places, turned, strict=True):
            state += turn.tobytes() + place.tobytes() + b"...."
        state += rates[:1].tobytes() + bytes(40) + rates[1:].tobytes()
        values = [*places.ravel(), *turned.ravel(), *rates, 0, 0]
        found.append((state, np.array(values, kind).tolist()))
    return found


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_what_changes_is_found_and_what_is_still_beside_it(kind: Any) -> None:
    given = samples(kind)
    layout = learn(FIELDS, np.dtype(kind), given)
    assert layout is not None
    assert layout.asked.tolist() == [16, 17]  # a force that is always 0 is anywhere
    assert all(layout.holds(*one) for one in given)
    state, values = given[0]
    values[13] = 0.5  # the second's rotation, which never changed
    assert not layout.holds(state, values)
    assert not layout.holds(state + b"x", given[0][1])


def test_what_never_changed_anywhere_is_not_guessed() -> None:
    layout = learn(FIELDS, np.dtype("f4"), samples(np.float32, turns=False))
    assert layout is not None
    assert layout.asked.tolist() == [*range(6, 14), 16, 17]


def test_too_few_values_are_no_proof() -> None:
    given = samples(np.float32)[:4]
    assert learn(FIELDS, np.dtype("f4"), given) is None


def test_samples_of_another_length_begin_anew_and_it_gives_up() -> None:
    learner = Learner()
    learner.add(b"short", [0.0] * 18)
    for _ in range(3):
        for one in samples(np.float32):
            learner.add(*one)
        assert learner.enough
        assert not learner.over
        assert learner.learn(FIELDS, np.dtype("f4"), 0) is not None
        assert not learner.enough
    for one in samples(np.float32):
        learner.add(*one)
    learner.learn(FIELDS, np.dtype("f4"), 0)
    assert learner.over
