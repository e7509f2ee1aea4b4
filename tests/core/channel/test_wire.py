"""Items as bytes: the same on the other side, and nothing bad comes in."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.channel.errors import ChannelTypeError, ChannelValueError, WireError
from isoscope.core.channel.wire import decode, encode
from isoscope.core.channel.wire_classes import allow
from isoscope.core.trajectory.env import EnvPart, EnvTransition
from isoscope.core.trajectory.keys import TrajectoryKey, TrajectorySource
from isoscope.core.trajectory.policy import PolicyOutput, PolicyPart

KEY = TrajectoryKey(1, 0, 2, 3, 4)


def same(one: Any, other: Any) -> bool:
    """Whether both are equal bit for bit, types and dtypes too."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        if one.dtype is not other.dtype or one.shape != other.shape:
            return False
        return bytes(encode(one)) == bytes(encode(other))
    if isinstance(one, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and np.array_equal(
            np.atleast_1d(one), np.atleast_1d(other), equal_nan=one.dtype.kind in "fc"
        )
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "__dict__"):
        return same(vars(one), vars(other))
    return bool(one == other) or (one != one and other != other)


def policy_part() -> PolicyPart:
    return PolicyPart(
        sources=[TrajectorySource(KEY, 2, 1)],
        obs={"states": torch.randn(2, 3), "task_descriptions": ["a", "b"]},
        output=PolicyOutput(
            forward_inputs={"action": torch.randn(2, 4), "deep": {"x": torch.ones(2)}},
            prev_logprobs=torch.tensor([[0.0, -0.0], [float("nan"), float("inf")]]),
            versions=torch.zeros(2, 2),
        ),
    )


def env_part() -> EnvPart:
    flags = torch.tensor([[True, False], [False, False]])
    return EnvPart(
        sources=[TrajectorySource(KEY, 2)],
        transition=EnvTransition(
            rewards=torch.rand(2, 2),
            dones=flags,
            reward_assign_lengths=[1, 2],
            episode_data={"infos_list": [{"success": np.array([True, False])}]},
        ),
        requires_inference=True,
    )


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.tuples(inside, inside)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inside, max_size=3)
    ),
    max_leaves=12,
)


@given(plain)
@settings(max_examples=200, deadline=None)
def test_plain_values_come_back(value: Any) -> None:
    assert same(decode(encode(value)), value)


@pytest.mark.parametrize(
    "dtype",
    [
        *(torch.bool, torch.uint8, torch.int16, torch.int64, torch.float16),
        *(torch.bfloat16, torch.float32, torch.float64, torch.complex64),
    ],
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 5)])
def test_tensors_come_back(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    tensor = (torch.rand(shape) * 100 - 50).to(dtype)
    back = decode(encode([tensor, "and after it", tensor]))
    assert same(back, [tensor, "and after it", tensor])


def test_a_tensor_in_another_order_or_with_a_gradient_is_made_plain() -> None:
    turned = torch.rand(3, 4, requires_grad=True).t()
    back = decode(encode(turned))
    assert torch.equal(back, turned.detach())
    assert back.is_contiguous()
    assert not back.requires_grad
    back += 1  # it may be written to


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=">i4").reshape(2, 3)[:, ::2],
        np.array(["one", "three"]),
        np.array(3.5),
        np.float32(2.5),
        np.bool_(True),
        np.zeros((0, 2)),
        np.array([b"ab", b"c"]),
    ],
)
def test_arrays_come_back(array: Any) -> None:
    assert same(decode(encode({"a": array})), {"a": array})


def test_parts_come_back() -> None:
    for part in (policy_part(), env_part()):
        assert same(decode(encode(part)), part)
        assert same(decode(encode([part, (part,)])), [part, (part,)])


def test_keys_come_back() -> None:
    value = {"key": KEY, "sources": [TrajectorySource(KEY, 3, 4)]}
    assert decode(encode(value)) == value


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, lambda: None, np.array([object()]), 1 + 2j, type, range(3)],
)
def test_anything_else_is_refused_on_this_side(value: Any) -> None:
    with pytest.raises(ChannelTypeError, match="sending an item"):
        encode({"inside": [value]})


def test_sparse_and_endless_things_are_refused() -> None:
    with pytest.raises(ChannelTypeError, match="can't be sent"):
        encode(torch.ones(2).to_sparse())
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ChannelTypeError, match="64 levels"):
        encode(endless)


def test_a_class_of_ones_own_is_allowed_first() -> None:
    @dataclass
    class Mine:
        a: int
        b: Any = None

    with pytest.raises(ChannelTypeError, match=r"a Mine can't be sent .*allow"):
        encode(Mine(1))
    assert allow(Mine) is Mine
    assert allow(Mine) is Mine
    assert decode(encode(Mine(1, (2,)))) == Mine(1, (2,))

    @dataclass
    class Other:
        a: int

    Other.__name__ = "Mine"
    with pytest.raises(ChannelValueError, match="another class of this name"):
        allow(Other)
    with pytest.raises(ChannelTypeError, match="no dataclass"):
        allow(int)


def test_what_another_process_may_not_make_is_refused() -> None:
    packet = bytes(encode(policy_part()))
    assert b"PolicyPart" in packet
    with pytest.raises(WireError, match="'PolicyBart' may not be sent"):
        decode(packet.replace(b"PolicyPart", b"PolicyBart"))


def test_damaged_bytes_are_refused_and_never_anything_else() -> None:
    chance = random.Random(3)
    whole = bytes(encode([policy_part(), env_part(), {"a": np.arange(3)}, 2**70]))
    outcomes = set()
    for _ in range(3000):
        damaged = bytearray(whole[: chance.randrange(len(whole) + 1)])
        for _ in range(chance.randrange(4)):
            if damaged:
                damaged[chance.randrange(min(len(damaged), 900))] = chance.randrange(
                    256
                )
        try:
            decode(damaged)
            outcomes.add("read")
        except WireError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_random_bytes_are_refused(noise: bytes) -> None:
    size = min(max(len(noise) - 8, 0), 255)
    for packet in (noise, size.to_bytes(8, "little") + noise[8:]):
        try:
            decode(packet)
        except WireError as error:
            assert str(error).startswith("reading an item")  # noqa: PT017
