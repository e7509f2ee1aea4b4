"""Hooks: how they are found, and how items are dealt (contract tests 41 and 42)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from isoscope.core.channel.dispatchers import (
    LeastLoaded,
    LeastLoadedStealing,
    RoundRobin,
    Shared,
)
from isoscope.core.channel.errors import (
    ChannelEmptyError,
    ChannelTypeError,
    ChannelValueError,
)
from isoscope.core.channel.hooks import Collector, Dispatcher, PassThrough
from isoscope.core.channel.local import LocalChannel
from isoscope.core.channel.resolving import (
    register_collector,
    register_dispatcher,
    resolve_collector,
    resolve_dispatcher,
)
from isoscope.core.errors import IsoscopeError

DEALING = ["round_robin", "least_loaded", "least_loaded_stealing"]


class Doubling(Collector):
    def collect(self, item: Any, key: Any) -> Any:
        yield key, item
        yield "copies", item


class Giving(Collector):
    """Gives back whatever it was made to."""

    def __init__(self, what: Any) -> None:
        self.what = what

    def collect(self, item: Any, key: Any) -> Any:
        return self.what


def filled(dispatcher: Any, consumers: list[str], count: int = 9) -> LocalChannel:
    channel = LocalChannel(dispatcher=dispatcher, consumers=consumers, timeout_s=0)
    for number in range(count):
        channel.put(number)
    return channel


def taken(
    channel: LocalChannel, consumer: Any, key: Any = "default_queue"
) -> list[Any]:
    items = []
    while True:
        try:
            items.append(channel.get(key=key, consumer=consumer))
        except ChannelEmptyError:
            return items


# -- dealing (test 41) -----------------------------------------------------------------


@pytest.mark.parametrize("name", DEALING)
def test_41_nine_items_are_dealt_three_to_each(name: str) -> None:
    channel = filled(name, ["c", "a", "b"])
    assert channel.status().queued == 9
    assert [channel.qsize(consumer=c) for c in "abc"] == [3, 3, 3]


@pytest.mark.parametrize("name", ["round_robin", "least_loaded"])
def test_41_a_consumer_that_polls_gets_only_its_own(name: str) -> None:
    channel = filled(name, ["a", "b", "c"])
    assert taken(channel, "a") == [0, 3, 6]
    assert taken(channel, "b") == [1, 4, 7]


def test_41_from_a_shared_queue_one_consumer_takes_all() -> None:
    channel = filled("shared", ["a", "b", "c"])
    assert taken(channel, "b") == list(range(9))
    assert not Shared().deals


def test_41_what_was_taken_still_counts() -> None:
    channel = filled("least_loaded", ["a", "b", "c"], count=4)  # a 2, b 1, c 1
    assert taken(channel, "a") == [0, 3]
    for number in range(4, 9):
        channel.put(number)
    assert [channel.qsize(consumer=c) for c in "abc"] == [1, 3, 3]


def test_41_lifetime_counts_decide_not_depths() -> None:
    channel = filled("least_loaded", ["a", "b", "c"], count=6)
    taken(channel, "a")
    channel.get(consumer="b")
    channel.put(6)  # all were given two: the first of them, empty or not
    assert [channel.qsize(consumer=c) for c in "abc"] == [1, 1, 2]


@pytest.mark.parametrize("name", DEALING)
def test_41_every_key_is_dealt_on_its_own(name: str) -> None:
    channel = LocalChannel(dispatcher=name, consumers=["a", "b"], timeout_s=0)
    channel.put(1, key="x")
    channel.put(2, key="y")
    assert channel.get(key="x", consumer="a") == 1
    assert channel.get(key="y", consumer="a") == 2


def test_41_stealing_takes_the_oldest_from_the_deepest_peer() -> None:
    channel = filled("least_loaded_stealing", ["a", "b", "c"])
    channel.get(consumer="b")  # b: 4 7, c: 2 5 8
    assert [channel.get(consumer="a") for _ in range(3)] == [0, 3, 6]
    assert channel.get(consumer="a") == 2
    assert channel.get(consumer="a") == 5  # two each again: of equals, the larger name
    assert channel.get(consumer="a") == 4


@pytest.mark.parametrize("name", DEALING)
def test_41_a_late_consumer_is_dealt_to(name: str) -> None:
    channel = LocalChannel(dispatcher=name, timeout_s=0)
    channel.put("early")  # nobody is known: it stays shared
    assert channel.get(consumer="a") == "early"
    with pytest.raises(ChannelEmptyError):
        channel.get(consumer="b")
    for number in range(4):
        channel.put(number)
    assert (channel.qsize(consumer="a"), channel.qsize(consumer="b")) == (2, 2)


def test_round_robin_begins_anew_for_every_key() -> None:
    deal = RoundRobin()
    deal.add_consumer("b")
    deal.add_consumer("a")
    assert [deal.route(0, "x") for _ in range(3)] == ["a", "b", "a"]
    assert deal.route(0, "y") == "a"
    deal.add_consumer("aa")  # sorted in; the turn goes on
    assert deal.route(0, "x") == "aa"


def test_numbers_may_name_consumers_too() -> None:
    channel = filled("least_loaded", [10, 9], count=4)  # type: ignore[list-item] # mixed
    assert taken(channel, 9) == [0, 2]


def test_an_older_shared_item_goes_first() -> None:
    channel = LocalChannel(dispatcher="least_loaded", timeout_s=0)
    channel.put("first")
    channel.put("second")
    channel._meet("a")
    channel.put("third")
    assert taken(channel, "a") == ["first", "second", "third"]


def test_a_channel_that_deals_wants_to_know_who_asks() -> None:
    channel = filled("least_loaded", ["a", "b"], count=1)
    with pytest.raises(ChannelValueError, match=r"deals .* a, b; say which consumer"):
        channel.get()
    alone = LocalChannel(dispatcher="least_loaded", timeout_s=0)
    alone.put(1)
    assert alone.get() == 1


def test_a_route_to_nobody_leaves_the_item_to_all() -> None:
    class Lost(Dispatcher):
        def route(self, item: Any, key: Any) -> str:
            return "nobody"

    channel = LocalChannel(dispatcher=Lost, consumers=["a"], timeout_s=0)
    with pytest.raises(ChannelValueError, match="'nobody', which is no consumer"):
        channel.put(1)
    assert channel.get(consumer="a") == 1


# -- resolving (test 42) ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (None, Shared),
        ("Least_Loaded", LeastLoaded),
        (LeastLoadedStealing, LeastLoadedStealing),
        ("isoscope.core.channel.dispatchers:RoundRobin", RoundRobin),
    ],
)
def test_42_a_dispatcher_is_found(spec: Any, kind: type) -> None:
    assert type(resolve_dispatcher(spec)) is kind


def test_42_a_collector_is_found() -> None:
    made = Doubling()
    assert resolve_collector(made) is made
    assert type(resolve_collector(None)) is PassThrough
    assert (
        type(resolve_collector(f"{PassThrough.__module__}:PassThrough")) is PassThrough
    )
    assert resolve_collector("EMBODIED_TRAJECTORY").__class__.__name__ == (
        "TrajectoryCollector"
    )


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nothing", r"nothing is known as 'nothing'; there are .*least_loaded"),
        ("no.such.module:Hook", "can't be imported"),
        ("isoscope.core.channel.dispatchers:Nothing", "can't be imported"),
        (":", "can't be imported"),
    ],
)
def test_59_an_unknown_name_is_refused(spec: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        resolve_dispatcher(spec)
    assert isinstance(caught.value, IsoscopeError)


@pytest.mark.parametrize(
    "spec", [7, Doubling(), Doubling, "isoscope.core.channel.hooks:PassThrough", int]
)
def test_60_something_else_is_refused(spec: Any) -> None:
    with pytest.raises(TypeError, match="choosing the dispatcher") as caught:
        resolve_dispatcher(spec)
    assert isinstance(caught.value, IsoscopeError)


def test_59_a_name_is_registered_once() -> None:
    register_collector("Test_Doubling")(Doubling)
    register_collector("test_doubling")(Doubling)  # the same once more: nothing new
    assert type(resolve_collector("test_doubling")) is Doubling
    with pytest.raises(ValueError, match="taken by Doubling"):
        register_collector("test_doubling")(PassThrough)
    with pytest.raises(ValueError, match="taken by"):
        register_dispatcher("Shared")(RoundRobin)
    with pytest.raises(TypeError, match="does not derive from Dispatcher"):
        register_dispatcher("test_wrong")(Doubling)


# -- collecting ------------------------------------------------------------------------


def test_a_collector_may_give_several_items() -> None:
    channel = LocalChannel(collector=Doubling, timeout_s=0)
    channel.put(5)
    assert channel.get() == 5
    assert channel.get(key="copies") == 5


@pytest.mark.parametrize("given", [None, 3, "text", {"k": 1}, [("k",)], [["k", 1]]])
def test_58_what_is_no_pair_is_refused_by_name(given: Any) -> None:
    channel = LocalChannel(collector=Giving(given))
    with pytest.raises(TypeError, match=r"Giving\.collect must give pairs") as caught:
        channel.put(1)
    assert isinstance(caught.value, ChannelTypeError)


def test_pairs_before_a_failure_are_not_lost() -> None:
    class Failing(Collector):
        def collect(self, item: Any, key: Any) -> Any:
            yield key, item
            raise RuntimeError("the second one fails")

    channel = LocalChannel(collector=Failing, timeout_s=0)
    with pytest.raises(RuntimeError, match="the second one"):
        channel.put(1)
    assert channel.get() == 1


def test_hooks_get_to_know_their_channel() -> None:
    channel = LocalChannel(
        "parts", cfg={"a": 1}, producers=["p"], consumers=["c"], options={"o": 2}
    )
    ctx = channel.collector.ctx
    assert ctx is channel.context
    assert (ctx.name, ctx.cfg, ctx.options) == ("parts", {"a": 1}, {"o": 2})
    assert (ctx.producers, ctx.consumers) == (("p",), ("c",))
    assert Counter(channel.dispatcher.consumers) == Counter(["c"])
