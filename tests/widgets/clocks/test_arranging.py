"""Where facts stand: nothing is cut where it can be wrapped or put elsewhere."""

from __future__ import annotations

from isoscope.widgets.clocks.arranging import arranged, shares, wrapped
from isoscope.widgets.clocks.facts import Fact

PX = 7  # a character


def measure(text: str) -> int:
    return PX * len(text)


def facts(*values: str) -> list[Fact]:
    return [Fact(f"fact {at}", value) for at, value in enumerate(values)]


def placed(values, grid, width, room):
    return arranged(facts(*values), grid, (width, room), measure, measure)


def test_what_fits_has_even_columns_and_a_line_each() -> None:
    made = placed(["1 s"] * 6, (2, 3), 400, 5)
    assert [(one.left_px, one.line) for one in made] == [
        (left, line) for left in (0, 133, 266) for line in (0, 1)
    ]
    assert all(one.lines == ("1 s",) for one in made)


def test_a_wide_column_takes_from_the_narrow_ones() -> None:
    values = ["1", "2", "the recording's end", "0.04 s/control", "5", "6"]
    made = placed(values, (2, 3), 360, 2)
    assert [one.lines for one in made] == [(value,) for value in values]
    assert all(measure(one.fact.value) <= one.value_px for one in made)
    assert made[-1].left_px + made[-1].name_px + made[-1].value_px <= 360


def test_where_that_is_not_enough_values_are_wrapped() -> None:
    made = placed(["the recording's end", "1", "2", "3"], (2, 2), 240, 3)
    assert made[0].lines == ("the recording's", "end")
    assert [one.line for one in made] == [0, 2, 0, 1]
    assert all(measure(x) <= one.value_px for one in made for x in one.lines)


def test_fewer_columns_are_better_than_wrapped_values() -> None:
    value = "the recording's end"
    made = placed([value] * 6, (2, 3), 460, 3)
    assert len(made) == 6
    assert {one.lines for one in made} == {(value,)}
    assert len({one.left_px for one in made}) == 2


def test_what_matters_least_is_left_out_where_there_is_no_room() -> None:
    made = placed([str(at) for at in range(9)], (2, 2), 300, 2)
    assert [one.fact.value for one in made] == ["0", "1", "2", "3"]
    assert placed(["1"], (7, 1), 3, 1)[0].value_px == 1


def test_words_are_wrapped_but_never_lost() -> None:
    assert wrapped("native 30, env 1", 11 * PX, measure) == ("native 30,", "env 1")
    assert wrapped("unbreakable", PX, measure) == ("unbreakable",)
    assert wrapped("", PX, measure) == ("",)


def test_widths_are_shared_as_they_are_needed() -> None:
    assert shares([50, 60], 200) == [100, 100]
    assert shares([50, 120], 200) == [65, 135]
    assert shares([50, 300, 300], 350) == [50, 150, 150]
