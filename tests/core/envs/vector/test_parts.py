"""Seeds, infos, spaces and memory, without any process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.envs.vector import VectorEnvError
from isoscope.core.envs.vector.infos import merged
from isoscope.core.envs.vector.layout import read_row, tree_of, write_all, write_row
from isoscope.core.envs.vector.memory import MemorySpec, own_memory
from isoscope.core.envs.vector.seeds import expanded


@pytest.mark.parametrize(
    ("seed", "expansion", "right"),
    [
        (100, "once", (100, 101, 102, 103)),
        # as SuperDex Lab 1.0.0 gives them: environments 1 and 2 begin alike
        (100, "twice", (100, 101, 101, 102)),
        (np.int64(7), "once", (7, 8, 9, 10)),
        (None, "once", (None,) * 4),
        ([5, None, np.uint8(3), 0], "twice", (5, None, 3, 0)),
        (np.array([4, 3, 2, 1]), "once", (4, 3, 2, 1)),
    ],
)
def test_seeds(seed: Any, expansion: Any, right: Any) -> None:
    found = expanded(seed, 4, 2, expansion)
    assert found == right
    assert all(one is None or type(one) is int for one in found)


@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 5))
def test_once_never_repeats_a_seed(seed: int, workers: int, lanes: int) -> None:
    count = workers * lanes
    assert len(set(expanded(seed, count, lanes))) == count
    assert len(set(expanded(seed, count, lanes, "twice"))) == workers + lanes - 1


@pytest.mark.parametrize("seed", [True, "12", 1.0, [1, 2], [1, 2, 3, True], -1, {}])
def test_bad_seeds_are_refused(seed: Any) -> None:
    with pytest.raises(VectorEnvError, match="resetting the environments: "):
        expanded(seed, 4, 2)


def test_infos_keep_their_masks_and_fill_what_was_not_written() -> None:
    entries: list[tuple[int, dict[str, Any]]] = [
        (0, {"f": 1.5, "i": 3, "b": True, "t": "x", "in": {"a": np.float32(2)}}),
        (2, {"u": np.uint8(4), "v": np.arange(2), "in": {"c": {"d": 1}}, "none": None}),
    ]
    infos = merged(entries, 3)
    assert infos["_f"].tolist() == [True, False, False]
    assert infos["f"][0] == 1.5
    assert np.isnan(infos["f"][1:]).all()
    assert infos["i"].tolist() == [3, np.iinfo(np.int64).min, np.iinfo(np.int64).min]
    assert infos["u"].tolist() == [255, 255, 4]
    assert infos["b"].tolist() == [True, False, False]
    assert infos["t"].tolist() == ["x", None, None]
    assert infos["v"].tolist()[2] == [0, 1]
    assert (infos["v"][:2] == np.iinfo(np.int64).min).all()
    assert infos["in"]["a"].dtype == np.float32
    assert infos["in"]["_a"].tolist() == [True, False, False]
    assert infos["in"]["c"]["_d"].tolist() == [False, False, True]
    assert infos["_in"].tolist() == [True, False, True]
    assert infos["_none"].tolist() == [False, False, True]


def test_infos_of_several_types_lose_nothing() -> None:
    mixed = merged([(0, {"x": 1}), (1, {"x": 2.5})], 2)
    assert mixed["x"].tolist() == [1.0, 2.5]
    odd = merged([(0, {"x": np.zeros(2)}), (1, {"x": np.zeros(3)})], 3)
    assert odd["x"].dtype == object
    assert odd["x"][2] is None
    deep = merged([(0, {"x": {"y": 1}}), (1, {"x": 4})], 2)
    assert deep["x"].tolist() == [{"y": 1}, 4]
    large = merged([(0, {"x": 2**70})], 2)
    assert large["x"].tolist() == [2**70, None]


LEAVES = st.one_of(
    st.builds(
        spaces.Box,
        st.just(-5),
        st.just(5),
        st.lists(st.integers(1, 3), min_size=1, max_size=2).map(tuple),
        st.sampled_from([np.float32, np.float64, np.int16]),
    ),
    st.builds(spaces.Discrete, st.integers(1, 9), start=st.integers(-3, 3)),
    st.builds(spaces.MultiBinary, st.integers(1, 4)),
    st.just(spaces.MultiDiscrete([2, 3])),
)
SPACES = st.recursive(
    LEAVES,
    lambda inner: (
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(spaces.Dict)
        | st.lists(inner, min_size=1, max_size=2).map(spaces.Tuple)
    ),
    max_leaves=4,
)


@settings(deadline=None, max_examples=60)
@given(space=SPACES, count=st.integers(1, 4))
def test_rows_come_back_as_they_were_written(space: Any, count: int) -> None:
    tree = tree_of(space, "observation")
    memory = own_memory(MemorySpec(tree, tree, count, 0))
    values = [space.sample() for _ in range(count)]
    for row, value in enumerate(values):
        write_row(memory.observations, row, value)
    for row, value in enumerate(values):
        back = read_row(memory.observations, row)
        assert space.contains(back)
        np.testing.assert_equal(back, value)
    write_all(memory.actions, memory.observations)
    np.testing.assert_equal(read_row(memory.actions, count - 1), values[-1])


@pytest.mark.parametrize(
    "space",
    [
        spaces.Text(3),
        spaces.Sequence(spaces.Discrete(2)),
        spaces.Graph(spaces.Discrete(2), None),
        spaces.OneOf([spaces.Discrete(2)]),
    ],
)
def test_spaces_that_are_no_row_are_refused(space: Any) -> None:
    with pytest.raises(VectorEnvError, match=r"observation\['x'\] space"):
        tree_of(spaces.Dict({"x": space}), "observation")


def test_nothing_is_broadcast_and_nothing_loses_its_kind() -> None:
    space = spaces.Dict({"a": spaces.Box(0, 1, (2,)), "b": spaces.Discrete(3)})
    tree = tree_of(space, "action")
    memory = own_memory(MemorySpec(tree, tree, 2, 0))
    good = {"a": np.ones((2, 2)), "b": np.array([1, 2])}
    write_all(memory.actions, good)
    for bad, kind in [
        ({"a": np.zeros((2, 2))}, ValueError),
        ({"a": np.zeros((1, 2)), "b": [0, 0]}, ValueError),
        ({"a": np.zeros((2, 2)), "b": np.zeros((2, 1), dtype=int)}, ValueError),
        ({"a": np.zeros((2, 2)), "b": np.zeros(2)}, TypeError),
        ({"a": np.zeros((2, 2), dtype=object), "b": [0, 0]}, TypeError),
        (np.zeros(2), ValueError),
    ]:
        with pytest.raises(kind):
            write_all(memory.actions, bad)
        np.testing.assert_equal(memory.actions, good)  # before anything is written
