from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.natural import naturally, shortened, some_of


def test_numbers_count_as_numbers() -> None:
    names = ["demo_10", "demo_2", "demo_1", "b", "demo_010x", "2", "10", "Demo_3", ""]
    assert naturally(names) == [
        "",
        "2",
        "10",
        "Demo_3",
        "b",
        "demo_1",
        "demo_2",
        "demo_10",
        "demo_010x",
    ]


@given(st.lists(st.integers(0, 10**30), unique=True))
def test_it_is_the_order_of_the_numbers(numbers: list[int]) -> None:
    assert naturally(f"demo_{n}" for n in numbers) == [
        f"demo_{n}" for n in sorted(numbers)
    ]


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=8)))
def test_any_names_can_be_sorted_and_none_is_lost(names: list[str]) -> None:
    once = naturally(names)
    assert sorted(once) == sorted(names)
    assert naturally(once[::-1]) == once


def test_a_message_names_some_of_many() -> None:
    assert some_of([]) == ""
    assert some_of(["b", "a", "b"]) == "a, b"
    assert some_of((f"demo_{i}" for i in range(12)), 3) == (
        "demo_0, demo_1, demo_2 and 9 more"
    )
    assert some_of(["x" * 100]) == "x" * 59 + "…"
    long = some_of(f"{i:02} {'x' * 50}" for i in range(40))
    assert long.startswith("00 x")
    assert long.endswith("x and 30 more")
    assert len(long) < 620


def test_only_long_names_are_shortened() -> None:
    assert shortened("é" * 60) == "é" * 60
    assert shortened("é" * 61) == "é" * 59 + "…"
