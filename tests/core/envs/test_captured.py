"""Captured environments go on bit for bit, in any kind of scene."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.envs.captured import LanesState, pack, unpack
from isoscope.core.envs.errors import NotResetError, StateError
from isoscope.core.errors import IsoscopeError
from tests.core.envs.making import batch, env
from tests.core.envs.test_three_kinds import DISTURBED, PLAN

EVERYTHING: dict[str, Any] = {
    "persistent": PLAN,
    "disturbances": DISTURBED,
    "max_steps": 5,
    "upright_rad": 9e9,
}


def written(state: LanesState) -> LanesState:
    """As it comes back from a file."""
    return msgspec.json.decode(msgspec.json.encode(state), type=LanesState)


def go_on(one: Any, rng: np.random.Generator, steps: int) -> list[bytes]:
    seen = []
    for _ in range(steps):
        action = rng.uniform(-3, 3, one.action_space.shape).astype(np.float32)
        observation, reward, terminated, truncated, _ = one.step(action)
        seen += [np.asarray(observation).tobytes(), np.asarray(reward).tobytes()]
        if np.ndim(truncated) == 0 and (terminated or truncated):
            seen.append(one.reset()[0].tobytes())
    return seen


@given(
    before=st.integers(0, 12),
    kind=st.sampled_from(["shared", "independent", "batch"]),
    into_another=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_it_goes_on_bit_for_bit(before: int, kind: str, into_another: bool) -> None:
    def make() -> Any:
        return batch(**EVERYTHING) if kind == "batch" else env(scene=kind, **EVERYTHING)

    one, disturber = make(), make()
    one.reset(seed=5)
    disturber.reset(seed=6)
    go_on(one, np.random.default_rng(0), before)
    state = written(one.capture())
    expected = go_on(one, np.random.default_rng(1), 14)
    go_on(disturber, np.random.default_rng(2), 3)
    other = disturber if into_another else one
    other.restore(state)
    assert written(other.capture()) == state
    assert go_on(other, np.random.default_rng(1), 14) == expected
    one.close()
    disturber.close()


def test_capturing_changes_nothing() -> None:
    one, twin = env(**EVERYTHING), env(scene="independent", **EVERYTHING)
    one.reset(seed=1)
    twin.reset(seed=1)
    for _ in range(4):
        one.capture()
        action = np.ones(1, np.float32)
        assert np.array_equal(one.step(action)[0], twin.step(action)[0])


def test_a_batchs_streams_are_captured_where_they_would_stand_alone() -> None:
    many, alone = batch(n=2, **EVERYTHING), env(scene="independent", **EVERYTHING)
    many.reset(seed=3)
    alone.reset(seed=4)
    assert many.capture().streams[1] == alone.capture().streams[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "Pusher"}, "is of Pusher"),
        ({"streams": ()}, "0 lanes"),
        ({"arrays": {}}, "count"),
        ({"scene": "%%"}, "base64"),
        ({"scene": "QUJD"}, "another scene's"),
        ({"disturbances": {"x": pack(np.zeros(1))}}, "x where nothing"),
    ],
)
def test_foreign_and_damaged_states_are_refused_untouched(
    change: dict[str, Any], message: str
) -> None:
    one = env()
    one.reset(seed=1)
    state = one.capture()
    with pytest.raises(IsoscopeError, match=message):
        one.restore(msgspec.structs.replace(state, **change))
    assert one.capture() == state
    one.step(np.zeros(1, np.float32))


def test_an_array_of_another_shape_is_refused() -> None:
    one = env()
    one.reset(seed=1)
    state = one.capture()
    arrays = state.arrays | {"count": pack(np.zeros(4, np.int64))}
    with pytest.raises(StateError, match=r"count.*\(4,\)"):
        one.restore(msgspec.structs.replace(state, arrays=arrays))


def test_what_was_never_reset_has_nothing_to_capture() -> None:
    with pytest.raises(NotResetError):
        env().capture()


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=6),
    st.sampled_from(["float32", "float64"]),
)
@settings(max_examples=30, deadline=None)
def test_arrays_come_back_with_all_their_bits(values: list[float], dtype: str) -> None:
    array = np.array(values, dtype)
    back = unpack(pack(array), "testing")
    assert back.dtype == array.dtype
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "change", [{"dtype": "object"}, {"shape": (9,)}, {"data": "!"}, {"dtype": "no"}]
)
def test_no_such_arrays(change: dict[str, Any]) -> None:
    with pytest.raises(StateError, match="testing"):
        unpack(msgspec.structs.replace(pack(np.zeros(2)), **change), "testing")


def test_settings_are_no_part_of_a_state_but_the_key_is() -> None:
    one = env()
    one.reset(seed=1)
    other = env(env_id=1, gravity=False)
    other.reset(seed=1)
    with pytest.raises(StateError, match="gravity=False"):
        one.restore(other.capture())
    assert dataclasses.is_dataclass(one.task)
