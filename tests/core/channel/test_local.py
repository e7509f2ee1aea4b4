"""The channel in this process: room, time, threads, the end of the stream."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.core.channel.errors import (
    ChannelClosedError,
    ChannelEmptyError,
    ChannelFullError,
    ChannelValueError,
)
from isoscope.core.channel.hooks import Collector
from isoscope.core.channel.local import LocalChannel

if TYPE_CHECKING:
    from tests.core.channel.conftest import Background


class Pairing(Collector):
    """Gives an item when the same number came twice; a stand-in with something open."""

    def __init__(self) -> None:
        self.open: dict[int, str] = {}

    def collect(self, item: Any, key: Any) -> Any:
        source, number = item
        if number in self.open:
            del self.open[number]
            yield key, number
        else:
            self.open[number] = source

    def sources_of(self, item: Any) -> Any:
        return [item[0]]

    def waiting(self, sources: Any = None) -> Any:
        return [
            f"{number} of {source}"
            for number, source in self.open.items()
            if sources is None or source in sources
        ]


def fail_after(channel: LocalChannel, name: str, items: list[Any]) -> None:
    """Produce these, and fail."""
    with channel.producer(name) as sender:
        for item in items:
            sender.put(item)
        raise ZeroDivisionError("by itself")


def test_items_come_in_the_order_they_were_put() -> None:
    channel = LocalChannel()
    for number in range(100):
        channel.put(number)
    assert [channel.get() for _ in range(100)] == list(range(100))


def test_a_full_channel_refuses_in_time_and_leaves_no_trace() -> None:
    channel = LocalChannel(maxsize=2, timeout_s=0.05)
    channel.put(1)
    channel.put(2)
    begun = time.monotonic()
    with pytest.raises(ChannelFullError, match="2 items may wait") as caught:
        channel.put(3)
    assert time.monotonic() - begun > 0.04
    assert isinstance(caught.value, TimeoutError)
    assert (channel.status().puts, channel.qsize()) == (2, 2)
    channel.get()
    channel.put(3)
    assert [channel.get(), channel.get()] == [2, 3]


def test_a_full_channel_holds_a_producer_back(background: Background) -> None:
    channel = LocalChannel(maxsize=4)
    most = 0

    def produce() -> None:
        for number in range(200):
            channel.put(number)

    background(produce)
    for number in range(200):
        most = max(most, channel.qsize())
        assert channel.get() == number
    background.join()
    assert most <= 4


def test_a_collector_never_sees_an_item_that_found_no_room() -> None:
    seen = []

    class Noting(Collector):
        def collect(self, item: Any, key: Any) -> Any:
            seen.append(item)
            return ((key, item),)

    channel = LocalChannel(collector=Noting, maxsize=1, timeout_s=0)
    channel.put(1)
    with pytest.raises(ChannelFullError):
        channel.put(2)
    assert seen == [1]


def test_an_empty_channel_says_what_it_waits_for() -> None:
    channel = LocalChannel("parts", timeout_s=0.05)
    with channel.producer("env-0") as sender:
        sender.put(1)
        channel.get()
        with pytest.raises(ChannelEmptyError) as caught:
            channel.get()
    assert "the channel parts, queue 'default_queue': nothing came in time" in str(
        caught.value
    )
    assert "1 put, 1 taken, 0 waiting; open producers: env-0 (last put 0 s ago)" in str(
        caught.value
    )


@pytest.mark.parametrize("timeout_s", [-1, float("nan")])
def test_a_timeout_that_cannot_be_is_refused(timeout_s: float) -> None:
    with pytest.raises(ChannelValueError, match="give seconds, 0 or more"):
        LocalChannel(timeout_s=timeout_s)
    with pytest.raises(ChannelValueError, match="give seconds"):
        LocalChannel().get(timeout_s=timeout_s)


def test_a_channel_holds_at_least_one_item() -> None:
    with pytest.raises(ChannelValueError, match="maxsize is 0; give 1 or more"):
        LocalChannel(maxsize=0)


def test_the_collector_sees_one_item_at_a_time(background: Background) -> None:
    inside: list[int] = []
    overlaps: list[int] = []

    class Slow(Collector):
        def collect(self, item: Any, key: Any) -> Any:
            overlaps.extend(inside)
            inside.append(item)
            time.sleep(0.001)
            inside.remove(item)
            return ((key, item),)

    channel = LocalChannel(collector=Slow, maxsize=1000)

    def produce(first: int) -> None:
        for number in range(10):
            channel.put(10 * first + number)

    for first in range(4):
        background(produce, first)
    background.join()
    assert overlaps == []
    assert sorted(channel.get() for _ in range(40)) == sorted(
        10 * n + i for n in range(4) for i in range(10)
    )


def test_many_threads_lose_and_double_nothing(background: Background) -> None:
    channel = LocalChannel(dispatcher="round_robin", consumers=[0, 1, 2], maxsize=8)
    got: dict[int, list[tuple[int, int]]] = {0: [], 1: [], 2: []}

    def produce(producer: int) -> None:
        with channel.producer(f"p{producer}") as sender:
            for number in range(200):
                sender.put((producer, number))

    def consume(consumer: int) -> None:
        got[consumer].extend(channel.items(consumer=consumer))

    hold = channel.producer("hold")
    hold.__enter__()  # so that the stream is not over before all have begun
    for consumer in got:
        background(consume, consumer)
    for producer in range(4):
        background(produce, producer)
    while channel.status().puts < 800:
        time.sleep(0.005)
    hold.__exit__(None, None, None)
    background.join()
    everything = [item for items in got.values() for item in items]
    assert sorted(everything) == [(p, n) for p in range(4) for n in range(200)]
    for items in got.values():
        for producer in range(4):
            numbers = [n for p, n in items if p == producer]
            assert numbers == sorted(numbers)


# -- the end ---------------------------------------------------------------------------


def test_the_stream_is_over_when_every_producer_has_ended() -> None:
    channel = LocalChannel(producers=["a", "b"], timeout_s=0)
    with channel.producer("a") as sender:
        sender.put(1)
    assert channel.get() == 1
    with pytest.raises(ChannelEmptyError):
        channel.get()  # b has yet to come
    with channel.producer("b") as sender:
        sender.put(2)
    assert list(channel.items()) == [2]
    with pytest.raises(ChannelClosedError, match="nothing more comes"):
        channel.get()


def test_a_closed_channel_gives_what_it_still_has() -> None:
    channel = LocalChannel()
    channel.put(1)
    channel.close()
    with pytest.raises(ChannelClosedError, match="it is closed"):
        channel.put(2)
    assert list(channel.items()) == [1]


def test_closing_wakes_who_waits(background: Background) -> None:
    channel = LocalChannel(maxsize=1)
    channel.put("full")
    ended: list[str] = []

    def put() -> None:
        with pytest.raises(ChannelClosedError):
            channel.put("waits")
        ended.append("put")

    def get() -> None:
        with pytest.raises(ChannelClosedError):
            channel.get(key="other")
        ended.append("get")

    background(put)
    background(get)
    time.sleep(0.05)
    channel.close()
    background.join(5)
    assert sorted(ended) == ["get", "put"]


def test_a_producer_that_fails_is_told_with_what_it_left_open() -> None:
    channel = LocalChannel(collector=Pairing, timeout_s=0)
    with channel.producer("fine") as fine:
        fine.put(("two", 3))
        with pytest.raises(ZeroDivisionError):
            fail_after(channel, "env-1", [("one", 1), ("one", 1), ("one", 2)])
        with pytest.raises(
            ChannelEmptyError, match="env-1 was lost: ZeroDivisionError"
        ):
            channel.get(key="other")
    (loss,) = channel.status().losses
    assert (loss.producer, loss.sources, loss.waiting) == (
        "env-1",
        ("one",),
        ("2 of one",),
    )
    assert str(loss) == (
        "the producer env-1 was lost: ZeroDivisionError: by itself; "
        "incomplete: 2 of one"
    )
    assert channel.waiting() == ("3 of two", "2 of one")
    assert list(channel.items()) == [1]  # what was complete is not lost


def test_a_loss_is_told_though_the_collector_fails() -> None:
    class Silent(Pairing):
        def waiting(self, sources: Any = None) -> Any:
            raise RuntimeError("it does not know")

    channel = LocalChannel(collector=Silent)
    with pytest.raises(ZeroDivisionError):
        fail_after(channel, "p", [("s", 1)])
    (loss,) = channel.status().losses
    assert loss.waiting == ("its collector could not say: it does not know",)


def test_a_producer_that_has_ended_puts_nothing_more() -> None:
    channel = LocalChannel()
    with channel.producer("a") as sender:
        pass
    with pytest.raises(ChannelClosedError, match="'a': this producer has ended"):
        sender.put(1)
    with (
        pytest.raises(ChannelValueError, match="there is a producer 'a' already"),
        channel.producer("a"),
    ):
        pass


def test_a_long_list_of_what_is_open_is_cut_in_messages() -> None:
    channel = LocalChannel(collector=Pairing)
    with pytest.raises(ZeroDivisionError):
        fail_after(channel, "p", [("s", number) for number in range(9)])
    (loss,) = channel.status().losses
    assert len(loss.waiting) == 9
    assert str(loss).endswith("4 of s; and 4 more")


def test_what_could_not_be_delivered_comes_first_again() -> None:
    channel = LocalChannel(dispatcher="least_loaded", consumers=["a"], timeout_s=0)
    for number in range(3):
        channel.put(number)
    item = channel.get(consumer="a")
    channel.give_back(item, "default_queue", "a")
    assert [channel.get(consumer="a") for _ in range(3)] == [0, 1, 2]
    assert channel.status().gets == 3


def test_putting_does_not_wait_for_a_slow_get(background: Background) -> None:
    channel = LocalChannel()
    waiting = threading.Event()

    def get() -> None:
        waiting.set()
        assert channel.get(timeout_s=5) == 1

    background(get)
    waiting.wait(5)
    time.sleep(0.02)
    channel.put(1, timeout_s=0.5)
    background.join()
