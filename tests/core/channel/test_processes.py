"""Spawned processes as producers: what they send, what they hear, how they end."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from isoscope.core.channel.errors import (
    ChannelClosedError,
    ChannelEmptyError,
    ChannelError,
    ChannelFullError,
)
from isoscope.core.channel.hooks import Collector
from isoscope.core.channel.local import LocalChannel
from isoscope.core.channel.processes import start_process
from isoscope.core.channel.told import raised, told
from isoscope.core.errors import ReadError, UsageError
from isoscope.core.trajectory.errors import TrajectoryValueError
from tests.core.channel import producers
from tests.core.channel.test_local import Pairing

TIMEOUT_S = 60.0


class Refusing(Collector):
    def collect(self, item: Any, key: Any) -> Any:
        if isinstance(item, dict):
            raise TrajectoryValueError("this one is not wanted")
        return ((key, item),)


def test_two_processes_produce_and_the_stream_ends() -> None:
    channel = LocalChannel(producers=["a", "b"], maxsize=8, timeout_s=TIMEOUT_S)
    started = [
        start_process(channel, "a", producers.count, 0, 50),
        start_process(channel, "b", producers.count, 100, 50),
    ]
    items = list(channel.items())
    assert sorted(items) == [*range(50), *range(100, 150)]
    assert [n for n in items if n < 100] == list(range(50))
    for process in started:
        process.join(TIMEOUT_S)
        assert process.exitcode == 0
    assert channel.status().losses == ()


def test_a_process_sends_what_a_thread_would_bit_for_bit() -> None:
    channel = LocalChannel(timeout_s=TIMEOUT_S)
    here = LocalChannel()
    process = start_process(channel, "a", producers.tensors, 7, 5)
    with here.producer("a") as sender:
        producers.tensors(sender, 7, 5)
    for there, own in zip(channel.items(), here.items(), strict=True):
        assert there["n"] == own["n"]
        assert torch.equal(there["x"].view(torch.int32), own["x"].view(torch.int32))
    process.join(TIMEOUT_S)


def test_a_killed_process_is_told_with_what_it_left_open() -> None:
    channel = LocalChannel(collector=Pairing, timeout_s=TIMEOUT_S)
    process = start_process(
        channel, "env-0", producers.vanish, [("one", 1), ("one", 1), ("one", 2)]
    )
    assert list(channel.items()) == [1]
    (loss,) = channel.status().losses
    assert loss.reason == "its process died (killed by signal 9)"
    assert (loss.sources, loss.waiting) == (("one",), ("2 of one",))
    with pytest.raises(ChannelClosedError, match="env-0 was lost: its process died"):
        channel.get()
    process.join(TIMEOUT_S)


def test_a_process_that_fails_is_told_with_its_reason(
    capfd: pytest.CaptureFixture[str],
) -> None:
    channel = LocalChannel(timeout_s=TIMEOUT_S)
    process = start_process(channel, "a", producers.fail)
    assert list(channel.items()) == [1]
    (loss,) = channel.status().losses
    assert loss.reason == "there is nothing to do"
    process.join(TIMEOUT_S)
    assert process.exitcode == 2
    assert capfd.readouterr().err == ""


def test_what_the_channel_refuses_is_raised_in_the_process() -> None:
    channel = LocalChannel(collector=Refusing, timeout_s=TIMEOUT_S)
    process = start_process(channel, "a", producers.hear_the_error)
    assert channel.get() == ("TrajectoryValueError", True, "this one is not wanted")
    process.join(TIMEOUT_S)


def test_a_process_can_take_too() -> None:
    channel = LocalChannel(timeout_s=TIMEOUT_S)
    process = start_process(channel, "a", producers.echo)
    for item in (1, "two", [3.0]):
        channel.put(item, key="there")
        assert channel.get(key="back") == item
    channel.put(None, key="there")
    process.join(TIMEOUT_S)
    assert process.exitcode == 0


def test_what_a_dead_process_had_asked_for_stays() -> None:
    channel = LocalChannel(timeout_s=TIMEOUT_S)
    process = start_process(channel, "a", producers.echo)
    channel.put("hello", key="there")
    assert channel.get(key="back") == "hello"
    process.kill()  # it is waiting for the next one
    process.join(TIMEOUT_S)
    with pytest.raises(ChannelClosedError, match="its process died"):
        channel.get(key="back")
    channel.put("kept", key="there")
    assert channel.get(key="there", timeout_s=0) == "kept"


def test_what_cannot_be_sent_is_refused_before_it_is_sent() -> None:
    channel = LocalChannel(timeout_s=TIMEOUT_S)
    process = start_process(channel, "a", producers.put_what_cannot_be_sent)
    assert list(channel.items()) == []
    (loss,) = channel.status().losses
    assert "a object can't be sent to another process" in loss.reason
    process.join(TIMEOUT_S)


# -- errors told across ----------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        TrajectoryValueError("a text"),
        ChannelFullError("a text"),
        UsageError("a text"),
        ZeroDivisionError("a text"),
    ],
)
def test_an_error_is_raised_as_the_same_class(error: Exception) -> None:
    other = raised(told(error))
    assert (type(other), str(other)) == (type(error), "a text")


def test_an_error_with_other_arguments_keeps_its_text() -> None:
    error = ReadError("opening", "f.h5", "it is not there", remedy="look again")
    other = raised(told(error))
    assert (type(other), str(other)) == (ReadError, str(error))


class _SpecialError(ValueError):
    pass


def test_an_unknown_error_becomes_its_nearest_kind() -> None:
    assert type(raised(told(_SpecialError("x")))) is ValueError
    assert type(raised(told(UnicodeDecodeError("utf8", b"", 0, 1, "x")))) is ValueError
    assert type(raised(told(Exception("x")))) is ChannelError
    assert type(raised(("builtins", "SystemExit", "x"))) is ChannelError
    assert type(raised(("os", "error", "x"))) is ChannelError
    assert type(raised(7)) is ChannelError


def test_waiting_for_a_process_is_bounded() -> None:
    channel = LocalChannel(producers=["never"], timeout_s=0.05)
    with pytest.raises(ChannelEmptyError):
        channel.get()
