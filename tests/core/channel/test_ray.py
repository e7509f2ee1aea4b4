"""The channel on Ray, with producers in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
import torch

from isoscope.core.channel.errors import (
    ChannelClosedError,
    ChannelEmptyError,
    ChannelFullError,
    ChannelTypeError,
    ChannelValueError,
)
from isoscope.core.channel.ray_channel import RayChannel
from isoscope.core.errors import MissingExtraError
from tests import ray_cluster
from tests.core.channel.ray_producer import items

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMEOUT_S = 60.0
PAIRING = "tests.core.channel.test_local:Pairing"


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[str]:
    with ray_cluster.running() as address:
        yield address


def produce(channel: str, name: str, what: str) -> subprocess.Popen[str]:
    """Start another process that produces."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.core.channel.ray_producer", channel, name, what],
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_items_come_through_another_process_bit_for_bit() -> None:
    channel = RayChannel.create("tensors", producers=["a", "b"], timeout_s=TIMEOUT_S)
    started = [produce("tensors", name, "tensors") for name in "ab"]
    came = list(channel.items())
    for process in started:
        _, said = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, said
    expected = {name: items(name) for name in "ab"}
    assert len(came) == 12
    for item in came:
        matches = [
            name
            for name in "ab"
            if torch.equal(item["x"], expected[name][item["n"]]["x"])
        ]
        assert len(matches) == 1
    assert channel.status().losses == ()
    channel.end()


def test_a_dead_producer_is_told_with_what_it_left_open() -> None:
    channel = RayChannel.create(
        "deadly", collector=PAIRING, lease_s=1.0, timeout_s=TIMEOUT_S
    )
    with produce("deadly", "env-0", "die") as process:
        assert list(channel.items()) == [1]
        process.kill()
    (loss,) = channel.status().losses
    assert loss.reason == "nothing was heard of it for 1 s"
    assert (loss.sources, loss.waiting) == (("env-0",), ("2 of env-0",))
    with pytest.raises(ChannelClosedError, match="env-0 was lost"):
        channel.get(timeout_s=1)
    channel.end()


def test_a_producer_that_only_waits_is_not_given_up() -> None:
    channel = RayChannel.create("patient", lease_s=0.5, timeout_s=TIMEOUT_S)
    with channel.producer("slow") as sender:
        time.sleep(1.2)
        sender.put(1)
    assert list(channel.items()) == [1]
    assert channel.status().losses == ()
    channel.end()


def test_waiting_is_bounded_and_says_for_what() -> None:
    channel = RayChannel.create("bounded", maxsize=2, timeout_s=TIMEOUT_S)
    with pytest.raises(ChannelEmptyError, match="nothing came in time"):
        channel.get(timeout_s=0.7)
    for number in range(2):
        channel.put(number)
    with pytest.raises(ChannelFullError, match="2 items may wait"):
        channel.put(2, timeout_s=0.7)
    assert [channel.get(), channel.get()] == [0, 1]
    channel.put(3)
    assert channel.qsize() == 1
    channel.close()
    with pytest.raises(ChannelClosedError, match="it is closed"):
        channel.put(4)
    assert list(channel.items()) == [3]
    channel.end()


def test_hooks_work_there_and_what_they_raise_is_raised_here() -> None:
    channel = RayChannel.create(
        "hooks",
        collector="tests.core.channel.test_processes:Refusing",
        dispatcher="least_loaded",
        consumers=[0, 1],
        timeout_s=TIMEOUT_S,
    )
    for number in range(4):
        channel.put(number)
    with pytest.raises(ValueError, match="this one is not wanted"):
        channel.put({})
    with pytest.raises(ChannelTypeError, match="can't be sent"):
        channel.put(object())
    assert channel.qsize(consumer=0) == 2
    assert [channel.get(consumer=1) for _ in range(2)] == [1, 3]
    with pytest.raises(ChannelValueError, match="there is a channel hooks already"):
        RayChannel.create("hooks")
    channel.end()
    with pytest.raises(ChannelClosedError, match="putting into the channel hooks"):
        channel.put(1)
    with pytest.raises(ChannelClosedError, match="taking from the channel hooks"):
        channel.get()


def test_names_and_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ChannelValueError, match="nothing is known as 'none'"):
        RayChannel.create("bad", collector="none")
    with pytest.raises(ChannelValueError, match="a lease of 0 s"):
        RayChannel.create("bad", lease_s=0)
    with pytest.raises(ChannelValueError, match="has none of that name"):
        RayChannel.connect("nowhere")


def test_without_ray_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing: Any = None
    monkeypatch.setitem(sys.modules, "ray", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'isoscope\[ray\]'"):
        RayChannel.create("channel")
